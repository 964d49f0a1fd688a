"""Reads spans without a call of their own: definitions, results, empty calls, and calls drafted in reasoning."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import JsonKind, JsonNode, read_json
from weaklink.inspector.json_scanner.values import read_strict
from weaklink.inspector.model import Span, SpanKind, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON
from weaklink.inspector.rules.markers import CALL_INSIDE_REASONING, EMPTY_CALL
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, Payload, SpanClosed, SpanReader
from weaklink.inspector.text import Range, shown

_PARTS = lazy_pattern(r"^[ \t]*(Goal|Actions|Observation|Reflection):", re.MULTILINE)


class LabelledReader(Struct, frozen=True):
    """A SpanReader that passes each span to the reader for its label."""

    readers: Mapping[str, SpanReader]

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        return self.readers[closed.span.label](closed)


class BareCall(Struct, frozen=True):
    """A call without an opening marker: an expression for its beginning, and its kind of payload.

    If the expression has a group `heading`, the payload begins after the match, else at its start. Without a payload
    the call ends with the line.
    """

    begins: re.Pattern[str]
    payload: Payload | None = None


class DraftedCall(Struct, frozen=True):
    """The ranges of a draft: all of it, its opener, its content; and whether it is closed."""

    range: Range
    opener: Range
    inner: Range
    is_closed: bool


def _between(opener: re.Match[str], inner_end: int, end: int) -> DraftedCall:
    inner = Range(opener.end(), inner_end)
    return DraftedCall(Range(opener.start(), end), Range(*opener.span()), inner, is_closed=inner_end < end)


def _bare(call: BareCall, text: str) -> Iterator[DraftedCall]:
    """Drafts without a marker, each up to its value's end or to what breaks the value: each character is read once."""
    match = call.begins.search(text)
    while match is not None:
        end, is_whole = _end(call, text, match)
        first, inner = match.span("heading") if _has_heading(match) else (match.start(), match.start())
        yield DraftedCall(Range(first, end), Range(first, match.end()), Range(inner, end), is_closed=is_whole)
        match = call.begins.search(text, end)


def _has_heading(match: re.Match[str]) -> bool:
    return "heading" in match.re.groupindex


def _end(call: BareCall, text: str, match: re.Match[str]) -> tuple[int, bool]:
    """The end of the draft, and whether the draft is whole."""
    if call.payload is None:
        line_end = text.find("\n", match.end())
        return (line_end if line_end >= 0 else len(text)), True
    follower = call.payload.follower()
    end = follower.feed(text, match.end() if _has_heading(match) else match.start())
    return max(end, match.end()), follower.completed


def _outside(others: list[DraftedCall], drafts: Iterator[DraftedCall]) -> Iterator[DraftedCall]:
    """The `drafts` that overlap none of the `others`; both are in order."""
    ends = iter([*others, None])
    other = next(ends)
    for draft in drafts:
        while other is not None and other.range.end <= draft.range.start:
            other = next(ends)
        if other is None or other.range.start >= draft.range.end:
            yield draft


class ReasoningReader:
    """A SpanReader for reasoning: the children are the calls drafted in it, and the parts of a scratch pad.

    `openers` and `closers` are the markers of the dialect's calls, `bare` its calls without markers.
    """

    def __init__(self, openers: Iterable[str], closers: Iterable[str] = (), *, bare: Iterable[BareCall] = ()) -> None:
        self._openers = frozenset(openers)
        self._bare = tuple(bare)
        markers = sorted({*self._openers, *closers}, key=lambda marker: (-len(marker), marker))
        self._markers = lazy_pattern("|".join(map(re.escape, markers)) or r"(?!)")

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        text, start = closed.inner_text, closed.span.inner.start
        calls = self._drafts(text)
        drafts = [
            Span(SpanKind.TOOL_CALL, draft.range.moved(start), draft.inner.moved(start), draft.is_closed, "tool_call")
            for draft in calls
        ]
        parts = _scratch_pad_parts(closed) if closed.span.label == "scratch_pad" else []
        return ParseResult(
            children=tuple(sorted((*parts, *drafts), key=lambda span: span.range)),
            faults=tuple(_inside_reasoning(text, draft, start) for draft in calls),
        )

    def _drafts(self, text: str) -> list[DraftedCall]:
        """All drafts in `text`, in order; they do not overlap."""
        calls = list(self._marked(text)) if any(opener in text for opener in self._openers) else []
        for bare in self._bare:
            calls += _outside(calls, _bare(bare, text))
            calls.sort(key=lambda draft: draft.range.start)
        return calls

    def _marked(self, text: str) -> Iterator[DraftedCall]:
        """Drafts between markers, each up to its closing marker, the next opening one, or the end."""
        opener: re.Match[str] | None = None
        for match in self._markers.finditer(text):
            is_opener = match[0] in self._openers
            if opener is not None:
                yield _between(opener, match.start(), match.start() if is_opener else match.end())
            opener = match if is_opener else None
        if opener is not None:
            yield _between(opener, len(text), len(text))


