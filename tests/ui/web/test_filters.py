"""Filters put together by clicks can be read by the one language there is, and are never said twice."""

from pathlib import Path

import pytest

from tests.ui.web.hostile import make_hostile
from weaklink.storage.filter import check_filter
from weaklink.storage.store import open_store
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.web.filter_bar import ValueFilter, column_terms, field, narrowed, position_filters, trace_filters


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


@pytest.mark.slow
def test_every_value_of_a_trace_and_of_its_calls_leads_to_a_list_that_has_the_trace(
    demo_database: Path, tmp_path: Path
) -> None:
    names = set()
    for database in (demo_database, make_hostile(tmp_path / "hostile.db")):
        names |= _names_of_filters(database)
    assert {"status", "model", "break", "break_tool", "source", "format", "rule", "tool", "$.city"} <= names


def _names_of_filters(database: Path) -> set[str]:
    """The names of the values of the traces in a database, each of which the list of its filter has the trace for."""
    names = set()
    with open_store(database, read_only=True) as store:
        for summary in store.traces(limit=500):
            dissection = Dissection(*store.inspected(summary.id))
            collected = [
                *trace_filters(summary),
                *(ValueFilter(key, "", term) for key, term in column_terms(summary).items()),
            ]
            for step in dissection.inspection.chain.steps:
                collected += position_filters(dissection, step.location)
            for fault in dissection.inspection.diagnostics[:20]:
                collected += position_filters(dissection, fault.location)
            for each in dict.fromkeys(collected):
                names.add(each.name)
                assert store.paging().count(f"{each.term} id:{summary.id}") == 1, each
    return names
