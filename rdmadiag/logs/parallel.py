"""Several logs at the same time, each in a process of its own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rdmadiag.facts.model import Collected
from rdmadiag.inputs.files import STDIN, Target
from rdmadiag.inputs.limits import Limits
from rdmadiag.inputs.opening import open_target
from rdmadiag.inputs.sniff import HEAD, Kind, sniff
from rdmadiag.inputs.source import Source
from rdmadiag.logs.children import Child, forked, ready
from rdmadiag.logs.collect import LogCollector
from rdmadiag.logs.ranges import processes, worth_it

Result = tuple[list[Collected], list[Source]]


def collect_targets(collector: LogCollector, targets: Sequence[Target]) -> Iterator[Result]:
    """
    Yield what each of *targets* says, in their order, and the dumps among them.

    Long plain files are read one after another, each by all processes; what else there is, side by side.

    :param targets: From :func:`rdmadiag.inputs.expand`.
    """
    alone = [t for t in targets if _is_alone(t, collector)]
    together = [t for t in targets if t not in alone]
    jobs = min(processes(collector.options), len(together))
    if jobs < 2:
        for target in targets:
            yield read_target(collector, target)
        return
    results = dict(zip(map(id, together), _together(collector, together, jobs), strict=True))
    for target in targets:
        yield results[id(target)] if id(target) in results else read_target(collector, target)


def read_target(collector: LogCollector, target: Target) -> Result:
    """Return what the logs of *target* say, and its dumps."""
    dumps: list[Source] = []
    return list(collector.collect(_logs(target, collector.options.limits, dumps))), dumps


def _logs(target: Target, limits: Limits, dumps: list[Source]) -> Iterator[Source]:
    for source in open_target(target, limits):
        if source.kind in ("vmcore", "live"):
            dumps.append(source)
        else:
            yield source


def _is_alone(target: Target, collector: LogCollector) -> bool:
    """Tell whether a target is standard input, or holds a file that all processes read best together."""
    return any(name == STDIN or _is_long_text(name, collector) for name in target.names)


def _is_long_text(name: str, collector: LogCollector) -> bool:
    try:
        if not worth_it(Path(name).stat().st_size, collector.options):
            return False
        with Path(name).open("rb") as file:
            return sniff(file.read(HEAD)) is Kind.TEXT
    except OSError:
        return False


def _together(collector: LogCollector, targets: list[Target], jobs: int) -> list[Result]:
    """Read targets in forked processes, which have the compiled search already; who is done gets the next."""

    def read(parent: Child, number: int) -> None:
        while True:
            parent.send((number, read_target(collector, targets[number])))
            number = parent.receive()

    collector.prepare()
    results: dict[int, Result] = {}
    numbers = iter(range(jobs, len(targets)))
    with forked(read, range(jobs)) as children:
        while len(results) < len(targets):
            for child in ready(children):
                number, result = child.receive()
                results[number] = result
                if (following := next(numbers, None)) is None:
                    children.remove(child)
                else:
                    child.send(following)
    return [results[number] for number in range(len(targets))]
