"""Pages' questions and their answers: older ones are shown while they are counted anew, none that would not be whole.

A page asks all that it needs at once. What is not there within a moment it draws without, and puts a word in its place.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from ui.web.counter import Counter, CountQuery, CountResult, value_of
from ui.web.serving import current
from ui.web.stores import store

T = TypeVar("T")
_Questions: TypeAlias = tuple[CountQuery[Any], ...]
_Answers: TypeAlias = dict[CountQuery[Any], CountResult[Any]]

_FRESH_S = 600.0
_LEFT_S = 5.0  # a page that did not look for so long was left
_KEPT = 64
_TAKING = Lock()


@dataclass(slots=True)
class StoreQueryCache:
    """What is known of one open store, since when it is as it is, and which pages' questions are on their way.

    A page that is being counted is counted to its end, whatever comes meanwhile: else it would never be, in a database
    that is being filled.
    """

    counter: Counter
    version: str = ""
    changed_s: float = 0.0
    whole: OrderedDict[_Questions, _Answers] = field(default_factory=OrderedDict)
    going: dict[_Questions, tuple[float, float]] = field(default_factory=dict)

    def look(self) -> None:
        """See whether the database has changed."""
        pulse = self.counter.store.paging().pulse()
        version = f"{pulse.newest_id}.{len(pulse.running)}.{len(pulse.idle)}"
        if version != self.version:
            self.version, self.changed_s = version, monotonic()

    def since_s(self, questions: _Questions) -> float:
        """From when on counts of these must have begun to be answers."""
        self.look()
        since_s, seen_s = self.going.get(questions, (0.0, float("-inf")))
        if monotonic() - seen_s <= _LEFT_S:
            return since_s
        return max(self.changed_s, monotonic() - _FRESH_S)

    def go_on(self, questions: _Questions, since_s: float) -> None:
        """Note that these are on their way, and seen to be."""
        with _TAKING:
            now_s = monotonic()
            self.going = {one: seen for one, seen in self.going.items() if now_s - seen[1] <= _LEFT_S}
            self.going[questions] = (since_s, now_s)

    def keep(self, questions: _Questions, answers: _Answers) -> None:
        """Keep the answers of a whole page, to be shown while they are counted anew."""
        with _TAKING:
            self.going.pop(questions, None)
            self.whole[questions] = answers
            self.whole.move_to_end(questions)
            while len(self.whole) > _KEPT:
                self.whole.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The answers to a page's questions, as far as they are there.

    `as_of_s` is 0 where they are of the database as it is; else all are of that moment, and are being counted anew.
    `began_s`, on the monotonic clock, is when those that are not there were asked.
    """

    questions: _Questions
    answers: _Answers
    desk: StoreQueryCache
    since_s: float
    began_s: float
    as_of_s: float = 0.0

    def __contains__(self, question: CountQuery[Any]) -> bool:
        """Whether the answer is there."""
        return question in self.answers

    def __getitem__(self, question: CountQuery[T]) -> T:
        """The answer, which must be there."""
        return value_of(self.answers, question)

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


def begin(*questions: CountQuery[Any]) -> None:
    """Have questions counted while the page draws something else."""
    desk = _desk()
    desk.counter.ask(questions, desk.since_s(questions))


def sheet_of(*questions: CountQuery[Any]) -> Sheet:
    """The answers as far as they are there within a moment; all older ones together where some are being counted.

    Raises what the store says where it refuses.
    """
    desk = _desk()
    since_s = desk.since_s(questions)
    began_s = desk.counter.ask(questions, since_s)
    older = desk.whole.get(questions)
    is_slow = older is not None and any(one.took_s > current().patience_s for one in older.values())
    desk.counter.wait(questions, since_s, 0.0 if is_slow else began_s + current().patience_s)
    answers = desk.counter.known(questions, since_s)
    if len(answers) == len(questions):
        desk.keep(questions, answers)
        return Sheet(questions, answers, desk, since_s, began_s)
    desk.go_on(questions, since_s)
    if older is None:
        return Sheet(questions, answers, desk, since_s, began_s)
    at_s = min(one.at_s for one in older.values())
    return Sheet(questions, older, desk, since_s, began_s, as_of_s=at_s)


def data_version() -> str:
    """What changes when traces come or end; what only deletes is seen within ten minutes."""
    desk = _desk()
    desk.look()
    return desk.version


_DESKS: dict[str | None, StoreQueryCache] = {}


def _desk() -> StoreQueryCache:
    """That of the store which is open now: another file in the place of a database has nothing to do with the old."""
    opened = store()
    with _TAKING:
        desk = _DESKS.get(current().where)
        if desk is None or desk.counter.store is not opened:
            desk = _DESKS[current().where] = StoreQueryCache(Counter(opened))
        return desk
