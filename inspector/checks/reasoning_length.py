"""R601: reasoning that takes more tokens than its budget, counted where that is possible and else estimated."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from inspector.checks.reasoned_turns import ReasonedTurn, ReasoningSpan
from inspector.checks.token_estimate import estimated_in, estimated_place
from inspector.checks.turn_places import at_end
from inspector.diagnostics import Diagnostic, Fault
from inspector.rules.reasoning import REASONING_OVER_BUDGET
from inspector.text import Range

_HINT = "Read its end for a loop; limit thinking in the request, or give the model a smaller step."


def over_budget(turn: ReasonedTurn, budget: int) -> Iterator[Diagnostic]:
    """The diagnostic of a turn whose reasoning takes more than `budget` tokens, from where the budget ran out."""
    counted = _counted(turn.reasoning)
    if counted is not None:
        yield from _told(turn, sum(counted), budget, "takes {} tokens", _counted_place(turn.reasoning, budget))
    elif turn.reported_tokens is not None:
        yield from _told(turn, turn.reported_tokens, budget, "took {} tokens by the server's count", None)
    else:
        estimated = sum(estimated_in(one.part.text, one.span.inner) for one in turn.reasoning)
        place = _estimated_place(turn.reasoning, budget)
        yield from _told(turn, estimated, budget, "takes about {} tokens, estimated from its length", place)


def _told(
    turn: ReasonedTurn, tokens: int, budget: int, words: str, place: tuple[ReasoningSpan, int] | None
) -> Iterator[Diagnostic]:
    if tokens <= budget:
        return
    message = f"The reasoning {words.format(f'{tokens:,}')}; its budget is {budget:,}."
    longest = max(turn.reasoning, key=lambda one: len(one.span.inner), default=None)
    if longest is None:
        yield at_end(turn.turn, turn.number, REASONING_OVER_BUDGET, message, _HINT)
        return
    one, start = place or (longest, longest.span.inner.start)
    end = max(one.span.inner.end, start)
    yield Fault(REASONING_OVER_BUDGET, Range(start, end), message, _HINT).at(turn.number, one.part.name)


def _counted(reasoning: Sequence[ReasoningSpan]) -> list[int] | None:
    """The tokens of each span, by their ids; None where one of its chunks came without."""
    counts = [_ids_within(one) for one in reasoning]
    known = [len(ids) for ids in counts if ids is not None]
    return known if reasoning and len(known) == len(counts) else None


def _ids_within(one: ReasoningSpan) -> list[int] | None:
    """For every token of a span the code point at which its chunk ends; a chunk belongs where its first point lies."""
    chunks = one.part.chunks
    if chunks is None or chunks.token_ids is None:
        return None
    ends: list[int] = []
    index = bisect_left(chunks.ends, one.span.inner.start + 1)
    while index < len(chunks.ends):
        start = chunks.ends[index - 1] if index else 0
        ids = chunks.token_ids[index]
        if start >= one.span.inner.end:
            break
        if ids is None:
            return None
        if start >= one.span.inner.start:
            ends += [chunks.ends[index]] * len(ids)
        index += 1
    return ends


def _counted_place(reasoning: Sequence[ReasoningSpan], budget: int) -> tuple[ReasoningSpan, int] | None:
    left = budget
    for one in reasoning:
        ends = _ids_within(one) or []
        if len(ends) > left:
            return one, min(ends[left - 1] if left else one.span.inner.start, one.span.inner.end)
        left -= len(ends)
    return None


def _estimated_place(reasoning: Sequence[ReasoningSpan], budget: int) -> tuple[ReasoningSpan, int] | None:
    left = budget
    for one in reasoning:
        taken = estimated_in(one.part.text, one.span.inner)
        if taken > left:
            return one, one.span.inner.start + estimated_place(one.span.inner.of(one.part.text), left)
        left -= taken
    return None
