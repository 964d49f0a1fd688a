"""Counting beside the pages: once for all who wait, in few threads, and not for those who went away."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Lock
from time import monotonic, sleep

import pytest

from weaklink.storage.filter import FilterError
from weaklink.storage.store import Store, open_store
from weaklink.ui.web.queries import CountQuery, QueryRunner, result_value

_TIMEOUT_S = 60.0


@pytest.fixture
def store(demo_database: Path) -> Iterator[Store]:
    with open_store(demo_database, read_only=True) as opened:
        yield opened


def _waits_for(event: Event, key: str, counted: list[str]) -> CountQuery[str]:
    def count(_: Store) -> str:
        assert event.wait(_TIMEOUT_S)
        counted.append(key)
        return key

    return CountQuery(key, count)


def _wait(counter: QueryRunner, *questions: CountQuery[str], since_s: float = 0.0) -> None:
    counter.wait(questions, since_s, monotonic() + _TIMEOUT_S)


def test_a_question_that_two_pages_wait_for_is_counted_once(store: Store) -> None:
    go_on, counted = Event(), list[str]()
    counter = QueryRunner(store)
    for _ in range(2):
        counter.ask([_waits_for(go_on, "all", counted)], 0.0)
    assert counter.known([_waits_for(go_on, "all", counted)], 0.0) == {}
    go_on.set()
    query = _waits_for(go_on, "all", counted)
    _wait(counter, query)
    assert result_value(counter.known([query], 0.0), query) == "all"
    assert counted == ["all"]


def test_no_more_threads_count_at_once_than_were_allowed(store: Store) -> None:
    lock, now, most = Lock(), [0], [0]
    both = Event()

    def count(_: Store) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] == 2:
                both.set()
        assert both.wait(_TIMEOUT_S)
        with lock:
            now[0] -= 1
        return ""

    counter = QueryRunner(store, threads=2)
    questions = [CountQuery(number, count) for number in range(8)]
    _wait(counter, *questions)
    assert len(counter.known(questions, 0.0)) == 8
    assert most == [2]


def test_what_nobody_waits_for_any_more_is_not_begun(store: Store) -> None:
    begun, go_on, counted = Event(), Event(), list[str]()

    def count(_: Store) -> str:
        begun.set()
        assert go_on.wait(_TIMEOUT_S)
        return "first"

    counter = QueryRunner(store, threads=1, abandoned_after_s=0.1)
    first, left = CountQuery("first", count), _waits_for(go_on, "left", counted)
    while not begun.wait(0.01):
        counter.ask([first], 0.0)
    counter.ask([left], 0.0)
    sleep(0.2)
    go_on.set()
    last = _waits_for(go_on, "last", counted)
    _wait(counter, first, last)
    assert counted == ["last"]


def test_who_sleeps_until_an_answer_is_there_goes_on_waiting_for_it(store: Store) -> None:
    counted: list[str] = []
    go_on = Event()
    go_on.set()
    counter = QueryRunner(store, threads=1)
    questions = [_waits_for(go_on, key, counted) for key in "abcdef"]
    _wait(counter, *questions)
    assert counted == list("abcdef")


def test_an_answer_of_before_a_change_is_none_of_after_it(store: Store) -> None:
    go_on, counted = Event(), list[str]()
    go_on.set()
    counter, query = QueryRunner(store), _waits_for(go_on, "one", counted)
    _wait(counter, query)
    later_s = monotonic()
    assert counter.known([query], 0.0)
    assert counter.known([query], later_s) == {}
    _wait(counter, query, since_s=later_s)
    assert counter.known([query], later_s)
    assert counted == ["one", "one"]


def test_what_the_store_refuses_is_told_once_and_then_asked_again(store: Store) -> None:
    asked: list[str] = []

    def count(store: Store) -> list[object]:
        asked.append("again")
        return list(store.statistics.figures("status:brk"))

    counter, question = QueryRunner(store), CountQuery("refused", count)
    for _ in range(2):
        counter.wait([question], 0.0, monotonic() + _TIMEOUT_S)
        with pytest.raises(FilterError):
            counter.known([question], 0.0)
    assert counter.known([question], 0.0) == {}
    assert asked == ["again", "again"]


@pytest.mark.parametrize("key", ["\ud800", 'model:"\u202e"', ""])
def test_any_text_can_be_asked_for(store: Store, key: str) -> None:
    counter = QueryRunner(store)
    question: CountQuery[str] = CountQuery(key, _constant(key))
    _wait(counter, question)
    assert result_value(counter.known([question], 0.0), question) == key


def _constant(value: str) -> Callable[[Store], str]:
    return lambda _: value
