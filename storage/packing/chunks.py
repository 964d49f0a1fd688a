"""The chunks of a part as bytes: a few arrays of numbers instead of a row for each token.

Theory of operation. A server sends some 50 chunks a second, each of a token or a few, and what is to be kept of each is
where it ends, when it came, and perhaps its token ids with their log probabilities:

    ends          3, 8, 9, 15           the differences 3, 5, 1, 6, of one byte each
    sequences     7, 8, 9, 10           the differences 7, 1, 1, 1: consecutive, so read back as a range
    offsets_s     0.25, 0.27, 0.31      whole microseconds as differences, if that restores every number exactly
    token_ids     (5,), (7, 9), None    the lengths 1, 2, -1, and the ids 5, 7, 9
    logprobs      (-0.1,), ...          the same, in single precision if that is exact, else double

`packing.values` chooses the narrowest array that restores all of a column. A token takes 4 to 20 bytes before
compression, where a row would take 40 and ten times the time to write.

Reading copies nothing: each column is a view of the unpacked bytes (`inspector.model.columns`), which builds an entry
when it is accessed. So a stream of a million tokens is opened in some 30 ms, most of them for decompression.

weaklink 0.2.0 stored more than 4,096 chunks in windows that were read one by one: a header `[length, 4096, names,
lasts, sizes]`, and a blob of the columns of each window, with the first number of a window apart from the differences.
They are read into the same columns, and stored in one piece when their trace is written again.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from struct import Struct
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from weaklink.inspector.model import Chunks
from weaklink.inspector.model.columns import Column, Ragged, Singles, Sparse
from weaklink.storage.packing import values
from weaklink.storage.packing.blobs import DamagedBlobError, from_blob

_NONE, _NO_LENGTH = -1, b"\xff"
_WINDOWED = (b"\x5a", b"\2")  # the first bytes of blobs of windows; the second one before tables v0007
_WINDOWED_HEAD = Struct("<cII")  # the mark, the checksum of all bytes after this head, and the size of the header


def chunks_from_blob(blob: bytes) -> Chunks:
    """The chunks of a blob of `pack_chunks`; DamagedBlobError or another ValueError for any other bytes."""
    return _from_windows(blob) if blob[:1] in _WINDOWED else unpack_chunks(from_blob(blob))


def _from_windows(blob: bytes) -> Chunks:
    if len(blob) < _WINDOWED_HEAD.size:
        raise DamagedBlobError("a packed column is too short to contain its checksum")
    _, checksum, size = _WINDOWED_HEAD.unpack_from(blob)
    body = blob[_WINDOWED_HEAD.size :]
    if checksum != crc32(body):
        raise DamagedBlobError("checksum mismatch in the windows of a packed column")
    _, _, names, _, sizes = values.unpack(from_blob(body[:size]))
    starts = accumulate(values.unpack_integers(sizes), initial=size)
    windows = [unpack_chunks(from_blob(body[start:end])) for start, end in pairwise(starts)]

    def joined(name: str) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(getattr(window, name) for window in windows))

    whole = Chunks(joined("ends"), joined("sequences"), **{name: joined(name) for name in names})
    return unpack_chunks(pack_chunks(whole))  # in a few bytes each


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


def pack_chunks(chunks: Chunks) -> bytes:
    """Chunks as bytes."""
    return values.pack(
        [
            values.pack_steps(chunks.ends),
            values.pack_steps(chunks.sequences),
            _sparse(chunks.offsets_s, values.pack_floats),
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
