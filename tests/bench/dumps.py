"""
Dumps without debug info, against drgn with the debug packages.

    python tests/bench/dumps.py --debuginfo DIR SMALL_VMCORE [LARGE_VMCORE]

DIR holds vmlinux and the modules of the kernel's debug package. The peer loads them and renders the stack of every task.
"""

import argparse
import sys
from pathlib import Path

from peers import pair, rdmadiag

PEER = """
import sys
from pathlib import Path
from drgn import Program
from drgn.helpers.linux.pid import for_each_task
prog = Program()
prog.set_core_dump(sys.argv[1])
found = [p for p in Path(sys.argv[2]).rglob("*") if p.name.startswith("vmlinux") or ".ko" in p.name]
prog.load_debug_info(found)
for task in for_each_task(prog):
    try:
        str(prog.stack_trace(task))
    except ValueError:  # a task that runs
        pass
"""


def main() -> None:
    """Measure each dump and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debuginfo", required=True, type=Path)
    parser.add_argument("small")
    parser.add_argument("large", nargs="?")
    args = parser.parse_args()
    for name, dump, goal in (("small dump", args.small, 1.0), ("large dump", args.large, 0.2)):
        if dump:
            theirs = [sys.executable, "-c", PEER, dump, str(args.debuginfo)]
            sys.stdout.write(
                pair(name, rdmadiag("diagnose", "--format", "json", dump), theirs, goal) + "\n"
            )


if __name__ == "__main__":
    main()
