"""Stack frames as kernels, crash, drgn and gdb print them."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from rdmadiag.lazy import Lazy
from rdmadiag.logs.subsystems import subsystem_of

if TYPE_CHECKING:
    import re

_NAME = r"[A-Za-z_$][\w.$]*"
_MARKS = r"(?:<+/?(?:IRQ|SOFTIRQ|EOI|NMI|TASK|EOE|#?[DM][BF]\d?|ENTRY_TRAMPOLINE)>+\s*)*"
_KERNEL = Lazy(
    rf"\s*{_MARKS}\(?(?P<addresses>(?:\[[<(]?(?:0x)?[0-9a-f]{{1,16}}[>)]?\]\s*){{0,2}})(?P<guess>\?\s*)?"
    rf"(?::(?P<old_module>\w+):)?(?P<function>{_NAME})\+0x(?P<offset>[0-9a-f]+)/0x(?P<length>[0-9a-f]+)\)?"
    r"(?:\s+\[(?P<module>[\w-]+)(?:\([A-Z]+\))?(?:\s+[0-9a-f]{8,})?\])?"
    r"(?P<place>\s+[\w./-]+\.[chSrs]+:\d+)?(?P<inline>\s+\[inline\])?(?:\s+\([\w ]+\))*\)?\s*"
)
_CRASH = Lazy(
    rf"\s*#(?P<index>\d+)\s+\[(?:[0-9a-f]{{8,16}})\]\s+(?P<function>{_NAME})"
    r"(?P<offset>\+(?:0x[0-9a-f]+|\d+))?\s+at\s+[0-9a-f]{6,16}(?:\s+\[(?P<module>[\w-]+)\])?\s*(?:(?:\(|<-|#|//).*)?"
)
_DEBUGGER = Lazy(
    rf"\s*#(?P<index>\d+)\s+(?:0xf{{4}}[0-9a-f]+ in )?(?P<function>{_NAME})(?P<offset>\+0x[0-9a-f]+/0x[0-9a-f]+)?"
    r"(?P<tail>\s+\([\w./+-]+:\d+(?::\d+)?\)|\s*\([^)]*\)\s+at\s+\S+)?(?:\s+\[(?P<module>[\w-]+)\])?\s*"
)
_DECODED = Lazy(
    rf"\s*(?P<guess>\?\s*)?(?P<function>{_NAME})\s+(?:\([\w./-]+\.[chS]:\d+[^()]*(?:\([^()]*\)[^()]*)?\)(?:\s+(?P<module>\w+))?"
    r"|[\w./-]+\.[chS]:\d+\s+\[inline\])\s*"
)
_REGISTER = Lazy(
    rf"\s*(?:\[?exception )?(?P<register>RIP|pc|PC is at|NIP|IP|epc|Krnl PSW|ra|lr|LR)\s*:?\s*"
    rf"(?:[0-9a-f]{{4}}:|:)?\s*(?:\[<?[0-9a-f]{{8,16}}>?\]\s*)*(?P<function>{_NAME})\+(?P<offset>0x[0-9a-f]+|\d+)(?:/0x(?P<length>[0-9a-f]+))?"
    r"(?:\s+\[(?P<module>[\w-]+)[^\]]*\])?\]?.*"
)
_RETURN_ADDRESS = frozenset(("lr", "LR", "ra"))
_ADDRESS_ONLY = Lazy(r"\s*\(?\[<?[0-9a-f]{1,16}>?\]\s*(?:0x[0-9a-f]+|\(null\))?\)?\s*")
_SUFFIX = Lazy(
    r"(?:\.(?:part|isra|constprop|cold|llvm|lto_priv|localalias|clone|ipa|resume|destroy)(?:\.\d+)*)+(?:\.\w+)?$"
)

_ENDS = (
    *("ret_from_fork", "ret_from_kernel_thread", "ret_from_kernel_user_thread", "kernel_thread"),
    *(
        "entry_SYSCALL",
        "entry_INT80",
        "entry_SYSENTER",
        "system_call",
        "sysenter_",
        "int_ret_from_sys_call",
    ),
    *("el0_", "el0t_", "secondary_startup", "start_secondary", "x86_64_start", "start_kernel"),
    *(
        "rest_init",
        "cpu_bringup_and_idle",
        "child_rip",
        "tracesys",
        "stub_clone",
        "stub_execve",
        "ret_fast_syscall",
    ),
    *(
        "secondary_switched",
        "ret_to_user",
        "ret_from_exception",
        "syscall_exit",
        "sysret_check",
        "work_notifysig",
    ),
)
"""Beginnings of functions after which no frame comes."""

_USER_FAULTS = (
    "asm_exc_page_fault",
    "page_fault",
    "async_page_fault",
    "entry_64_fred",
    "asm_fred_entrypoint_user",
)
"""Functions that may be at the bottom of a stack, or in its middle."""


class Frame(msgspec.Struct, frozen=True):
    """
    A frame.

    :ivar text: As printed: ``func+0x1b1/0x2c0 [mod]``, with ``? `` in front when the unwinder guessed it.
    :ivar function: Name without compiler suffixes.
    :ivar module: Its module, or ``""``.
    :ivar style: ``kernel``, ``proc``, ``crash``, ``debugger``, ``decoded`` or ``register``.
    :ivar index: Its number, where they are numbered.
    """

    text: str
    function: str
    module: str = ""
    guess: bool = False
    style: str = "kernel"
    index: int | None = None

    @property
    def subsystem(self) -> str:
        """The RDMA subsystem of its function, or ``""``."""
        return subsystem_of(self.function, self.module)


def stem(function: str) -> str:
    """Return a function's name without the suffixes that compilers add."""
    return _SUFFIX.sub("", function)


