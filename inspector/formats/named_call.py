"""Reads a call whose header names the tool, and maybe an id, before the JSON of its arguments."""

import re
from dataclasses import dataclass

from inspector.diagnostics import Edit, Fault, Fix
from inspector.formats.named_arguments import named_call, read_json_arguments
from inspector.formats.strict_call import strict_object
from inspector.json_scanner.bracket_wording import trailing_text
from inspector.model import ToolCall
from inspector.rules import call_shape
from inspector.rules import json_syntax as rules
from inspector.rules.markers import EMPTY_CALL, MALFORMED_HEADER
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading
from inspector.text import Range

_SPACE = " \t\n\r"
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class LooseHeader:
    """A header that can be read although the dialect writes another.

    `says` ends the sentence of its fault; it is "" where the marker layer has told that fault.
    """

    pattern: re.Pattern[str]
    says: str


@dataclass(frozen=True, slots=True)
class NamedCallReader:
    """A SpanReader for call spans whose inner text is a header and the arguments.

    `header` must match at the beginning; its group `name` is the tool's name, its group `id`, if it has one, the call's
    id. `loose` are headers that are taken with a fault. `wanted` says in words what a header is. A header with a code
    fence wants one behind the arguments, too. `code` names the tools whose arguments are raw code unless they are a
    JSON object; `code_header`, where it matches the whole header, says the same of any tool's that do not begin like
    JSON.
    """

    header: re.Pattern[str]
    wanted: str
    loose: tuple[LooseHeader, ...] = ()
    code: frozenset[str] = frozenset()
    code_header: re.Pattern[str] | None = None

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        strict = self.header.match(text)
        header, faults = (strict, ()) if strict is not None else self._loosely(text)
        if header is None or (header is not strict and _is_cut(closed, header)):
            return self._nameless(closed)
        place = _stripped(text, Range(header.end(), len(text)))
        if _FENCE in header[0]:
            place, unfenced = _within_fence(closed, place)
            faults = (*faults, *unfenced)
        calls, found, complete = self._calls(closed, header, place)
        return Reading(calls=calls, faults=tuple(fault.moved(start) for fault in (*faults, *found)), complete=complete)

    def _loosely(self, text: str) -> tuple[re.Match[str] | None, tuple[Fault, ...]]:
        for loose in self.loose:
            header = loose.pattern.match(text)
            if header is not None and not loose.says:
                return header, ()
            if header is not None:
                place = Range(*header.span("name"))
                message = f"The header of this call is not what the format writes: {loose.says}."
                hint = f"Write {self.wanted}."
                return header, (Fault(MALFORMED_HEADER, place, message, hint),)
        return None, ()

    def _nameless(self, closed: SpanClosed) -> Reading:
        """A span whose header nobody can read: the whole of it is one call without a name."""
        content = closed.inner_text.strip()
        span = closed.span
        if not content:
            faults = [Fault(EMPTY_CALL, span.range, "The call span is empty: the model opened a call and wrote none.")]
            where = Range(span.range.start, span.inner.start) if len(span.inner) < len(span.range) else span.range
            faults.append(Fault(rules.TRUNCATED_JSON, where, f"No payload: expected {self.wanted}."))
            return Reading(calls=(ToolCall(None, "", "", valid=False, range=span.inner),), faults=tuple(faults))
        place = _stripped(closed.inner_text, Range(0, len(closed.inner_text))).moved(span.inner.start)
        if _is_closed(closed):
            fault = Fault(call_shape.NOT_A_CALL, place, f"No tool is named: expected {self.wanted}.")
        else:
            fault = Fault(rules.TRUNCATED_JSON, place, f"The call ends within its header: expected {self.wanted}.")
        return Reading(calls=(ToolCall(None, content, content, valid=False, range=place),), faults=(fault,))

    def _calls(
        self, closed: SpanClosed, header: re.Match[str], place: Range
    ) -> tuple[tuple[ToolCall, ...], list[Fault], bool]:
        """The calls of a span with this header, whose arguments stand at `place` of its inner text."""
        text = closed.inner_text
        raw = place.of(text)
        value = strict_object(raw) if raw else None
        if value is not None:
            return (named_call(closed, header, place, value, valid=True),), [], True
        if raw and self._is_code(header, raw):
            return (named_call(closed, header, place, raw, valid=True),), [], True
        if not raw:
            return self._without_arguments(closed, header)
        calls, faults = read_json_arguments(closed, header, place)
        return calls, faults, not any(fault.rule is rules.TRUNCATED_JSON for fault in faults)

    def _is_code(self, header: re.Match[str], raw: str) -> bool:
        if header["name"] in self.code:
            return True
        says_so = self.code_header is not None and self.code_header.fullmatch(header[0]) is not None
        return says_so and raw[0] not in "{["

    def _without_arguments(
        self, closed: SpanClosed, header: re.Match[str]
    ) -> tuple[tuple[ToolCall, ...], list[Fault], bool]:
        name = Range(*header.span("name"))
        end = Range(header.end(), header.end())
        if not _is_closed(closed):
            fault = Fault(rules.TRUNCATED_JSON, name, "The stream ends before the arguments: expected a JSON object.")
            return (named_call(closed, header, end, "", valid=False),), [fault], False
        fault = Fault(
            rules.MISSING_VALUE,
            name,
            "No arguments stand here: expected a JSON object, an empty one for a tool without any.",
            "Write `{}`.",
            Fix((Edit(end, "{}"),), safe=True),
        )
        return (named_call(closed, header, end, {}, valid=False, recovered=True),), [fault], True


def _is_cut(closed: SpanClosed, header: re.Match[str]) -> bool:
    """Whether the span ends with the header's name, cut off, so that nobody knows the whole name."""
    return header.end("name") == len(closed.inner_text.rstrip()) and not _is_closed(closed)


def _is_closed(closed: SpanClosed) -> bool:
    """Whether a closing marker stands at the span's end, so that what is missing within was left out, not cut off."""
    return closed.span.range.end > closed.span.inner.end


def _within_fence(closed: SpanClosed, place: Range) -> tuple[Range, tuple[Fault, ...]]:
    """The arguments without the fence that ends them; a fault where it is missing and nothing cut it off."""
    text = closed.inner_text
    if place.of(text).endswith(_FENCE):
        return _stripped(text, Range(place.start, place.end - len(_FENCE))), ()
    at = text.rfind(f"\n{_FENCE}\n", place.start, place.end)
    if at >= 0:
        words = Range(at + len(_FENCE) + 2, place.end)
        return _stripped(text, Range(place.start, at)), (trailing_text(text, _stripped(text, words)),)
    if not place or not _is_closed(closed):
        return place, ()
    message = "The code fence around the arguments is opened, but not closed: expected three backticks behind them."
    fix = Fix((Edit(Range(place.end, place.end), f"\n{_FENCE}"),), safe=True)
    return place, (Fault(MALFORMED_HEADER, Range(place.end - 1, place.end), message, "Close it.", fix),)


def _stripped(text: str, place: Range) -> Range:
    """`place` without the white space at its ends."""
    raw = place.of(text)
    content = raw.strip(_SPACE)
    first = place.start + (len(raw) - len(raw.lstrip(_SPACE)) if content else 0)
    return Range(first, first + len(content))
