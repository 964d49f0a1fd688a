"""Background queries over many traces: each is computed once in a thread, however many pages wait for its result.

Theory of operation. Streamlit runs the script of a page from top to bottom after every click, and a count over many
traces may take seconds. So a page does not compute: it names its queries, draws the results that are there, and runs
again when there are more. A `CountQuery` is identified by its key, such as `("grouped", "status:broken", (MODEL,))`;
queries with equal keys are one, in whichever page, tab or browser they are named.

A query is at any time in one of these states of a `QueryRunner`:

    unknown    no result that began late enough, and no job
    waiting    a job that no thread has begun; dropped once no page has requested it for five seconds
    running    a job that a thread has begun; it runs to its end, also if all pages that wanted it were left
    known      a result: its value, when its query began and how long it took; the least recently used are dropped
    failed     an error, which `known` raises once; the next request runs the query again

When the database has changed, results that began before the change are not valid any more (`StoreQueryCache.since_s`).
The page then shows its last complete set of results, marked "as of 14:03:09, counting again", until all new ones are
there: figures of two versions are never mixed in one set. While a recorder writes, the database changes all the time;
the queries of a page that is being completed stay valid for it, or it would never be complete.
"""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from threading import Condition, Lock, Thread
from time import monotonic, time
from typing import Any, Generic, TypeAlias, TypeVar, cast

import streamlit as st
from msgspec import Struct, field

from weaklink.inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from weaklink.inspector.checks.schema_complexity import SchemaComplexity
from weaklink.inspector.errors import WeaklinkError
from weaklink.storage.statistics import Prompt, Violations
from weaklink.storage.store import Store
from weaklink.ui.views.styled_text import short_time
from weaklink.ui.web.markup import put_sentence, put_summary
from weaklink.ui.web.navigation import parameter
from weaklink.ui.web.stores import current_options, store
from weaklink.ui.web.watching import put_part, watch

T = TypeVar("T")
_THREADS = 2  # while an abandoned query runs, another one can start; two leave time for the page
_CACHED_RESULTS = 512
_ABANDONED_S = 5.0  # open pages repeat their requests twice a second
_RETRY_AFTER_FAILURE_S = 5.0  # after a failure, a request later than this runs the query again
_RETRY_S = 1.0
_MAX_VIOLATIONS = 200
T_co = TypeVar("T_co", covariant=True)

_FRESH_S = 600.0
_ABANDONED_PAGE_S = 5.0  # a page that has not polled for this long was left
_MAX_VERSIONS = 64
_LOCK = Lock()
_EVERY_S = 0.5
_LONG_S = 2.0  # after this wait, the seconds are shown


@dataclasses.dataclass(frozen=True, slots=True)
class CountQuery(Generic[T_co]):
    """A query of a store. `key` identifies it: queries with equal keys have the same result."""

    key: Hashable
    count: Callable[[Store], T_co] = dataclasses.field(compare=False)


class CountResult(Struct, Generic[T_co], frozen=True):
    """A query's value, when it began (`began_s` on the monotonic clock, `at_s` since 1970), and how long it took."""

    value: T_co
    began_s: float
    at_s: float
    took_s: float


class _QueryJob(Struct):
    """A queued or running query; `began_s` is 0 until a thread has taken it."""

    query: CountQuery[Any]
    requested_s: float
    last_request_s: float
    began_s: float = 0.0


