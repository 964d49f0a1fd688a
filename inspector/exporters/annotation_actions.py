"""What the agent did after an observation: which calls it made next, or what it said, and its own words on why."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.chain.intent import intent_of, same_intent
from inspector.chain.speech import admits
from inspector.chain.steps import Step
from inspector.chain.terminal_tools import bare_name, is_terminal
from inspector.chain.words import folded_words
from inspector.checks.repetition import call_key
from inspector.diagnostics import Location
from inspector.inspection import Inspection, PartInspection
from inspector.model import Json, Role, Span, SpanKind, ToolCall, Trace
from inspector.text import Range

_LONGEST_WORDS = 600
_MOST_COMPARED = 20
_HANDS_OVER = ("transfer_to_", "handoff_to_", "hand_off_to_", "hand_over_to_", "escalate_to_")


class Action(StrEnum):
    """What the agent did next."""

    RETRY_IDENTICAL_CALL = "retry_identical_call"
    RETRY_CORRECTED_CALL = "retry_corrected_call"  # the same call, written otherwise than the one that was malformed
    RETRY_WITH_BROADER_QUERY = "retry_with_broader_query"  # arguments left out, or words of one, and none added
    RETRY_WITH_OTHER_ARGUMENTS = "retry_with_other_arguments"  # the same tool, after the same thing
    TRY_OTHER_TARGET = "try_other_target"  # the same tool, after something else
    USE_OTHER_COMMAND = "use_other_command"  # another program in the same shell
    USE_OTHER_TOOL = "use_other_tool"
    HAND_OVER = "hand_over"
    GIVE_UP = "give_up"  # it ended the work without another try
    REPORT_FAILURE = "report_failure"  # it told in words that something did not work
    ASK_USER = "ask_user"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class AnnotatedReasoning:
    """The agent's own words, at most 600 code points of them, and where they stand."""

    text: str
    location: Location


@dataclass(frozen=True, slots=True)
class FollowingAction:
    """What came after a step: the action, the steps that it consists of, and the words before it.

    `action` is None where the agent did nothing before the trace ended or the user spoke.
    """

    action: Action | None
    steps: tuple[int, ...] = ()
    reasoning: AnnotatedReasoning | None = None


class WhatCameNext:
    """Looks up what the agent did after each step of one trace."""

    def __init__(self, trace: Trace, inspection: Inspection) -> None:
        self._trace, self._steps = trace, inspection.chain.steps
        self._step_turns = [step.location.turn for step in self._steps]
        self._user_turns = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.USER]
        self._parts: defaultdict[int, list[PartInspection]] = defaultdict(list)
        for part in inspection.parts:
            if trace.turns[part.turn - 1].role is Role.ASSISTANT:
                self._parts[part.turn].append(part)
        self._spoken_turns = sorted(self._parts)

    def after(self, step: Step) -> FollowingAction:
        """What the agent did once it could know what became of `step`, before the user spoke again."""
        known = (step.result_location or step.location).turn
        until = self._next_user_turn(known)
        first = bisect_right(self._step_turns, known)
        if first < len(self._steps) and self._step_turns[first] < until:
            turn = self._step_turns[first]
            made = self._steps[first : bisect_right(self._step_turns, turn)]
            chosen = min(made[:_MOST_COMPARED], key=lambda one: _distance(step, one))
            alike = tuple(one.number for one in made if _distance(step, one) == _distance(step, chosen))
            return FollowingAction(_call_action(step, chosen), alike, self._words(known, turn, chosen))
        return self._said(known, until)

    def _said(self, known: int, until: int) -> FollowingAction:
        spoken = self._spoken(known, until - 1)
        last = next((found for turn in reversed(spoken) if (found := self._first(turn, SpanKind.TEXT, None))), None)
        if last is None:
            return FollowingAction(None)
        whole = "".join(self._texts(last.location.turn))
        asks = whole.rstrip().endswith(("?", "？"))
        action = Action.REPORT_FAILURE if admits(whole) else Action.ASK_USER if asks else Action.ANSWER
        return FollowingAction(action, (), self._words(known, until - 1, None))

    def _words(self, known: int, turn: int, before: Step | None) -> AnnotatedReasoning | None:
        """The reasoning in the turns after `known` up to `turn`, else the words; in `turn` what is before the call."""
        for kind in (SpanKind.REASONING, SpanKind.TEXT):
            for number in self._spoken(known, turn):
                found = self._first(number, kind, before if number == turn else None)
                if found is not None:
                    return found
        return None

    def _first(self, turn: int, kind: SpanKind, before: Step | None) -> AnnotatedReasoning | None:
        for part in self._parts[turn]:
            source = self._trace.turns[turn - 1].part(part.part)
            is_of_call = before is not None and before.location.part == part.part
            for span in part.spans:
                if before is not None and is_of_call and span.range.start >= before.location.range.start:
                    break
                if span.kind is kind and source is not None and (words := _bounded(source.text, span)) is not None:
                    return AnnotatedReasoning(words.of(source.text), Location(turn, part.part, words))
        return None

    def _texts(self, turn: int) -> Iterator[str]:
        for part in self._parts[turn]:
            source = self._trace.turns[turn - 1].part(part.part)
            if source is not None and part.part == "text":
                yield from (span.inner.of(source.text) for span in part.spans if span.kind is SpanKind.TEXT)

    def _spoken(self, after: int, last: int) -> Sequence[int]:
        """The assistant's turns after one turn, up to and with another."""
        return self._spoken_turns[bisect_right(self._spoken_turns, after) : bisect_right(self._spoken_turns, last)]

    def _next_user_turn(self, after: int) -> int:
        at = bisect_right(self._user_turns, after)
        return self._user_turns[at] if at < len(self._user_turns) else len(self._trace.turns) + 1


