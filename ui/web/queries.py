"""Background queries over many traces: each is computed once in a thread, however many pages wait for its result.

A query that no page waits for any more is not started; one that has started runs to its end, and its result is cached.
"""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from threading import Condition, Lock, Thread
from time import monotonic, time
from typing import Any, Generic, TypeAlias, TypeVar, cast

import streamlit as st
from msgspec import Struct, field

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.checks.schema_complexity import SchemaComplexity
from inspector.errors import WeaklinkError
from storage import Prompt, Store, Violations
from ui.views.styled_text import short_time
from ui.web.markup import put_sentence
from ui.web.navigation import parameter
from ui.web.stores import current_options, store

T = TypeVar("T")
_THREADS = 2  # one that nobody waits for any more leaves room for another, and both room for the page
_KEPT = 512
_ABANDONED_S = 5.0  # pages ask twice a second while they are looked at
_RETRY_AFTER_FAILURE_S = 5.0  # who asks later than that after a failure has it counted again
_RETRY_S = 1.0
_MOST_VIOLATIONS = 200
T_co = TypeVar("T_co", covariant=True)

_FRESH_S = 600.0
_ABANDONED_PAGE_S = 5.0  # a page that did not look for so long was left
_VERSIONS_KEPT = 64
_LOCK = Lock()
_EVERY_S = 0.5
_LONG_S = 2.0  # from here on the seconds are told


@dataclasses.dataclass(frozen=True, slots=True)
class CountQuery(Generic[T_co]):
    """What is asked of a store. `key` says all of it: questions of one key have one answer."""

    key: Hashable
    count: Callable[[Store], T_co] = dataclasses.field(compare=False)


class CountResult(Struct, Generic[T_co], frozen=True):
    """What was counted: when that began, by the monotonic clock and by the calendar's, and how long it took."""

    value: T_co
    began_s: float
    at_s: float
    took_s: float


class _QueryJob(Struct):
    """A question on its way; `began_s` is 0 until a thread has taken it."""

    question: CountQuery[Any]
    asked_s: float
    wanted_s: float
    began_s: float = 0.0


