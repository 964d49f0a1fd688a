"""Places kept as numbers give the answers that a look at all of them gives."""

from bisect import bisect_left, bisect_right

from hypothesis import given
from hypothesis import strategies as st

from weaklink.ui.views.places import NO_PART, PositionIndex, PositionKey


def orders() -> st.SearchStrategy[PositionKey]:
    """Places that lie close together, some of them empty, some in no part."""
    return st.builds(
        lambda turn, part, start, length: (turn, part, start, start + length),
        st.integers(1, 3),
        st.integers(NO_PART, 1),
        st.integers(0, 5),
        st.integers(0, 4),
    )


def placed(keys: list[PositionKey], *, by_end: bool) -> PositionIndex:
    places = PositionIndex(by_end=by_end)
    for order in keys:
        places.add(*order)
    places.settle()
    return places


@given(st.lists(orders(), max_size=12), orders(), st.booleans(), st.booleans())
def test_the_next_place_is_that_of_a_sorted_list(
    keys_: list[PositionKey], here: PositionKey, by_end: bool, back: bool
) -> None:
    keys = [order if by_end else (*order[:3], 0) for order in keys_]
    ordered = sorted(range(len(keys_)), key=keys.__getitem__)
    index = (
        bisect_left(ordered, here, key=keys.__getitem__) - 1
        if back
        else bisect_right(ordered, here, key=keys.__getitem__)
    )
    wanted = ordered[index] if 0 <= index < len(ordered) else None
    places = placed(keys_, by_end=by_end)
    assert list(places.indices) == ordered
    assert places.beside(here, back=back) == wanted


@given(st.lists(orders(), max_size=12), orders(), st.booleans())
def test_the_nearest_place_is_the_first_of_the_best_of_all(
    keys: list[PositionKey], here: PositionKey, by_end: bool
) -> None:
    grades = [_grade(key, here) for key in keys]
    wanted = grades.index(max(grades)) if any(grades) else None
    assert placed(keys, by_end=by_end).nearest(here) == wanted


def _grade(key: PositionKey, here: PositionKey) -> int:
    if key[0] != here[0]:
        return 0
    return 4 if key == here else 1 if key[1] != here[1] else 3 if _holds(key, here[2]) else 2


def _holds(key: PositionKey, index: int) -> bool:
    return key[2] <= index < max(key[3], key[2] + 1)


@given(st.lists(orders(), max_size=12), orders(), st.booleans())
def test_what_stands_in_a_turn_or_a_part_is_found_without_looking_at_all(
    keys: list[PositionKey], here: PositionKey, by_end: bool
) -> None:
    places = placed(keys, by_end=by_end)
    turn, part, start, end = here
    in_part = places.of_part(turn, part)
    assert list(places.numbers(places.of_turn(turn))) == [
        index for index, record in enumerate(keys) if record[0] == turn
    ]
    assert list(places.numbers(in_part)) == [index for index, record in enumerate(keys) if record[:2] == here[:2]]
    begun = [index for index, record in enumerate(keys) if record[:2] == here[:2] and start <= record[2] < end]
    assert list(places.numbers(places.begun(in_part, start, end))) == begun
    held = [index for index, record in enumerate(keys) if record[:2] == here[:2] and _holds(record, start)]
    assert sorted(places.indices[index] for index in places.holding(in_part, start)) == held


def test_one_long_place_among_thousands_is_found() -> None:
    collected = [(1, 0, 0, 9_000), *((1, 0, index, index + 1) for index in range(1, 3_000))]
    places = placed(collected, by_end=True)
    assert list(places.holding(places.of_part(1, 0), 5_000)) == [0]
    assert list(places.holding(places.of_part(1, 0), 2_500)) == [0, 2_500]
