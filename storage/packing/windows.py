"""The chunks of a long part as a shelf of windows. The last `end` of each is told: a place in the text leads to it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from inspector.model import Chunks
from inspector.model.columns import Ascending, Windowed
from storage.packing.blobs import from_blob, to_blob
from storage.packing.chunks import pack_chunks, unpack_chunks
from storage.packing.numbers import pack_steps, unpack_steps
from storage.packing.shelf import Shelf, is_shelf, reads, shelf_blob
from storage.packing.spool import Read

WINDOW = 4096
"""How many chunks a window holds: 100 KB or so of numbers."""

_KEPT = 16  # windows that are kept unpacked: those that a screen shows, and a few that a search came by
_COLUMNS = ("offsets_s", "token_ids", "logprobs")


def chunks_blob(chunks: Chunks, packed: bytes) -> bytes:
    """Chunks as they lie in a column of the database; `packed` are the same by `pack_chunks`, which few are kept as."""
    return to_blob(packed) if len(chunks) <= WINDOW else _in_windows(chunks)


def chunks_from_blob(blob: bytes) -> Chunks:
    """The chunks that `chunks_blob` was given; DamagedBlobError for a blob that it never made."""
    return read_windows(reads(blob)) if is_shelf(blob) else unpack_chunks(from_blob(blob))


def read_windows(read: Read) -> Chunks:
    """The chunks of a shelf that was `checked`; a window is unpacked where somebody looks, out of `read`."""
    shelf = Shelf(read)
    length, size, columns, lasts = shelf.told

    @lru_cache(_KEPT)
    def window(number: int) -> Chunks:
        return unpack_chunks(shelf.piece(number))

    def column(name: str) -> Windowed[Any]:
        return Windowed(length, size, lambda number: getattr(window(number), name))

    return Chunks(
        Ascending(tuple(unpack_steps(lasts)), length, size, lambda number: window(number).ends),
        column("sequences"),
        **{name: column(name) for name in columns},
    )


def _in_windows(chunks: Chunks) -> bytes:
    kept = [name for name in _COLUMNS if getattr(chunks, name) is not None]
    windows = [
        to_blob(pack_chunks(_cut(chunks, kept, slice(at, at + WINDOW)), apart=True))
        for at in range(0, len(chunks), WINDOW)
    ]
    lasts = [chunks.ends[min(at + WINDOW, len(chunks)) - 1] for at in range(0, len(chunks), WINDOW)]
    return shelf_blob([len(chunks), WINDOW, kept, pack_steps(lasts)], windows)


def _cut(chunks: Chunks, kept: Sequence[str], where: slice) -> Chunks:
    columns = {name: getattr(chunks, name)[where] for name in kept}
    return Chunks(chunks.ends[where], chunks.sequences[where], **columns)
