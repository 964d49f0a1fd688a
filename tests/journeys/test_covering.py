"""The selection of stories: every pair of values meets, and it is much smaller than the product."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests.journeys.covering import covering_rows

_NAMES = st.lists(st.integers(1, 5), min_size=2, max_size=5)


@given(_NAMES)
def test_every_pair_of_values_meets(counts: list[int]) -> None:
    values = {f"n{at}": [f"v{number}" for number in range(count)] for at, count in enumerate(counts)}
    rows = covering_rows(values)
    for one, other in combinations(values, 2):
        met = {(row[one], row[other]) for row in rows}
        assert met == {(left, right) for left in values[one] for right in values[other]}
    assert rows == covering_rows(values)


def test_a_selection_is_small() -> None:
    values = {name: [str(number) for number in range(9)] for name in "abcd"}
    assert 81 <= len(covering_rows(values)) <= 130
