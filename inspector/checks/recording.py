"""C5xx checks: what the facts of a generation say about its recording."""

from collections.abc import Iterator
from typing import TypeGuard

from inspector.checks.turn_places import at_end
from inspector.diagnostics import Diagnostic, Fault
from inspector.model import BodyState, ErrorPhase, FinishReason, GenerationError, Turn
from inspector.rules import recording as rules
from inspector.rules.rule import Rule
from inspector.text import Range
from inspector.wire.events import REUSED_INDEX_PART, UNREAD_PART


def check_recording(turn: Turn, number: int) -> Iterator[Diagnostic]:
    """The diagnostics of turn `number` (from 1); those on the generation lie at the end of the last text that came."""
    generation = turn.generation
    if generation is None:
        return
    unread = turn.part(UNREAD_PART)
    if _is_no_answer(generation.error):
        said = unread.text if unread is not None and unread.text else generation.error.message
        message = f"Status {generation.error.status} came with a body that is no answer of a model: `{_short(said)}`."
        yield at_end(turn, number, rules.NOT_AN_ANSWER, message)
        return
    if unread is not None and unread.text and generation.body is not BodyState.TRUNCATED:
        message = f"The decoder does not know this, and kept it word for word: `{_short(unread.text)}`."
        yield Fault(rules.UNKNOWN_WIRE_EVENT, Range(0, len(unread.text)), message).at(number, UNREAD_PART)
    reused = turn.part(REUSED_INDEX_PART)
    if reused is not None and reused.text:
        message = (
            f"A new call came under the index of an earlier call; expected one of its own: `{_short(reused.text)}`."
        )
        yield Fault(rules.REUSED_CALL_INDEX, Range(0, len(reused.text)), message).at(number, REUSED_INDEX_PART)
    if generation.error is not None:
        status = f" (status {generation.error.status})" if generation.error.status is not None else ""
        message = f"{_ERROR_WORDS[generation.error.phase]}{status}: `{_short(generation.error.message).rstrip('.')}`."
        yield at_end(turn, number, _ERROR_RULES[generation.error.phase], message)
    elif generation.finish is FinishReason.LENGTH:
        message = "The server stopped here at its length limit; what is open was not finished by the model."
        yield at_end(turn, number, rules.CUT_OFF_BY_LENGTH, message)
    elif generation.body is BodyState.TRUNCATED:
        yield at_end(turn, number, rules.ABORTED_STREAM, "The stream ended here without the server's end sign.")


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
    ErrorPhase.IN_STREAM: "The server sent an error inside a stream that began well",
    ErrorPhase.TRANSPORT: "The connection broke",
    ErrorPhase.CLIENT_ABORT: "The client left",
}


def _is_no_answer(error: GenerationError | None) -> TypeGuard[GenerationError]:
    """Whether the server failed though its status says that it did not."""
    return error is not None and error.phase is ErrorPhase.HTTP and error.status is not None and error.status < 400


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"