def _bounded(text: str, span: Span) -> Range | None:
    """A span's words without the white space around them, cut at 600 code points; None where there are none."""
    start, end = span.inner.start, span.inner.end
    said = text[start:end]
    start += len(said) - len(said.lstrip())
    end = min(end - (len(said) - len(said.rstrip())), start + _LONGEST_WORDS)
    return Range(start, end) if start < end else None


def _distance(step: Step, other: Step) -> int:
    """How far a later call is from a step's: 0 for the same one, 3 for another tool's."""
    if call_key(step.call) == call_key(other.call):
        return 0
    if step.recovered_by == other.number or same_intent(intent_of(step.call), intent_of(other.call)):
        return 1
    return 2 if step.call.name == other.call.name else 3


def _call_action(step: Step, chosen: Step) -> Action:
    name = chosen.call.name
    if name is not None and bare_name(name).startswith(_HANDS_OVER):
        return Action.HAND_OVER
    if is_terminal(name):
        return Action.GIVE_UP
    if call_key(step.call) == call_key(chosen.call):
        return Action.RETRY_IDENTICAL_CALL
    if not step.call.valid and step.call.name == name and step.call.arguments == chosen.call.arguments:
        return Action.RETRY_CORRECTED_CALL
    if step.call.name is not None and step.call.name != name:
        return Action.USE_OTHER_TOOL
    if _is_broader(step.call, chosen.call):
        return Action.RETRY_WITH_BROADER_QUERY
    mine, theirs = intent_of(step.call), intent_of(chosen.call)
    if mine.loose or theirs.loose or same_intent(mine, theirs):
        return Action.RETRY_WITH_OTHER_ARGUMENTS
    is_command = (mine.tool or "").startswith("$ ") and mine.tool != theirs.tool
    return Action.USE_OTHER_COMMAND if is_command else Action.TRY_OTHER_TARGET


def _is_broader(call: ToolCall, later: ToolCall) -> bool:
    """Whether the later call asks for less: arguments are gone, or words of their texts, and nothing is new."""
    mine, theirs = call.arguments, later.arguments
    if not isinstance(mine, dict) or not isinstance(theirs, dict) or not theirs.keys() <= mine.keys():
        return False
    changed = [key for key, value in theirs.items() if value != mine[key]]
    return bool(changed or len(theirs) < len(mine)) and all(_says_less(mine[key], theirs[key]) for key in changed)


def _says_less(one: Json, other: Json) -> bool:
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    fewer = set(folded_words(other[:2_000]))
    return bool(fewer) and fewer < set(folded_words(one[:2_000]))
