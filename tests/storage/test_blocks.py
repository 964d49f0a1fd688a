"""Blocks of ids: which hold an id, which are wanted, and how few of them hold what is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from storage.blocks import FAN, LEVELS, SMALLEST, IdRange, TraceBlock, cover, enclosing_blocks, ids_up_to, smallest

_BLOCKS = st.builds(TraceBlock, st.integers(0, LEVELS - 1), st.integers(0, 40))


@given(st.integers(0, 2**31))
def test_every_block_above_holds_the_block_below(id_: int) -> None:
    block = smallest(id_)
    for _ in range(LEVELS - 1):
        assert block.ids.start <= id_ < block.ids.end
        assert block.above.ids.start <= block.ids.start < block.ids.end <= block.above.ids.end
        block = block.above
    assert block.ids.end == ids_up_to(id_).end


@given(st.lists(_BLOCKS), st.integers(0, 2**24))
def test_blocks_and_what_is_left_between_them_are_all_ids_once(kept: list[TraceBlock], newest: int) -> None:
    ids = ids_up_to(newest)
    taken, left = cover(ids, kept)
    pieces = sorted([*(block.ids for block in taken), *left], key=lambda some: some.start)
    assert [some.start for some in pieces] == [0, *(some.end for some in pieces[:-1])]
    assert pieces[-1].end == ids.end
    assert set(taken) <= set(kept)


@given(st.lists(_BLOCKS), st.integers(0, 2**24))
def test_no_block_that_could_be_taken_is_left_out(kept: list[TraceBlock], newest: int) -> None:
    ids = ids_up_to(newest)
    taken, left = cover(ids, kept)
    for block in kept:
        within = [other for other in taken if other.ids.start <= block.ids.start < other.ids.end]
        assert within or block.ids.end > ids.end
        assert all(other.level >= block.level for other in within)
        assert not any(some.start < block.ids.end and block.ids.start < some.end for some in left if within)


def test_the_smallest_block_is_found_that_holds_two_ids() -> None:
    assert enclosing_blocks(1, SMALLEST - 1) == [TraceBlock(0, 0)]
    assert enclosing_blocks(SMALLEST * 9, SMALLEST * 15) == [TraceBlock(1, 1)]
    assert enclosing_blocks(0, SMALLEST * FAN) == [TraceBlock(2, 0)]
    last = FAN ** (LEVELS - 1)
    assert enclosing_blocks(0, SMALLEST * last * 2) == [TraceBlock(LEVELS - 1, number) for number in range(3)]


def test_a_block_is_made_of_those_below_it() -> None:
    for block in (TraceBlock(1, 0), TraceBlock(3, 5)):
        assert [below.above for below in block.below] == [block] * FAN
        assert (block.below[0].ids.start, block.below[-1].ids.end) == (block.ids.start, block.ids.end)
    assert TraceBlock(0, 3).below == []


def test_where_no_block_is_kept_all_is_left() -> None:
    assert cover(IdRange(0, 100), []) == ([], [IdRange(0, 100)])
