"""Results of background queries as pages show them: older results and placeholders until the new ones are complete.

A page requests all its queries at once. Where a result is missing after a moment, the page is drawn with a
placeholder.
"""

from collections import OrderedDict
from threading import Lock
from time import monotonic, time
from typing import Any, TypeAlias, TypeVar

import streamlit as st
from msgspec import Struct, field

from ui.views.wording import short_time
from ui.web.markup import put_sentence
from ui.web.navigation import parameter
from ui.web.options import current_options
from ui.web.queries import CountQuery, CountResult, QueryRunner, result_value
from ui.web.stores import store

T = TypeVar("T")
_FRESH_S = 600.0
_ABANDONED_PAGE_S = 5.0  # a page that did not look for so long was left
_KEPT = 64
_LOCK = Lock()
_EVERY_S = 0.5
_LONG_S = 2.0  # from here on the seconds are told
_Queries: TypeAlias = tuple[CountQuery[Any], ...]
_Results: TypeAlias = dict[CountQuery[Any], CountResult[Any]]


class StoreQueryCache(Struct):
    """What is known of one open store, since when it is as it is, and which pages' questions are on their way.

    A page that is being counted is counted to its end, whatever comes meanwhile: else it would never be, in a database
    that is being filled.
    """

    counter: QueryRunner
    version: str = ""
    changed_s: float = 0.0
    whole: OrderedDict[_Queries, _Results] = field(default_factory=OrderedDict)
    going: dict[_Queries, tuple[float, float]] = field(default_factory=dict)

    def look(self) -> None:
        """See whether the database has changed."""
        pulse = self.counter.store.paging().pulse()
        version = f"{pulse.newest_id}.{len(pulse.running)}.{len(pulse.idle)}"
        if version != self.version:
            self.version, self.changed_s = version, monotonic()

    def since_s(self, questions: _Queries) -> float:
        """From when on counts of these must have begun to be answers."""
        self.look()
        since_s, seen_s = self.going.get(questions, (0.0, float("-inf")))
        if monotonic() - seen_s <= _ABANDONED_PAGE_S:
            return since_s
        return max(self.changed_s, monotonic() - _FRESH_S)

    def go_on(self, questions: _Queries, since_s: float) -> None:
        """Note that these are on their way, and seen to be."""
        with _LOCK:
            now_s = monotonic()
            self.going = {one: seen for one, seen in self.going.items() if now_s - seen[1] <= _ABANDONED_PAGE_S}
            self.going[questions] = (since_s, now_s)

    def keep(self, questions: _Queries, answers: _Results) -> None:
        """Keep the answers of a whole page, to be shown while they are counted anew."""
        with _LOCK:
            self.going.pop(questions, None)
            self.whole[questions] = answers
            self.whole.move_to_end(questions)
            while len(self.whole) > _KEPT:
                self.whole.popitem(last=False)


class PageResults(Struct, frozen=True):
    """The answers to a page's questions, as far as they are there.

    `as_of_s` is 0 where they are of the database as it is; else all are of that moment, and are being counted anew.
    `began_s`, on the monotonic clock, is when those that are not there were asked.
    """

    questions: _Queries
    answers: _Results
    desk: StoreQueryCache
    since_s: float
    began_s: float
    as_of_s: float = 0.0

    def __contains__(self, question: CountQuery[Any]) -> bool:
        """Whether the answer is there."""
        return question in self.answers

    def __getitem__(self, question: CountQuery[T]) -> T:
        """The answer, which must be there."""
        return result_value(self.answers, question)

    def is_settled(self) -> bool:
        """Whether nothing of it is being counted."""
        return not self.as_of_s and len(self.answers) == len(self.questions)

    def has_more(self) -> bool:
        """Whether there is more to show by now than this; says too that it is waited for."""
        self.desk.go_on(self.questions, self.since_s)
        self.desk.counter.ask(self.questions, self.since_s)
        known = len(self.questions) - 1 if self.as_of_s else len(self.answers)
        return self.desk.counter.has_more(self.questions, self.since_s, known)

    def wait(self, until_s: float) -> None:
        """Sleep until nothing of it is being counted, or it is `until_s`."""
        self.desk.counter.wait(self.questions, self.since_s, until_s)


def start_queries(*questions: CountQuery[Any]) -> None:
    """Have questions counted while the page draws something else."""
    desk = _cache()
    desk.counter.ask(questions, desk.since_s(questions))


def page_results(*questions: CountQuery[Any]) -> PageResults:
    """The answers as far as they are there within a moment; all older ones together where some are being counted.

    Raises what the store says where it refuses.
    """
    desk = _cache()
    since_s = desk.since_s(questions)
    began_s = desk.counter.ask(questions, since_s)
    older = desk.whole.get(questions)
    is_slow = older is not None and any(one.took_s > current_options().patience_s for one in older.values())
    desk.counter.wait(questions, since_s, 0.0 if is_slow else began_s + current_options().patience_s)
    answers = desk.counter.known(questions, since_s)
    if len(answers) == len(questions):
        desk.keep(questions, answers)
        return PageResults(questions, answers, desk, since_s, began_s)
    desk.go_on(questions, since_s)
    if older is None:
        return PageResults(questions, answers, desk, since_s, began_s)
    at_s = min(one.at_s for one in older.values())
    return PageResults(questions, older, desk, since_s, began_s, as_of_s=at_s)


def data_version() -> str:
    """What changes when traces come or end; what only deletes is seen within ten minutes."""
    desk = _cache()
    desk.look()
    return desk.version


_CACHES: dict[str | None, StoreQueryCache] = {}


def _cache() -> StoreQueryCache:
    """That of the store which is open now: another file in the place of a database has nothing to do with the old."""
    opened = store()
    with _LOCK:
        desk = _CACHES.get(current_options().where)
        if desk is None or desk.counter.store is not opened:
            desk = _CACHES[current_options().where] = StoreQueryCache(QueryRunner(opened))
        return desk


def put_progress(sheet: PageResults, said: str = "") -> None:
    """Say that figures are being counted, behind the sentence that tells them; where none are, the sentence alone.

    The page is drawn anew when there are more.
    """
    if not sheet.is_settled():
        st.fragment(_look, run_every=_EVERY_S)(sheet, said)
    elif said:
        put_sentence(said, is_strong=True)


def put_placeholder(height: int) -> None:
    """Keep the room, of so many CSS pixels, of what is being counted: what stands below it does not move."""
    st.html(f'<div class="wl-room" style="height: {height}px">counting …</div>')


def wait_for(question: CountQuery[T]) -> T:
    """The answer, waited for where there is not even an older one; says so meanwhile, and can be left."""
    place = st.empty()
    while question not in (sheet := page_results(question)):
        with place.container():  # a place where Streamlit ends the run of a page that was left
            put_sentence("", aside=_counting(sheet))
        sheet.wait(monotonic() + _EVERY_S)
    place.empty()  # which must be the last word: a container that follows at once would keep what stood here
    with st.container():
        put_progress(sheet)
    return sheet[question]


def _look(sheet: PageResults, said: str) -> None:
    if sheet.has_more():
        st.rerun()
    put_sentence(said, is_strong=True, aside=_counting(sheet))


def _counting(sheet: PageResults) -> str:
    if sheet.as_of_s:
        return f"as of {short_time(sheet.as_of_s, time())}, counting again …"
    waited_s = monotonic() - sheet.began_s
    told = f" {waited_s:.0f} s" if waited_s >= _LONG_S else ""
    return f"Counting {'what the filter lets through' if parameter('filter') else 'all traces'} …{told}"
