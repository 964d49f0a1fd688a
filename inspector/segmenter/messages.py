"""The messages and hints of marker faults."""

from collections.abc import Iterable
from types import MappingProxyType

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.model import Span, SpanKind
from weaklink.inspector.rules import markers
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.text import Range

_TAGS_BEFORE = lazy_pattern(r"(?:<[^<>/\s][^<>\n]{0,60}>\s{0,4})+\Z")
_MAX_WRAPPERS_CHARS = 200
_UNCLOSED = MappingProxyType(
    {
        SpanKind.TOOL_CALL: "The call",
        SpanKind.REASONING: "The reasoning",
        SpanKind.TOOL_RESULT: "The tool result",
        SpanKind.TOOL_DEFINITIONS: "The list of tools",
        SpanKind.TEXT: "The text",
        SpanKind.MARKUP: "The header of this message",
    }
)


def marker_fault(rule: Rule, marker: str, fault_range: Range, expected: str) -> Fault:
    """The fault of a marker where `rule` forbids it; `expected` is the marker that belongs there."""
    if rule is markers.STRAY_END_MARKER:
        return Fault(
            rule,
            fault_range,
            f"`{marker}` closes nothing: no such span is open here.",
            "If the prompt ended with the opening marker, pass its last lines as the prompt; otherwise delete this "
            "marker.",
        )
    if rule is markers.NESTED_SPAN:
        return Fault(
            rule,
            fault_range,
            f"`{marker}` opens a span inside a span of the same kind; it is read as text, and the first `{expected}` "
            "ends both.",
            "Delete this marker.",
            Fix((Edit(fault_range, ""),), safe=False),
        )
    if rule is markers.WRONG_BRACKET_VARIANT:
        return Fault(
            rule,
            fault_range,
            f"`{marker}` closes a span opened with the other spelling; expected `{expected}`.",
            f"Write `{expected}`.",
            Fix((Edit(fault_range, expected),), safe=True),
        )
    if rule is markers.MARKER_INSIDE_ARGUMENT:
        return Fault(
            rule,
            fault_range,
            f"`{marker}` appears inside a string argument and is data; a server that splits by regular expression ends "
            "the call here.",
        )
    if rule is markers.SPECIAL_TOKEN_LEAK:
        return _leaked_token(marker, fault_range, expected)
    if rule is markers.INVENTED_RESULT:
        return Fault(
            rule,
            fault_range,
            f"The model opens `{marker}` in its own turn: it writes a result that no tool returned.",
            "Stop the generation at the end of the call, and discard the text after it.",
        )
    if rule is markers.MALFORMED_HEADER:
        return Fault(
            rule,
            fault_range,
            f"The header of this message does not match the format: expected {expected} here.",
            "A strict parser fails here or reads the rest as content; weaklink continues as if it were present.",
        )
    if rule is markers.EMPTY_CALL:
        return Fault(
            rule,
            fault_range,
            f"`{marker}` closes the list of calls before any call: the model announced a call and wrote none.",
        )
    if rule is markers.WRONG_OPENER:
        begins = (
            f"A call begins here without `{expected}`" if marker.startswith("(") else f"`{marker}` begins a call here"
        )
        due = "" if marker.startswith("(") else f"; this format begins calls with `{expected}`"
        return Fault(
            rule,
            fault_range,
            f"{begins}{due}, and a server that waits for that marker reads the call as text.",
            f"Begin the call with `{expected}`.",
        )
    raise AssertionError(f"no marker breaks {rule}")


def opened_by_prompt(marker: str, marker_start: int) -> Fault:
    """The fault of a closing marker at `marker_start` that ends reasoning which the prompt must have opened."""
    return Fault(
        markers.REASONING_OPENED_BY_PROMPT,
        Range(marker_start, marker_start + len(marker)),
        f"`{marker}` closes reasoning that the prompt opened; "
        + ("the text before it is read as reasoning." if marker_start else "the reasoning is empty."),
        "Pass the prompt's last lines as the prompt, so that weaklink does not have to guess.",
    )


def token_outside(marker: str, token_range: Range, where: str) -> Fault:
    """The fault of a special token that is read as markup although it is outside `where`, its only valid position."""
    return Fault(
        markers.SPECIAL_TOKEN_LEAK,
        token_range,
        f"The special token `{marker}` is outside {where}, the only place where chat templates write it.",
        "Delete it.",
        Fix((Edit(token_range, ""),), safe=False),
    )


def _leaked_token(marker: str, token_range: Range, expected: str) -> Fault:
    if not expected:
        message = (
            f"The special token `{marker}` is in the middle of a text and is read as text; a server that stops or "
            "splits at special tokens truncates the answer here."
        )
        return Fault(markers.SPECIAL_TOKEN_LEAK, token_range, message)
    message = f"The special token `{marker}` appears where `{expected}` belongs: a call follows it."
    fix = Fix((Edit(token_range, expected),), safe=False)
    return Fault(markers.SPECIAL_TOKEN_LEAK, token_range, message, f"Write `{expected}`.", fix)


