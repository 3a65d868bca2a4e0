"""Stacks by frame pointers, made by hand: of arm64 and x86-64, whole, interrupted and hostile."""

from collections.abc import Callable

import drgn
import pytest

from rdmadiag.vmcore.chain_arm64 import LR, Arm64Chain
from rdmadiag.vmcore.chain_x86 import X86Chain
from rdmadiag.vmcore.frame_chain import MAX_FRAMES, FrameChain
from rdmadiag.vmcore.frames import Stack
from rdmadiag.vmcore.pointer_auth import strip_signature
from rdmadiag.vmcore.symbols import Symbol
from rdmadiag.vmcore.unwind import Registers
from rdmadiag.vmcore.vmcoreinfo import VmcoreInfo
from tests.vmcore.fake_kernel import TEXT, FakeKernel

STACK = 16384
TASK = "struct task_struct { int pid; void *stack; struct thread_struct thread; };"
UNION = "union thread_union { unsigned long stack[2048]; };"
ARM64 = """
struct cpu_context { unsigned long x19; unsigned long fp; unsigned long sp; unsigned long pc; };
struct thread_struct { struct cpu_context cpu_context; };
"""
RECORD = (
    "struct pt_regs { u64 regs[31]; u64 sp; u64 pc; u64 pstate; u64 orig_x0; u64 stackframe[2]; };"
)
META = """
struct frame_record { u64 fp; u64 lr; };
struct frame_record_meta { struct frame_record record; u64 type; };
struct pt_regs { u64 regs[31]; u64 sp; u64 pc; u64 pstate; u64 orig_x0; struct frame_record_meta stackframe; };
"""
X86 = """
struct thread_struct { unsigned long sp; };
struct pt_regs { u64 r15; u64 bp; u64 bx; u64 ax; u64 orig_ax; u64 ip; u64 cs; u64 flags; u64 sp; u64 ss; };
"""
INACTIVE = "struct inactive_task_frame { u64 r15; u64 bx; u64 bp; u64 ret_addr; };"
FRAMED = b"\x66\x66\x66\x66\x90\x55\x48\x89\xe5"
SCHEDULED = b"\x0f\x1f\x44\x00\x00\x55\x31\xc0\xb9\x0c\x00\x00\x00\x48\x89\xe5"
"""The prologue of schedule_timeout in a 6.1 kernel with frame pointers, with other instructions in it."""
PAC = 0xFF7F_0000_0000_0000
"""Bits 48 to 54 and 56 to 63: what the code takes in a kernel with 48 bits of address."""


class Machine:
    """A task with a stack, functions, and a symbol table of them."""

    def __init__(self, *types: str) -> None:
        self.kernel = FakeKernel(TASK, UNION, *types)
        self.prog = self.kernel.prog
        self.base = self.kernel.new("u8", STACK).address_
        self.top = self.base + STACK
        self.task = self.kernel.new("struct task_struct", stack=self.base).address_of_()
        self.code = bytearray(1 << 16)
        self.prog.add_memory_segment(TEXT, len(self.code), self._read_code)
        self.functions: dict[str, int] = {}

    def _read_code(self, address: int, count: int, _offset: int, _physical: bool) -> bytes:
        return bytes(self.code[address - TEXT : address - TEXT + count])

    def function(self, name: str, code: bytes = FRAMED) -> int:
        """Return an address in a function, as a call leaves it."""
        if name not in self.functions:
            self.functions[name] = start = self.kernel.function(name)
            self.code[start - TEXT : start - TEXT + len(code)] = code
        return self.functions[name] + 0x40

    def at(self, address: int) -> Symbol | None:
        for name, start in self.functions.items():
            if start <= address < start + 256:
                return Symbol(name, start, 256)
        return None

    def find(self, name: str, module: str | None = None) -> Symbol | None:
        return self.at(self.functions[name]) if name in self.functions else None

    def words(self, address: int, *words: int) -> None:
        for place, word in enumerate(words):
            start = address + 8 * place
            self.kernel.set(self.kernel.at(self.kernel.type("u64"), start), word)

    def regs(self, address: int, **values: int) -> None:
        """Write a ``struct pt_regs``; ``x29`` and ``x30`` are members of its array."""
        regs = self.kernel.at(self.kernel.type("struct pt_regs"), address)
        for name, value in values.items():
            place = regs.regs[int(name[1:])] if name in {"x29", "x30"} else regs.member_(name)
            self.kernel.set(place, value)

    @property
    def regs_size(self) -> int:
        return drgn.sizeof(self.kernel.type("struct pt_regs"))


