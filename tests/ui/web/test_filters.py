"""Filters put together by clicks can be read by the one language there is, and are never said twice."""

import pytest

from storage import check_filter
from ui.web.filter_bar import field, narrowed, on_day


@pytest.mark.parametrize("value", ["gpt-4", "two words", 'a "quoted" one', "back\\slash", "a,b", "(x)", "or", "ü", "*"])
def test_any_value_makes_a_filter_that_can_be_read(value: str) -> None:
    check_filter(field("model", value))


def test_a_further_term_must_hold_too() -> None:
    assert narrowed("", "status:broken") == "status:broken"
    assert narrowed("Oslo", "status:broken", "", "code:J104") == "Oslo status:broken code:J104"


def test_a_choice_is_held_together_before_it_is_narrowed() -> None:
    assert narrowed("code:J104 or code:S2", "status:ok") == "(code:J104 or code:S2) status:ok"


@pytest.mark.parametrize("term", ["status:broken", 'model:"two words"'])
def test_a_term_that_is_there_is_not_said_again(term: str) -> None:
    assert narrowed(f"{term} Oslo", term) == f"{term} Oslo"


def test_a_longer_term_that_begins_so_is_another() -> None:
    assert narrowed("model:gpt-4o", "model:gpt-4") == "model:gpt-4o model:gpt-4"


def test_a_day_ends_where_the_next_begins() -> None:
    assert on_day("2026-02-28") == "since:2026-02-28 before:2026-03-01"
    check_filter(on_day("2026-02-28"))