def _scratch_pad_parts(closed: SpanClosed) -> list[Span]:
    text, start = closed.inner_text, closed.span.inner.start
    headings = list(_PARTS.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)][: len(headings)]
    return [
        Span(
            SpanKind.REASONING,
            Range(heading.start(1) + start, end + start),
            Range(heading.end() + start, end + start),
            label=heading[1].lower(),
        )
        for heading, end in zip(headings, ends, strict=True)
    ]


def _inside_reasoning(text: str, draft: DraftedCall, start: int) -> Fault:
    return Fault(
        CALL_INSIDE_REASONING,
        draft.opener.moved(start),
        f"{shown(draft.opener.of(text))} appears inside reasoning: this is a draft, not a call. A server without a "
        "reasoning parser executes it, and some reasoning parsers end the reasoning here.",
        "Parse reasoning before calls, or keep the markers out of the reasoning.",
    )


def empty_call(closed: SpanClosed, expected: str, rule: Rule = TRUNCATED_JSON) -> ParseResult:
    """The result for a call span without content; `expected` describes in words what belongs in it."""
    span = closed.span
    fault_range = Range(span.range.start, span.inner.start) if span.inner.start > span.range.start else span.range
    message = "The call span is empty: the model opened a call and wrote none."
    fix = Fix((Edit(span.range, ""),), safe=False)
    empty = Fault(EMPTY_CALL, span.range, message, "Delete the empty span.", fix)
    missing = Fault(rule, fault_range, f"No payload: expected {expected}.")
    content = closed.inner_text.strip()
    call = ToolCall(None, content, content, valid=False, range=span.inner)
    return ParseResult(calls=(call,), faults=(empty, missing))


def nameless_call(text: str) -> ToolCall:
    """The call of a text in which no call can be read."""
    call_range = Range(0, len(text)).stripped(text)
    return ToolCall(None, call_range.of(text), call_range.of(text), valid=False, range=call_range)


def read_result(closed: SpanClosed) -> ParseResult:
    """The single result of a span; some agents wrap a result in an object that also names the call and the tool."""
    content_range = Range(0, len(closed.inner_text)).stripped(closed.inner_text, "\r\n")
    return _result(closed, content_range, *_wrapper(content_range.of(closed.inner_text)))


def _result(closed: SpanClosed, content_range: Range, call_id: str | None, name: str | None) -> ParseResult:
    """The single result of a span, whose content is at `content_range` of its inner text."""
    content = content_range.of(closed.inner_text)
    result = ToolResult(content, content_range.moved(closed.span.inner.start), call_id, name)
    return ParseResult(results=(result,), complete=bool(content.strip()))


