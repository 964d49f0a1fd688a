"""Sums by group as bytes: a column for each part of the groups' keys, one for each sum."""

from collections.abc import Iterable
from operator import add
from typing import TypeAlias

from storage.packing.numbers import pack_integers, unpack_integers
from storage.packing.values import pack, unpack

Sums: TypeAlias = dict[tuple[str, ...], tuple[int, ...]]
"""Whole numbers by the key of their group; as many of both for every group."""


def pack_sums(sums: Sums) -> bytes:
    """Sums as bytes."""
    keys = list(zip(*sums, strict=True))
    numbers = [pack_integers(column) for column in zip(*sums.values(), strict=True)]
    return pack([len(sums), keys, numbers])


def unpack_sums(raw: bytes) -> Sums:
    """The sums that `pack_sums` was given."""
    count, keys, numbers = unpack(raw)
    columns = [unpack_integers(column) for column in numbers]
    groups = zip(*keys, strict=True) if keys else ((),) * count
    return dict(zip(groups, zip(*columns, strict=True), strict=True))


def added(parts: Iterable[Sums]) -> Sums:
    """The sums of all parts, group by group."""
    whole: Sums = {}
    for part in parts:
        if not whole:
            whole = dict(part)
            continue
        for key, numbers in part.items():
            held = whole.get(key)
            whole[key] = numbers if held is None else tuple(map(add, held, numbers))
    return whole
