"""How faults of the marker layer are put into words."""

from types import MappingProxyType

from inspector.diagnostics import Edit, Fault, Fix, Related
from inspector.model import Span, SpanKind
from inspector.rules import markers
from inspector.rules.rule import Rule
from inspector.segmenter.events import SpanClosed
from inspector.text import Range

_UNCLOSED = MappingProxyType(
    {
        SpanKind.TOOL_CALL: "The call",
        SpanKind.REASONING: "The reasoning",
        SpanKind.TOOL_RESULT: "The tool result",
        SpanKind.TOOL_DEFINITIONS: "The list of tools",
        SpanKind.TEXT: "The text",
        SpanKind.MARKUP: "The span",
    }
)


def marker_fault(rule: Rule, marker: str, place: Range, wanted: str) -> Fault:
    """The fault of a marker that stands where `rule` forbids it; `wanted` is the marker that belongs there."""
    if rule is markers.STRAY_END_MARKER:
        return Fault(
            rule,
            place,
            f"`{marker}` closes nothing: no such span is open here.",
            "If the prompt ended with the opening marker, pass its tail as the prompt; else delete this one.",
        )
    if rule is markers.NESTED_SPAN:
        return Fault(
            rule,
            place,
            f"`{marker}` opens a span inside a span of its own kind; it is text, and the first `{wanted}` ends both.",
            "Delete this marker.",
            Fix((Edit(place, ""),), safe=False),
        )
    if rule is markers.WRONG_BRACKET_VARIANT:
        return Fault(
            rule,
            place,
            f"`{marker}` closes a span that was opened in the other spelling; expected `{wanted}`.",
            f"Write `{wanted}`.",
            Fix((Edit(place, wanted),), safe=True),
        )
    if rule is markers.MARKER_INSIDE_ARGUMENT:
        return Fault(
            rule,
            place,
            f"`{marker}` stands inside a string argument and is data; a server that splits by regular expression ends "
            "the call here.",
        )
    if rule is markers.SPECIAL_TOKEN_LEAK:
        return Fault(
            rule,
            place,
            f"The special token `{marker}` stands where `{wanted}` belongs: a call follows it.",
            f"Write `{wanted}`.",
            Fix((Edit(place, wanted),), safe=False),
        )
    if rule is markers.INVENTED_RESULT:
        return Fault(
            rule,
            place,
            f"The model opens `{marker}` in its own turn: it writes a result that no tool gave.",
            "Stop the generation at the end of the call, and discard what follows.",
        )
    if rule is markers.MALFORMED_HEADER:
        return Fault(
            rule,
            place,
            f"The header of this message is not what the format writes: expected {wanted} here.",
            "Read on as if it stood there: a strict parser gives up, or takes the rest for content.",
        )
    if rule is markers.EMPTY_CALL:
        return Fault(
            rule,
            place,
            f"`{marker}` closes the list of calls before any call: the model announced a call and wrote none.",
        )
    if rule is markers.WRONG_OPENER:
        begins = (
            f"A call begins here without `{wanted}`" if marker.startswith("(") else f"`{marker}` begins a call here"
        )
        due = "" if marker.startswith("(") else f"; this format begins calls with `{wanted}`"
        return Fault(
            rule,
            place,
            f"{begins}{due}, and a server that waits for that takes the call for text.",
            f"Begin the call with `{wanted}`.",
        )
    raise AssertionError(f"no marker breaks {rule}")


def unterminated(closed: SpanClosed, *, complete: bool, repeats: Span | None = None) -> Fault:
    """The fault of a span without its closing marker.

    `complete` says that its content is whole all the same; `repeats` is an earlier span whose text it begins anew.
    """
    content = closed.inner_text.rstrip()
    end = closed.span.inner.start + len(content)
    opener = closed.wanted.replace("/", "", 1)
    if closed.ended_at is not None:
        place = closed.ended_at
        message = _ended_by_marker(closed, opener, complete=complete)
    else:
        place = Range(max(end - 1, closed.span.range.start), end) if content else closed.span.range
        message = f"{_UNCLOSED[closed.span.kind]} is not closed: the stream ends before `{closed.wanted}`."
        if repeats is not None:
            message = f"{message[:-1]}; what it cuts off repeats an earlier call, so nothing was lost."
    fix = Fix((Edit(Range(end, end), f"\n{closed.wanted}"),), safe=True) if complete else None
    hint = f"Close it with `{closed.wanted}`." if complete else None
    related = (Related(repeats.range, "The call that is repeated."),) if repeats is not None else ()
    return Fault(markers.UNTERMINATED_SPAN, place, message, hint, fix, related=related)


def _ended_by_marker(closed: SpanClosed, opener: str, *, complete: bool) -> str:
    what = f"{_UNCLOSED[closed.span.kind]} is not closed"
    if closed.ended_by == opener and complete:
        return f"{what}, although complete: `{opener}` follows where `{closed.wanted}` belongs."
    if closed.ended_by == opener:
        return f"{what}: `{opener}` opens another before `{closed.wanted}`."
    return f"{what}: `{closed.ended_by}` comes before `{closed.wanted}`."