@lru_cache(maxsize=8192)
def parse_frame(message: str) -> Frame | None:
    """Return the frame that *message* is, or ``None``."""
    if "+0x" in message and (match := _KERNEL.fullmatch(message)):
        return _kernel_frame(match)
    if "#" in message:
        if match := _CRASH.fullmatch(message):
            return _numbered_frame(match, "crash")
        match = _DEBUGGER.fullmatch(message)
        if match and (match["offset"] or match["tail"]):
            return _numbered_frame(match, "debugger")
    if ":" in message and (match := _DECODED.fullmatch(message)):
        guess, module = bool(match["guess"]), match["module"] or ""
        return Frame(" ".join(message.split()), stem(match["function"]), module, guess, "decoded")
    return None


def _kernel_frame(match: "re.Match[str]") -> Frame:
    guess, module = bool(match["guess"]), match["module"] or match["old_module"] or ""
    text = f"{match['function']}+0x{match['offset']}/0x{match['length']}"
    style = "proc" if match["addresses"].strip() == "[<0>]" else "kernel"
    if match["place"]:
        style = "decoded"
    return Frame(_text(text, module, guess), stem(match["function"]), module, guess, style)


def _numbered_frame(match: "re.Match[str]", style: str) -> Frame:
    module = match["module"] or ""
    text = _text(match["function"] + (match["offset"] or ""), module, guess=False)
    return Frame(text, stem(match["function"]), module, style=style, index=int(match["index"]))


def _text(function: str, module: str, guess: bool) -> str:
    return ("? " if guess else "") + function + (f" [{module}]" if module else "")


def parse_register(message: str) -> Frame | None:
    """Return the place where a CPU was, from a ``RIP:``, ``pc :``, ``NIP`` or ``exception RIP`` line."""
    match = _REGISTER.fullmatch(message)
    if match is None or match["register"] in _RETURN_ADDRESS:
        return None
    length = f"/0x{match['length']}" if match["length"] else ""
    module = match["module"] or ""
    text = _text(f"{match['function']}+{match['offset']}{length}", module, guess=False)
    return Frame(text, stem(match["function"]), module, style="register")


def is_bare_address(message: str) -> bool:
    """Tell whether *message* is a frame that has an address and no name."""
    return "[" in message and _ADDRESS_ONLY.fullmatch(message) is not None


def real(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the frames that are no guesses, a function that follows itself only once."""
    last = ""
    for frame in frames:
        if not frame.guess and frame.function != last:
            yield frame
            last = frame.function


def at_bottom(frames: list[Frame]) -> bool:
    """Tell whether the stack was printed down to its bottom."""
    return any(ends_stack(f) or f.function.startswith(_USER_FAULTS) for f in frames[-3:])


def ends_stack(frame: Frame) -> bool:
    """Tell whether no frame comes after this one, but for those of the same kind."""
    return frame.function.lstrip("_").startswith(_ENDS)
