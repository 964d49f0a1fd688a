"""Plans work over many files: each block is a piece that one worker reads by itself.

A Parquet file is split at its row groups, an uncompressed file of JSON lines at byte ranges that end with a line.
Anything else (a compressed file, a JSON array, a log whose sessions span lines) is one block. The same paths give the
same blocks on every machine, so that results can be kept block by block. The lines of a file that is split are counted
once while planning: every block knows the number of its first line.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.held_content import FileContent
from weaklink.inspector.importers.records import layout_of
from weaklink.inspector.importers.remote import RemoteFile, find_remote_files
from weaklink.inspector.importers.source import Numbering, SourceFile, is_url, local_path
from weaklink.inspector.importers.streams import SeekableStream
from weaklink.inspector.memory import RECORD_BYTES

_COUNTED = 1 << 20
_COUNTERS = 8
_PARQUET = b"PAR1"


class Block(Struct, frozen=True):
    """A piece of a file. `number` counts from 0 over the whole plan.

    `kind` is `file` (all of it), `lines` (bytes `start` to `end` of JSON lines) or `rows` (row groups `start` to `end`
    of a Parquet file). `first` is the number of the first line or row, from 1. `size_bytes` and `version` are what the
    store reported when the plan was made.
    """

    number: int
    path: str
    kind: str = "file"
    start: int = 0
    end: int = 0
    first: int = 1
    size_bytes: int = 0
    version: str = ""
    is_walked: bool = False
    with_it: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The block in words, for reports: `train.jsonl, bytes 0 to 8388608`."""
        what = {"lines": "bytes", "rows": "row groups"}.get(self.kind)
        return self.path if what is None else f"{self.path}, {what} {self.start} to {self.end}"

    @property
    def content(self) -> FileContent | None:
        """The bytes of the whole file if it is remote; None for a regular file."""
        return RemoteFile(self.path, self.size_bytes, self.version) if is_url(self.path) else None

    def source_file(self) -> SourceFile:
        """The whole file, as importers read it."""
        return SourceFile(path_of(self.path), self.path, content=self.content)


class PlannedFile(Struct, frozen=True):
    """A file to plan. `is_walked`: the user named only its folder; `with_it`: files read with it as one log."""

    path: str
    is_walked: bool = False
    with_it: tuple[str, ...] = ()
    remote: RemoteFile | None = None


def expand_urls(paths: Iterable[str]) -> Iterator[PlannedFile]:
    """Each path unchanged, a `file://` URL as its path, and any other URL as the files that it matches."""
    for path in paths:
        plain = local_path(path)
        if is_url(plain):
            yield from (
                PlannedFile(file.url, is_walked=file.url != plain, remote=file) for file in find_remote_files(plain)
            )
        else:
            yield PlannedFile(plain)


def plan_blocks(files: Iterable[PlannedFile], is_cut: Callable[[SourceFile], bool], block_bytes: int) -> list[Block]:
    """The blocks of files, in order. `is_cut` returns whether each line of a file is an independent record.

    A file that cannot be read is a block too: the reader of the block reports the reason.
    """
    blocks = [block for file in files for block in _blocks_of(file, is_cut, block_bytes)]
    return [structs.replace(block, number=number) for number, block in enumerate(blocks)]


def _blocks_of(file: PlannedFile, is_cut: Callable[[SourceFile], bool], block_bytes: int) -> list[Block]:
    whole = Block(0, file.path, is_walked=file.is_walked, with_it=file.with_it)
    if file.with_it:
        return [whole]
    try:
        size, version = (file.remote.size_bytes, file.remote.version) if file.remote else _state_of(file.path)
        whole = structs.replace(whole, size_bytes=size, version=version)
        source = whole.source_file()
        if source.head.startswith(_PARQUET):
            return list(_row_blocks(whole, block_bytes))
        is_lines = size > block_bytes and not source.packing and layout_of(source.head) == "line"
        if is_lines and _first_line(source).endswith(b"\n") and is_cut(source):
            return list(_line_blocks(whole, source, block_bytes))
    except (OSError, UnreadableFileError, ValueError):  # the reader of the block reports it
        pass
    return [whole]


