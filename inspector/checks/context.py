"""How full the context window is: each answer's tokens, and the window that its source or request states."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from weaklink.inspector.checks.reasoning import estimated_tokens
from weaklink.inspector.checks.wording import at_end
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.json_text import window_of_tokens
from weaklink.inspector.model import Generation, Json, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.rules.reasoning import CONTEXT_NEARLY_FULL

CONTEXT_WINDOW = 131_072
"""The assumed size of a model's window in tokens if none is stated."""

_NEARLY = 0.9
_MAX_SETTINGS_CHARS = 65_536  # settings are short
_HINT = "Shorten tool results, drop answered messages, or summarise the conversation."


class ContextWindow(NamedTuple):
    """The size of a window in tokens, and how it is known, in words: `""` if the caller passed it."""

    tokens: int
    basis: str = ""

    @property
    def described(self) -> str:
        """The size with its basis: `131,072 (assumed)`."""
        return f"{self.tokens:,} ({self.basis})" if self.basis else f"{self.tokens:,}"


class TurnContext(NamedTuple):
    """The tokens that an answer took of its window: the request and the answer together."""

    number: int
    turn: Turn
    tokens: int
    window: ContextWindow
    is_estimated: bool

    @property
    def share(self) -> float:
        """The share of the window."""
        return self.tokens / self.window.tokens


def window_of(generation: Generation | None, given: int | None = None) -> ContextWindow:
    """The window of a request: the `given` one, the one in the source, Ollama's `num_ctx`, or an assumption."""
    if given is not None:
        return ContextWindow(given)
    stated = window_of_tokens(generation.context_window) if generation is not None else None
    if stated is not None:
        return ContextWindow(stated, "from the source")
    requested = _requested(generation.parameters) if generation is not None else None
    return ContextWindow(CONTEXT_WINDOW, "assumed") if requested is None else ContextWindow(requested, "`num_ctx`")


@lru_cache(maxsize=256)
def _requested(parameters: str) -> int | None:
    """`num_ctx` among the options of a request to Ollama."""
    if '"num_ctx"' not in parameters or len(parameters) > _MAX_SETTINGS_CHARS:
        return None
    try:
        settings: Json = msgspec.json.decode(parameters)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    options = settings.get("options", settings) if isinstance(settings, dict) else None
    return window_of_tokens(options.get("num_ctx")) if isinstance(options, dict) else None


def turn_contexts(trace: Trace, given: int | None = None) -> Iterator[TurnContext]:
    """The tokens of each answer, by the server's count if the trace has such counts, else estimated from the texts."""
    has_counts = any(_counted(turn) is not None for turn in trace.turns if turn.generation is not None)
    counts = _counts(trace) if has_counts else _estimates(trace)
    for number, turn, tokens in counts:
        yield TurnContext(number, turn, tokens, window_of(turn.generation, given), not has_counts)


def fullest_share(trace: Trace) -> float | None:
    """The largest share of its window that an answer took; None for a trace without an answer."""
    return max((context.share for context in turn_contexts(trace)), default=None)


def check_context(trace: Trace, window: int | None = None) -> Iterator[Diagnostic]:
    """R603 at each assistant turn at which the conversation reaches nine tenths of its window.

    Later turns that are as full are not reported again, until the conversation has been made shorter.
    """
    was_full = False
    for context in turn_contexts(trace, window):
        is_full = context.tokens > 0 and context.tokens >= context.window.tokens * _NEARLY
        if is_full and not was_full:
            how = "about " if context.is_estimated else ""
            source = "estimated from its length" if context.is_estimated else "by the server's count"
            share = f"{context.share:.0%} of" if context.tokens <= context.window.tokens else "more than"
            message = (
                f"With this turn the conversation takes {how}{context.tokens:,} tokens, {source}: {share} the context "
                f"window of {context.window.described}."
            )
            yield at_end(context.turn, context.number, CONTEXT_NEARLY_FULL, message, _HINT)
        was_full = is_full


def _counts(trace: Trace) -> Iterator[tuple[int, Turn, int]]:
    for number, turn in enumerate(trace.turns, 1):
        taken = _counted(turn)
        if taken is not None:
            yield number, turn, taken


def _counted(turn: Turn) -> int | None:
    usage = turn.generation.usage if turn.generation is not None else None
    if usage is None or usage.input_tokens is None:
        return None
    return usage.input_tokens + (usage.output_tokens or 0)


def _estimates(trace: Trace) -> Iterator[tuple[int, Turn, int]]:
    """The texts up to each assistant turn; templates drop the reasoning of earlier turns, so it is not counted."""
    so_far = of_tools = 0
    counted: tuple[ToolDefinition, ...] = ()
    for number, turn in enumerate(trace.turns, 1):
        counts = {part.name: estimated_tokens(part.text) for part in turn.parts if not part.name.startswith("wire:")}
        thought = counts.pop("reasoning", 0)
        so_far += sum(counts.values())
        if turn.role is Role.ASSISTANT:
            tools = turn.generation.tools if turn.generation is not None else ()
            if tools is not counted:  # most turns offer the same tuple
                counted, of_tools = tools, sum([estimated_tokens(tool.raw) for tool in tools])
            yield number, turn, so_far + thought + of_tools
