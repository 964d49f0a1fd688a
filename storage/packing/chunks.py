"""The chunks of a part as one packed value: columns of numbers beside the text, never a row per chunk."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import msgspec

from inspector.model import Chunks
from inspector.model.columns import Column, Ragged, Singles, Sparse
from storage.packing.numbers import (
    BYTES,
    pack_floats,
    pack_integers,
    pack_steps,
    unpack_floats,
    unpack_integers,
    unpack_steps,
)
from storage.packing.values import pack

_Entry = TypeVar("_Entry")
_Number = TypeVar("_Number", int, float)
_NONE, _NO_LENGTH = -1, b"\xff"
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
_IS_THERE = bytes(length != _NO_LENGTH[0] for length in range(256))


def pack_chunks(chunks: Chunks, *, apart: bool = False) -> bytes:
    """Chunks as bytes; `apart` for those from the middle of a stream, whose first numbers are large."""
    return pack(
        [
            pack_steps(chunks.ends, apart=apart),
            pack_steps(chunks.sequences, apart=apart),
            _sparse(chunks.offsets_s, partial(pack_floats, apart=apart)),
            _nested(chunks.token_ids, pack_integers),
            _nested(chunks.logprobs, pack_floats),
        ]
    )


def unpack_chunks(raw: bytes) -> Chunks:
    """The chunks that `pack_chunks` was given; their columns look into `raw`, which lives as long as they do."""
    ends, sequences, offsets, token_ids, logprobs = _columns(raw)
    return Chunks(
        unpack_steps(ends),
        unpack_steps(sequences),
        _from_sparse(offsets, unpack_floats),
        _from_nested(token_ids, unpack_integers),
        _from_nested(logprobs, unpack_floats),
    )


def _sparse(column: Sequence[_Entry | None] | None, packed: Callable[[Sequence[_Entry]], Any]) -> Any:
    """A column as its entries and, where some are None, a byte an entry that says which are there."""
    if column is None:
        return None
    there = bytes(entry is not None for entry in column)
    return [b"" if all(there) else there, packed([entry for entry in column if entry is not None])]


def _from_sparse(
    stored: Any, unpacked: Callable[[Any], Column[_Entry]]
) -> Column[_Entry] | Column[_Entry | None] | None:
    if stored is None:
        return None
    there, entries = stored[0], unpacked(stored[1])
    return Sparse(bytes(there), entries) if there else entries


def _nested(column: Sequence[tuple[_Number, ...] | None] | None, packed: Callable[[Sequence[_Number]], Any]) -> Any:
    """A column of tuples as their lengths and all their numbers in a row."""
    if column is None:
        return None
    lengths = [_NONE if entry is None else len(entry) for entry in column]
    return [pack_integers(lengths), packed(list(chain.from_iterable(entry for entry in column if entry)))]


def _from_nested(
    stored: Any, unpacked: Callable[[Any], Sequence[_Number]]
) -> Column[tuple[_Number, ...]] | Column[tuple[_Number, ...] | None] | None:
    if stored is None:
        return None
    (code, raw), numbers = stored[0], unpacked(stored[1])
    if code != BYTES:
        lengths = unpack_integers((code, raw))
        there = bytes(length != _NONE for length in lengths)
        entries: Column[tuple[_Number, ...]] = Ragged([length for length in lengths if length != _NONE], numbers)
        return Sparse(there, entries) if 0 in there else entries
    written = bytes(raw)
    there, lengths = written.translate(_IS_THERE), written.replace(_NO_LENGTH, b"")
    one_each = lengths.count(1) == len(lengths) == len(numbers)  # as servers mostly send
    entries = Singles(numbers) if one_each else Ragged(lengths, numbers)
    return Sparse(there, entries) if len(lengths) < len(written) else entries