def names(stack: Stack) -> list[str]:
    return [("? " if frame.guess else "") + frame.name for frame in stack]


# ---- arm64


def arm64(*types: str) -> Machine:
    return Machine(ARM64, *(types or (RECORD,)))


def chain_arm64(machine: Machine, pac: int = 0) -> Arm64Chain:
    info = VmcoreInfo(f"NUMBER(KERNELPACMASK)={pac:#x}\n".encode())
    return Arm64Chain(machine.prog, machine, strip_signature(info))


def sleep_arm64(machine: Machine, sp: int, fp: int, name: str = "__switch_to") -> None:
    place = machine.task.thread.cpu_context
    for member, value in (("sp", sp), ("fp", fp), ("pc", machine.function(name))):
        machine.kernel.set(place.member_(member), value)


def unwind(chain: FrameChain, machine: Machine) -> Stack:
    return chain.unwind(chain.sleeping(machine.task), machine.task)


def final(machine: Machine) -> int:
    """Place of the record of zeros in the registers at the stack's top."""
    offset = drgn.offsetof(machine.kernel.type("struct pt_regs"), "stackframe")
    return machine.top - machine.regs_size + offset


def kthread_arm64(machine: Machine, sign: Callable[[int], int] = int) -> int:
    """Write __switch_to <- __schedule <- schedule <- worker_thread <- kthread <- ret_from_fork."""
    places = [machine.base + 0x3000 + 0x60 * i for i in range(5)]
    callers = ("__schedule", "schedule", "worker_thread", "kthread", "ret_from_fork")
    for i, name in enumerate(callers):
        following = places[i + 1] if i < 4 else final(machine)
        machine.words(places[i], following, sign(machine.function(name)))
    sleep_arm64(machine, places[0], places[0])
    return places[0]


WORKER = ["__switch_to", "__schedule", "schedule", "worker_thread", "kthread", "ret_from_fork"]


def test_arm64_thread():
    machine = arm64()
    kthread_arm64(machine)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == WORKER
    assert stack.problem == ""
    assert str(stack[1]) == "__schedule+0x40/0x100"


def test_arm64_thread_before_the_final_record():
    machine = arm64()
    first = kthread_arm64(machine)
    machine.words(first + 4 * 0x60, 0)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == WORKER
    assert stack.problem == ""


def test_arm64_signed_return_addresses():
    machine = arm64()
    kthread_arm64(machine, lambda pc: pc & ~(0x5A << 48))
    assert names(unwind(chain_arm64(machine, PAC), machine)) == WORKER
    unstripped = unwind(chain_arm64(machine), machine)
    assert names(unstripped) == ["__switch_to"]
    assert "is no address of code" in unstripped.problem


def test_signatures_are_stripped_from_kernel_addresses_only():
    strip = strip_signature(VmcoreInfo(f"NUMBER(KERNELPACMASK)={PAC:#x}".encode()))
    assert strip(0x00A5_8000_8123_4567) == 0xFFFF_8000_8123_4567
    assert strip(0x0000_FFFF_8123_4567) == 0x0000_FFFF_8123_4567
    assert strip_signature(VmcoreInfo(b""))(0x00A5_8000_8123_4567) == 0x00A5_8000_8123_4567


@pytest.mark.parametrize("marked", [False, True])
def test_arm64_interrupted_in_the_kernel(marked):
    """The fault came in a leaf: its caller is known by the link register alone, so it is a guess."""
    machine = arm64(META if marked else RECORD)
    regs = machine.base + 0x3000
    record = regs + drgn.offsetof(machine.kernel.type("struct pt_regs"), "stackframe")
    outer = machine.base + 0x3800
    inner = machine.base + 0x2F00
    machine.words(inner, record, machine.function("el1h_64_sync"))
    leaf = machine.function("__arch_copy_to_user")
    machine.regs(regs, pc=leaf, sp=outer, pstate=5, x29=outer, x30=machine.function("rds_recvmsg"))
    if marked:
        machine.words(record, 0, 0, 2)
        machine.words(final(machine), 0, 0, 1)
    else:
        machine.words(record, outer, leaf)
    machine.words(outer, final(machine), machine.function("sock_recvmsg"))
    sleep_arm64(machine, inner, inner)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == [
        *("__switch_to", "el1h_64_sync", "__arch_copy_to_user", "? rds_recvmsg", "sock_recvmsg"),
    ]
    assert "caller of __arch_copy_to_user" in stack.problem


