"""Reads what stands in a ReAct reply's words: calls drafted in reasoning, and an input whose action nobody names."""

import re

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.drafts import BareCall
from inspector.formats.react_call import read_react_answer
from inspector.formats.span_readings import ReasoningReader
from inspector.model import SpanKind
from inspector.rules.markers import NEAR_MARKER
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range

_INPUT = re.compile(r"^[ \t]*(?:\*\*)?(Action Input(?: \d{1,3})?(?:\*\*)?:)", re.MULTILINE)
_DRAFT = re.compile(r"^[ \t]*Action:[ \t]*[^\n]{1,128}\n[ \t]*Action Input:", re.MULTILINE)
_read_reasoning = ReasoningReader((), bare=(BareCall(_DRAFT),))


def read_react_words(closed: SpanClosed) -> Reading:
    """A SpanReader for reasoning and text."""
    reading = (_read_reasoning if closed.span.kind is SpanKind.REASONING else read_react_answer)(closed)
    if reading.children or closed.span.label == "answer_block":
        return reading
    orphan = _orphan(closed)
    return reading if orphan is None else msgspec.structs.replace(reading, faults=(*reading.faults, orphan))


def _orphan(closed: SpanClosed) -> Fault | None:
    """`Action Input:` without an action: the heading before it is missing or misspelt."""
    found = _INPUT.search(closed.inner_text)
    if found is None or closed.inner_text.count("```", 0, found.start()) % 2:
        return None
    return Fault(
        NEAR_MARKER,
        Range(*found.span(1)).moved(closed.span.inner.start),
        f"`{found[1]}` has no `Action:` before it, so no reader takes this for a call.",
        "Write `Action:` and the tool's name on the line before, if a call was meant.",
    )