class QueryRunner:
    """Runs queries on one open store, in at most `threads` threads, and in none while it is idle. Thread-safe.

    A query that has not begun is dropped if it is not requested again within `abandoned_after_s`. A result is valid for
    a request if its query began at `since_s`, on the monotonic clock, or later.
    """

    def __init__(self, store: Store, *, threads: int = _THREADS, abandoned_after_s: float = _ABANDONED_S) -> None:
        self.store = store
        self._threads, self._working = threads, 0
        self._unwanted_s = abandoned_after_s
        self._changed = Condition()
        self._jobs: dict[CountQuery[Any], _QueryJob] = {}
        self._results: OrderedDict[CountQuery[Any], CountResult[Any]] = OrderedDict()
        self._failures: dict[CountQuery[Any], tuple[float, BaseException]] = {}

    def ask(self, queries: Iterable[CountQuery[Any]], since_s: float) -> float:
        """Queue the queries without a result; call it again and again while you wait, or they are dropped.

        Returns the time of the first request for the oldest of them; infinity if no result is missing.
        """
        with self._changed:
            unknown = [query for query in queries if not (self._has_failed(query) or self._is_known(query, since_s))]
            return min([self._enqueue(query) for query in unknown], default=float("inf"))

    def wait(self, queries: Iterable[CountQuery[Any]], since_s: float, until_s: float) -> None:
        """Sleep until all results are available, or one query failed, or it is `until_s`."""
        requested = tuple(queries)
        with self._changed:
            while (left_s := until_s - monotonic()) > 0 and not any(map(self._has_failed, requested)):
                if self.ask(requested, since_s) == float("inf"):
                    return
                self._changed.wait(min(left_s, _RETRY_S))

    def known(self, queries: Iterable[CountQuery[Any]], since_s: float) -> dict[CountQuery[Any], CountResult[Any]]:
        """The available results.

        Raises the exception of a failed query, once: the next request runs it again.
        """
        requested = tuple(queries)
        with self._changed:
            failures = [self._failures.pop(query)[1] for query in requested if self._has_failed(query)]
            if failures:
                raise failures[0]
            known = {query: self._results[query] for query in requested if self._is_known(query, since_s)}
            for query in known:
                self._results.move_to_end(query)
            return known

    def has_more(self, queries: Iterable[CountQuery[Any]], since_s: float, known: int) -> bool:
        """Whether more than `known` results are available by now, or one query failed."""
        requested = tuple(queries)
        with self._changed:
            return any(map(self._has_failed, requested)) or known < sum(
                self._is_known(query, since_s) for query in requested
            )

    def _has_failed(self, query: CountQuery[Any]) -> bool:
        return query in self._failures and monotonic() - self._failures[query][0] <= _RETRY_AFTER_FAILURE_S

    def _is_known(self, query: CountQuery[Any], since_s: float) -> bool:
        return query in self._results and self._results[query].began_s >= since_s

    def _enqueue(self, query: CountQuery[Any]) -> float:
        now_s = monotonic()
        job = self._jobs.get(query)
        if job is not None:
            job.last_request_s = now_s
            return job.requested_s
        self._jobs[query] = _QueryJob(query, now_s, now_s)
        if self._working < self._threads:
            self._working += 1
            Thread(target=self._work, name="weaklink-counting", daemon=True).start()
        return now_s

    def _work(self) -> None:
        """Run one query after another until none is left."""
        while (job := self._next()) is not None:
            self._count(job)

    def _next(self) -> _QueryJob | None:
        with self._changed:
            now_s = monotonic()
            waiting = [job for job in self._jobs.values() if not job.began_s]
            for job in waiting:
                if now_s - job.last_request_s <= self._unwanted_s:
                    job.began_s = now_s
                    return job
                del self._jobs[job.query]
            self._working -= 1
            return None

    def _count(self, job: _QueryJob) -> None:
        at_s = time()
        try:
            value = job.query.count(self.store)
        except WeaklinkError as error:
            self._end(job, error)
        except BaseException as error:  # ends this thread; `known` raises it again
            self._end(job, error)
            with self._changed:
                self._working -= 1
            raise
        else:
            self._end(job, CountResult(value, job.began_s, at_s, monotonic() - job.began_s))

    def _end(self, job: _QueryJob, outcome: CountResult[Any] | BaseException) -> None:
        with self._changed:
            del self._jobs[job.query]
            self._failures = {failed: failure for failed, failure in self._failures.items() if self._has_failed(failed)}
            if isinstance(outcome, BaseException):
                self._failures[job.query] = (monotonic(), outcome)
            else:
                self._results[job.query] = outcome
                self._results.move_to_end(job.query)
                while len(self._results) > _CACHED_RESULTS:
                    self._results.popitem(last=False)
            self._changed.notify_all()


def result_value(results: dict[CountQuery[Any], CountResult[Any]], query: CountQuery[T]) -> T:
    """The value of a query, whose result must be available."""
    return cast("T", results[query].value)


def grouped(filter_text: str, *by: GroupKey) -> CountQuery[tuple[GroupFigures, ...]]:
    """The figures of the traces that match a filter, by group; one group of all traces if `by` is empty."""
    return CountQuery(("grouped", filter_text, by), lambda store: tuple(store.statistics.figures(filter_text, by=by)))


