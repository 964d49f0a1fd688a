"""A file of OpenAI messages on its way into the database, against `json.loads` over the same lines, stage by stage."""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks.conversations import SHAPES, lines
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.importers.reading import SourceRecords, read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.storage.store import open_store
from weaklink.storage.writing import trace_rows

_CHARACTERS = 4_000_000
_AT_LEAST = 0.25


def reading() -> None:
    """Reading, segmentation, checks and rows; SQLite's inserts and the text index apart from them."""
    for name, shape in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            _one_file(name, lines(shape, _CHARACTERS), Path(folder))


def _one_file(name: str, written: list[str], folder: Path) -> None:
    path = folder / "log.jsonl"
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    traces = _traces(read_source(path))
    ways: dict[str, Callable[[], object]] = {
        "json.loads": partial(_loaded, written),
        "read": lambda: _traces(read_source(path)),
        "inspected": lambda: [inspect_trace(trace) for trace in _traces(read_source(path))],
        "rows": lambda: [trace_rows(trace, inspect_trace(trace)) for trace in _traces(read_source(path))],
    }
    best = best_of(ways, rounds=5)
    million = sum(map(len, written)) / 1e6
    turns = sum(len(trace.turns) for trace in traces)
    print_line(
        f"reading {name}: {len(written)} lines, {turns:,} turns, json.loads {million / best['json.loads']:,.0f} MB/s"
    )
    for way, stage in (("read", "reading"), ("inspected", "and inspecting"), ("rows", "and making rows")):
        took = best[way]
        ratio = best["json.loads"] / took
        judged = goal(ratio, _AT_LEAST, at_least=True) if way == "rows" else f"{ratio:6.2f}"
        print_line(
            f"  {stage:16} {million / took:6.1f} MB/s, {took / turns * 1e6:5.0f} us a turn, of json.loads: {judged}"
        )
    _into_sqlite(folder, traces, million, best)


def _into_sqlite(folder: Path, traces: list[Trace], million: float, best: dict[str, float]) -> None:
    """Inserts, as what saving takes beyond making the rows; and the text index, which is filled afterwards."""
    inspected = [(trace, inspect_trace(trace)) for trace in traces]
    drafted = best_of({"rows": lambda: [trace_rows(*pair) for pair in inspected]}, rounds=3)["rows"]
    saved = indexed = float("inf")
    for number in range(3):
        with open_store(folder / f"{number}.db") as store:
            saved = min(saved, _took(partial(store.save, inspected)))
            indexed = min(indexed, _took(store.search.index_pending))
    for stage, took in (("SQLite's inserts", max(saved - drafted, 1e-9)), ("the text index", indexed)):
        print_line(f"  {stage:16} {million / took:6.1f} MB/s, of json.loads: {best['json.loads'] / took:6.2f}")


def _took(way: Callable[[], object]) -> float:
    """CPU seconds of what can be done only once."""
    start = process_time()
    way()
    return process_time() - start


def _loaded(written: list[str]) -> None:
    for line in written:
        json.loads(line)


def _traces(source: SourceRecords) -> list[Trace]:
    return [record for record in source.records if isinstance(record, Trace)]
