"""What was made last is kept."""

from collections.abc import Callable

import pytest

from weaklink.inspector.memory import LruCache

_Looked = Callable[..., list[int]]


@pytest.fixture
def looked() -> _Looked:
    """Gives what is made for looks at numbers, each of which weighs itself, with room for 60."""
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    recent = LruCache(make, lambda number: number, 60)

    def look(*numbers: int) -> list[int]:
        made.clear()
        assert [recent(number) for number in numbers] == list(numbers)
        return list(made)

    return look


def test_what_was_made_last_is_not_made_again_while_there_is_room(looked: _Looked) -> None:
    assert looked(11, 12, 13, 14, 11, 12) == [11, 12, 13, 14]
    assert looked(15, 11, 12, 15, 13) == [15, 13]


def test_of_what_is_heavy_the_last_two_are_kept_whatever_light_things_come(looked: _Looked) -> None:
    assert looked(100, 200, *range(1, 15), 200, 100) == [100, 200, *range(1, 15)]
    assert looked(300, 100, 200) == [300, 200]
