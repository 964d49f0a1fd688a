"""Splits a raw transcript into turns at the headers of its chat template, without losing any text."""

import re
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from weaklink.inspector.formats.chat_turns import ROLE_HOMES
from weaklink.inspector.formats.dialects.deepseek import DEEPSEEK_V3
from weaklink.inspector.formats.dialects.functionary import FUNCTIONARY
from weaklink.inspector.formats.dialects.harmony import HARMONY
from weaklink.inspector.formats.dialects.hermes import HERMES
from weaklink.inspector.formats.format import Format
from weaklink.inspector.model import Generation, Part, Role, SpanKind, Trace, Turn
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import FormatParser, ParseEvent, SpanClosed
from weaklink.inspector.text import Range

_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "tool": Role.TOOL, "text": Role.ASSISTANT}
_WRITTEN_BY_MODEL = (SpanKind.TEXT, SpanKind.REASONING, SpanKind.TOOL_CALL)


class _Template(Struct, frozen=True):
    """A family of chat templates: the pattern of its first header, and a format that finds all headers.

    `messages` says that a reply may be several messages, each with a header, and that results have no turn header.
    `unheaded` says that the system prompt has none either: it comes before the first header.
    """

    first_header: re.Pattern[str]
    format: Format
    messages: bool = True
    unheaded: bool = False


_TEMPLATES = (
    _Template(lazy_pattern(r"<\|start\|>(?:system|developer|user|assistant)(?:<\|| to=)"), HARMONY),
    _Template(lazy_pattern(r"<｜(?:User|Assistant|System)｜>"), DEEPSEEK_V3, unheaded=True),
    _Template(lazy_pattern(r"<\|from\|>[^\n<]{1,80}\n<\|recipient\|>|<\|END_OF_(?:SYSTEM|USER)\|>"), FUNCTIONARY),
)
_USUAL = _Template(lazy_pattern(r"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>"), HERMES, messages=False)
_BEGINNING = lazy_pattern(r"<｜begin▁of▁sentence｜>")
_PIECE = 1 << 16
_OPENING_TAG = lazy_pattern(r"\s*<\|(?:start|from)\|>([A-Za-z_]+)")


class TranscriptTurn(Struct, frozen=True):
    """One turn of a transcript: its role, the template's word for it, and its range with header and end token."""

    role: Role
    source_role: str
    range: Range


def split_turns(text: str) -> tuple[TranscriptTurn, ...]:
    """The turns of a ChatML, Llama 3, Gemma, harmony, DeepSeek or functionary transcript; their ranges tile the text.

    A header counts only where the template may write one, so not within a call's string. If the template gives each
    message a header, consecutive messages of a model are one turn, and so are consecutive results. Text before the
    first header belongs to the first turn; without any header the whole text is one assistant turn.
    """
    template = _template(text)
    headers = list(_headers(text, template))
    if template.messages:
        headers = [next(run) for _, run in groupby(headers, key=lambda header: _role(header[1]))]
    if template.unheaded and headers and _BEGINNING.sub("", text[: headers[0][0]], count=1).strip():
        headers.insert(0, (0, "system"))
    if not headers:
        return (TranscriptTurn(Role.ASSISTANT, "", Range(0, len(text))),) if text else ()
    starts = [0, *(start for start, _ in headers[1:])]
    ends = [*starts[1:], len(text)]
    return tuple(
        TranscriptTurn(_role(word), word, Range(start, end))
        for (_, word), start, end in zip(headers, starts, ends, strict=True)
    )


def read_transcript(text: str) -> Trace:
    """A transcript as a trace of turns with one part each; joining the parts' texts gives the transcript."""
    turns = tuple(
        Turn(
            turn.role,
            (Part("text", turn.range.of(text)),),
            source_role=turn.source_role,
            generation=Generation() if turn.role is Role.ASSISTANT else None,
        )
        for turn in split_turns(text)
    )
    return Trace(turns)


def _template(text: str) -> _Template:
    """The family whose header comes first in the text."""
    candidates = (
        (match.start(), template)
        for template in (_USUAL, *_TEMPLATES)
        if (match := template.first_header.search(text)) is not None
    )
    return min(candidates, key=lambda pair: pair[0], default=(0, _USUAL))[1]


def _headers(text: str, template: _Template) -> Iterator[tuple[int, str]]:
    """The position where each turn begins, and the template's word for its role."""
    parser = template.format.new_parser()
    within_results = False
    opened_at: int | None = None
    for event in _events(parser, text):
        if not isinstance(event, SpanClosed):
            continue
        span = event.span
        word = _role_word(event, text) if span.kind is SpanKind.MARKUP and span.label == "turn_header" else ""
        if word:
            within_results = False
            yield span.range.start, word
        elif template.messages and span.kind is SpanKind.TOOL_RESULT and not within_results:
            within_results = True
            yield (span.range.start if opened_at is None else opened_at), "tool"
        elif within_results and span.kind in _WRITTEN_BY_MODEL and span.range.of(text).strip():
            within_results = False
            yield span.range.start, "assistant"
        opened_at = span.range.start if span.label == "results" else None


def _events(parser: FormatParser, text: str) -> Iterator[ParseEvent]:
    """The parser's events, one chunk at a time: all events together are many times as large as the text."""
    for start in range(0, len(text), _PIECE):
        yield from parser.feed(text[start : start + _PIECE])
    yield from parser.close()


def _role_word(event: SpanClosed, text: str) -> str:
    """The word for the role in a header; "" if it has none."""
    word = event.inner_text.partition("<")[0].split()
    if word:
        return word[0]
    opened = _OPENING_TAG.match(text, event.span.range.start, event.span.range.end)
    return opened[1] if opened is not None else ""


def _role(word: str) -> Role:
    return _ROLES[ROLE_HOMES.get(word.lower(), "text")]
