"""`weaklink import` as a whole: each stage's share, several processes against one, and `check` of the same files."""

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.conversations import Shape, coding_session, conversation, long_reasoning, short_calls
from benchmarks.measuring import goal, print_line
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.derived_rows import derived_rows
from weaklink.storage.record_rows import record_rows
from weaklink.storage.store import open_store
from weaklink.storage.writing import TraceRows

_SHAPE = Shape(steps=3, tools=3, parameters=3, result_size=300, toolsets=3)
_ROUNDS = 3
_RUNS = 2
_TRACES = int(os.environ.get("WEAKLINK_BENCH_IMPORT_TRACES", "2000"))
_FILES = 500
_MOST_OF_LOADS, _MOST_OF_ONE, _CHECK_AT_LEAST = 60.0, 0.6, 1.5
_COMMAND = (sys.executable, "-m", "weaklink")


def _conversation(number: int) -> object:
    return conversation(_SHAPE, number)


_KINDS: dict[str, tuple[int, Callable[[int], object]]] = {
    "conversations of three calls": (800, _conversation),
    "short calls": (5_000, short_calls),
    "sessions of coding agents": (65, coding_session),
    "long reasoning": (80, long_reasoning),
}
"""How many traces of each kind are imported (5 MB of each), and how one is made."""


def import_stages() -> None:
    """Where the time of an import goes, for each kind of log."""
    with tempfile.TemporaryDirectory() as name:
        for kind, (count, made) in _KINDS.items():
            folder = Path(name) / kind
            folder.mkdir()
            _stages(folder, kind, count, made)


def import_ways() -> None:
    """What an import takes in one process and in two, from one file and from many, and `check` of the same files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one_file, many = folder / "one", folder / "many"
        _write(one_file / "log.jsonl", range(_TRACES))
        for number in range(_FILES):
            _write(many / f"{number}.jsonl", range(number * _TRACES // _FILES, (number + 1) * _TRACES // _FILES))
        for files, path in (("one file", one_file), (f"{_FILES} files", many)):
            _ways(files, path, folder)


def _stages(folder: Path, kind: str, count: int, made: Callable[[int], object]) -> None:
    best: dict[str, float] = {}
    lines: list[str] = []
    for number in range(_ROUNDS):
        path = folder / f"{number}.jsonl"
        _write(path, range(number * count, (number + 1) * count), made)  # others than before: texts are remembered
        lines = path.read_text(encoding="utf-8").splitlines()
        for stage, took in _once(path, folder / f"{number}.db", lines).items():
            best[stage] = min(best.get(stage, took), took)
    loads = best.pop("json.loads")
    whole = sum(best.values())
    print_line(f"import of {count} traces, {kind}, {sum(map(len, lines)) / 1e6:.1f} MB, in one process; CPU time")
    for stage, took in best.items():
        each = took / count * 1e6
        print_line(f"  {stage:12} {took / whole:5.0%}, {each:6.0f} us a trace, {took / loads:6.1f} of json.loads")
    print_line(f"  all of it, of json.loads: {goal(whole / loads, _MOST_OF_LOADS, at_least=False)}")


def _once(path: Path, database: Path, lines: Sequence[str]) -> dict[str, float]:
    """CPU seconds of each stage over all traces."""
    took: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], list[object]] | Callable[[], object]) -> None:
        gc.collect()
        gc.disable()
        try:
            start = process_time()
            work()
            took[stage] = process_time() - start
        finally:
            gc.enable()

    redactor = Redactor()
    traces: list[Trace] = []
    clean: list[Trace] = []
    drafts: list[TraceRows] = []
    timed("json.loads", lambda: deque(map(json.loads, lines), maxlen=0))
    timed("reading", lambda: traces.extend(record for record in read_source(path).records if isinstance(record, Trace)))
    timed("redaction", lambda: clean.extend(map(redactor.trace, traces)))
    inspected: list[Inspection] = []
    timed("inspection", lambda: inspected.extend(map(inspect_trace, clean)))
    pairs = list(zip(clean, inspected, strict=True))
    timed(
        "packing",
        lambda: drafts.extend(
            TraceRows(record_rows(pair), derived_rows(inspection, pair)) for pair, inspection in pairs
        ),
    )
    with open_store(database) as store:
        timed("writing", lambda: store.save_drafts(drafts))
        timed("text index", store.search.index_pending)
    return took


def _ways(files: str, path: Path, folder: Path) -> None:
    """Real time of the command with one and two processes, and its CPU time beside that of `check`."""
    best = dict.fromkeys(("1", "2", "check", "cpu"), float("inf"))
    for number in range(_RUNS):
        for jobs in ("1", "2"):
            database = str(folder / f"{path.name}-{jobs}-{number}.db")
            real, cpu = _run("import", "--json", "--jobs", jobs, "--db", database, str(path))
            best[jobs] = min(best[jobs], real)
            if jobs == "1":
                best["cpu"] = min(best["cpu"], cpu)
        best["check"] = min(best["check"], _run("check", "--fail-on", "never", "--output", "json", str(path))[1])
    print_line(f"{_TRACES} traces in {files}: {best['1']:.1f} s with one process")
    print_line(f"  --jobs 2, of the time of --jobs 1: {goal(best['2'] / best['1'], _MOST_OF_ONE, at_least=False)}")
    print_line(f"  check, times as fast as import: {goal(best['cpu'] / best['check'], _CHECK_AT_LEAST, at_least=True)}")


def _run(*words: str) -> tuple[float, float]:
    """Real and CPU seconds of a command."""
    start, before = perf_counter(), os.times()
    subprocess.run([*_COMMAND, *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return perf_counter() - start, cpu


def _write(path: Path, numbers: range, made: Callable[[int], object] = _conversation) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = (json.dumps(made(number), ensure_ascii=False) + "\n" for number in numbers)
    path.write_text("".join(lines), encoding="utf-8")