class HeadedResultReader(Struct, frozen=True):
    """A SpanReader for a single result after a header, whose groups `id` and `name` are those of its call.

    `keeps_ends` says that line ends around the text belong to it, `keeps_header` that the header does.
    """

    header: re.Pattern[str]
    keeps_ends: bool = False
    keeps_header: bool = False

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader. Without the header, the whole text is the result."""
        text = closed.inner_text
        whole = Range(0, len(text)) if self.keeps_ends else Range(0, len(text)).stripped(text, "\r\n")
        header = self.header.match(text, whole.start, whole.end)
        if header is None:
            return read_result(closed)
        content_range = whole if self.keeps_header else Range(header.end(), whole.end)
        return _result(closed, content_range, header.groupdict().get("id"), header.groupdict().get("name"))


class _Wrapper(msgspec.Struct):
    content: msgspec.Raw
    name: str | None = None
    tool_call_id: str | None = None


_WRAPPERS = msgspec.json.Decoder(_Wrapper)


def _wrapper(content: str) -> tuple[str | None, str | None]:
    if not content.lstrip().startswith("{") or '"content"' not in content:
        return None, None
    try:
        wrapper = _WRAPPERS.decode(content)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None, None
    return wrapper.tool_call_id, wrapper.name


def read_definitions(closed: SpanClosed) -> ParseResult:
    """The tools that a list, or consecutive objects, define; every request repeats them, so they are cached."""
    if not closed.inner_text.strip():
        return ParseResult()
    reading = _definitions(closed.inner_text)
    start = closed.span.inner.start
    placed = ((tool, tool.range) for tool in reading.definitions if tool.range is not None)
    moved = tuple(
        msgspec.structs.replace(tool, range=definition_range.moved(start)) for tool, definition_range in placed
    )
    return msgspec.structs.replace(reading.moved(start), definitions=moved)


@lru_cache(maxsize=64)
def _definitions(text: str) -> ParseResult:
    lines = _definition_lines(text)
    if lines is not None:
        return ParseResult(definitions=lines, complete=True)
    reading = read_json(text)
    nodes = [item for node in reading.nodes for item in (node.items if node.kind is JsonKind.ARRAY else (node,))]
    tools = tuple(tool for node in nodes if (tool := _definition(node, text)) is not None)
    return ParseResult(definitions=tools, faults=reading.faults, complete=bool(nodes))


def _definition_lines(text: str) -> tuple[ToolDefinition, ...] | None:
    """The tools of a text with one object per line, as most templates write them; None if a line is anything else."""
    tools: list[ToolDefinition] = []
    position = 0
    for line in text.split("\n"):
        bare = line.strip(" \t\r")
        if bare:
            tool = _line_definition(bare)
            if tool is None:
                return None
            start = position + line.index(bare)
            tools.append(msgspec.structs.replace(tool, range=Range(start, start + len(bare))))
        position += len(line) + 1
    return tuple(tools)


@lru_cache(maxsize=1_024)
def _line_definition(line: str) -> ToolDefinition | None:
    """The tool that a line of strict JSON defines; cached, since rows of a data set list the same tools repeatedly."""
    node, doubled = read_strict(line, 0, len(line))
    if node is None or doubled or node.kind is not JsonKind.OBJECT:
        return None
    return _definition(node, line)


def _definition(node: JsonNode, text: str) -> ToolDefinition | None:
    wrapper = node.member("function")
    inner = wrapper.value if wrapper is not None and wrapper.value.kind is JsonKind.OBJECT else node
    name, description, parameters = (inner.member(key) for key in ("name", "description", "parameters"))
    if name is None or not isinstance(name.value.scalar, str):
        return None
    words = description.value.scalar if description is not None else ""
    return ToolDefinition(
        name.value.scalar,
        words if isinstance(words, str) else "",
        parameters.value.value() if parameters is not None else None,
        node.range.of(text),
        node.range,
    )


def reader_table(
    calls: SpanReader,
    reasoning: SpanReader,
    *,
    results: SpanReader = read_result,
    definitions: SpanReader = read_definitions,
    text: SpanReader | None = None,
) -> Mapping[SpanKind, SpanReader]:
    """The readers of a format, by the kind of span."""
    readers = {
        SpanKind.TOOL_CALL: calls,
        SpanKind.TOOL_RESULT: results,
        SpanKind.TOOL_DEFINITIONS: definitions,
        SpanKind.REASONING: reasoning,
    }
    return MappingProxyType(readers if text is None else {**readers, SpanKind.TEXT: text})
