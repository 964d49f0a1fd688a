"""Ray Data on this machine: rows a second with 1 and 2 workers, a worker killed, memory over a tenfold input."""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import ray

from inspector.importers.blocks import Block
from ui.importing.block_jobs import run_blocks
from ui.importing.block_records import plan_traces
from ui.importing.engine import EngineOptions
from ui.importing.result_tables import BlockImporter, ResultsFolder

_ROWS = int(os.environ.get("WEAKLINK_BENCH_ROWS", "6000"))
_BLOCK = 256 << 10
_CALL = '{"city": "Oslo", "days": 3'


@dataclass(frozen=True, slots=True)
class _Block:
    """What a block took: its process, its seconds, the peak memory of that process so far in MB."""

    pid: int
    seconds: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class _TimedImport:
    where: str

    def __call__(self, block: Block) -> Iterator[_Block]:
        start = time.perf_counter()
        list(BlockImporter(self.where)(block))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield _Block(os.getpid(), time.perf_counter() - start, peak)


def cluster() -> None:
    """Print the figures, one line each."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=256 << 20)
    with TemporaryDirectory() as made:
        folder = Path(made)
        small, large = folder / "small.jsonl", folder / "large.jsonl"
        _write(small, _ROWS)
        one, _ = _import(small, folder / "one", jobs=1)
        two, _ = _import(small, folder / "two", jobs=2)
        print(f"1 worker: {_ROWS / one:,.0f} traces/s; 2 workers: {_ROWS / two:,.0f}; efficiency {one / two / 2:.2f}")
        assert _files(folder / "one") == _files(folder / "two")
        killed, deaths = _import(small, folder / "killed", jobs=2, kill_after=3)
        assert _files(folder / "one") == _files(folder / "killed")
        print(f"a worker killed with -9 ({deaths} killed): the same files, {killed:.1f} s instead of {two:.1f}")
        _write(large, _ROWS * 10)
        peaks = [_peak(path, folder / f"peak-{path.stem}") for path in (small, large)]
        print(f"peak memory of a worker: {peaks[0]:.0f} MB over {_ROWS:,} traces, {peaks[1]:.0f} MB over tenfold")
    ray.shutdown()


def _write(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            call = {
                "id": "c",
                "type": "function",
                "function": {"name": "f", "arguments": _CALL + "}" * (number % 9 > 0)},
            }
            messages = [
                {"role": "user", "content": f"{number}: {'How is the weather? ' * (number % 20)}"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "4 degrees"},
                {"role": "assistant", "content": "It is 4 degrees."},
            ]
            stream.write(json.dumps({"messages": messages, "model": f"m{number % 3}"}) + "\n")


def _import(path: Path, where: Path, *, jobs: int, kill_after: int = 0) -> tuple[float, int]:
    blocks, deaths = _plan(path, where), 0
    start = time.perf_counter()
    for number, piece in enumerate(run_blocks(blocks, _TimedImport(str(where)), EngineOptions("ray", jobs)), 1):
        assert not piece.failed
        if number >= kill_after > 0 and not deaths and piece.answers:
            os.kill(piece.answers[0].pid, signal.SIGKILL)
            deaths = 1
    return time.perf_counter() - start, deaths


def _plan(path: Path, where: Path) -> Sequence[Block]:
    blocks = plan_traces([str(path)], None, _BLOCK)
    ResultsFolder(str(where)).begin(blocks, "None")
    return blocks


def _peak(path: Path, where: Path) -> float:
    pieces = run_blocks(_plan(path, where), _TimedImport(str(where)), EngineOptions("ray", 2))
    return max(answer.peak_mb for piece in pieces for answer in piece.answers)


def _files(where: Path) -> dict[str, bytes]:
    return {str(path.relative_to(where)): path.read_bytes() for path in sorted(where.rglob("*.parquet"))}
