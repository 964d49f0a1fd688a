"""Runs a plan of blocks as a Ray Data pipeline: actors take a block each and stream their answers back as Arrow tables.

Ray restarts an actor that died and repeats its task. A counting actor records how often each block was begun, so that a
block that kills its worker is set aside after `ATTEMPTS` deaths and the other blocks continue. Rows of the tables are
numbered; duplicates are left out.
"""

import logging
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from weaklink.inspector.dataset.data_files import MissingLibraryError
from weaklink.inspector.importers.blocks import Block
from weaklink.ui.importing.block_records import ATTEMPTS, BlockWork, Piece, attempted_pieces

_Answer = TypeVar("_Answer")
_STORE_BYTES = 512 << 20


def run_on_ray(
    blocks: Sequence[Block], work: BlockWork[_Answer], *, jobs: int = 0, address: str | None = None
) -> Iterator[Piece[_Answer]]:
    """The pieces of all blocks in order. `jobs` actors work, 0 for one per CPU of the cluster.

    Raises MissingLibraryError without the extra `cluster`, and Ray's error if the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a local cluster would report to Ray's makers
    try:
        import pyarrow as pa  # noqa: PLC0415  # heavy, and optional

        ray: Any = import_module("ray")
        data: Any = import_module("ray.data")
    except ImportError as error:
        message = "`--engine ray` needs `ray`, which is not installed: pip install 'weaklink[cluster]'"
        raise MissingLibraryError(message) from error
    with _cluster(ray, jobs, address):
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # after Ray has set its own level
        context = data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        counter = ray.remote(num_cpus=0)(_Attempts).remote()
        workers = min(jobs or int(ray.cluster_resources().get("CPU", 1)), len(blocks))
        tables = [pa.table({"payload": pa.array([pickle.dumps(block)], pa.large_binary())}) for block in blocks]
        answers = ray.data.from_arrow(tables).map_batches(
            BlockActor,
            fn_constructor_args=(work, counter, str(Path.cwd())),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=workers),
            num_cpus=1,
        )
        yield from _each_once(answers.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1))


class BlockActor:
    """Reads blocks one after another in one process, so that formats and validators are built only once.

    Relative paths refer to `folder`; on a node that does not have it, they are not found.
    """

    def __init__(self, work: BlockWork[Any], counter: Any, folder: str) -> None:
        self._work, self._counter = work, counter
        with suppress(OSError):
            os.chdir(folder)

    def __call__(self, batch: Any) -> Iterator[Any]:
        """The pieces of a block, a table with one row for each."""
        import pyarrow as pa  # noqa: PLC0415  # heavy, and optional

        ray: Any = import_module("ray")
        block: Block = pickle.loads(batch["payload"][0].as_py())
        attempt = ray.get(self._counter.begin.remote(block.number))
        pieces: Iterator[Piece[Any]] = attempted_pieces(self._work, block)
        if attempt > ATTEMPTS:
            pieces = iter((Piece(block, 0, is_last=True, failed=f"the worker process died {ATTEMPTS} times"),))
        for piece in pieces:
            yield pa.table({"payload": pa.array([pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)], pa.large_binary())})


class _Attempts:
    """Counts how often each block was begun, in an actor that outlives the workers."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def begin(self, number: int) -> int:
        """Count one more attempt. Returns the number of attempts."""
        self._counts[number] = self._counts.get(number, 0) + 1
        return self._counts[number]


def _each_once(tables: Iterable[Any]) -> Iterator[Piece[Any]]:
    """The pieces of tables, without those that an earlier attempt sent before its worker died."""
    block, number = -1, 0
    for table in tables:
        for payload in table["payload"]:
            piece: Piece[Any] = pickle.loads(payload.as_py())
            if piece.block.number != block:
                block, number = piece.block.number, 0
            if piece.number == number or (piece.is_last and piece.failed):
                number += 1
                yield piece


@contextmanager
def _cluster(ray: Any, jobs: int, address: str | None) -> Iterator[None]:
    """Connect to the cluster at `address`, or else to a local one, until the block ends."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address:
        options["address"] = address
    else:
        options |= {"num_cpus": jobs or None, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    ray.init(**options)
    try:
        yield
    finally:
        ray.shutdown()
