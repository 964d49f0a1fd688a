"""The chunks of a long part as a row of windows, each packed by itself: any of them is unpacked without the others.

A window's numbers are 100 KB or so, those of a stream of ten million tokens a quarter of a gigabyte. In front of the
windows stands a table with their sizes and the last `end` of each, so that a place in the text leads to its window.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from struct import Struct
from typing import Any, NamedTuple
from zlib import crc32

from inspector.model import Chunks
from inspector.model.columns import Ascending, Windowed
from storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from storage.packing.chunks import pack_chunks, unpack_chunks
from storage.packing.numbers import pack_integers, pack_steps, unpack_integers, unpack_steps
from storage.packing.spool import Read
from storage.packing.values import pack, unpack

WINDOW = 4096
"""How many chunks a window holds."""

_MARK = b"\2"
_HEAD = Struct("<cII")  # the mark, the checksum of all that follows, and the size of the table
_KEPT = 16  # windows that are kept unpacked: those that a screen shows, and a few that a search came by
_COLUMNS = ("offsets_s", "token_ids", "logprobs")


class _Table(NamedTuple):
    """Where the windows lie: `starts` are offsets in the blob, one more than there are windows."""

    length: int
    size: int
    columns: tuple[str, ...]
    lasts: Sequence[int]
    starts: Sequence[int]


def chunks_blob(chunks: Chunks, packed: bytes) -> bytes:
    """Chunks as they lie in a column of the database; `packed` are the same by `pack_chunks`, which few are kept as."""
    return to_blob(packed) if len(chunks) <= WINDOW else _in_windows(chunks)


def chunks_from_blob(blob: bytes) -> Chunks:
    """The chunks that `chunks_blob` was given; DamagedBlobError for a blob that it never made."""
    if blob[:1] != _MARK:
        return unpack_chunks(from_blob(blob))
    for _ in checked((blob,)):
        pass
    view = memoryview(blob)
    return read_windows(lambda start, size: bytes(view[start : start + size]))


def is_windowed(begin: bytes) -> bool:
    """Whether a blob that begins so can be read window by window."""
    return begin[:1] == _MARK


def checked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a windowed blob as they are, the first of them a kilobyte or all of it.

    DamagedBlobError behind the last where the blob is not as it was written.
    """
    found = told = 0
    behind = _HEAD.size
    for piece in pieces:
        if behind:
            _, told, _ = _HEAD.unpack_from(piece)
        found, behind = crc32(memoryview(piece)[behind:], found), 0
        yield piece
    if found != told:
        raise DamagedBlobError("the windows of a packed column are not as they were written")


def read_windows(read: Read) -> Chunks:
    """The chunks of a windowed blob that was `checked`; a window is unpacked where somebody looks, out of `read`."""
    table = _table(read)
    window = lru_cache(_KEPT)(partial(_window, read, table.starts))

    def column(name: str) -> Windowed[Any]:
        return Windowed(table.length, table.size, lambda number: getattr(window(number), name))

    return Chunks(
        Ascending(table.lasts, table.length, table.size, lambda number: window(number).ends),
        column("sequences"),
        **{name: column(name) for name in table.columns},
    )


def _in_windows(chunks: Chunks) -> bytes:
    kept = [name for name in _COLUMNS if getattr(chunks, name) is not None]
    windows = [
        to_blob(pack_chunks(_cut(chunks, kept, slice(at, at + WINDOW)), apart=True))
        for at in range(0, len(chunks), WINDOW)
    ]
    lasts = [chunks.ends[min(at + WINDOW, len(chunks)) - 1] for at in range(0, len(chunks), WINDOW)]
    sizes = pack_integers(list(map(len, windows)))
    body = b"".join(windows)
    table = to_blob(pack([len(chunks), WINDOW, kept, pack_steps(lasts), sizes]))
    return _HEAD.pack(_MARK, crc32(body, crc32(table)), len(table)) + table + body


def _cut(chunks: Chunks, kept: Sequence[str], where: slice) -> Chunks:
    columns = {name: getattr(chunks, name)[where] for name in kept}
    return Chunks(chunks.ends[where], chunks.sequences[where], **columns)


def _table(read: Read) -> _Table:
    _, _, size = _HEAD.unpack(read(0, _HEAD.size))
    count, window, columns, lasts, sizes = unpack(from_blob(read(_HEAD.size, size)))
    starts = tuple(accumulate(unpack_integers(sizes), initial=_HEAD.size + size))
    return _Table(count, window, tuple(columns), tuple(unpack_steps(lasts)), starts)


def _window(read: Read, starts: Sequence[int], number: int) -> Chunks:
    return unpack_chunks(from_blob(read(starts[number], starts[number + 1] - starts[number])))
