"""Marks are the user's own: they stay with a trace whatever becomes of what was derived from it."""

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.errors import StoreError
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.marks import Mark
from weaklink.storage.store import Store


@pytest.fixture
def marked(store: Store) -> Store:
    """Two traces; one is marked as a whole and at a turn."""
    store.save(inspected(trace("a", GOOD_CALL), trace("b", BAD_CALL)))
    store.marks.put("a", note="look\0 here \ud800")
    store.marks.put("a", turn=2, step=1)
    return store


def _places(store: Store, id_: str) -> list[tuple[int | None, int | None, str]]:
    return [(mark.turn, mark.step, mark.note) for mark in store.marks.of([id_]).get(store.summary(id_).id, ())]


def test_a_mark_is_kept_with_its_place_and_its_note(marked: Store) -> None:
    assert _places(marked, "a") == [(None, None, "look\0 here \ud800"), (2, 1, "")]
    assert _places(marked, "b") == []
    (whole, _) = marked.marks.of(["a"])[marked.summary("a").id]
    assert isinstance(whole, Mark)
    assert whole.marked_at_s > 1e9


def test_a_list_shows_what_is_marked_and_the_newest_note(marked: Store) -> None:
    assert [(summary.name, summary.marked, summary.note) for summary in marked.traces()] == [
        ("b", False, ""),
        ("a", True, "look\0 here \ud800"),
    ]


def test_a_second_mark_at_a_place_counts(marked: Store) -> None:
    marked.marks.put("a", note="seen")
    assert sorted(_places(marked, "a"), key=str) == [(2, 1, ""), (None, None, "seen")]


def test_marks_stay_when_a_longer_version_comes_and_when_it_is_inspected_again(marked: Store) -> None:
    before = _places(marked, "a")
    marked.save(inspected(trace("a", GOOD_CALL, BAD_CALL)))
    assert marked.maintenance.reinspect(inspect_trace) == 2
    assert _places(marked, "a") == before


@pytest.mark.one_in(2)
def test_marks_are_taken_away_one_by_one_or_all(marked: Store) -> None:
    marked.marks.remove("a", turn=2, step=1)
    assert _places(marked, "a") == [(None, None, "look\0 here \ud800")]
    marked.marks.put("a", turn=1)
    marked.marks.remove("a")
    assert _places(marked, "a") == []


def test_marks_go_with_their_trace(marked: Store) -> None:
    marked.delete(["a"])
    marked.save(inspected(trace("a", GOOD_CALL)))
    assert _places(marked, "a") == []


def test_what_is_not_there_cannot_be_marked(store: Store) -> None:
    with pytest.raises(StoreError, match="no trace `nowhere`"):
        store.marks.put("nowhere")


def test_the_mark_of_the_trace_itself_is_taken_without_those_in_it(marked: Store) -> None:
    marked.marks.put("a", note="all of it")
    marked.marks.put("a", turn=2, step=1, note="this")
    marked.marks.remove("a", own_only=True)
    (left,) = marked.marks.of(["a"]).values()
    assert (None, None) not in [(mark.turn, mark.step) for mark in left]
    assert (2, 1, "this") in [(mark.turn, mark.step, mark.note) for mark in left]
