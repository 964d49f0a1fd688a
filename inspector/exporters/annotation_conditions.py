"""What was observed after a step that made the agent decide anew: an empty result, a status, an error, a bad call."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inspector.chain.call_faults import CallFaults
from inspector.chain.error_results import find_error, is_empty
from inspector.chain.quiet_commands import may_be_silent
from inspector.chain.steps import Step, StepOutcome
from inspector.chain.terminal_tools import is_terminal
from inspector.chain.tool_kinds import ToolKind, kind_of, subjects_of
from inspector.chain.verdict import OUTCOME_RULES
from inspector.diagnostics import Diagnostic
from inspector.json_text import write_json
from inspector.model import ToolResult
from inspector.rules import conversation as rules
from inspector.wire.json_text import parse_json

_LONGEST = 160
_EMPTY_LIST = re.compile(r"\[\s{0,9}\][\s}]{0,9}$")
_LARGEST = 100_000
_WRAPPERS = ("content", "result", "data", "output", "response")
_STATUS_KEYS = ("status_code", "statusCode", "http_status", "status", "code")
_STATUS_WORDS = re.compile(
    r"\b(?:http(?:/[\d.]{1,3})?|status(?:[ _]code)?|error(?: code)?)\W{1,3}([45]\d\d)\b|^([45]\d\d)\b", re.IGNORECASE
)
# Lists under these names are what a search found; under the tool's own subject (`flights` of `search_flights`) too.
_FOUND_TABLE = "results items hits matches data rows records documents entries found list values search_results"
_FOUND = frozenset(_FOUND_TABLE.split())


class ConditionKind(StrEnum):
    """What kind of fact a decision point begins with."""

    EMPTY_RESULT = "empty-result"
    HTTP_STATUS = "http-status"
    EXIT_CODE = "exit-code"
    ERROR_RESULT = "error-result"
    MALFORMED_CALL = "malformed-call"
    SCHEMA_MISMATCH = "schema-mismatch"
    UNKNOWN_TOOL = "unknown-tool"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Condition:
    """One observed fact about a step; `text` states it as an expression: `browser_navigate.status_code == 403`.

    `code` is the rule of the diagnostic that it rests on, None where it rests on the result alone.
    """

    kind: ConditionKind
    text: str
    code: str | None = None


def condition_of(step: Step, faults: CallFaults) -> Condition | None:
    """What was observed of a step that did not go as it should; None where all went well.

    A faulty call that was answered as if it were none showed the agent nothing.
    """
    tool = step.call.name or "call"
    if step.outcome is not StepOutcome.OK and _was_taken(step):
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


def _was_taken(step: Step) -> bool:
    """Whether a call was answered with something that is no error."""
    return step.result is not None and find_error(step.result) is None and not is_empty(step.result)


def _by_rule(kind: ConditionKind, what: str, step: Step, cause: Diagnostic | None) -> Condition:
    if cause is None:
        return Condition(kind, f'{what} == "{step.outcome.value}"', OUTCOME_RULES[step.outcome].code)
    path = f" {cause.fault.path}" if cause.fault.path else ""
    return Condition(kind, f"{what} == {_quoted(cause.rule.name + path)}", cause.rule.code)


def _error(tool: str, result: ToolResult) -> Condition:
    found = find_error(result)
    words = found.words if found is not None else ""
    if found is not None and found.exit_code:
        return Condition(ConditionKind.EXIT_CODE, f"{tool}.exit_code == {found.exit_code}", rules.ERROR_RESULT.code)
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
        said = f"{tool}.result_count == 0" if is_list else f"{tool}.result == {_shown(result)}"
        return Condition(ConditionKind.EMPTY_RESULT, said, rules.EMPTY_RESULT.code)
    name = _nothing_found(tool, result)
    return None if name is None else Condition(ConditionKind.EMPTY_RESULT, f"{tool}.{name} == []")


def _shown(result: ToolResult) -> str:
    said = result.content.strip()
    return said if said in ("null", "{}", '""') else '""' if not said else _quoted(said)


def _nothing_found(tool: str, result: ToolResult) -> str | None:
    """The name of a looked-up list that is there and empty, where the result holds no other list that is not."""
    if kind_of(tool) is ToolKind.WRITES or len(result.content) > _LARGEST or "[]" not in result.content:
        return None
    for fields in _objects(result.content):
        lists = {key: value for key, value in fields.items() if isinstance(value, list)}
        if lists and not any(lists.values()):
            return next((key for key in lists if _is_sought(tool, key)), None)
    return None


def _is_sought(tool: str, key: str) -> bool:
    name = key.casefold()
    return name in _FOUND or name.removesuffix("s") in subjects_of(tool)


def _status(result: ToolResult, words: str) -> int | None:
    for fields in _objects(result.content) if len(result.content) <= _LARGEST else ():
        for key in _STATUS_KEYS:
            value = fields.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
                return value
    found = _STATUS_WORDS.search(words[:_LONGEST])
    return int(found[1] or found[2]) if found else None


def _objects(content: str) -> Iterator[dict[str, Any]]:
    """The JSON object that a result is, and those that it wraps, outermost first."""
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
    line = " ".join(words[: 4 * _LONGEST].split())
    return write_json(line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…", ascii_only=False)


def conditions(steps: Sequence[Step], faults: CallFaults) -> Iterator[tuple[Step, Condition]]:
    """The steps after which something was decided anew, each with what was observed."""
    for step in steps:
        found = condition_of(step, faults)
        if found is not None:
            yield step, found
