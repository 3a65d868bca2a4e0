"""Messages that are recognised by the driver that prints them, though no event rule describes them."""

from functools import cached_property

import msgspec

from rdmadiag.facts.model import Fields
from rdmadiag.logs.alike import needle
from rdmadiag.logs.compiled import CompiledDriver, Format, Rule
from rdmadiag.logs.timed import GIVEN_UP, TimedPatterns

MESSAGE_KIND = "rdma.message"


class Match(msgspec.Struct, frozen=True):
    """
    What a message says.

    :ivar rule: The event rule; for a message that is only recognised, one of kind ``rdma.message``.
    :ivar fields: The fact's fields.
    """

    rule: Rule
    fields: Fields


class Driver:
    """How the messages of a driver begin."""

    def __init__(self, driver: CompiledDriver, patterns: TimedPatterns) -> None:
        self.name = driver.name
        self.subsystem = driver.subsystem
        self.rule = message_rule(driver.subsystem)
        self._literals = driver.literals
        self._prefix, self._own = driver.prefix, driver.own
        self._patterns = patterns

    def may_begin(self, shape: str) -> bool:
        """Tell whether a message of this shape may be one of this driver's."""
        return any(x in shape for x in self._needles)

    @cached_property
    def _needles(self) -> list[str]:
        return [needle(x) for x in self._literals]

    def begins(self, message: str) -> "Begin | None":
        """
        Return how the message begins, when it may be this driver's and the prefilter would have found it.

        :raises TimeoutError: If that takes too long to tell.
        """
        if not any(x in message for x in self._literals):
            return None
        found = self._patterns.match(self._prefix, message)
        if found is None:
            return None
        groups = found.groupdict()
        device = groups.get("device") or groups.get("name") or groups.get("pci")
        own = self._own and self._patterns.match(self._own, message)
        return Begin(self, device, bool(own))


class Begin(msgspec.Struct, frozen=True):
    """A message that begins as those of *driver* do; *own*: as only those do."""

    driver: Driver
    device: str | None
    own: bool

    def match(self, text: Format | None) -> Match:
        """Return the fact that a message with this beginning, and this format if it is known, is."""
        return Match(
            self.driver.rule,
            {
                "subsystem": self.driver.subsystem,
                "driver": self.driver.name,
                "device": self.device,
                "file": text.file if text else None,
                "function": text.function if text else None,
                "format": text.format if text else None,
            },
        )


def message_rule(subsystem: str) -> Rule:
    """Return the rule of messages that are only recognised."""
    return _rule(
        MESSAGE_KIND, subsystem, "A message of RDMA code that no event rule describes further."
    )


def given_up(kind: str) -> Match:
    """Return that it could not be told whether a message gives a fact of *kind*."""
    return Match(_rule(GIVEN_UP, "log", "A pattern took too long on a message."), {"rule": kind})


def _rule(event: str, subsystem: str, meaning: str) -> Rule:
    return Rule(
        event=event,
        subsystem=subsystem,
        level="info",
        meaning=meaning,
        pattern="",
        types={},
        set={},
        values={},
        difference={},
        literals=[],
        companions=[],
        words=[],
    )
