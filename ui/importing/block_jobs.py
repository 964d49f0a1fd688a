"""Runs a plan of blocks in this process, in several local ones, or on a Ray cluster, with the same answers in order.

States of a block: waiting, running, finished, set aside. A worker sends the answers of its block in small pieces; the
pieces of a block are yielded in order, and the blocks in the order of the plan. If a worker fails or dies, the block is
read again from its beginning and pieces that were already yielded are skipped, so every answer comes exactly once.
After `ATTEMPTS` attempts the block is set aside with the reason, and the other blocks continue.

With a folder to resume from, the pieces of a finished block are stored in one file, which is renamed into place; a
later run with the same plan and options reads its answers from there. Memory: a local worker buffers at most
`_MAX_WAITING_PIECES` pieces that the parent process has not received yet.
"""

import hashlib
import os
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.importers.blocks import Block
from weaklink.inspector.version import __version__
from weaklink.ui.importing.block_records import ATTEMPTS, BlockWork, Piece, attempted_pieces
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.importing.worker_process import WorkerProcess, available_cores, outbox_to

_Answer = TypeVar("_Answer")
_MAX_WAITING_PIECES = 64


class UnsafeFolderError(WeaklinkError):
    """A folder to resume from is owned by another user or writable by others; the message has its path."""


def run_blocks(blocks: Sequence[Block], work: BlockWork[_Answer], options: EngineOptions) -> Iterator[Piece[_Answer]]:
    """The pieces of all blocks in order.

    Raises UnsafeFolderError, and the error of the executor if it cannot start.
    """
    if options.resume is None:
        yield from _executed(blocks, work, options)
        return
    finished = _FinishedBlocks(options.resume, work, blocks)
    missing = [block for block in blocks if not finished.path(block).exists()]
    fresh = _by_block(_executed(missing, work, options))
    for block in blocks:
        yield from finished.record(block, next(fresh)) if block in missing else finished.read(block)


def _executed(blocks: Sequence[Block], work: BlockWork[_Answer], options: EngineOptions) -> Iterator[Piece[_Answer]]:
    if not blocks:
        return iter(())
    if options.engine == "ray":
        from weaklink.ui.importing.ray_jobs import run_on_ray  # noqa: PLC0415  # Ray takes seconds to load, and is optional

        return run_on_ray(blocks, work, jobs=options.jobs, address=options.address)
    jobs = min(options.jobs or available_cores(), len(blocks))
    if jobs == 1:
        return chain.from_iterable(attempted_pieces(work, block) for block in blocks)
    return _run_local(blocks, work, jobs)


# ---------------------------------------------------------------- local processes


def _run_local(blocks: Sequence[Block], work: BlockWork[_Answer], jobs: int) -> Iterator[Piece[_Answer]]:
    """Run blocks in worker processes; each worker gets the next block when it has sent all pieces of its last one."""
    pending = deque(blocks)
    running: deque[_BlockWorker[_Answer]] = deque()
    try:
        for _ in range(jobs):
            worker: _BlockWorker[_Answer] = _BlockWorker(work)
            worker.begin(pending.popleft())
            running.append(worker)
        while running:
            worker = running.popleft()
            yield from worker.pieces()
            if pending:
                worker.begin(pending.popleft())
                running.append(worker)
            else:
                worker.stop()
    finally:
        for worker in running:
            worker.stop()


class _BlockWorker(Generic[_Answer]):
    """A process that reads one block at a time."""

    def __init__(self, work: BlockWork[_Answer]) -> None:
        self._work = work
        self._block: Block | None = None
        self._process = WorkerProcess(_read_blocks, work)

    def begin(self, block: Block, skip: int = 0) -> None:
        """Make the worker read a block; its pieces before number `skip` are not sent."""
        self._block = block
        with suppress(OSError):  # it died while idle: receiving the next piece will notice
            self._process.pipe.send((block, skip))

    def pieces(self) -> Iterator[Piece[_Answer]]:
        """The pieces of the current block; the process is restarted if it dies."""
        assert self._block is not None
        block, sent, deaths = self._block, 0, 0
        while True:
            try:
                piece: Piece[_Answer] = self._process.receive()
            except (EOFError, OSError):
                deaths += 1
                reason = f"the worker process ended with {self._process.ended()}"
                self._process = WorkerProcess(_read_blocks, self._work)
                if deaths == ATTEMPTS:
                    yield Piece(block, sent, is_last=True, failed=reason)
                    return
                self.begin(block, sent)
                continue
            sent += 1
            yield piece
            if piece.is_last:
                return

    def stop(self) -> None:
        """Terminate the process, even while it works."""
        self._process.stop()


def _read_blocks(work: BlockWork[Any], pipe: Connection) -> None:
    """The main loop of a worker."""
    with outbox_to(pipe, _MAX_WAITING_PIECES) as outbox, suppress(EOFError):
        while True:
            block, skip = pipe.recv()
            for piece in attempted_pieces(work, block, skip):
                outbox.put(pickle.dumps(piece, pickle.HIGHEST_PROTOCOL))


# ---------------------------------------------------------------- finished blocks


class _FinishedBlocks:
    """Stores finished blocks in a separate folder, named after the plan, the work and the version.

    The files are pickles: only the folder's owner may be able to write there.
    """

    def __init__(self, folder: str, work: BlockWork[Any], blocks: Sequence[Block]) -> None:
        plan = hashlib.sha256(pickle.dumps((__version__, work, blocks))).hexdigest()[:16]
        self._folder = Path(folder) / f"plan-{plan}"
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = self._folder.stat()
        if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
            raise UnsafeFolderError(f"{self._folder} is owned by another user or writable by others")

    def path(self, block: Block) -> Path:
        """The file of a finished block."""
        return self._folder / f"{block.number:08}.pieces"

    def record(self, block: Block, pieces: Iterable[Piece[_Answer]]) -> Iterator[Piece[_Answer]]:
        """Yield the pieces and store them after the last one; a block that was set aside is not stored."""
        partial_path = self.path(block).with_suffix(".partial")
        with partial_path.open("wb") as stream:
            failed = False
            for piece in pieces:
                pickle.dump(piece, stream, pickle.HIGHEST_PROTOCOL)
                failed = failed or bool(piece.failed)
                yield piece
            stream.flush()
            os.fsync(stream.fileno())
        if failed:
            partial_path.unlink()
        else:
            partial_path.replace(self.path(block))

    def read(self, block: Block) -> Iterator[Piece[Any]]:
        """The pieces of a finished block."""
        with self.path(block).open("rb") as stream:
            while True:
                piece: Piece[Any] = pickle.load(stream)
                yield piece
                if piece.is_last:
                    return


def _by_block(pieces: Iterator[Piece[_Answer]]) -> Iterator[Iterator[Piece[_Answer]]]:
    """The pieces of each block; the caller must exhaust one block before the next."""
    for first in pieces:
        yield chain([first], () if first.is_last else _rest(pieces))


def _rest(pieces: Iterator[Piece[_Answer]]) -> Iterator[Piece[_Answer]]:
    for piece in pieces:
        yield piece
        if piece.is_last:
            return
