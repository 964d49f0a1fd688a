"""Cuts a raw transcript into turns at the headers of its chat template, losing nothing."""

from dataclasses import dataclass

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialects.hermes_table import HERMES_TABLE
from inspector.model import Generation, Part, Role, SpanKind, Trace, Turn
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.machine import Machine
from inspector.text import Range

_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "tool": Role.TOOL, "text": Role.ASSISTANT}


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One turn of a transcript: its role, the template's word for it, and its text, header and end token included."""

    role: Role
    source_role: str
    range: Range


def split_turns(text: str) -> tuple[TranscriptTurn, ...]:
    """The turns of a ChatML, Llama 3 or Gemma transcript; their ranges tile the text.

    A header counts only where the template may write one, so not within a call's string. Text before the first header
    belongs to the first turn; without any header the whole text is one assistant turn.
    """
    headers = _headers(text)
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


def _headers(text: str) -> list[tuple[int, str]]:
    """Where the headers that name a role begin, and the role's word."""
    machine = Machine(HERMES_TABLE)
    found = []
    for event in (*machine.feed(text), *machine.close()):
        if isinstance(event, SpanClosed) and event.span.kind is SpanKind.MARKUP and event.span.label == "turn_header":
            word = event.inner_text.partition("<")[0].strip()
            if word:
                found.append((event.span.range.start, word))
    return found


def _role(word: str) -> Role:
    return _ROLES[ROLE_HOMES.get(word.lower(), "text")]
