"""Reads the call spans of dialects that write calls in Python's syntax; JSON in its place is read as JSON."""

import re
from dataclasses import dataclass

import msgspec

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.json_call import JsonCallReader
from inspector.formats.python_call import call_wording as say
from inspector.formats.python_call.calls import read_calls
from inspector.model import ToolCall
from inspector.rules import json_syntax as rules
from inspector.rules.markers import EMPTY_CALL
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range

_JSON = re.compile(r"\s*(?:\{|\[\s*\{)")
_FENCE = re.compile(r"\s*(```[\w-]*[ \t]*\n?)")
_CLOSING_FENCE = re.compile(r"\n?[ \t]*```\s*\Z")
_READ_JSON = JsonCallReader(is_array=True, is_row=True)


@dataclass(frozen=True, slots=True)
class PythonCallReader:
    """A SpanReader for call spans whose inner text should be calls in Python's syntax, or JSON.

    `namespace` is what the format puts before a tool's name, and inside `print(...)`; "" where it does not.
    `takes_json` says that the format's own template writes JSON's `true`, `false` and `null`.
    """

    namespace: str = ""
    takes_json: bool = False

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        if not text.strip() or text.strip() == "[]":
            return empty_call(closed)
        if _JSON.match(text):
            return _READ_JSON(closed)
        fence = _FENCE.match(text)
        if fence is not None:
            return self._fenced(closed, fence)
        return self._reading(text, start)

    def _fenced(self, closed: SpanClosed, fence: re.Match[str]) -> Reading:
        text, start = closed.inner_text, closed.span.inner.start
        ending = _CLOSING_FENCE.search(text, fence.end())
        end = ending.start() if ending is not None else len(text)
        inner = text[fence.end() : end]
        if not inner.strip():
            return self._reading(text, start)
        if _JSON.match(inner):
            return _READ_JSON(closed)
        reading = self._reading(inner, start + fence.end())
        edits = [Edit(Range(*fence.span(1)).moved(start), "")]
        if ending is not None:
            edits.append(Edit(Range(*ending.span()).moved(start), ""))
        fault = say.fenced(edits[0].range, tuple(edits))
        calls = tuple(
            msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in reading.calls
        )
        return Reading(calls=calls, faults=(fault, *reading.faults), complete=reading.complete)

    def _reading(self, text: str, start: int) -> Reading:
        found = read_calls(text, start, namespace=self.namespace, takes_json=self.takes_json)
        return Reading(calls=found.calls, faults=found.faults, complete=found.complete)


def empty_call(closed: SpanClosed, *, expected: str = "name(argument='value')") -> Reading:
    """What a call span without any content is."""
    span = closed.span
    fix = Fix((Edit(span.range, ""),), safe=False)
    place = Range(span.range.start, span.inner.start) if span.inner.start > span.range.start else span.range
    faults = (
        Fault(
            EMPTY_CALL,
            span.range,
            "The call span is empty: the model opened a call and wrote none.",
            "Delete the empty span.",
            fix,
        ),
        Fault(rules.TRUNCATED_JSON, place, f"No payload: expected a call such as `{expected}`."),
    )
    content = closed.inner_text.strip()
    return Reading(calls=(ToolCall(None, content, content, valid=False, range=span.inner),), faults=faults)
