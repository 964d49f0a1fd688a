"""Numbers, durations and times in few cells."""

from datetime import UTC

import pytest

from weaklink.ui.views.styled_text import short_count, short_duration, short_time

NOW_S = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_140, "9.1k"),
        (99_949, "99.9k"),
        (99_960, "100k"),
        (999_600, "1.0M"),
        (1_234_567, "1.2M"),
        (10**18, "1000000T"),
    ],
)
def test_a_count_keeps_its_first_digits(number: int, said: str) -> None:
    assert short_count(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0ms"),
        (0.31, "310ms"),
        (0.9999, "1.0s"),
        (5.84, "5.8s"),
        (59.4, "59s"),
        (59.6, "1m00"),
        (110, "1m50"),
        (7_500, "2h05"),
        (273_600, "3d04"),
        (1e12, ">999d"),
    ],
)
def test_a_duration_keeps_its_two_greatest_units(seconds: float, said: str) -> None:
    assert short_duration(seconds) == said


@pytest.mark.parametrize(
    ("at_s", "room", "said"),
    [
        (NOW_S - 60, 12, "22:12:20"),
        (NOW_S - 86_400, 12, "Nov 13 22:13"),
        (NOW_S - 86_400, 8, "Nov 13"),
        (0.0, 12, "1970-01-01"),
        (0.0, 8, "1970-01"),
        (1e300, 8, "?"),
    ],
)
def test_a_time_is_as_exact_as_its_age_needs(at_s: float, room: int, said: str) -> None:
    assert short_time(at_s, NOW_S, room, UTC) == said
