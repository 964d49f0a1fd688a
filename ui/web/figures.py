"""Aggregates from the database for the pages: counted beside them, kept until the database changes, shown meanwhile.

A page asks all its questions at once. What is not there within a moment it draws without, and puts a word in its place.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

from inspector.chain.metrics_groups import Aspect, GroupFigures, GroupKey, Slice
from inspector.checks.schema_complexity import SchemaComplexity
from storage import Prompt, Store, Violations
from ui.web.counter import Answer, Counter, Question, value_of
from ui.web.serving import current
from ui.web.stores import store

T = TypeVar("T")

_FRESH_S = 600.0
_KEPT = 64
_MOST_VIOLATIONS = 200


def grouped(wanted: str, *by: GroupKey) -> Question[tuple[GroupFigures, ...]]:
    """What the traces that a filter lets through come to, group by group; one group of all where `by` is empty."""
    return Question(("grouped", wanted, by), lambda store: tuple(store.figures(wanted, by=by)))


def sliced(wanted: str, aspect: Aspect) -> Question[tuple[Slice, ...]]:
    """How many of the traces that a filter lets through show which value of an aspect."""
    return Question(("sliced", wanted, aspect), lambda store: tuple(store.breakdown(aspect, wanted)))


def violated(wanted: str) -> Question[tuple[Violations, ...]]:
    """Which places of which tools' schemas were broken, the most frequent first."""
    return Question(("violated", wanted), lambda store: tuple(store.violations(wanted, limit=_MOST_VIOLATIONS)))


def schemas_of(tools: Sequence[str]) -> Question[dict[str, SchemaComplexity]]:
    """How intricate the schemas of these tools are."""
    named = tuple(tool for tool in tools if tool)
    return Question(("schemas", named), lambda store: store.schemas(named))


def prompts_of(hashes: Sequence[str]) -> Question[dict[str, Prompt]]:
    """What the prompts with these hashes are known by."""
    named = tuple(one for one in hashes if one)
    return Question(("prompts", named), lambda store: store.prompts(named))


def hits(group: GroupFigures, measure: str) -> int:
    """How many of a group's traces or calls a measure counts."""
    return group.tally(measure).hits


@dataclass(frozen=True, slots=True)
class Sheet:
    """The answers to a page's questions, as far as they are there.

    `as_of_s` is 0 where they are of the database as it is; else all are of that moment, and are being counted anew.
    `began_s`, on the monotonic clock, is when those that are not there were asked.
    """

    questions: tuple[Question[Any], ...]
    answers: dict[Question[Any], Answer[Any]]
    counter: Counter
    since_s: float
    began_s: float
    as_of_s: float = 0.0

    def __contains__(self, question: Question[Any]) -> bool:
        """Whether the answer is there."""
        return question in self.answers

    def __getitem__(self, question: Question[T]) -> T:
        """The answer, which must be there."""
        return value_of(self.answers, question)

    def is_settled(self) -> bool:
        """Whether nothing of it is being counted."""
        return not self.as_of_s and len(self.answers) == len(self.questions)

    def has_more(self) -> bool:
        """Whether there is more to show by now than this; says too that it is waited for."""
        self.counter.ask(self.questions, self.since_s)
        known = len(self.questions) - 1 if self.as_of_s else len(self.answers)
        return self.counter.has_more(self.questions, self.since_s, known)


def begin(*questions: Question[Any]) -> None:
    """Have questions counted while the page draws something else."""
    desk = _desk()
    desk.counter.ask(questions, desk.since_s())


def sheet_of(*questions: Question[Any]) -> Sheet:
    """The answers as far as they are there within a moment; all older ones together where some are being counted.

    Raises what the store says where it refuses.
    """
    desk = _desk()
    since_s = desk.since_s()
    began_s = desk.counter.ask(questions, since_s)
    older = desk.whole.get(questions)
    is_slow = older is not None and any(one.took_s > current().patience_s for one in older.values())
    desk.counter.wait(questions, since_s, 0.0 if is_slow else began_s + current().patience_s)
    answers = desk.counter.known(questions, since_s)
    if len(answers) == len(questions):
        desk.keep(questions, answers)
        return Sheet(questions, answers, desk.counter, since_s, began_s)
    if older is None:
        return Sheet(questions, answers, desk.counter, since_s, began_s)
    at_s = min(one.at_s for one in older.values())
    return Sheet(questions, older, desk.counter, since_s, began_s, as_of_s=at_s)


def data_version() -> str:
    """What changes when traces come or end; what only deletes is seen within ten minutes."""
    desk = _desk()
    desk.since_s()
    return desk.version


@dataclass(slots=True)
class _Desk:
    """What is known of one open store, and since when it is as it is."""

    counter: Counter
    version: str = ""
    changed_s: float = 0.0
    whole: OrderedDict[tuple[Question[Any], ...], dict[Question[Any], Answer[Any]]] = field(default_factory=OrderedDict)

    def since_s(self) -> float:
        """From when on a count must have begun to be one of the database as it is now."""
        pulse = self.counter.store.paging().pulse()
        version = f"{pulse.newest_id}.{len(pulse.running)}"
        if version != self.version:
            self.version, self.changed_s = version, monotonic()
        return max(self.changed_s, monotonic() - _FRESH_S)

    def keep(self, questions: tuple[Question[Any], ...], answers: dict[Question[Any], Answer[Any]]) -> None:
        """Keep the answers of a whole page, to be shown while they are counted anew."""
        with _TAKING:
            self.whole[questions] = answers
            self.whole.move_to_end(questions)
            while len(self.whole) > _KEPT:
                self.whole.popitem(last=False)


_DESKS: dict[str | None, _Desk] = {}
_TAKING = Lock()


def _desk() -> _Desk:
    """That of the store which is open now: another file in the place of a database has nothing to do with the old."""
    opened: Store = store()
    with _TAKING:
        desk = _DESKS.get(current().where)
        if desk is None or desk.counter.store is not opened:
            desk = _DESKS[current().where] = _Desk(Counter(opened))
        return desk
