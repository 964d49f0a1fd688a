"""What two texts have in common at their start and end is what comparing them character by character gives."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.text import shared_prefix, shared_suffix


def equal_items(first: Sequence[object], two: Sequence[object]) -> int:
    pairs = enumerate(zip(first, two, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(first), len(two)))


LENGTHS = st.sampled_from([0, 1, 2, 63, 64, 65, 127, 191, 192, 193, 4095, 66_000, 200_001])


@given(LENGTHS, LENGTHS, LENGTHS, LENGTHS, st.sampled_from(["x", "é", "\ud83d"]))
def test_the_common_start_and_end_are_exact(start: int, first: int, other: int, end: int, sign: str) -> None:
    first_text, two = f"{sign * start}{'a' * first}{sign * end}", f"{sign * start}{'b' * other}{sign * end}"
    prefix = equal_items(first_text, two)
    assert shared_prefix(first_text, two) == prefix
    most = min(len(first_text), len(two)) - prefix
    suffix = min(equal_items(first_text[::-1], two[::-1]), most)
    assert shared_suffix(first_text, two, most) == suffix
    raw_one, raw_two = (text.encode("utf-16-le", "surrogatepass") for text in (first_text, two))
    assert shared_prefix(raw_one, raw_two) == equal_items(raw_one, raw_two)


@pytest.mark.parametrize("most", [-3, 0, 1, 5])
def test_a_common_end_is_not_longer_than_allowed(most: int) -> None:
    assert shared_suffix("a" * 9, "b" + "a" * 8, most) == max(most, 0)
