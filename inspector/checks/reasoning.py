"""R6xx checks: reasoning that is too long, missing, empty, or lacks its parts."""

from collections.abc import Iterator, Sequence

from inspector.checks.reasoned_turns import ReasonedTurn, ReasoningSpan
from inspector.checks.reasoning_length import over_budget
from inspector.checks.reasoning_request import ReasoningSwitch
from inspector.checks.turn_places import at_start
from inspector.diagnostics import Diagnostic, Fault
from inspector.model import Role, Trace
from inspector.rules import reasoning as rules
from inspector.text import Range

_FEWEST = 5  # how many turns of its kind a turn is compared with, at least
_RARE = 10  # the turns without reasoning among those of their kind that are still an exception: one in so many
_PARTS = ("goal", "actions", "observation", "reflection")


def check_reasoning(trace: Trace, turns: Sequence[ReasonedTurn], budget: int) -> Iterator[Diagnostic]:
    """R601, R602, R604 and R605 over the assistant turns of `trace`; `budget` is a turn's tokens of reasoning."""
    for turn in turns:
        yield from over_budget(turn, budget)
        yield from _incomplete_scratch_pads(turn)
    yield from _missing(trace, turns)
    yield from _empty(turns)


def _missing(trace: Trace, turns: Sequence[ReasonedTurn]) -> Iterator[Diagnostic]:
    """Turns without any reasoning; those before a user's words and those before a result each among their own."""
    for answers_user in (True, False):
        alike = [turn for turn in turns if turn.answers_user is answers_user and turn.is_whole]
        bare = [turn for turn in alike if not turn.has_text and not turn.reported_tokens and not turn.reasoning]
        with_reasoning = sum(turn.has_text for turn in alike)
        is_exception = with_reasoning >= _FEWEST and with_reasoning >= _RARE * len(bare)
        for turn in bare:
            if _is_told_not_to(trace, turn):
                continue
            if answers_user and turn.switch is ReasoningSwitch.ON:
                message = "The request asked for reasoning, and this answer has none."
                hint = "Look whether the chat template opens the reasoning, and whether the server's parser drops it."
                yield at_start(turn.turn, turn.number, rules.REASONING_MISSING, message, hint)
            elif is_exception:
                kind = "a user" if answers_user else "a tool's result"
                message = (
                    f"This turn has no reasoning; {with_reasoning} of the {len(alike)} turns that answer {kind} have."
                )
                yield at_start(turn.turn, turn.number, rules.REASONING_MISSING, message)


def _is_told_not_to(trace: Trace, turn: ReasonedTurn) -> bool:
    """Whether the request or the words before it (Qwen3's soft switch) ask for an answer without reasoning."""
    if turn.switch is ReasoningSwitch.OFF:
        return True
    before = trace.turns[turn.number - 2] if turn.number > 1 else None
    if before is None or before.role is not Role.USER:
        return False
    return any(part.text[-200:].rstrip().endswith("/no_think") for part in before.parts)


def _empty(turns: Sequence[ReasonedTurn]) -> Iterator[Diagnostic]:
    found = [(turn, one) for turn in turns for one in turn.reasoning if _is_empty(turn, one)]
    is_mode = len(found) > 1 and not any(turn.has_text for turn in turns)
    for turn, one in found[:1] if is_mode else found:
        place = one.span.range
        others = len(found) - 1
        again = f"; so is that of {others} further {'answer' if others == 1 else 'answers'}" if is_mode else ""
        shown = " ".join(place.of(one.part.text).split())
        message = f"The reasoning is empty (`{shown}`){again}."
        yield Fault(rules.EMPTY_REASONING, place, message).at(turn.number, one.part.name)


def _is_empty(turn: ReasonedTurn, one: ReasoningSpan) -> bool:
    is_asked_for = turn.switch is ReasoningSwitch.OFF
    is_marked = one.span.inner != one.span.range
    return one.is_empty and is_marked and not is_asked_for and not turn.reported_tokens


def _incomplete_scratch_pads(turn: ReasonedTurn) -> Iterator[Diagnostic]:
    for one in turn.reasoning:
        there = {child.label for child in one.span.children if child.label in _PARTS}
        missing = [f"`{part.capitalize()}:`" for part in _PARTS if part not in there]
        if one.span.label == "scratch_pad" and one.span.closed and there and missing:
            message = f"The scratch pad lacks {' and '.join(missing)}."
            hint = "Write all four parts, each at the beginning of a line, with `none` where there is nothing to say."
            opener = Range(one.span.range.start, one.span.inner.start)
            yield Fault(rules.SCRATCH_PAD_INCOMPLETE, opener, message, hint).at(turn.number, one.part.name)
