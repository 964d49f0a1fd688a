"""R603: a conversation that fills the context window, by the server's counts or else by an estimate."""

from collections.abc import Iterator

from inspector.checks.token_estimate import estimated_tokens
from inspector.checks.turn_places import at_end
from inspector.diagnostics import Diagnostic
from inspector.model import Role, Trace, Turn
from inspector.rules.reasoning import CONTEXT_NEARLY_FULL

_NEARLY = 0.9
_HINT = "Shorten tool results, drop what is answered, or sum up what was said."


def check_context(trace: Trace, window: int) -> Iterator[Diagnostic]:
    """R603 at each assistant turn with which the conversation comes to fill nine tenths of `window` tokens.

    Turns after it that are as full are not told again, until the conversation has been made shorter.
    """
    is_reported = any(_reported(turn) is not None for turn in trace.turns)
    was_full = False
    for number, turn, taken in _reports(trace) if is_reported else _estimates(trace):
        is_full = 0 < taken >= window * _NEARLY
        if is_full and not was_full:
            how = "" if is_reported else "about "
            source = "by the server's count" if is_reported else "estimated from its length"
            share = f"{taken / window:.0%} of" if taken <= window else "more than"
            message = (
                f"With this turn the conversation takes {how}{taken:,} tokens, {source}: {share} the context window "
                f"of {window:,}."
            )
            yield at_end(turn, number, CONTEXT_NEARLY_FULL, message, _HINT)
        was_full = is_full


def _reports(trace: Trace) -> Iterator[tuple[int, Turn, int]]:
    for number, turn in enumerate(trace.turns, 1):
        taken = _reported(turn)
        if taken is not None:
            yield number, turn, taken


def _reported(turn: Turn) -> int | None:
    usage = turn.generation.usage if turn.generation is not None else None
    if usage is None or usage.input_tokens is None:
        return None
    return usage.input_tokens + (usage.output_tokens or 0)


def _estimates(trace: Trace) -> Iterator[tuple[int, Turn, int]]:
    """The texts up to each assistant turn; templates drop the reasoning of earlier turns, so it is not counted."""
    so_far = 0
    for number, turn in enumerate(trace.turns, 1):
        said = {part.name: estimated_tokens(part.text) for part in turn.parts if not part.name.startswith("wire:")}
        thought = said.pop("reasoning", 0)
        tools = turn.generation.tools if turn.generation is not None else ()
        so_far += sum(said.values())
        if turn.role is Role.ASSISTANT:
            yield number, turn, so_far + thought + sum(estimated_tokens(tool.raw) for tool in tools)