@pytest.mark.parametrize("lr", ["sock_recvmsg", "rds_recvmsg", "rds_recvmsg.cold"])
def test_arm64_interrupted_after_its_record(lr):
    """The link register is the recorded return address, or one of the function itself."""
    machine = arm64()
    regs = machine.base + 0x3000
    record = regs + drgn.offsetof(machine.kernel.type("struct pt_regs"), "stackframe")
    outer = machine.base + 0x3800
    pc = machine.function("rds_recvmsg")
    machine.words(machine.base + 0x2F00, record, machine.function("el1h_64_irq"))
    machine.regs(regs, pc=pc, sp=outer, pstate=5, x29=outer, x30=machine.function(lr))
    machine.words(record, outer, pc)
    machine.words(outer, final(machine), machine.function("sock_recvmsg"))
    sleep_arm64(machine, machine.base + 0x2F00, machine.base + 0x2F00)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == ["__switch_to", "el1h_64_irq", "rds_recvmsg", "sock_recvmsg"]
    assert stack.problem == ""


def test_arm64_running_on_an_interrupt_stack():
    """The chain goes over to the task's stack once."""
    machine = arm64()
    other = machine.kernel.new("u8", STACK).address_
    machine.words(other + 0x100, other + 0x200, machine.function("handle_irq"))
    machine.words(other + 0x200, machine.base + 0x3000, machine.function("call_on_irq_stack"))
    machine.words(machine.base + 0x3000, final(machine), machine.function("cpu_idle"))
    regs = Registers(machine.function("spin"), other + 0x80, other + 0x100, call=False)
    chain = chain_arm64(machine)
    stack = chain.unwind(regs, machine.task)
    assert names(stack) == ["spin", "handle_irq", "call_on_irq_stack", "cpu_idle"]
    assert stack.problem == ""
    machine.words(machine.base + 0x3000, other + 0x300, machine.function("cpu_idle"))
    assert "is not in the task's stack" in chain.unwind(regs, machine.task).problem


def test_arm64_in_user_mode():
    machine = arm64()
    regs = Registers(0x1000, 0x2000, 0x3000, call=False, user=True, others={LR: 0x1000})
    stack = chain_arm64(machine).unwind(regs, machine.task)
    assert not stack
    assert stack.problem == ""


def test_arm64_task_that_has_never_run():
    machine = arm64()
    sleep_arm64(machine, final(machine) - 0x100, final(machine), "ret_from_fork")
    machine.kernel.set(machine.task.thread.cpu_context.pc, machine.functions["ret_from_fork"])
    stack = unwind(chain_arm64(machine), machine)
    assert [str(frame) for frame in stack] == ["ret_from_fork+0x0/0x100"]
    assert stack.problem == ""


def test_arm64_before_the_record_in_the_registers():
    """4.14: the outermost record has no caller's, and its return address is in the entry from user mode."""
    machine = arm64("struct pt_regs { u64 regs[31]; u64 sp; u64 pc; u64 pstate; u64 orig_x0; };")
    first, second = machine.base + 0x3000, machine.base + 0x3100
    machine.words(first, second, machine.function("sys_recvmsg"))
    machine.words(second, 0, machine.function("el0_svc_naked"))
    sleep_arm64(machine, first, first)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == ["__switch_to", "sys_recvmsg", "el0_svc_naked"]
    assert stack.problem == ""
    machine.words(second, 0, machine.function("sys_recvmsg"))
    assert "names no caller" in unwind(chain_arm64(machine), machine).problem


def test_arm64_handler_in_c_is_no_exception():
    """el1_abort is called by el1h_64_sync_handler, as any function is."""
    machine = arm64()
    places = [machine.base + 0x3000 + 0x60 * i for i in range(3)]
    machine.words(places[0], places[1], machine.function("el1_abort"))
    machine.words(places[1], places[2], machine.function("el1h_64_sync_handler"))
    machine.words(places[2], final(machine), machine.function("el0t_64_sync"))
    sleep_arm64(machine, places[0], places[0])
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == ["__switch_to", "el1_abort", "el1h_64_sync_handler", "el0t_64_sync"]
    assert stack.problem == ""


