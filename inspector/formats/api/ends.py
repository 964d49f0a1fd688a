"""How an API's answer ends too early: stopped at the length limit, or with an error inside the stream."""

from collections.abc import Collection, Iterator

from inspector.diagnostics import Fault
from inspector.formats.api.nodes import member, text_of
from inspector.formats.api.pieces import Oddity
from inspector.json_scanner import JsonKind, JsonNode
from inspector.rules.recording import CUT_OFF_BY_LENGTH, ERROR_INSIDE_200, UNKNOWN_WIRE_EVENT

_MAX_QUOTE = 200


def cut_off(reason: JsonNode | None, lengths: Collection[str]) -> Iterator[Oddity]:
    """The fault of a finish reason that is one of `lengths`, the API's words for its limit."""
    if reason is not None and reason.scalar in lengths:
        message = f"The answer was stopped by the length limit (finish reason `{reason.scalar}`)."
        yield Oddity(Fault(CUT_OFF_BY_LENGTH, reason.range, message, "Raise the limit on output tokens."))


def another_answer(node: JsonNode, index: int) -> Oddity:
    """That a request was answered several times; `node` is the answer of that index."""
    message = f"Answer {index} is a further one to the same request; only answer 0 is read."
    return Oddity(Fault(UNKNOWN_WIRE_EVENT, node.range, message))


def error_inside(node: JsonNode) -> Iterator[Oddity]:
    """The fault of an `error` that a stream holds."""
    error = member(node, "error")
    if error is not None:
        said = error.scalar if error.kind is JsonKind.STRING else text_of(error, "message")
        words = f": {str(said)[:_MAX_QUOTE].rstrip('.')}" if said else ""
        yield Oddity(Fault(ERROR_INSIDE_200, error.range, f"The server sent an error inside the answer{words}."))
