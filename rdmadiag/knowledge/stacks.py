"""Laying a stack over the stack of a signature."""

from collections.abc import Iterable, Sequence

import msgspec

from rdmadiag.knowledge.frames import STRONG, Weights, is_primitive, slot
from rdmadiag.logs.subsystems import subsystem_of
from rdmadiag.rules.schema import Fix


class SignatureStack(msgspec.Struct, frozen=True):
    """
    A stack of a signature, ready to be compared.

    :ivar slots: The functions that each of its places allows, innermost first.
    :ivar ordered: It was read as a trace; otherwise its functions were only named together.
    :ivar main: It is the signature's own stack, not one that goes with it.
    """

    fix: Fix
    slots: tuple[frozenset[str], ...]
    weights: tuple[float, ...]
    ordered: bool
    main: bool

    @property
    def telling(self) -> set[str]:
        """Functions that point to this signature: those by which it is indexed."""
        pairs = zip(self.slots, self.weights, strict=True)
        return {name for names, weight in pairs if weight >= STRONG for name in names}


class Fit(msgspec.Struct, frozen=True):
    """
    How well a stack fits.

    :ivar coverage: Part of the signature's weight that was found.
    :ivar strength: That weight itself; *strong*: how many telling frames are among it.
    :ivar key: The innermost telling frame was found; *rarest*: the most telling one was.
    :ivar foreign: Frames of another RDMA function further in: the stack sleeps or crashed somewhere else.
    :ivar frames: The functions found.
    """

    coverage: float = 0.0
    strength: float = 0.0
    strong: int = 0
    key: bool = False
    rarest: bool = False
    foreign: int = 0
    main: bool = True
    frames: tuple[str, ...] = ()


def signature_names(fix: Fix) -> set[str]:
    """Return all functions that a signature names."""
    signature = fix.signature
    return {n for stack in (signature.stack, *signature.also) for s in stack for n in slot(s)}


def signature_stacks(fix: Fix, weights: Weights) -> Iterable[SignatureStack]:
    """Yield the stacks of a signature that say anything."""
    signature = fix.signature
    for number, stack in enumerate((signature.stack, *signature.also)):
        slots = tuple(slot(names) for names in stack)
        heavy = tuple(min(weights.of(name) for name in names) for names in slots)
        if sum(heavy):
            yield SignatureStack(fix, slots, heavy, signature.basis == "trace", number == 0)


def fit(stack: SignatureStack, names: Sequence[str]) -> Fit:
    """Compare a signature's stack with the functions of a stack, innermost first."""
    found = _in_order(stack, names) if stack.ordered else _anywhere(stack, names)
    strength = sum(stack.weights[i] for i in found)
    strong = [i for i, weight in enumerate(stack.weights) if weight >= STRONG]
    present = set(names)
    return Fit(
        coverage=strength / sum(stack.weights),
        strength=strength,
        strong=sum(1 for i in found if i in strong),
        key=bool(strong) and strong[0] in found,
        rarest=any(stack.weights[i] == max(stack.weights) for i in found),
        foreign=_foreign(stack, names),
        main=stack.main,
        frames=tuple(min(stack.slots[i] & present) for i in found),
    )


def _foreign(stack: SignatureStack, names: Sequence[str]) -> int:
    """Count the frames of other RDMA functions before the first of the signature's own."""
    allowed = {name for names_ in stack.slots for name in names_}
    first = next(
        (i for i, name in enumerate(names) if name in allowed and not is_primitive(name)), 0
    )
    return sum(1 for name in names[:first] if name not in allowed and subsystem_of(name))


def _anywhere(stack: SignatureStack, names: Sequence[str]) -> list[int]:
    present = set(names)
    return [i for i, allowed in enumerate(stack.slots) if allowed & present]


def _in_order(stack: SignatureStack, names: Sequence[str]) -> list[int]:
    """Return the places of the heaviest common subsequence."""
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * (len(stack.slots) + 1)
    for name in names:
        # From the last place back, so that a frame fills one place only.
        for i in range(len(stack.slots) - 1, -1, -1):
            if name in stack.slots[i]:
                weight, taken = max(best[: i + 1], key=lambda row: row[0])
                if weight + stack.weights[i] > best[i + 1][0]:
                    best[i + 1] = (weight + stack.weights[i], (*taken, i))
    return list(max(best, key=lambda row: row[0])[1])