def test_arm64_needs_types():
    with pytest.raises(LookupError):
        chain_arm64(Machine(X86))


# ---- x86-64


def x86(*types: str, code: bytes = FRAMED) -> Machine:
    machine = Machine(X86, *types)
    for name in ("schedule", "kthread", "worker_thread"):
        machine.function(name, code)
    return machine


def kthread_x86(machine: Machine, last_bp: int = 0, below: int = 16) -> int:
    """Write (__schedule <-) schedule <- worker_thread <- kthread <- ret_from_fork; the last frame is *below* the registers."""
    callers = ("schedule", "worker_thread", "kthread")
    places = [machine.base + 0x3000 + 0x80 * i for i in range(3)]
    places.append(machine.top - machine.regs_size - below)
    for i, name in enumerate((*callers, "ret_from_fork")):
        following = places[i + 1] if i < 3 else last_bp
        code = b"\x90" if name == "ret_from_fork" else FRAMED
        machine.words(places[i], following, machine.function(name, code))
    return places[0]


def sleep_x86(machine: Machine, sp: int) -> None:
    machine.kernel.set(machine.task.thread.sp, sp)


def test_x86_before_inactive_task_frame():
    """4.1: bp alone is saved, and where in __schedule it goes on is not."""
    machine = x86()
    first = kthread_x86(machine, last_bp=0x1234)
    machine.words(first - 0x40, first)
    sleep_x86(machine, first - 0x40)
    stack = unwind(X86Chain(machine.prog, machine), machine)
    assert names(stack) == ["schedule", "worker_thread", "kthread", "ret_from_fork"]
    assert stack.problem == ""


@pytest.mark.parametrize(("below", "code"), [(16, FRAMED), (32, SCHEDULED)])
def test_x86_inactive_task_frame(below, code):
    machine = x86(INACTIVE, code=code)
    first = kthread_x86(machine, below=below)
    machine.words(first - 0x40, 1, 2, first, machine.function("__schedule"))
    sleep_x86(machine, first - 0x40)
    stack = unwind(X86Chain(machine.prog, machine), machine)
    assert names(stack) == ["__schedule", "schedule", "worker_thread", "kthread", "ret_from_fork"]
    assert stack.problem == ""
    assert stack[1].sp == first + 16


def interrupted_x86(machine: Machine, leaf: bytes) -> None:
    """Write do_page_fault <- page_fault <- (interrupted) copy_user <- rds_recvmsg <- system_call."""
    regs = machine.base + 0x3000
    outer = machine.top - machine.regs_size - 16
    machine.regs(regs, ip=machine.function("copy_user", leaf), cs=0x10, sp=regs + 0x200, bp=outer)
    machine.words(outer, 0x7FFE_0000_1234, machine.function("system_call", b"\x90"))


def test_x86_interrupted_before_registers_were_marked():
    machine = x86()
    interrupted_x86(machine, FRAMED)
    regs, outer = machine.base + 0x3000, machine.top - machine.regs_size - 16
    machine.words(regs - 16, outer, machine.function("page_fault", b"\x90"))
    machine.words(regs - 0x60, regs - 16)
    sleep_x86(machine, regs - 0x60)
    stack = unwind(X86Chain(machine.prog, machine), machine)
    assert names(stack) == ["page_fault", "copy_user", "system_call"]
    assert stack.problem == ""


def test_x86_interrupted_where_registers_are_marked():
    """The interrupted function keeps no frame: who called it is not told, and that is said."""
    machine = x86(INACTIVE)
    interrupted_x86(machine, b"\x90")
    regs = machine.base + 0x3000
    machine.words(regs - 0x80, 0, 0, regs | 1, machine.function("__schedule"))
    sleep_x86(machine, regs - 0x80)
    stack = unwind(X86Chain(machine.prog, machine), machine)
    assert names(stack) == ["__schedule", "copy_user", "system_call"]
    assert "caller of copy_user" in stack.problem


