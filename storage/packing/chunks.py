"""The chunks of a part as packed columns of numbers, without their text; those of a long part in pages."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, TypeVar

import msgspec

from weaklink.inspector.model import Chunks
from weaklink.inspector.model.columns import Ascending, Column, Ragged, Singles, Sparse, Windowed
from weaklink.storage.packing import values
from weaklink.storage.packing.blobs import from_blob, to_blob
from weaklink.storage.packing.paged_blobs import PagedBlob, Read, is_paged, page_reader, paged_blob

WINDOW = 4096
"""Number of chunks in a window: about 100 KB of numbers."""

_KEPT = 16  # unpacked windows in the cache: those that a screen shows, and a few that a search has visited
_COLUMNS = ("offsets_s", "token_ids", "logprobs")
_NONE, _NO_LENGTH = -1, b"\xff"


def chunks_blob(chunks: Chunks, packed: bytes) -> bytes:
    """Chunks as a blob for the database; `packed` is the result of `pack_chunks`, which is stored if they are few."""
    return to_blob(packed) if len(chunks) <= WINDOW else _in_windows(chunks)


def chunks_from_blob(blob: bytes) -> Chunks:
    """The chunks of a blob from `chunks_blob`; DamagedBlobError for any other bytes."""
    return read_windows(page_reader(blob)) if is_paged(blob) else unpack_chunks(from_blob(blob))


def read_windows(read: Read) -> Chunks:
    """The chunks of a paged blob whose checksum was verified; a window is read and unpacked when it is accessed."""
    blob = PagedBlob(read)
    length, size, columns, lasts = blob.header

    @lru_cache(_KEPT)
    def window(number: int) -> Chunks:
        return unpack_chunks(blob.piece(number))

    def column(name: str) -> Windowed[Any]:
        return Windowed(length, size, lambda number: getattr(window(number), name))

    return Chunks(
        Ascending(tuple(values.unpack_steps(lasts)), length, size, lambda number: window(number).ends),
        column("sequences"),
        **{name: column(name) for name in columns},
    )


def _in_windows(chunks: Chunks) -> bytes:
    kept = [name for name in _COLUMNS if getattr(chunks, name) is not None]
    windows = [
        to_blob(pack_chunks(_slice(chunks, kept, slice(index, index + WINDOW)), apart=True))
        for index in range(0, len(chunks), WINDOW)
    ]
    lasts = [chunks.ends[min(index + WINDOW, len(chunks)) - 1] for index in range(0, len(chunks), WINDOW)]
    return paged_blob([len(chunks), WINDOW, kept, values.pack_steps(lasts)], windows)


def _slice(chunks: Chunks, kept: Sequence[str], indices: slice) -> Chunks:
    columns = {name: getattr(chunks, name)[indices] for name in kept}
    return Chunks(chunks.ends[indices], chunks.sequences[indices], **columns)


_Entry = TypeVar("_Entry")
_Number = TypeVar("_Number", int, float)
_Packed = tuple[str, memoryview]

_columns = msgspec.msgpack.Decoder(
    tuple[
        _Packed,
        _Packed,
        tuple[memoryview, _Packed] | None,
        tuple[_Packed, _Packed] | None,
        tuple[_Packed, _Packed] | None,
    ]
).decode

_IS_PRESENT = bytes(length != _NO_LENGTH[0] for length in range(256))


def pack_chunks(chunks: Chunks, *, apart: bool = False) -> bytes:
    """Chunks as bytes; `apart` for chunks from the middle of a stream, whose first numbers are large."""
    return values.pack(
        [
            values.pack_steps(chunks.ends, apart=apart),
            values.pack_steps(chunks.sequences, apart=apart),
            _sparse(chunks.offsets_s, partial(values.pack_floats, apart=apart)),
            _nested(chunks.token_ids, values.pack_integers),
            _nested(chunks.logprobs, values.pack_floats),
        ]
    )


def unpack_chunks(raw: bytes) -> Chunks:
    """The inverse of `pack_chunks`; the columns are views of `raw` and keep it alive."""
    ends, sequences, offsets, token_ids, logprobs = _columns(raw)
    return Chunks(
        values.unpack_steps(ends),
        values.unpack_steps(sequences),
        _from_sparse(offsets, values.unpack_floats),
        _from_nested(token_ids, values.unpack_integers),
        _from_nested(logprobs, values.unpack_floats),
    )


def _sparse(column: Sequence[_Entry | None] | None, packed: Callable[[Sequence[_Entry]], Any]) -> Any:
    """A column as its entries and, if some are None, one byte per entry: whether it is present."""
    if column is None:
        return None
    entries = [entry for entry in column if entry is not None]
    present = b"" if len(entries) == len(column) else bytes([entry is not None for entry in column])
    return [present, packed(entries)]


def _from_sparse(
    stored: Any, unpacked: Callable[[Any], Column[_Entry]]
) -> Column[_Entry] | Column[_Entry | None] | None:
    if stored is None:
        return None
    present, entries = stored[0], unpacked(stored[1])
    return Sparse(bytes(present), entries) if present else entries


def _nested(column: Sequence[tuple[_Number, ...] | None] | None, packed: Callable[[Sequence[_Number]], Any]) -> Any:
    """A column of tuples as their lengths and all their numbers."""
    if column is None:
        return None
    lengths = [_NONE if entry is None else len(entry) for entry in column]
    return [values.pack_integers(lengths), packed(list(chain.from_iterable(entry for entry in column if entry)))]


def _from_nested(
    stored: Any, unpacked: Callable[[Any], Sequence[_Number]]
) -> Column[tuple[_Number, ...]] | Column[tuple[_Number, ...] | None] | None:
    if stored is None:
        return None
    (code, raw), numbers = stored[0], unpacked(stored[1])
    if code != values.BYTES:
        lengths = values.unpack_integers((code, raw))
        present = bytes(length != _NONE for length in lengths)
        entries: Column[tuple[_Number, ...]] = Ragged([length for length in lengths if length != _NONE], numbers)
        return Sparse(present, entries) if 0 in present else entries
    written = bytes(raw)
    present, lengths = written.translate(_IS_PRESENT), written.replace(_NO_LENGTH, b"")
    one_each = lengths.count(1) == len(lengths) == len(numbers)  # the usual case
    entries = Singles(numbers) if one_each else Ragged(lengths, numbers)
    return Sparse(present, entries) if len(lengths) < len(written) else entries
