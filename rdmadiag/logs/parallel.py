"""Several logs at the same time, each in a process of its own."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rdmadiag.facts.model import Collected
from rdmadiag.inputs.files import STDIN, Target
from rdmadiag.inputs.limits import Limits
from rdmadiag.inputs.opening import open_target
from rdmadiag.inputs.sniff import HEAD, Kind, sniff
from rdmadiag.inputs.source import Source
from rdmadiag.logs.children import held_signals, leave_the_end_to_the_parent
from rdmadiag.logs.collect import LogCollector
from rdmadiag.logs.ranges import processes, worth_it

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Result = tuple[list[Collected], list[Source]]

_collector: LogCollector | None = None


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
    """
    Read targets in forked processes, which have the compiled search already.

    :raises BrokenProcessPool: When one of them dies.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    global _collector  # noqa: PLW0603 - how a forked process gets what cannot be sent to it
    collector.prepare()
    _collector = collector
    try:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(jobs, context, leave_the_end_to_the_parent) as pool:
            return _results(pool, targets)
    finally:
        _collector = None


def _results(pool: "ProcessPoolExecutor", targets: list[Target]) -> list[Result]:
    """Return what *targets* say; when that ends early, by a signal or a fault, nobody waits for the rest."""
    import multiprocessing

    results: list[Result] = []
    try:
        with held_signals():  # the first that is submitted begins all processes
            futures: list[Future[Result]] = [pool.submit(_read, t) for t in targets]
        results += (future.result() for future in futures)
    finally:
        if len(results) < len(targets):
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
    return results


def _read(target: Target) -> Result:
    if _collector is None:
        raise RuntimeError(f"process {os.getpid()} was not forked from the one that reads logs")
    return read_target(_collector, target)