@pytest.mark.parametrize("cs", [0x10, 0x33])
def test_x86_ends_at_marked_registers(cs):
    """Those of the entry from user mode, and those that a kernel thread leaves room for."""
    machine = x86(INACTIVE)
    regs = machine.top - machine.regs_size if cs == 0x10 else machine.base + 0x3400
    machine.regs(regs, cs=cs)
    machine.words(machine.base + 0x3000, 0, 0, machine.base + 0x3100, machine.function("schedule"))
    machine.words(machine.base + 0x3100, regs | 1, machine.function("kthread"))
    sleep_x86(machine, machine.base + 0x3000)
    stack = unwind(X86Chain(machine.prog, machine), machine)
    assert names(stack) == ["schedule", "kthread"]
    assert stack.problem == ""


def test_x86_without_frame_pointers():
    with pytest.raises(LookupError, match="neither ORC tables nor frame pointers"):
        X86Chain((machine := x86(code=b"\x41\x57\x41\x56")).prog, machine)


# ---- hostile chains, of both


def hostile_arm64(record: Callable[[Machine, int], tuple[int, int]]) -> tuple[Machine, FrameChain]:
    machine = arm64()
    first = kthread_arm64(machine)
    machine.words(first + 0x60, *record(machine, first + 0x60))
    return machine, chain_arm64(machine)


def hostile_x86(record: Callable[[Machine, int], tuple[int, int]]) -> tuple[Machine, FrameChain]:
    machine = x86(INACTIVE)
    first = kthread_x86(machine)
    machine.words(first - 0x40, 1, 2, first, machine.function("__schedule"))
    sleep_x86(machine, first - 0x40)
    machine.words(first + 0x80, *record(machine, first + 0x80))
    return machine, X86Chain(machine.prog, machine)


CODE = "worker_thread"
HOSTILE = {
    "itself": (lambda m, at: (at, m.function(CODE)), "does not lead upwards"),
    "back": (lambda m, at: (at - 0x50, m.function(CODE)), "does not lead upwards"),
    "overlaps": (lambda m, at: (at + 8, m.function(CODE)), "does not lead upwards"),
    "above": (lambda m, at: (m.top + 0x100, m.function(CODE)), "is not in the task's stack"),
    "below": (lambda m, at: (m.base - 0x100, m.function(CODE)), "is not in the task's stack"),
    "at the very end": (lambda m, at: (m.top - 8, m.function(CODE)), "is not in the task's stack"),
    "unaligned": (lambda m, at: (at + 0x104, m.function(CODE)), "is not aligned"),
    "process": (lambda m, at: (0x7FFE_0000_1230, m.function(CODE)), "is not in the task's stack"),
    "data": (lambda m, at: (at + 0x80, m.base), "is no address of code"),
    "no address": (lambda m, at: (at + 0x80, 0), "0x0 is no address of code"),
    "zeros": (lambda m, at: (at + 0x200, m.function(CODE)), ""),
}


@pytest.mark.parametrize("make", [hostile_arm64, hostile_x86])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(make, name):
    record, reason = HOSTILE[name]
    machine, chain = make(record)
    stack = unwind(chain, machine)
    assert stack.problem.startswith("the stack is cut short: ")
    assert reason in stack.problem
    assert 2 <= len(stack) <= 5


def test_long_chain_is_bounded():
    machine = arm64()
    places = range(machine.base, machine.base + 16 * (MAX_FRAMES + 8), 16)
    for place in places:
        machine.words(place, place + 16, machine.function("recurse"))
    sleep_arm64(machine, machine.base, machine.base)
    stack = unwind(chain_arm64(machine), machine)
    assert len(stack) == MAX_FRAMES
    assert f"more than {MAX_FRAMES} frames" in stack.problem


@pytest.mark.parametrize("sp", [0, 0xDEAD_0000])
def test_saved_stack_pointer_elsewhere(sp):
    machine = arm64()
    sleep_arm64(machine, sp, sp)
    stack = unwind(chain_arm64(machine), machine)
    assert not stack
    assert "saved stack pointer" in stack.problem


def test_stack_that_is_not_in_the_dump():
    machine = arm64()
    kthread_arm64(machine)
    hole = 0xFFFF_0000_0000_0000
    machine.kernel.set(machine.task.stack, hole)
    sleep_arm64(machine, hole + 0x100, hole + 0x100)
    stack = unwind(chain_arm64(machine), machine)
    assert names(stack) == ["__switch_to"]
    assert stack.problem == "the stack is cut short: its memory is not in the dump"
