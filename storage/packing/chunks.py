"""The chunks of a part as one packed value: columns of numbers beside the text, never a row per chunk."""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from inspector.model import Chunks
from storage.packing.numbers import (
    pack_floats,
    pack_integers,
    pack_steps,
    unpack_floats,
    unpack_integers,
    unpack_steps,
)
from storage.packing.values import pack, unpack

_Entry = TypeVar("_Entry")
_Number = TypeVar("_Number", int, float)
_NONE = -1


def pack_chunks(chunks: Chunks) -> bytes:
    """Chunks as bytes."""
    return pack(
        [
            pack_steps(chunks.ends),
            pack_steps(chunks.sequences),
            _sparse(chunks.offsets_s, pack_floats),
            _nested(chunks.token_ids, pack_integers),
            _nested(chunks.logprobs, pack_floats),
        ]
    )


def unpack_chunks(raw: bytes) -> Chunks:
    """The chunks that `pack_chunks` was given."""
    ends, sequences, offsets, token_ids, logprobs = unpack(raw)
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


def _from_sparse(stored: Any, unpacked: Callable[[Any], Sequence[_Entry]]) -> tuple[_Entry | None, ...] | None:
    if stored is None:
        return None
    there, entries = stored[0], unpacked(stored[1])
    if not there:
        return tuple(entries)
    rest = iter(entries)
    return tuple(next(rest) if is_there else None for is_there in there)


def _nested(column: Sequence[tuple[_Number, ...] | None] | None, packed: Callable[[Sequence[_Number]], Any]) -> Any:
    """A column of tuples as their lengths and all their numbers in a row."""
    if column is None:
        return None
    lengths = [_NONE if entry is None else len(entry) for entry in column]
    return [pack_integers(lengths), packed(list(chain.from_iterable(entry for entry in column if entry)))]


def _from_nested(
    stored: Any, unpacked: Callable[[Any], Sequence[_Number]]
) -> tuple[tuple[_Number, ...] | None, ...] | None:
    if stored is None:
        return None
    lengths, numbers = unpack_integers(stored[0]), unpacked(stored[1])
    if len(lengths) == len(numbers) and min(lengths, default=1) == max(lengths, default=1) == 1:
        return tuple(zip(numbers, strict=True))  # one token a chunk, as servers mostly send
    rest = iter(numbers)
    return tuple(None if length == _NONE else tuple(islice(rest, length)) for length in lengths)
