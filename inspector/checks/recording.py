"""C5xx checks: what a generation's facts, chunk numbers and times show about its recording."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from operator import attrgetter
from typing import TypeGuard

import msgspec

from weaklink.inspector.checks.wording import at_end
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import BodyState, ErrorPhase, FinishReason, Generation, GenerationError, Turn
from weaklink.inspector.rules import recording as rules
from weaklink.inspector.rules.markers import WRONG_OPENER
from weaklink.inspector.rules.recording import SEQUENCE_GAP, STALLED_STREAM
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import (
    REPEATED_NAME_PART,
    REUSED_INDEX_PART,
    UNREAD_PART,
    WIRE_PREFIX,
    stop_words,
)

_ERROR_RULES: dict[ErrorPhase, Rule] = {
    ErrorPhase.CONNECT: rules.UPSTREAM_ERROR,
    ErrorPhase.HTTP: rules.UPSTREAM_ERROR,
    ErrorPhase.IN_STREAM: rules.ERROR_INSIDE_200,
    ErrorPhase.TRANSPORT: rules.ABORTED_STREAM,
    ErrorPhase.CLIENT_ABORT: rules.ABORTED_STREAM,
}

_ERROR_WORDS = {
    ErrorPhase.CONNECT: "The server could not be reached",
    ErrorPhase.HTTP: "The server answered with an error",
    ErrorPhase.IN_STREAM: "The server sent an error inside a stream that began normally",
    ErrorPhase.TRANSPORT: "The connection broke",
    ErrorPhase.CLIENT_ABORT: "The client stopped here",
}

_QUOTED = 1_000  # characters of a text that a message may quote from; an unread event may have many millions
_TEXTS = frozenset({"text", "reasoning"})
STALL_S = 10.0
"""The longest pause within a stream that is not reported as a stall, in seconds."""


def stripped_stop_word(turn: Turn, is_whole: Callable[[str], bool]) -> str:
    """What the server left out of the end of an answer, because its request has it as a stop word; `""` if nothing.

    `is_whole` says whether the answer's last span is closed with a text behind it. The stop word may be a beginning of
    the closing marker: OpenHands has `</function` (fn_call_converter.py).
    """
    if turn.generation is None or turn.generation.finish is not FinishReason.STOP:
        return ""
    ends = [f"{word}{bracket}" for word in stop_words(turn.generation) for bracket in ("", ">")]
    return "" if not ends or is_whole("") else next(filter(is_whole, ends), "")


def only_client_parses(diagnostic: Diagnostic, sent: Generation | None) -> bool:
    """Whether a call lacks the marker that a server searches for, in an answer to a request without tools.

    Only the agent reads the calls of that one.
    """
    if diagnostic.rule is not WRONG_OPENER or sent is None or sent.api != "chat.completions":
        return False
    return sent.request is not None and not sent.tools


def repeated_turns(turns: Iterable[Turn]) -> frozenset[int]:
    """The numbers of the turns whose request failed, and whose client repeated it until it succeeded."""
    failed: list[int] = []
    repeated: set[int] = set()
    for number, turn in enumerate(turns, 1):
        generation = turn.generation
        if generation is None:
            continue
        if generation.attempt == 1:
            failed = []
        if generation.error is not None:
            failed.append(number)
        else:
            repeated.update(failed)
            failed = []
    return frozenset(repeated)


def check_recording(turn: Turn, number: int, *, was_repeated: bool = False) -> Iterator[Diagnostic]:
    """The diagnostics of turn `number` (from 1); those on the generation are at the end of its text.

    `was_repeated` says that a later attempt at the same request succeeded.
    """
    generation = turn.generation
    if generation is None:
        return
    unread = turn.part(UNREAD_PART)
    if _is_no_answer(generation.error):
        words = _quoted(unread.text) if unread is not None and unread.text else generation.error.message.rstrip(".")
        message = f"The response has status {generation.error.status}, but its body is not a model's answer: {words}."
        yield at_end(turn, number, rules.NOT_AN_ANSWER, message)
        return
    if unread is not None and unread.text and generation.body is not BodyState.TRUNCATED:
        message = f"The decoder does not know this event and kept it unchanged: `{_short(unread.text)}`."
        yield Fault(rules.UNKNOWN_WIRE_EVENT, Range(0, len(unread.text)), message).at(number, UNREAD_PART)
    reused = turn.part(REUSED_INDEX_PART)
    if reused is not None and reused.text:
        message = f"A new call has the index of an earlier call; expected a new index: `{_short(reused.text)}`."
        yield Fault(rules.REUSED_CALL_INDEX, Range(0, len(reused.text)), message).at(number, REUSED_INDEX_PART)
    repeated = turn.part(REPEATED_NAME_PART)
    if repeated is not None and repeated.text:
        message = f"The name of a call comes again with a later piece of the call: `{_short(repeated.text)}`."
        yield Fault(rules.REPEATED_CALL_NAME, Range(0, len(repeated.text)), message).at(number, REPEATED_NAME_PART)
    if generation.error is not None:
        status = f" (status {generation.error.status})" if generation.error.status is not None else ""
        message = f"{_ERROR_WORDS[generation.error.phase]}{status}: {_quoted(generation.error.message.rstrip('.'))}."
        rule = rule_of_error(generation.error)
        if was_repeated:
            rule, message = rules.REPEATED_REQUEST, f"{message} The client repeated the request, and it succeeded."
        yield at_end(turn, number, rule, message)
    elif generation.finish is FinishReason.LENGTH:
        message = "The server stopped here at its length limit; the model did not finish what is open here."
        yield at_end(turn, number, rules.CUT_OFF_BY_LENGTH, message)
    elif generation.body is BodyState.TRUNCATED:
        yield at_end(turn, number, rules.ABORTED_STREAM, "The answer ended here without the server's end sign.")


def rule_of_error(error: GenerationError) -> Rule:
    """The rule that reports this error."""
    return rules.NOT_AN_ANSWER if _is_no_answer(error) else _ERROR_RULES[error.phase]


def check_finish(turn: Turn, number: int) -> Iterator[Diagnostic]:
    """The diagnostic of an answer without any call that the server ended as one with calls.

    Nothing is reported if the answer has parts of other kinds, such as calls that the server itself runs.
    """
    generation = turn.generation
    if (
        generation is not None
        and generation.finish is FinishReason.TOOL_CALLS
        and generation.error is None
        and generation.body is BodyState.COMPLETE
        and not turn.calls
        and all(part.name in _TEXTS or part.name.startswith(WIRE_PREFIX) for part in turn.parts)
    ):
        message = "The finish reason says that the answer ends with calls, and it has no call."
        yield at_end(turn, number, rules.FINISH_WITHOUT_CALL, message)


def _is_no_answer(error: GenerationError | None) -> TypeGuard[GenerationError]:
    """Whether the server failed although its status reports success."""
    return error is not None and error.phase is ErrorPhase.HTTP and error.status is not None and error.status < 400


def _quoted(text: str) -> str:
    """A text in a message, in the quotation marks that it does not have itself."""
    short = _short(text)
    return f"“{short}”" if "`" in short else f"`{short}`"


def _short(text: str) -> str:
    line = " ".join(text[:_QUOTED].split())
    return line if len(line) <= 120 else line[:119] + "…"


class _Arrival(msgspec.Struct, frozen=True, gc=False):
    sequence: int
    part: str
    chunk_range: Range
    offset_s: float | None


def check_arrivals(turn: Turn, number: int) -> Iterator[Diagnostic]:
    """The gaps and stalls in the stream of turn `number` (from 1), each at the chunk after it.

    Repeated chunks are reported once, at the first one: a recording that is joined with itself repeats them all.
    """
    if all(part.chunks is None for part in turn.parts):
        return
    arrivals = sorted(_arrivals(turn), key=attrgetter("sequence"))
    is_counted = all(
        part.chunks is not None or not part.text or part.name.startswith(WIRE_PREFIX) for part in turn.parts
    )
    if is_counted:
        repeated = [after for before, after in pairwise(arrivals) if after.sequence == before.sequence]
        if repeated:
            yield Fault(SEQUENCE_GAP, repeated[0].chunk_range, _repetition(repeated)).at(number, repeated[0].part)
    for before, after in pairwise(arrivals):
        message = _gap(before.sequence, after.sequence) if is_counted else None
        if message is not None:
            yield Fault(SEQUENCE_GAP, after.chunk_range, message).at(number, after.part)
        elif before.offset_s is not None and after.offset_s is not None:
            waited = after.offset_s - before.offset_s
            if waited > STALL_S:
                message = f"No data arrived for {waited:.1f} s before this, from {before.offset_s:.1f} s."
                yield Fault(STALLED_STREAM, after.chunk_range, message).at(number, after.part)


def _repetition(again: Sequence[_Arrival]) -> str:
    own = "every chunk has its own number."
    numbers = sorted({arrival.sequence for arrival in again})
    if len(numbers) > 1:
        return f"Chunk {numbers[0]} was received more than once, and so were {len(numbers) - 1:,} more; {own}"
    return f"Chunk {numbers[0]} was received more than once; {own}"


def _gap(before: int, after: int) -> str | None:
    missing = after - before - 1
    if missing < 1:
        return None
    joined = "and" if missing == 2 else "to"
    named = f"Chunk {before + 1} is" if missing == 1 else f"Chunks {before + 1} {joined} {after - 1} are"
    return f"{named} missing before this: the recording lost what came there."


def _arrivals(turn: Turn) -> Iterator[_Arrival]:
    for part in turn.parts:
        if part.chunks is None:
            continue
        start, chunks, offsets_s = 0, part.chunks, part.chunks.offsets_s or repeat(None)
        for end, sequence, offset_s in zip(chunks.ends, chunks.sequences, offsets_s, strict=False):
            yield _Arrival(sequence, part.name, Range(start, end), offset_s)
            start = end
