"""Finds calls in an answer's text that are quoted or shown as an example, and not made.

It is asked only where the source stores calls apart from the text, so a call in the text is either lost or quoted. A
quoted call is in a code fence, in backticks, in an indented block of code, or the user asked for an example of a call
just before. Anything else counts as a call that the model meant to make.
"""

from collections.abc import Sequence

from weaklink.inspector.checks.attempted.attempt import Fences
from weaklink.inspector.model import Span, SpanKind
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_READ_OF_REQUEST = 20_000  # code points of a user's text that are searched
_CALL_WORDS = r"(?:tool|function)[ _-]?(?:calls?|calling|use)\b"
_EXAMPLE_WORDS = r"\b(?:examples?|samples?|syntax|format|looks?|written|document\w{0,9})\b"
_ASKS_FOR_EXAMPLE = lazy_pattern(
    rf"(?i){_EXAMPLE_WORDS}[^.?!\n]{{0,80}}\b{_CALL_WORDS}|\b{_CALL_WORDS}[^.?!\n]{{0,80}}{_EXAMPLE_WORDS}"
    r"|\bhow\b[^.?!\n]{0,40}\bcalls?\b[^.?!\n]{0,20}\b(?:look|written)\b"
)
"""A sentence with a word for an example and one for a call, or `how ... calls look`."""
_EXAMPLE_WORD = lazy_pattern(rf"(?i){_EXAMPLE_WORDS}|\b(?:explain|show|mean)\w{{0,3}}\b")
_OPENER = lazy_pattern(r"[^\s>=]{1,40}")


def quoted_spans(text: str, spans: Sequence[Span], request: str) -> list[Range]:
    """The ranges of the spans of calls in `text` that are only quoted; `request` is the user's last text before it."""
    called = [span.range for span in spans if span.kind is SpanKind.TOOL_CALL]
    return quoted_ranges(text, called, request) if called else []


def quoted_ranges(text: str, called: Sequence[Range], request: str) -> list[Range]:
    """Those of the ranges of calls that are only quoted."""
    fences = Fences(text)
    return [
        call
        for call in called
        if _is_in_fence(fences, call)
        or _is_in_backticks(text, call)
        or _is_indented(text, call)
        or _is_asked_for(call.of(text), request[:_READ_OF_REQUEST])
    ]


def _is_in_fence(fences: Fences, call: Range) -> bool:
    """Whether a code fence is around the call; Gemini's own calls begin with a fence."""
    fence = fences.at(call.start)
    return fence is not None and fence.range.start < call.start


def _is_in_backticks(text: str, call: Range) -> bool:
    """Whether a backtick opens on the call's first line before it and closes on its last line after it."""
    before = text[max(call.start - _READ_OF_REQUEST, 0) : call.start].rpartition("\n")[2]
    after = text[call.end : call.end + _READ_OF_REQUEST].partition("\n")[0]
    return before.count("`") % 2 == 1 and "`" in after


def _is_indented(text: str, call: Range) -> bool:
    """Whether every line of the call is indented as code is in Markdown, after an empty line."""
    before, _, indent = text[: call.start].rpartition("\n")
    lines = call.of(text).split("\n")[1:]
    is_block = not before.strip() or before.rstrip(" \t").endswith("\n")
    return is_block and _is_code_indent(indent) and all(map(_is_code_indent, filter(str.strip, lines)))


def _is_code_indent(line: str) -> bool:
    return line.startswith(("    ", "\t"))


def _is_asked_for(call: str, request: str) -> bool:
    """Whether the user asked for an example of a call, or for an explanation of this syntax."""
    if _ASKS_FOR_EXAMPLE.search(request) is not None:
        return True
    opener = _OPENER.match(call)
    is_named = opener is not None and not opener[0].isalnum() and opener[0] in request
    return is_named and _EXAMPLE_WORD.search(request) is not None