def open_reasoning(closed: SpanClosed, opener: Range, wrappers: Iterable[str] = ()) -> Fault:
    """The fault of reasoning that never closed and holds whole calls, the first at `opener`: they still count.

    The fix closes the reasoning, before the wrapper around the calls if there is one: one of `wrappers`, or other tags.
    """
    start, first = closed.span.inner.start, closed.span.range.start
    before = closed.inner_text[max(opener.start - start - _MAX_WRAPPERS_CHARS, 0) : opener.start - start]
    own = next((wrapper for wrapper in wrappers if before.rstrip().endswith(wrapper)), "")
    tags = _TAGS_BEFORE.search(before)
    wrapped = before[before.rindex(own) :] if own else tags[0] if tags is not None else ""
    close_at = opener.start - len(wrapped)
    return Fault(
        markers.UNTERMINATED_SPAN,
        Range(first, max(start, first + 1)),
        f"This reasoning is not closed: `{closed.wanted}` is missing, and a call follows inside it. It counts as a "
        "call; whether a server returns it depends on its reasoning parser.",
        f"Close the reasoning with `{closed.wanted}` before the call.",
        Fix((Edit(Range(close_at, close_at), f"{closed.wanted}\n"),), safe=False),
    )


def marker_in_prose(span: Span) -> Fault:
    """The fault of a marker that prose only mentions: `span` is read as text."""
    marker_range = Range(span.range.start, max(span.inner.start, span.range.start + 1))
    message = (
        "This marker is mentioned in prose and is read as text; a server that searches for the marker alone reads what "
        "follows it as a call or as reasoning."
    )
    return Fault(markers.MARKER_IN_PROSE, marker_range, message)


def closed_before(closed: SpanClosed, words: Fault, *, complete: bool, line: str) -> Fault:
    """The fault of words after the payload of a call without a closing marker.

    The words are addressed to the user, so the repair keeps them: it closes the call before them. If the call is not
    complete, or its format has no closing marker, deleting the words is an unsafe fix.
    """
    last = closed.span.inner.start + len(closed.inner_text.rstrip())
    if complete and closed.wanted and words.range.end == last:
        return replace(
            words, hint=f"Close the call with `{closed.wanted}`.", fix=_closing(closed, words.range.start, line)
        )
    return replace(words, fix=Fix(words.fix.edits, safe=False)) if words.fix is not None else words


def _closing(closed: SpanClosed, payload_to: int, line: str) -> Fix:
    """The fix that closes a call whose payload ends at `payload_to`; a partial closing marker there is completed."""
    start = closed.span.inner.start
    text = closed.inner_text.rstrip()
    begun = next((size for size in range(len(closed.wanted) - 1, 1, -1) if text.endswith(closed.wanted[:size])), 0)
    if begun and start + len(text) - begun <= payload_to:
        end = start + len(text)
        return Fix((Edit(Range(end, end), closed.wanted[begun:]),), safe=True)
    end = start + len(text[: payload_to - start].rstrip())
    return Fix((Edit(Range(end, end), f"{line}{closed.wanted}"),), safe=True)


def unterminated(
    closed: SpanClosed, reading: ParseResult, *, end: int, line: str, repeats: Span | None = None
) -> Fault:
    """The fault of a span without its closing marker.

    `reading` is its content, up to `end` if it is nevertheless whole; `line` is a line end if the template writes one
    before the marker; `repeats` is an earlier span whose text it begins to repeat.
    """
    complete = reading.complete
    content = closed.inner_text.rstrip()
    last = closed.span.inner.start + len(content)
    opener = closed.wanted.replace("/", "", 1)
    if closed.ended_at is not None:
        fault_range = closed.ended_at
        message = _ended_by_marker(closed, opener, complete=complete)
    else:
        fault_range = Range(max(last - 1, closed.span.range.start), last) if content else closed.span.range
        message = f"{_UNCLOSED[closed.span.kind]} is not closed: the stream ends before `{closed.wanted}`."
        if repeats is not None:
            message = f"{message[:-1]}; the truncated text repeats an earlier call, so nothing was lost."
    fix = _closing(closed, end, line) if complete else None
    if fix is not None and reading.open_ended:
        fix = Fix(fix.edits, safe=False)
    hint = f"Close it with `{closed.wanted}`." if complete else None
    related = (Related(repeats.range, "The call that is repeated."),) if repeats is not None else ()
    return Fault(markers.UNTERMINATED_SPAN, fault_range, message, hint, fix, related=related)


def opener_for_closer(fault: Fault, empty: SpanClosed) -> Fault:
    """The fault of an opening marker in the place of the closing one; it opens the `empty` call.

    `fault` is that of the previous call, which this marker ended.
    """
    without_slash = empty.wanted.replace("/", "", 1)
    slip = f"`{without_slash}` appears where `{empty.wanted}` belongs; its slash is missing"
    if without_slash == empty.wanted:
        slip = f"the marker that opens a call appears where `{empty.wanted}` belongs"
    return Fault(
        markers.UNTERMINATED_SPAN,
        fault.range,
        f"The call is not closed: {slip}.",
        f"Write `{empty.wanted}`.",
        Fix((Edit(fault.range, empty.wanted),), safe=fault.fix is not None),
    )


def _ended_by_marker(closed: SpanClosed, opener: str, *, complete: bool) -> str:
    what = f"{_UNCLOSED[closed.span.kind]} is not closed"
    if closed.ended_by == opener and complete:
        return f"{what}, although complete: `{opener}` follows where `{closed.wanted}` belongs."
    if closed.ended_by == opener:
        return f"{what}: `{opener}` opens another before `{closed.wanted}`."
    return f"{what}: `{closed.ended_by}` comes before `{closed.wanted}`."
