"""What a million conversations cost, and how long that takes on 10 to 1,000 cores: measured, formula, simulation."""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import ray
from msgspec import Struct

from benchmarks.cluster import write_long, write_short
from benchmarks.cluster_model import ClusterLimits, Task, estimated_s, simulated_s
from weaklink.inspector.importers.blocks import Block
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import plan_traces
from weaklink.ui.importing.engine import BLOCK_BYTES, EngineOptions
from weaklink.ui.importing.result_tables import BlockImporter, ResultsFolder

_MILLION = 1_000_000
_ROUNDS = 2  # the least counts: other programs use the cores too
_MEASURED = 1 << 20  # bytes of a block that is measured; a larger one is several of these
_SHORT_ROWS, _LONG_ROWS = 20_000, 250
_FEW, _MANY = 100, 400  # blocks that do nothing, to measure what the driver takes for one
_CORES = (10, 30, 100, 300, 1_000)
_SIZES = (BLOCK_BYTES, _MEASURED)
_TO_ONE, _TO_ALL = 50e6, 5e9


class _Measured(Struct, frozen=True):
    """Measured blocks of one kind of conversation, their rows, and the bytes that were read and written."""

    name: str
    rows: int
    tasks: tuple[Task, ...]
    read_bytes: int
    result_bytes: int

    @property
    def hours(self) -> float:
        """CPU hours of a million conversations."""
        return sum(task.seconds for task in self.tasks) / self.rows * _MILLION / 3600

    def million(self, block_bytes: int) -> list[Task]:
        """The blocks of a million conversations, each of measured ones in turn."""
        times = block_bytes // _MEASURED
        count = max(round(len(self.tasks) * _MILLION / self.rows / times), 1)
        each = cycle(self.tasks)
        return [_joined(list(islice(each, times))) for _ in range(count)]


def scaling() -> None:
    """Print the costs and the table, in Markdown."""
    with TemporaryDirectory() as made:
        short = _measured("short", Path(made), _SHORT_ROWS)
        long = _measured("long", Path(made), _LONG_ROWS)
    limits = _limits()
    print("| a million conversations | bytes of one | CPU hours | GB read | GB of results |\n" + "| --- " * 5 + "|")
    for measured in (short, long):
        read, written = (
            total / measured.rows * _MILLION / 1e9 for total in (measured.read_bytes, measured.result_bytes)
        )
        print(
            f"| {measured.name} | {measured.read_bytes / measured.rows:,.0f} | {measured.hours:.2f} "
            f"| {read:.1f} | {written:.1f} |"
        )
    print(
        f"\nA block costs the driver and its worker {limits.dispatch_s * 1000:.1f} ms beside its work, workers start in"
        f" {limits.start_s:.1f} s (both measured with Ray here). Assumed of the store: {_TO_ONE / 1e6:.0f} MB/s to one"
        f" worker, {_TO_ALL / 1e9:.0f} GB/s to all.\n"
    )
    print("| conversations | block | cores | formula | simulation | difference | efficiency |\n" + "| --- " * 7 + "|")
    for measured in (short, long):
        for size in _SIZES:
            _put_rows(measured, size, limits)


def _put_rows(measured: _Measured, block_bytes: int, limits: ClusterLimits) -> None:
    tasks = measured.million(block_bytes)
    work = sum(task.seconds for task in tasks)
    for cores in _CORES:
        formula, played = estimated_s(tasks, cores, limits), simulated_s(tasks, cores, limits)
        print(
            f"| {measured.name} | {block_bytes >> 20} MiB | {cores:,} | {formula:,.1f} s | {played:,.1f} s |"
            f" {formula / played - 1:+.0%} | {work / played / cores:.2f} |"
        )


def _joined(tasks: Sequence[Task]) -> Task:
    return Task(sum(task.seconds for task in tasks), sum(task.size_bytes for task in tasks))


def _measured(name: str, folder: Path, rows: int) -> _Measured:
    path, where = folder / f"{name}.jsonl", folder / name
    (write_short if name == "short" else write_long)(path, rows)
    blocks = plan_traces([str(path)], None, _MEASURED)
    ResultsFolder(str(where)).begin(blocks, "None")
    work = BlockImporter(str(where))
    list(work(blocks[0]))  # formats and validators are built once for each worker
    rounds = [[_cpu_s(work, block) for block in blocks] for _ in range(_ROUNDS)]
    times = map(min, *rounds)
    written = sum(file.stat().st_size for file in where.rglob("*.parquet"))
    tasks = tuple(Task(seconds, block.end - block.start) for seconds, block in zip(times, blocks, strict=True))
    return _Measured(name, rows, tasks, path.stat().st_size, written)


def _cpu_s(work: BlockImporter, block: Block) -> float:
    start = time.process_time()
    list(work(block))
    return time.process_time() - start


class _Nothing(Struct, frozen=True):
    """Work that does nothing: what is left is what a block costs."""

    def __call__(self, block: Block) -> Iterator[int]:
        yield block.number


def _limits() -> ClusterLimits:
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=256 << 20)
    try:
        start, few, many = (min(_nothing_s(count) for _ in range(_ROUNDS)) for count in (1, _FEW, _MANY))
    finally:
        ray.shutdown()
    return ClusterLimits(max(many - few, 0.0) / (_MANY - _FEW), start, _TO_ONE, _TO_ALL)


def _nothing_s(count: int) -> float:
    blocks = [Block(number, os.devnull) for number in range(count)]
    start = time.perf_counter()
    assert sum(len(piece.answers) for piece in run_blocks(blocks, _Nothing(), EngineOptions("ray", 1))) == count
    return time.perf_counter() - start