def _first_line(source: SourceFile) -> bytes:
    """The first line with its line feed; truncated if it is longer than a record may be."""
    with source.open() as stream:
        return stream.readline(RECORD_BYTES)


def _state_of(path: str) -> tuple[int, str]:
    state = os.stat(path)  # noqa: PTH116  # pathlib would change some paths
    return state.st_size, str(state.st_mtime_ns)


def _row_blocks(whole: Block, block_bytes: int) -> Iterator[Block]:
    """Blocks of consecutive row groups, as many as fit in `block_bytes`."""
    with open_parquet(whole) as file:
        first, start, group_bytes, rows = 1, 0, 0, 0
        groups = file.metadata.num_row_groups
        for number in range(groups):
            group = file.metadata.row_group(number)
            if group_bytes and group_bytes + group.total_byte_size > block_bytes:
                yield structs.replace(whole, kind="rows", start=start, end=number, first=first)
                first, start, group_bytes, rows = first + rows, number, 0, 0
            group_bytes += group.total_byte_size
            rows += group.num_rows
        yield structs.replace(whole, kind="rows", start=start, end=groups, first=first)


def open_parquet(block: Block) -> Any:
    """The Parquet file of a block, as pyarrow's object, a context manager. OSError and ValueError if unreadable."""
    from pyarrow import parquet  # noqa: PLC0415  # 60 ms, and optional

    content = block.content
    if content is None:
        return parquet.ParquetFile(block.path, memory_map=True, pre_buffer=False)
    return parquet.ParquetFile(content.open(), pre_buffer=False)


def _line_blocks(whole: Block, source: SourceFile, block_bytes: int) -> Iterator[Block]:
    with source.open() as stream:
        cuts = [0, *_cuts(stream, whole.size_bytes, block_bytes), whole.size_bytes]
    ranges = list(pairwise(cuts))
    with ThreadPoolExecutor(_COUNTERS) as pool:
        counts = list(pool.map(lambda place: _line_feeds(source, *place), ranges))
    first = 1
    for (start, end), lines in zip(ranges, counts, strict=True):
        yield structs.replace(whole, kind="lines", start=start, end=end, first=first)
        first += lines


def _cuts(stream: io.BufferedReader, size: int, block_bytes: int) -> Iterator[int]:
    """The positions after a line feed that are next to multiples of `block_bytes`."""
    at = 0
    while (at := at + block_bytes) < size:
        stream.seek(at - 1)
        while (piece := stream.readline(_COUNTED)) and not piece.endswith(b"\n"):
            pass
        at = stream.tell()
        if at < size:
            yield at


def _line_feeds(source: SourceFile, start: int, end: int) -> int:
    found, left = 0, end - start
    with source.open() as stream:
        stream.seek(start)
        while left and (piece := stream.read(min(_COUNTED, left))):
            found += piece.count(b"\n")
            left -= len(piece)
    return found


class BlockLines:
    """The bytes of a block of lines as `FileContent`, after the file's first line if the block begins later.

    The beginning of a file decides its source and how its rows are read; so every block has it. The reader leaves out
    the first record of such a block.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._file = block.source_file()
        self._head = b""
        if block.start:
            self._head = _first_line(self._file)

    @property
    def numbering(self) -> Numbering:
        """The numbers of the lines in the whole file."""
        return Numbering("line", self._block.first, has_head=bool(self._head))

    @property
    def size_bytes(self) -> int:
        """The number of bytes, the first line included."""
        return len(self._head) + self._block.end - self._block.start

    def open(self) -> io.BufferedReader:
        """The bytes from the beginning."""
        stream, head, start = self._file.open(), self._head, self._block.start

        def read_at(position: int, count: int) -> bytes:
            if position < len(head):
                return head[position : position + count]
            stream.seek(start + position - len(head))
            return stream.read(count)

        return io.BufferedReader(SeekableStream(self.size_bytes, read_at, stream.close), _COUNTED)


def path_of(path: str) -> Path:
    """The path that identifies sessions: for a URL the part after its scheme."""
    return Path(path.partition("://")[2]) if is_url(path) else Path(path)
