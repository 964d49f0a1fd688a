"""The questions that rollups are kept of: those that pages ask about all traces."""

from hashlib import blake2b
from typing import Any, TypeAlias

from inspector.chain.metrics_figures import TOOL_NUMBERS, TRACE_NUMBERS
from inspector.chain.metrics_groups import Aspect, GroupKey
from inspector.chain.metrics_measures import MEASURES
from storage.statistics import FiguresBy
from storage.statistics_breaks import BreaksBy, BrokenSchemas, Uncounted
from storage.statistics_questions import StatisticsQuery

AnyQuestion: TypeAlias = StatisticsQuery[Any]

QUESTIONS: tuple[AnyQuestion, ...] = (
    FiguresBy(),
    *(FiguresBy((key,)) for key in GroupKey),
    FiguresBy((GroupKey.MODEL, GroupKey.CODE)),
    *(BreaksBy(aspect) for aspect in Aspect),
    BrokenSchemas(),
    Uncounted(),
)
"""Of the first, which has one group, every block that is summed up has a rollup."""

_MADE = 1  # to be raised when a question comes to mean something else
_NAMES = {question.name for question in QUESTIONS}
_MEANING = [_MADE, TRACE_NUMBERS, TOOL_NUMBERS, [(one.name, one.kind.value, one.hits, one.trials) for one in MEASURES]]
_EDITION = blake2b(repr(_MEANING).encode(), digest_size=4).hexdigest()


def kept_under(question: AnyQuestion) -> str:
    """What stands in `rollup` for a question; that of a weaklink that sums up something else is another."""
    return f"{question.name} {_EDITION}"


def is_kept(question: AnyQuestion) -> bool:
    """Whether there are rollups of a question."""
    return question.name in _NAMES
