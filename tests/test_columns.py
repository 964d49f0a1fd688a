"""Columns of chunks are tuples to whoever reads them, however they are kept."""

from array import array
from typing import Any, TypeAlias

import pytest

from weaklink.inspector.model import Chunks
from weaklink.inspector.model.columns import (
    Column,
    Entries,
    LazyColumn,
    Numbers,
    Ragged,
    RunningSums,
    Seconds,
    Singles,
    Sparse,
)

_LONG = tuple(range(1, 1001))
_Pair: TypeAlias = tuple[Column[Any], tuple[Any, ...]]
_COLUMNS: dict[str, _Pair] = {
    "an array": (Numbers(array("d", (0.5, -0.0, 3.0))), (0.5, -0.0, 3.0)),
    "a range": (Numbers(range(4, 7)), (4, 5, 6)),
    "sums": (RunningSums(array("b", (3, 0, -1, 5))), (3, 3, 2, 7)),
    "sums of many": (RunningSums(b"\1" * 1000), _LONG),
    "sums beyond 64 bits": (RunningSums([2**70, 1]), (2**70, 2**70 + 1)),
    "seconds": (Seconds(array("i", (250_000, 1, 0))), (0.25, 0.250001, 0.250001)),
    "one number each": (Singles(array("i", (7, 8))), ((7,), (8,))),
    "several numbers each": (Ragged(b"\2\0\1", array("f", (0.5, 1.5, 2.5))), ((0.5, 1.5), (), (2.5,))),
    "gaps": (Sparse(b"\1\0\1", Singles((7, 8))), ((7,), None, (8,))),
    "many gaps": (Sparse(b"\0\1" * 500, Numbers(range(500))), tuple(x for n in range(500) for x in (None, n))),
    "sums from a start": (RunningSums(b"\0\1\2", 500), (500, 501, 503)),
    "seconds from a start": (Seconds(array("i", (0, 250_000)), 10**12), (1e6, 1000000.25)),
    "made things": (LazyColumn(b"\1\2\3", str), ("1", "2", "3")),
    "nothing": (RunningSums(b""), ()),
}


@pytest.fixture(params=_COLUMNS.values(), ids=list(_COLUMNS))
def pair(request: pytest.FixtureRequest) -> _Pair:
    """A column, and the tuple of its entries."""
    columns: _Pair = request.param
    return columns


def test_entries_are_the_same_by_index_and_in_order(pair: _Pair) -> None:
    column, entries = pair
    assert len(column) == len(entries)
    assert tuple(column) == entries
    assert [column[index] for index in range(len(entries))] == list(entries)
    assert [column[-index] for index in range(1, len(entries) + 1)] == list(reversed(entries))
    assert column[1:] == entries[1:]
    assert column[::-2] == entries[::-2]


def test_equality_hash_and_words_are_those_of_a_tuple(pair: _Pair) -> None:
    column, entries = pair
    assert column == entries
    assert entries == column
    assert hash(column) == hash(entries)
    assert repr(column) == repr(entries)
    assert column != (*entries, None)
    assert column != list(entries)


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(IndexError, match=f"no entry {index} in a column of 3"):
        Numbers(range(3))[index]


def test_numbers_that_do_not_fill_the_tuples_are_refused() -> None:
    with pytest.raises(ValueError, match="3 numbers do not match the lengths of a column of 2 tuples"):
        Ragged(b"\1\1", (1, 2, 3))


def test_entries_that_do_not_fill_the_places_are_refused() -> None:
    with pytest.raises(ValueError, match="1 entries for 2 places"):
        Sparse(b"\1\0\1", Singles((7,)))


def test_chunks_are_equal_however_their_columns_are_kept() -> None:
    ends: Entries[int] = RunningSums(b"\1\2")
    packed = Chunks(ends, Numbers(range(2)), Seconds(b"\0\0"), Sparse(b"\0\1", Singles((5,))))
    plain = Chunks((1, 3), (0, 1), (0.0, 0.0), (None, (5,)))
    assert packed == plain
    assert hash(packed) == hash(plain)
    with pytest.raises(ValueError, match="2 chunks, but a column of 3"):
        Chunks(ends, Numbers(range(3)))