def counted_traces(filter_text: str) -> CountQuery[int]:
    """The number of traces that match a filter."""
    return CountQuery(("traces", filter_text), lambda store: store.paging().count(filter_text))


def sliced(filter_text: str, aspect: Aspect) -> CountQuery[tuple[Slice, ...]]:
    """The number of traces that match a filter, for each value of an aspect."""
    return CountQuery(
        ("sliced", filter_text, aspect), lambda store: tuple(store.statistics.breakdown(aspect, filter_text))
    )


def violated(filter_text: str) -> CountQuery[tuple[Violations, ...]]:
    """The violated places in tools' schemas, the most frequent first; at most 200."""
    return CountQuery(
        ("violated", filter_text), lambda store: tuple(store.statistics.violations(filter_text, limit=_MAX_VIOLATIONS))
    )


def schemas_of(tools: Sequence[str]) -> CountQuery[dict[str, SchemaComplexity]]:
    """The complexity of these tools' schemas, by tool."""
    named = tuple(tool for tool in tools if tool)
    return CountQuery(("schemas", named), lambda store: store.statistics.schemas(named))


def prompts_of(hashes: Sequence[str]) -> CountQuery[dict[str, Prompt]]:
    """The prompts with these hashes, by hash."""
    named = tuple(hash_ for hash_ in hashes if hash_)
    return CountQuery(("prompts", named), lambda store: store.statistics.prompts(named))


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits


_Queries: TypeAlias = tuple[CountQuery[Any], ...]
_Results: TypeAlias = dict[CountQuery[Any], CountResult[Any]]


class StoreQueryCache(Struct):
    """The results for one open store, when the store last changed, and the pages whose queries are running.

    The queries of a page run to the end, even if traces arrive in between: else a page would never be complete while a
    database is being filled.
    """

    runner: QueryRunner
    version: str = ""
    changed_s: float = 0.0
    complete: OrderedDict[_Queries, _Results] = field(default_factory=OrderedDict)
    in_progress: dict[_Queries, tuple[float, float]] = field(default_factory=dict)

    def refresh(self) -> None:
        """Check whether the database has changed. While a recorder writes, only its traces tell."""
        stamp, stored = self.runner.store.stamp(), self.runner.store.paging().version()
        version = f"{stored.newest_id}.{len(stored.running)}.{len(stored.idle)}.{'' if stored.open else stamp}"
        if version != self.version:
            self.version, self.changed_s = version, monotonic()

    def since_s(self, queries: _Queries) -> float:
        """When the queries of a page must have begun, at the earliest, for their results to be valid."""
        self.refresh()
        since_s, seen_s = self.in_progress.get(queries, (0.0, float("-inf")))
        if monotonic() - seen_s <= _ABANDONED_PAGE_S:
            return since_s
        return max(self.changed_s, monotonic() - _FRESH_S)

    def mark_in_progress(self, queries: _Queries, since_s: float) -> None:
        """Record that these queries are running, and that a page waits for them now."""
        with _LOCK:
            now_s = monotonic()
            self.in_progress = {
                waiting: seen for waiting, seen in self.in_progress.items() if now_s - seen[1] <= _ABANDONED_PAGE_S
            }
            self.in_progress[queries] = (since_s, now_s)

    def keep(self, queries: _Queries, results: _Results) -> None:
        """Keep the results of a complete page, to show them while its queries run again."""
        with _LOCK:
            self.in_progress.pop(queries, None)
            self.complete[queries] = results
            self.complete.move_to_end(queries)
            while len(self.complete) > _MAX_VERSIONS:
                self.complete.popitem(last=False)


class PageResults(Struct, frozen=True):
    """The available results of a page's queries.

    `as_of_s` is 0 if they describe the current database; else all of them describe it at that time (in seconds since
    1970), and the queries run again. `began_s`, on the monotonic clock, is when the missing ones were requested.
    """

    queries: _Queries
    results: _Results
    cache: StoreQueryCache
    since_s: float
    began_s: float
    as_of_s: float = 0.0

    def __contains__(self, query: CountQuery[Any]) -> bool:
        """Whether the result is available."""
        return query in self.results

    def __getitem__(self, query: CountQuery[T]) -> T:
        """The value of a query, whose result must be available."""
        return result_value(self.results, query)

    def is_settled(self) -> bool:
        """Whether all results are available and current."""
        return not self.as_of_s and len(self.results) == len(self.queries)

    def has_more(self) -> bool:
        """Whether there are more results by now; also requests the queries again, so that they are not dropped."""
        self.cache.mark_in_progress(self.queries, self.since_s)
        self.cache.runner.ask(self.queries, self.since_s)
        known = len(self.queries) - 1 if self.as_of_s else len(self.results)
        return self.cache.runner.has_more(self.queries, self.since_s, known)

    def wait(self, until_s: float) -> None:
        """Sleep until no query of the page is running, or it is `until_s`."""
        self.cache.runner.wait(self.queries, self.since_s, until_s)


