"""The decision points of an annotation: the condition observed after a step, and the action that followed."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from weaklink.inspector.chain.effects import may_be_silent
from weaklink.inspector.chain.failure_words import admits_failure
from weaklink.inspector.chain.outcomes import find_error, is_empty
from weaklink.inspector.chain.provenance_terms import folded_words
from weaklink.inspector.chain.similar_calls import intent_of, same_intent
from weaklink.inspector.chain.steps import OUTCOME_RULES, CallFaults, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, is_terminal, kind_of, subjects_of
from weaklink.inspector.checks.repetition import call_key
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role, Span, SpanKind, ToolCall, ToolResult, Trace
from weaklink.inspector.rules import conversation as rules
from weaklink.inspector.text import Range
from weaklink.inspector.wire.provider_json import parse_json

_MAX_SPAN_CHARS = 600
_MAX_COMPARED = 20
_HANDS_OVER = ("transfer_to_", "handoff_to_", "hand_off_to_", "hand_over_to_", "escalate_to_")
_MAX_QUOTE_CHARS = 160
_EMPTY_LIST = re.compile(r"\[\s{0,9}\][\s}]{0,9}$")
_MAX_RESULT_CHARS = 100_000
_WRAPPERS = ("content", "result", "data", "output", "response")
_STATUS_KEYS = ("status_code", "statusCode", "http_status", "status", "code")

_STATUS_WORDS = re.compile(
    r"""
      \b (?: http(?:/[\d.]{1,3})? | status(?:[ _]code)? | error(?:[ ]code)? ) \W{1,3} ([45]\d\d) \b
    | ^ ([45]\d\d) \b                                           # a result that begins with its status
    """,
    re.IGNORECASE | re.VERBOSE,
)

# Lists under these names are what a search found; under the tool's own subject (`flights` of `search_flights`) too.
_FOUND_TABLE = "results items hits matches data rows records documents entries found list values search_results"
_FOUND = frozenset(_FOUND_TABLE.split())


class Action(StrEnum):
    """What the agent did next."""

    RETRY_IDENTICAL_CALL = "retry_identical_call"
    RETRY_CORRECTED_CALL = "retry_corrected_call"  # the same call, written differently from the malformed one
    RETRY_WITH_BROADER_QUERY = "retry_with_broader_query"  # arguments left out, or words of one, and none added
    RETRY_WITH_OTHER_ARGUMENTS = "retry_with_other_arguments"  # the same tool, with the same intent
    TRY_OTHER_TARGET = "try_other_target"  # the same tool, with another intent
    USE_OTHER_COMMAND = "use_other_command"  # another program in the same shell
    USE_OTHER_TOOL = "use_other_tool"
    HAND_OVER = "hand_over"
    GIVE_UP = "give_up"  # it ended the work without another try
    REPORT_FAILURE = "report_failure"  # it wrote that something did not work
    ASK_USER = "ask_user"
    ANSWER = "answer"


class AnnotatedReasoning(Struct, frozen=True):
    """The agent's own text, at most 600 code points of it, and its location."""

    text: str
    location: Location


class FollowingAction(Struct, frozen=True):
    """What came after a step: the action, the steps that it consists of, and the text before it.

    `action` is None if the agent did nothing before the trace ended or the user spoke.
    """

    action: Action | None
    steps: tuple[int, ...] = ()
    reasoning: AnnotatedReasoning | None = None


