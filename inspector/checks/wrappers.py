"""F316, F306, F309, J114: a wrapper around calls that is never closed, and other content in it than calls."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weaklink.inspector.checks.wording import quoted
from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import NATIVE_KEYS, shape_of
from weaklink.inspector.formats.markers import markers_of
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.json_syntax import FENCED_PAYLOAD
from weaklink.inspector.rules.markers import EMPTY_CALL, FOREIGN_FORMAT, UNTERMINATED_SPAN, UNTERMINATED_WRAPPER
from weaklink.inspector.segmenter.events import SpanClosed
from weaklink.inspector.segmenter.table import SECTION
from weaklink.inspector.text import Range, shown

_FENCE = re.compile(r"```\w*")
_JSON_CALL = re.compile(r"\s*(?:\[\s*)?\{\s*\"")


class Wrappers:
    """Follows the wrappers around calls (`<function_calls>`) through the closed spans of a model's text."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._closers = markers_of(own).wrappers
        self._opener, self._place = "", Range(0, 0)
        self._end = 0
        self._is_cut = self._is_reported = False

    def faults(self, event: SpanClosed) -> Iterator[Fault]:
        """The faults that a span shows; call it with the spans in order."""
        if not self._closers:
            return
        span = event.span
        if span.kind is SpanKind.MARKUP:
            yield from self._at_markup(event)
        elif self._opener and span.kind is SpanKind.TOOL_CALL:
            self._end, self._is_cut, self._is_reported = span.range.end, bool(event.wanted), True
        elif self._opener and span.kind is SpanKind.TEXT:
            yield from self._in_text(event.inner_text, span.inner.start)

    def end(self) -> Iterator[Fault]:
        """The faults that the end of the text shows."""
        yield from self._unclosed("The stream ends")

    def with_wrapper_closed(self, faults: Sequence[Fault]) -> list[Fault]:
        """The faults at the end of the text; a fix that closes the last call also closes the wrapper around it."""
        closing = next((fault for fault in reversed(faults) if fault.rule is UNTERMINATED_SPAN), None)
        if not (self._opener and self._is_cut) or closing is None or closing.fix is None:
            return list(faults)
        *edits, last = closing.fix.edits
        both = Fix((*edits, Edit(last.range, f"{last.text}{self._closing()}")), safe=closing.fix.safe)
        return [replace(fault, fix=both) if fault.fix == closing.fix else fault for fault in faults]

    def _at_markup(self, event: SpanClosed) -> Iterator[Fault]:
        span = event.span
        if span.label != SECTION:
            if span.label != "marker":
                yield from self._unclosed("The turn ends")
            self._opener = ""
            return
        opener_range = Range(span.range.start, span.inner.start)
        opened = next((closer for closer in self._closers if len(closer) == len(opener_range)), "")
        if opened:
            yield from self._opened_again(opened, opener_range)
            self._opener, self._place, self._end, self._is_cut = opened, opener_range, opener_range.end, False
            self._is_reported = not event.inner_text.strip() and span.range.end > span.inner.end
        elif len(opener_range):
            self._opener = ""
        if self._opener and span.range.end > span.inner.end:
            yield from self._without_call(span.inner.end, span.range.end)
            self._opener = ""

    def _opened_again(self, opener: str, opener_range: Range) -> Iterator[Fault]:
        if not self._opener:
            return
        if self._end > self._place.end:
            yield from self._unclosed(f"`{opener}` comes")
            return
        message = f"`{opener}` opens again before any call: parsers that count the tags wait for two closing tags."
        fix = Fix((Edit(opener_range, ""),), safe=True)
        yield Fault(UNTERMINATED_WRAPPER, self._place, message, "Delete one of them.", fix)

    def _without_call(self, start: int, end: int) -> Iterator[Fault]:
        if not self._is_reported:
            message = (
                f"`{self._closers[self._opener]}` closes the list of calls, but the list contains no call, only text."
            )
            yield Fault(EMPTY_CALL, Range(start, end), message)

    def _unclosed(self, what: str) -> Iterator[Fault]:
        """The fault of the open wrapper; none if its last call is cut off too, which is reported already."""
        if not self._opener or self._is_cut:
            return
        closer = self._closers[self._opener]
        yield Fault(
            UNTERMINATED_WRAPPER,
            self._place,
            f"{what} before `{closer}`, which closes the list of calls that `{self._opener}` opens.",
            f"Close them with `{closer}`, unless a stop sequence of the request removes it.",
            Fix((Edit(Range(self._end, self._end), self._closing()),), safe=True),
        )

    def _closing(self) -> str:
        """What closes the open wrapper, on its own line if the template writes it so."""
        closer = self._closers[self._opener]
        return f"\n{closer}" if closer in markers_of(self._own).on_own_lines else closer

    def _in_text(self, text: str, start: int) -> Iterator[Fault]:
        content = text.strip()
        first = start + len(text) - len(text.lstrip())
        if _FENCE.fullmatch(content):
            message = f"{shown(content)} is part of a Markdown code fence; a parser expects only the tags of the calls."
            fence_range = Range(first, first + len(content))
            yield Fault(
                FENCED_PAYLOAD, fence_range, message, "Remove the fence.", Fix((Edit(fence_range, ""),), safe=True)
            )
        elif _JSON_CALL.match(text):
            for node in read_json(text).nodes:
                for call in (node,) if node.kind is JsonKind.OBJECT else node.items:
                    yield from self._json_call(call, text, start)

    def _json_call(self, node: JsonNode, text: str, start: int) -> Iterator[Fault]:
        name = shape_of(node, NATIVE_KEYS, text).name if node.kind is JsonKind.OBJECT else None
        if name is not None:
            self._is_reported = True
            yield Fault(
                FOREIGN_FORMAT,
                node.range.moved(start),
                f"A call of {quoted(str(name.value.scalar))} appears in `{self._opener}` as JSON, which is not how "
                f"`{self._own.name}` writes calls: a server that reads only `{self._own.name}` runs no tool.",
                f"Write the call as `{self._own.name}` does, or serve the model with a parser for JSON.",
            )