def start_queries(*queries: CountQuery[Any]) -> None:
    """Start queries, so that they run while the page draws other elements."""
    cache = _cache()
    cache.runner.ask(queries, cache.since_s(queries))


def page_results(*queries: CountQuery[Any]) -> PageResults:
    """The results that are available after a short wait; if some are missing, the last complete set, if there is one.

    Raises the error of a failed query.
    """
    cache = _cache()
    since_s = cache.since_s(queries)
    began_s = cache.runner.ask(queries, since_s)
    older = cache.complete.get(queries)
    is_slow = older is not None and any(result.took_s > current_options().patience_s for result in older.values())
    cache.runner.wait(queries, since_s, 0.0 if is_slow else began_s + current_options().patience_s)
    results = cache.runner.known(queries, since_s)
    if len(results) == len(queries):
        cache.keep(queries, results)
        return PageResults(queries, results, cache, since_s, began_s)
    cache.mark_in_progress(queries, since_s)
    if older is None:
        return PageResults(queries, results, cache, since_s, began_s)
    at_s = min(result.at_s for result in older.values())
    return PageResults(queries, older, cache, since_s, began_s, as_of_s=at_s)


def data_version() -> str:
    """A version that changes when traces arrive or end, and with every other write while none is being recorded."""
    cache = _cache()
    cache.refresh()
    return cache.version


_CACHES: dict[str | None, StoreQueryCache] = {}


def _cache() -> StoreQueryCache:
    """The cache of the store that is open now: a database whose file was replaced gets a new one."""
    opened = store()
    with _LOCK:
        cache = _CACHES.get(current_options().where)
        if cache is None or cache.runner.store is not opened:
            cache = _CACHES[current_options().where] = StoreQueryCache(QueryRunner(opened))
        return cache


def put_progress(results: PageResults, sentence: str = "", *, key: str = "page") -> None:
    """Draw a sentence, followed by a note while figures are being counted.

    The page is redrawn when more results are available. `key` tells apart the parts of a page that ask the same.
    """
    if not results.is_settled():
        put_part(_poll, results, sentence, key)
    elif sentence:
        put_summary(sentence)


def put_placeholder(height: int) -> None:
    """Reserve `height` CSS pixels for figures that are being counted, so that the page below does not move."""
    st.html(f'<div class="wl-room" style="height: {height}px">counting …</div>')


def wait_for(query: CountQuery[T]) -> T:
    """The value of a query, if need be an older one; without one, waits and shows the progress. The user can leave."""
    placeholder = st.empty()
    while query not in (results := page_results(query)):
        with placeholder.container():  # here Streamlit can end the run of a page that was left
            put_sentence(aside=_counting(results, parameter("filter")))
        results.wait(monotonic() + _EVERY_S)
    placeholder.empty()  # the last call on `placeholder`: a container that followed at once would keep the old content
    with st.container():
        put_progress(results)
    return results[query]


def _poll(results: PageResults, sentence: str, part: str) -> None:
    if results.has_more():
        st.rerun()
    filter_text = parameter("filter")
    words = _counting(results, filter_text)
    if sentence:
        put_summary(sentence, aside=words)
    else:
        put_sentence(aside=words)
    key = f"figures_{part}_{hash(results.queries)}"
    watch(lambda: "more" if results.has_more() else _counting(results, filter_text), words, key=key, every_s=_EVERY_S)


def _counting(results: PageResults, filter_text: str) -> str:
    if results.as_of_s:
        return f"as of {short_time(results.as_of_s, time())}, counting again …"
    waited_s = monotonic() - results.began_s
    seconds = f" {waited_s:.0f} s" if waited_s >= _LONG_S else ""
    return f"Counting {'the traces that match the filter' if filter_text else 'all traces'} …{seconds}"
