"""A small selection out of a large product, in which every pair of values meets once."""

from collections.abc import Mapping, Sequence
from itertools import combinations

Row = dict[str, str]
_Pair = tuple[tuple[str, str], tuple[str, str]]


def covering_rows(values: Mapping[str, Sequence[str]]) -> list[Row]:
    """Rows with a value for each name, so that each pair of values of two names is in some row; always the same ones.

    Greedy: a row begins with the first pair that no row has, and takes for each other name the value that adds most.
    """
    missing = dict.fromkeys(
        ((one, left), (other, right))
        for one, other in combinations(values, 2)
        for left in values[one]
        for right in values[other]
    )
    rows: list[Row] = []
    while missing:
        row = dict(next(iter(missing)))
        for name in values:
            if name not in row:
                offset = len(rows) % len(values[name])  # where several add as much, not always the first
                offered = [*values[name][offset:], *values[name][:offset]]
                added = [len(missing.keys() & _pairs(row | {name: value}, values)) for value in offered]
                row[name] = offered[added.index(max(added))]
        for pair in _pairs(row, values):
            missing.pop(pair, None)
        rows.append({name: row[name] for name in values})
    return rows


def _pairs(row: Row, values: Mapping[str, Sequence[str]]) -> list[_Pair]:
    return list(combinations([(name, row[name]) for name in values if name in row], 2))