class NextActionFinder:
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
        """What the agent did once it could know the result of `step`, before the user spoke again."""
        known = (step.result_location or step.location).turn
        until = self._next_user_turn(known)
        first = bisect_right(self._step_turns, known)
        if first < len(self._steps) and self._step_turns[first] < until:
            turn = self._step_turns[first]
            calls = self._steps[first : bisect_right(self._step_turns, turn)]
            chosen = min(calls[:_MAX_COMPARED], key=lambda call: _distance(step, call))
            alike = tuple(call.number for call in calls if _distance(step, call) == _distance(step, chosen))
            return FollowingAction(_call_action(step, chosen), alike, self._words(known, turn, chosen))
        return self._spoken_action(known, until)

    def _spoken_action(self, known: int, until: int) -> FollowingAction:
        spoken = self._spoken(known, until - 1)
        last = next((words for turn in reversed(spoken) if (words := self._first(turn, SpanKind.TEXT, None))), None)
        if last is None:
            return FollowingAction(None)
        whole = "".join(self._texts(last.location.turn))
        asks = whole.rstrip().endswith(("?", "？"))
        action = Action.REPORT_FAILURE if admits_failure(whole) else Action.ASK_USER if asks else Action.ANSWER
        return FollowingAction(action, (), self._words(known, until - 1, None))

    def _words(self, known: int, turn: int, before: Step | None) -> AnnotatedReasoning | None:
        """The first reasoning, else text, in the turns after `known` up to `turn`; in `turn` only before the call."""
        for kind in (SpanKind.REASONING, SpanKind.TEXT):
            for number in self._spoken(known, turn):
                reasoning = self._first(number, kind, before if number == turn else None)
                if reasoning is not None:
                    return reasoning
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
        """The assistant's turns after one turn, up to and including another."""
        return self._spoken_turns[bisect_right(self._spoken_turns, after) : bisect_right(self._spoken_turns, last)]

    def _next_user_turn(self, after: int) -> int:
        index = bisect_right(self._user_turns, after)
        return self._user_turns[index] if index < len(self._user_turns) else len(self._trace.turns) + 1


def _bounded(text: str, span: Span) -> Range | None:
    """The range of a span's text without outer white space, at most 600 code points; None if it is empty."""
    start, end = span.inner.start, span.inner.end
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    end = min(end - (len(inner) - len(inner.rstrip())), start + _MAX_SPAN_CHARS)
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
    """Whether the later call requests less: arguments, or words of their texts, are missing, and nothing is new."""
    mine, theirs = call.arguments, later.arguments
    if not isinstance(mine, dict) or not isinstance(theirs, dict) or not theirs.keys() <= mine.keys():
        return False
    changed = [key for key, value in theirs.items() if value != mine[key]]
    return bool(changed or len(theirs) < len(mine)) and all(
        _is_shorter_query(mine[key], theirs[key]) for key in changed
    )


def _is_shorter_query(first: Json, other: Json) -> bool:
    if not isinstance(first, str) or not isinstance(other, str):
        return False
    fewer = set(folded_words(other[:2_000]))
    return bool(fewer) and fewer < set(folded_words(first[:2_000]))


class ConditionKind(StrEnum):
    """The kind of fact that a decision point begins with."""

    EMPTY_RESULT = "empty-result"
    HTTP_STATUS = "http-status"
    EXIT_CODE = "exit-code"
    ERROR_RESULT = "error-result"
    MALFORMED_CALL = "malformed-call"
    SCHEMA_MISMATCH = "schema-mismatch"
    UNKNOWN_TOOL = "unknown-tool"
    UNANSWERED = "unanswered"


class Condition(Struct, frozen=True):
    """One observed fact about a step; `text` states it as an expression: `browser_navigate.status_code == 403`.

    `code` is the rule of the diagnostic that it is based on, None if it is based on the result alone.
    """

    kind: ConditionKind
    text: str
    code: str | None = None


def condition_of(step: Step, faults: CallFaults) -> Condition | None:
    """What was observed of a step that went wrong; None if all went well.

    A faulty call that was answered as if it were correct showed the agent nothing.
    """
    tool = step.call.name or "call"
    if step.outcome is not StepOutcome.OK and _was_accepted(step):
        return None
    match step.outcome:
        case StepOutcome.MALFORMED:
            cause = faults.cause_of_malformed(step.location)
            return _by_rule(ConditionKind.MALFORMED_CALL, f"{tool}.call", step, cause)
        case StepOutcome.INVALID:
            cause = faults.cause(step.location, "S2")
            return _by_rule(ConditionKind.SCHEMA_MISMATCH, f"{tool}.arguments", step, cause)
        case StepOutcome.UNKNOWN_TOOL:
            return Condition(ConditionKind.UNKNOWN_TOOL, f"{tool} not in tools", rules.UNKNOWN_TOOL.code)
        case StepOutcome.UNANSWERED:
            return Condition(ConditionKind.UNANSWERED, f"{tool}.result == null", rules.CALL_WITHOUT_RESULT.code)
        case StepOutcome.ERROR_RESULT if step.result is not None:
            return _error(tool, step.result)
        case StepOutcome.OK if step.result is not None:
            return _empty(tool, step, step.result)
    return None


