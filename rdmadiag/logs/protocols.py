"""What the reader of logs needs of the vocabulary and of the reader of traces."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from rdmadiag.facts.model import Fact, Fields
from rdmadiag.logs.records import Record


class EventRule(Protocol):
    """The part of an event rule that is needed here."""

    @property
    def event(self) -> str:
        """The kind of its facts."""
        ...


class Match(Protocol):
    """What a message says."""

    @property
    def rule(self) -> EventRule:
        """The rule that matched."""
        ...

    @property
    def fields(self) -> Fields:
        """The fact's fields."""
        ...


class Vocabulary(Protocol):
    """What messages are known: :class:`rdmadiag.logs.vocabulary.Vocabulary`."""

    @property
    def literals(self) -> Sequence[bytes]:
        """Of these every line that gives a fact or opens a trace holds one."""
        ...

    @property
    def companions(self) -> Sequence[tuple[bytes, ...]]:
        """For each of the literals: strings of which its line must hold one, too; empty: no need."""
        ...

    @property
    def event_kinds(self) -> AbstractSet[str]:
        """The kinds of facts that messages give."""
        ...

    def match(self, message: str) -> Sequence[Match]:
        """Return what the message says."""
        ...


class TraceReader(Protocol):
    """Reads traces: :class:`rdmadiag.logs.traces.Traces`."""

    dropped: int

    def feed(self, record: Record) -> None:
        """Read the next record."""
        ...

    def wants(self) -> bool:
        """Tell whether the following records may belong to an open trace."""
        ...

    def finish(self) -> list[Fact]:
        """Return the facts."""
        ...
