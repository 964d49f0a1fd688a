"""Reads a span's text with a slip undone, and maps what was read back to the text as it was written.

A model that doubles a token or leaves out a quote wrote a call that one edit makes regular. The reader of the format
reads the edited text; the ranges of calls and faults are those of the text as written, and the edits are the fix.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import Edit, Fault, Fix, edited
from weaklink.inspector.model import Parameter, ToolCall
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import MAX_ROUNDS, lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed, SpanReader
from weaklink.inspector.text import Range

MARKER_AGAIN = lazy_pattern(rf"(<[^<>\s]{{1,64}}>|\[[A-Z_]{{1,32}}\]|function)((?:\s{{0,8}}\1){{1,{MAX_ROUNDS}}})")
"""A special token or tag, group 1, that follows itself: group 2."""


class Slip(Struct, frozen=True):
    """What is wrong in a span's inner text: the edits that undo it, and its fault, whose ranges are in that text."""

    rule: Rule
    message: str
    hint: str
    edits: tuple[Edit, ...]
    is_safe: bool = False

    def fault(self) -> Fault:
        """The fault, with the edits as its fix, at the first of them, or at what follows it if it only inserts."""
        fault_range = self.edits[0].range
        if not len(fault_range):
            fault_range = Range(fault_range.start, fault_range.start + 1)
        return Fault(self.rule, fault_range, self.message, self.hint, Fix(self.edits, safe=self.is_safe))


def doubled_markers(text: str, rule: Rule, pattern: re.Pattern[str] = MARKER_AGAIN, *, end: int = -1) -> Slip | None:
    """The slip of the markers that follow themselves in `text`, up to `end`; None if there are none.

    Group 1 of `pattern` is the marker, group 2 what to delete.
    """
    matches = list(pattern.finditer(text, 0, end if end >= 0 else len(text)))
    if not matches:
        return None
    names = list(dict.fromkeys(f"`{match[1]}`" for match in matches))
    message = f"{' and '.join(names)} {'appear' if len(names) > 1 else 'appears'} several times in a row."
    edits = tuple(Edit(Range(*match.span(2)), "") for match in matches)
    return Slip(rule, message, "Write it once.", edits, is_safe=True)


def read_slip(closed: SpanClosed, reader: SpanReader, slip: Slip) -> ParseResult:
    """The result of `reader` for the text without the slip. Its calls are not valid, and recovered if they are read."""
    return read_edited(closed, reader, slip.edits).recovered(slip.fault().moved(closed.span.inner.start))


def read_with_slips(
    closed: SpanClosed, reader: SpanReader, slip_of: Callable[[SpanClosed], Slip | None]
) -> ParseResult:
    """The result of `reader`, or the one for the text without its slip if that names a tool, or has not more faults."""
    reading = reader(closed)
    slip = slip_of(closed) if reading.faults else None
    other = read_slip(closed, reader, slip) if slip is not None else reading
    names, other_names = ([call.name for call in result.calls if call.name] for result in (reading, other))
    is_better = (bool(other_names) and not names) or len(other.faults) <= len(reading.faults)
    return other if is_better else reading


def read_edited(closed: SpanClosed, reader: SpanReader, edits: Sequence[Edit]) -> ParseResult:
    """The result of `reader` for the text with these edits of its inner text, with ranges in the text without them."""
    changed = structs.replace(closed, inner_text=edited(closed.inner_text, edits), call=None)
    reading = reader(changed)
    ranges = _UneditedRanges(closed.inner_text, closed.span.inner.start, edits)
    return structs.replace(
        reading, calls=tuple(map(ranges.call, reading.calls)), faults=tuple(map(ranges.fault, reading.faults))
    )


class _UneditedRanges(Struct, frozen=True):
    """Maps ranges in an edited text to the text before the edits, which begins at `start` in the whole text."""

    text: str
    start: int
    edits: Sequence[Edit]

    def range(self, edited_range: Range) -> Range:
        start = self._before(edited_range.start, is_start=True)
        return Range(start, max(self._before(edited_range.end, is_start=False), start))

    def _before(self, position: int, *, is_start: bool) -> int:
        """The position before the edits; the start of a range is behind what is deleted there, its end before it."""
        offset, grown = position - self.start, 0
        for edit in self.edits:
            begin = edit.range.start + grown
            if offset < begin or (offset == begin and not is_start):
                break
            if offset < begin + len(edit.text):
                return edit.range.start + self.start
            grown += len(edit.text) - len(edit.range)
        return offset - grown + self.start

    def fault(self, fault: Fault) -> Fault:
        fix = fault.fix
        if fix is not None:
            fix = Fix(tuple(Edit(self.range(edit.range), edit.text) for edit in fix.edits), safe=fix.safe)
        fault_range = self.range(fault.range)
        if not len(fault_range):
            end = min(fault_range.start + 1, self.start + len(self.text))
            fault_range = Range(min(fault_range.start, end - 1), end)
        return structs.replace(fault, range=fault_range, fix=fix)

    def call(self, call: ToolCall) -> ToolCall:
        arguments_range = self.range(call.arguments_range) if call.arguments_range else None
        return structs.replace(
            call,
            raw_arguments=arguments_range.moved(-self.start).of(self.text)
            if arguments_range is not None
            else call.raw_arguments,
            range=self.range(call.range),
            name_range=self.range(call.name_range) if call.name_range else None,
            arguments_range=arguments_range,
            parameters=tuple(map(self._parameter, call.parameters)),
        )

    def _parameter(self, parameter: Parameter) -> Parameter:
        value_range = self.range(parameter.range)
        name = self.range(parameter.name_range) if parameter.name_range else None
        return structs.replace(
            parameter, text=value_range.moved(-self.start).of(self.text), range=value_range, name_range=name
        )
