"""A scan of a long list comes in steps of bounded work, each of which can be the last."""

import pytest
from msgspec.structs import replace

from storage import ScanPlace, Store
from tests.storage.conftest import NewStore
from tests.storage.samples import GOOD_CALL, inspected, trace

_TRACES = 40


@pytest.fixture(scope="module")
def numbered(new_store: NewStore) -> Store:
    """Traces of the same name but for one, the oldest; half of them began at a time that nobody knows."""
    store = new_store()
    made = (trace(f"s{at}", GOOD_CALL, started_s=float(at // 3) if at % 2 else None) for at in range(_TRACES))
    store.save(inspected(*(replace(one, name="the oldest" if one.name == "s0" else "run") for one in made)))
    store.search.index_pending()
    return store


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.finding.FIRST_STEP", 4)
    monkeypatch.setattr("storage.finding._NARROWEST", 4)
    monkeypatch.setattr("storage.finding._WIDEST", 4)


def test_a_step_says_how_far_it_went(numbered: Store) -> None:
    steps = list(numbered.paging().scan("name:*oldest", limit=5))
    assert [len(step.found) for step in steps] == [0] * (_TRACES // 4) + [1] or sum(
        len(one.found) for one in steps
    ) == 1
    places = [step.next for step in steps if step.next is not None]
    assert [place.looked_at for place in places] == list(range(4, 4 * len(places) + 1, 4))
    assert [place.total for place in places] == [0, *[_TRACES] * (len(places) - 1)]


def test_a_page_that_is_full_ends_the_scan(numbered: Store) -> None:
    (step,) = numbered.paging().scan("name:*un", limit=3)
    assert len(step.found) == 3
    assert step.next is not None
    assert step.next.after == step.found[-1].cursor


def test_what_an_index_finds_takes_one_step(numbered: Store) -> None:
    for wanted in ("", "name:the*", "session:S0*", "calls:1", "calls:>7", "status:ok", "id:1", "zyzzyva"):
        assert len(list(numbered.paging().scan(wanted, limit=_TRACES + 1))) == 1, wanted


def test_a_scan_goes_on_in_another_connection_and_misses_nothing_that_was_there(numbered: Store) -> None:
    place: ScanPlace | None = ScanPlace()
    found: list[int] = []
    while place is not None:
        step = numbered.paging().scan_step("-name:*zzz*", limit=3, place=place)
        found += [one.summary.id for one in step.found]
        place = step.next
    assert found == [one.id for one in numbered.traces(limit=_TRACES)]