def _was_accepted(step: Step) -> bool:
    """Whether a call was answered with a result that is neither an error nor empty."""
    return step.result is not None and find_error(step.result) is None and not is_empty(step.result)


def _by_rule(kind: ConditionKind, what: str, step: Step, cause: Diagnostic | None) -> Condition:
    if cause is None:
        return Condition(kind, f'{what} == "{step.outcome.value}"', OUTCOME_RULES[step.outcome].code)
    path = f" {cause.fault.path}" if cause.fault.path else ""
    return Condition(kind, f"{what} == {_quoted(cause.rule.name + path)}", cause.rule.code)


def _error(tool: str, result: ToolResult) -> Condition:
    failure = find_error(result)
    words = failure.words if failure is not None else ""
    if failure is not None and failure.exit_code:
        return Condition(ConditionKind.EXIT_CODE, f"{tool}.exit_code == {failure.exit_code}", rules.ERROR_RESULT.code)
    status = _status(result, words)
    if status is not None:
        return Condition(ConditionKind.HTTP_STATUS, f"{tool}.status_code == {status}", rules.ERROR_RESULT.code)
    return Condition(
        ConditionKind.ERROR_RESULT, f"{tool}.error == {_quoted(words) if words else 'true'}", rules.ERROR_RESULT.code
    )


def _empty(tool: str, step: Step, result: ToolResult) -> Condition | None:
    if is_terminal(step.call.name) or may_be_silent(step.call):
        return None
    if is_empty(result):
        is_list = _EMPTY_LIST.search(result.content)
        expression = f"{tool}.result_count == 0" if is_list else f"{tool}.result == {_shown(result)}"
        return Condition(ConditionKind.EMPTY_RESULT, expression, rules.EMPTY_RESULT.code)
    name = _nothing_found(tool, result)
    return None if name is None else Condition(ConditionKind.EMPTY_RESULT, f"{tool}.{name} == []")


def _shown(result: ToolResult) -> str:
    content = result.content.strip()
    return content if content in ("null", "{}", '""') else '""' if not content else _quoted(content)


def _nothing_found(tool: str, result: ToolResult) -> str | None:
    """The name of an empty list of search results, if all lists next to it are empty too; else None."""
    if kind_of(tool) is ToolKind.WRITES or len(result.content) > _MAX_RESULT_CHARS or "[]" not in result.content:
        return None
    for fields in _objects(result.content):
        lists = {key: value for key, value in fields.items() if isinstance(value, list)}
        if lists and not any(lists.values()):
            return next((key for key in lists if _is_searched_list(tool, key)), None)
    return None


def _is_searched_list(tool: str, key: str) -> bool:
    name = key.casefold()
    return name in _FOUND or name.removesuffix("s") in subjects_of(tool)


def _status(result: ToolResult, words: str) -> int | None:
    for fields in _objects(result.content) if len(result.content) <= _MAX_RESULT_CHARS else ():
        for key in _STATUS_KEYS:
            value = fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return value
    match = _STATUS_WORDS.search(words[:_MAX_QUOTE_CHARS])
    return int(match[1] or match[2]) if match else None


def _objects(content: str) -> Iterator[dict[str, Any]]:
    """The JSON object of a result, and those that it wraps, outermost first."""
    value: Any = content
    for _ in range(6):
        if isinstance(value, str):
            if not value.lstrip().startswith("{"):
                return
            try:
                value = parse_json(value)
            except ValueError:
                return
        if not isinstance(value, dict):
            return
        yield value
        value = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), dict | str)), None)


def _quoted(words: str) -> str:
    line = " ".join(words[: 4 * _MAX_QUOTE_CHARS].split())
    return write_json(
        line if len(line) <= _MAX_QUOTE_CHARS else line[: _MAX_QUOTE_CHARS - 1].rstrip() + "…", ascii_only=False
    )


def conditions(steps: Sequence[Step], faults: CallFaults) -> Iterator[tuple[Step, Condition]]:
    """The steps after which the agent had to decide again, each with what was observed."""
    for step in steps:
        condition = condition_of(step, faults)
        if condition is not None:
            yield step, condition
