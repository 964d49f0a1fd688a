"""Ray Data on this machine: rows a second with 1 and 2 workers and on 2 nodes, a worker killed, memory."""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import ray
from ray.cluster_utils import Cluster

from weaklink.inspector.importers.blocks import Block
from weaklink.ui.importing.block_jobs import run_blocks
from weaklink.ui.importing.block_records import plan_traces
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.importing.result_tables import BlockImporter, ResultsFolder

_ROWS = int(os.environ.get("WEAKLINK_BENCH_ROWS", "20000"))
_BLOCK = 256 << 10
_ROUNDS = 3  # the best counts: other programs use the cores too
_GOAL = 0.8
_FLAT = 1.25  # of the peak memory over a tenfold input, to that over the input
_STORE = 256 << 20

# The conversations: how many calls a long one has; what a call and its result hold.
_CALLS = 60
_RESULT = "The forecast for the next days, hour by hour, as the station sent it. " * 14
_ARGUMENTS = '{"city": "Oslo", "days": 3'


@dataclass(frozen=True, slots=True)
class _Block:
    """What a block took: its process, its CPU seconds, the peak memory of that process so far in MB."""

    pid: int
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class _Run:
    """What an import took: seconds, CPU seconds of its workers and of the driver, the peak memory of a worker."""

    seconds: float
    workers_cpu_s: float
    driver_cpu_s: float
    peak_mb: float
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class _TimedImport:
    where: str

    def __call__(self, block: Block) -> Iterator[_Block]:
        start = time.process_time()
        list(BlockImporter(self.where)(block))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield _Block(os.getpid(), time.process_time() - start, peak)


def cluster() -> None:
    """Print the figures, one line each."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        small, large = folder / "small.jsonl", folder / "large.jsonl"
        write_short(small, _ROWS)
        with _one_node():
            rounds = [
                [_import(small, folder / f"of-{jobs}-{index}", jobs=jobs) for jobs in (1, 2)]
                for index in range(_ROUNDS)
            ]
            single, two = (min(runs, key=lambda run: run.seconds) for runs in zip(*rounds, strict=True))
            print(f"{_BLOCK >> 10} KiB a block; seconds include the start of actors")
            _put_rates(_ROWS, single, two)
            assert _files(folder / "of-1-0") == _files(folder / "of-2-0")
            killed = _import(small, folder / "killed", jobs=2, kill_after=3)
            assert _files(folder / "of-1-0") == _files(folder / "killed")
            print(f"a worker killed with -9 ({killed.deaths} killed): the same files, {killed.seconds:.1f} s")
            write_short(large, _ROWS * 10)
            tenfold = [_import(large, folder / f"large-{jobs}", jobs=jobs) for jobs in (1, 2)]
            _put_rates(_ROWS * 10, *tenfold)
            peaks = two.peak_mb, tenfold[1].peak_mb
            is_flat = "reached" if peaks[1] <= peaks[0] * _FLAT else "MISSED"
            print(
                f"peak memory of a worker: {peaks[0]:.0f} MB over {_ROWS:,} traces, {peaks[1]:.0f} MB over tenfold"
                f" (goal: at most {_FLAT} times, {is_flat})"
            )
        with _two_nodes():
            nodes = min(_import(small, folder / f"nodes-{index}", jobs=2).seconds for index in range(_ROUNDS))
            assert _files(folder / "of-1-0") == _files(folder / "nodes-0")
            print(f"2 node processes on loopback, 1 CPU each: the same files, {_ROWS / nodes:,.0f} traces/s")


def _put_rates(rows: int, single: _Run, two: _Run) -> None:
    efficiency = single.seconds / two.seconds / 2
    judged = "reached" if efficiency >= _GOAL else "MISSED"
    print(
        f"{rows:,} short conversations: 1 worker: {rows / single.seconds:,.0f} traces/s; 2 workers:"
        f" {rows / two.seconds:,.0f}; efficiency {efficiency:.2f} (goal: {_GOAL}, {judged}); {os.getloadavg()[0]:.1f}"
        f" processes wanted the {os.cpu_count()} cores in the last minute"
    )
    for name, run in (("1 worker", single), ("2 workers", two)):
        print(
            f"CPU a trace with {name}: {run.workers_cpu_s / rows * 1000:.2f} ms in workers,"
            f" {run.driver_cpu_s / rows * 1000:.2f} ms in the driver"
        )


@contextmanager
def _one_node() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=_STORE)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _two_nodes() -> Iterator[None]:
    """A head and a second node, each a raylet with ports and an object store of its own."""
    head = {"num_cpus": 1, "object_store_memory": _STORE}
    nodes: Any = cast("Any", Cluster)(initialize_head=True, head_node_args=head)
    try:
        nodes.add_node(num_cpus=1, object_store_memory=_STORE)
        nodes.wait_for_nodes()
        ray.init(address=nodes.address, log_to_driver=False)
        yield
    finally:
        ray.shutdown()
        nodes.shutdown()


def _import(path: Path, where: Path, *, jobs: int, kill_after: int = 0) -> _Run:
    blocks, deaths, cpu_s, peak_mb = _plan(path, where), 0, 0.0, 0.0
    start, driver_s = time.perf_counter(), time.process_time()
    for number, piece in enumerate(run_blocks(blocks, _TimedImport(str(where)), EngineOptions("ray", jobs)), 1):
        assert not piece.failed
        cpu_s += sum(answer.cpu_s for answer in piece.answers)
        peak_mb = max(peak_mb, *(answer.peak_mb for answer in piece.answers), 0.0)
        if number >= kill_after > 0 and not deaths and piece.answers:
            os.kill(piece.answers[0].pid, signal.SIGKILL)
            deaths = 1
    return _Run(time.perf_counter() - start, cpu_s, time.process_time() - driver_s, peak_mb, deaths)


def _plan(path: Path, where: Path) -> Sequence[Block]:
    blocks = plan_traces([str(path)], None, _BLOCK)
    ResultsFolder(str(where)).begin(blocks, "None")
    return blocks


def _files(where: Path) -> dict[str, bytes]:
    return {str(path.relative_to(where)): path.read_bytes() for path in sorted(where.rglob("*.parquet"))}


def write_short(path: Path, rows: int) -> None:
    """Conversations of one call each, of which one in nine is broken."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            question = f"{number}: {'How is the weather? ' * (number % 20)}"
            messages = [*_turns(question, 1, is_sound=number % 9 > 0), _answer()]
            stream.write(json.dumps({"messages": messages, "model": f"m{number % 3}"}) + "\n")


def write_long(path: Path, rows: int) -> None:
    """Conversations of sixty calls each, with results of a thousand characters; the last call of one in nine is bad."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            messages = [
                turn
                for index in range(_CALLS)
                for turn in _turns(f"{number}.{index}: and then?", index, is_sound=index < _CALLS - 1 or number % 9 > 0)
            ]
            stream.write(json.dumps({"messages": [*messages, _answer()], "model": f"m{number % 3}"}) + "\n")


def _turns(question: str, number: int, *, is_sound: bool) -> list[dict[str, object]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": _ARGUMENTS + "}" * is_sound}}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": _RESULT if number != 1 else "4 degrees"},
    ]


def _answer() -> dict[str, object]:
    return {"role": "assistant", "content": "It is 4 degrees."}