class QueryRunner:
    """Counts for one open store, in `threads` threads at most, none while nothing is asked; for any thread to use.

    A question that has not begun is dropped where nobody asked again for `unwanted_s`. `since_s`, on the monotonic
    clock, says from when on a count must have begun to be an answer.
    """

    def __init__(self, store: Store, *, threads: int = _THREADS, unwanted_s: float = _ABANDONED_S) -> None:
        self.store = store
        self._threads, self._working = threads, 0
        self._unwanted_s = unwanted_s
        self._changed = Condition()
        self._jobs: dict[CountQuery[Any], _QueryJob] = {}
        self._answers: OrderedDict[CountQuery[Any], CountResult[Any]] = OrderedDict()
        self._faults: dict[CountQuery[Any], tuple[float, BaseException]] = {}

    def ask(self, questions: Iterable[CountQuery[Any]], since_s: float) -> float:
        """Have counted what is not known, and say that it is waited for: to be called again and again meanwhile.

        When the first that is not known was asked; infinity where all are.
        """
        with self._changed:
            unknown = [one for one in questions if not (self._has_failed(one) or self._is_known(one, since_s))]
            return min([self._want(one) for one in unknown], default=float("inf"))

    def wait(self, questions: Iterable[CountQuery[Any]], since_s: float, until_s: float) -> None:
        """Sleep until all are known, or one failed, or it is `until_s`."""
        asked = tuple(questions)
        with self._changed:
            while (left_s := until_s - monotonic()) > 0 and not any(map(self._has_failed, asked)):
                if self.ask(asked, since_s) == float("inf"):
                    return
                self._changed.wait(min(left_s, _RETRY_S))

    def known(self, questions: Iterable[CountQuery[Any]], since_s: float) -> dict[CountQuery[Any], CountResult[Any]]:
        """The answers that are there.

        Raises what a count of them ended with, once: whoever asks again has it counted again.
        """
        asked = tuple(questions)
        with self._changed:
            faults = [self._faults.pop(one)[1] for one in asked if self._has_failed(one)]
            if faults:
                raise faults[0]
            found = {one: self._answers[one] for one in asked if self._is_known(one, since_s)}
            for one in found:
                self._answers.move_to_end(one)
            return found

    def has_more(self, questions: Iterable[CountQuery[Any]], since_s: float, known: int) -> bool:
        """Whether more than so many are known by now, or one failed."""
        asked = tuple(questions)
        with self._changed:
            return any(map(self._has_failed, asked)) or known < sum(self._is_known(one, since_s) for one in asked)

    def _has_failed(self, question: CountQuery[Any]) -> bool:
        return question in self._faults and monotonic() - self._faults[question][0] <= _RETRY_AFTER_FAILURE_S

    def _is_known(self, question: CountQuery[Any], since_s: float) -> bool:
        return question in self._answers and self._answers[question].began_s >= since_s

    def _want(self, question: CountQuery[Any]) -> float:
        now_s = monotonic()
        job = self._jobs.get(question)
        if job is not None:
            job.wanted_s = now_s
            return job.asked_s
        self._jobs[question] = _QueryJob(question, now_s, now_s)
        if self._working < self._threads:
            self._working += 1
            Thread(target=self._work, name="weaklink-counting", daemon=True).start()
        return now_s

    def _work(self) -> None:
        """Count one question after the other until there is none."""
        while (job := self._next()) is not None:
            self._count(job)

    def _next(self) -> _QueryJob | None:
        with self._changed:
            now_s = monotonic()
            waiting = [job for job in self._jobs.values() if not job.began_s]
            for job in waiting:
                if now_s - job.wanted_s <= self._unwanted_s:
                    job.began_s = now_s
                    return job
                del self._jobs[job.question]
            self._working -= 1
            return None

    def _count(self, job: _QueryJob) -> None:
        at_s = time()
        try:
            value = job.question.count(self.store)
        except WeaklinkError as error:
            self._end(job, error)
        except BaseException as error:  # ends this thread, and is told to whoever waits
            self._end(job, error)
            with self._changed:
                self._working -= 1
            raise
        else:
            self._end(job, CountResult(value, job.began_s, at_s, monotonic() - job.began_s))

    def _end(self, job: _QueryJob, outcome: CountResult[Any] | BaseException) -> None:
        with self._changed:
            del self._jobs[job.question]
            self._faults = {one: fault for one, fault in self._faults.items() if self._has_failed(one)}
            if isinstance(outcome, BaseException):
                self._faults[job.question] = (monotonic(), outcome)
            else:
                self._answers[job.question] = outcome
                self._answers.move_to_end(job.question)
                while len(self._answers) > _KEPT:
                    self._answers.popitem(last=False)
            self._changed.notify_all()


def result_value(answers: dict[CountQuery[Any], CountResult[Any]], question: CountQuery[T]) -> T:
    """The value of a question's answer, which must be there."""
    return cast("T", answers[question].value)


def grouped(wanted: str, *by: GroupKey) -> CountQuery[tuple[GroupFigures, ...]]:
    """What the traces that a filter lets through come to, group by group; one group of all where `by` is empty."""
    return CountQuery(("grouped", wanted, by), lambda store: tuple(store.statistics.figures(wanted, by=by)))


def counted_traces(wanted: str) -> CountQuery[int]:
    """How many traces a filter lets through."""
    return CountQuery(("traces", wanted), lambda store: store.paging().count(wanted))


def sliced(wanted: str, aspect: Aspect) -> CountQuery[tuple[Slice, ...]]:
    """How many of the traces that a filter lets through show which value of an aspect."""
    return CountQuery(("sliced", wanted, aspect), lambda store: tuple(store.statistics.breakdown(aspect, wanted)))


def violated(wanted: str) -> CountQuery[tuple[Violations, ...]]:
    """Which places of which tools' schemas were broken, the most frequent first."""
    return CountQuery(
        ("violated", wanted), lambda store: tuple(store.statistics.violations(wanted, limit=_MOST_VIOLATIONS))
    )


def schemas_of(tools: Sequence[str]) -> CountQuery[dict[str, SchemaComplexity]]:
    """How intricate the schemas of these tools are."""
    named = tuple(tool for tool in tools if tool)
    return CountQuery(("schemas", named), lambda store: store.statistics.schemas(named))


def prompts_of(hashes: Sequence[str]) -> CountQuery[dict[str, Prompt]]:
    """What the prompts with these hashes are known by."""
    named = tuple(one for one in hashes if one)
    return CountQuery(("prompts", named), lambda store: store.statistics.prompts(named))


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits


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
            while len(self.whole) > _VERSIONS_KEPT:
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
