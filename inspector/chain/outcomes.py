"""The outcome of each call, and whether its result is an error.

An error shows by a flag, by the result's structure, by its words only, by the user's own patterns, or by the call's
diagnostics.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import structs

from weaklink.inspector.chain.background_runs import BackgroundRuns
from weaklink.inspector.chain.check_results import hidden_finding
from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    effects_of,
    has_known_effect,
    is_http_client,
    main_effect,
    only_asks,
    only_fetches,
    runs_shell,
)
from weaklink.inspector.chain.endings import ends_unanswered
from weaklink.inspector.chain.failure_words import HEAD, error_line, fails_within, fault_line, first_line, telling_line
from weaklink.inspector.chain.known_paths import KnownPaths
from weaklink.inspector.chain.pairing import LocatedCall, Pairing
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.refusals import never_ran
from weaklink.inspector.chain.result_kinds import Failure, Judgement, ResultEvidence, kind_of_result
from weaklink.inspector.chain.result_words import (
    error_before_pipe,
    error_despite_code,
    is_running,
    is_shown_object,
    printed_exit_code,
    states_code_in_content,
    told_by_line,
    words_decide,
)
from weaklink.inspector.chain.shell_frames import EXIT_KEYS, unframed
from weaklink.inspector.chain.stated_errors import (
    ERROR_CODES,
    ERROR_KEYS,
    ERROR_MEMBERS,
    denial,
    describes_failed_thing,
    error_document,
    error_page,
    refusal_of_service,
    states_success,
    structured,
    without_passed_codes,
)
from weaklink.inspector.chain.steps import SYNTAX_CODES, CallFaults, Certainty, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, ends_run, kind_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.errors import InvalidPatternError
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import RecordedState, Role, RunState, ToolCall, ToolResult, Trace
from weaklink.inspector.rules.layers import CALL_LOST_BY_SERVER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import without_terminal_sequences

PATTERN_SEARCH_LIMIT = 65_536
"""How much of a result's beginning, and of its end, is searched, in code points."""

_MAX_LINE_CHARS = 400
_WRAPS = 4  # results come wrapped: a template's {"name", "content"}, an API's blocks, a server's own envelope
_ENVELOPE = ("content", "output", "result", "response", "data", "text")
_MAY_BE_JSON = lazy_pattern(r'\s*(?:[\[{]|(?:null|"")\s*\Z|HTTP[/ ]\d)')
_MAX_EMPTY_CHARS, _CACHE_SIZE = 10_000, 64
_UNREADABLE = object()
_decode = msgspec.json.Decoder().decode
_UNKNOWN_TOOL = "T401"
_SCHEMA = "S2"
_GOOD_STATES = (RunState.COMPLETED, RunState.RUNNING)


class ErrorPatterns:
    """Regular expressions (Python's `re`), each of which marks a result as an error if it matches."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(_compiled(pattern) for pattern in dict.fromkeys(patterns))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def line_in(self, text: str) -> str | None:
        """The line of `text` with the match of the first pattern that matches, at most 400 code points of it."""
        if not self._patterns:
            return None
        ends = (
            (text,)
            if len(text) <= 2 * PATTERN_SEARCH_LIMIT
            else (text[:PATTERN_SEARCH_LIMIT], text[-PATTERN_SEARCH_LIMIT:])
        )
        matches = (pattern.search(end) for pattern in self._patterns for end in ends)
        return next((_line(match) for match in matches if match is not None), None)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidPatternError(
            f"the error pattern `{pattern}` is not a valid regular expression: {error}"
        ) from error
    if compiled.match(""):
        raise InvalidPatternError(
            f"the error pattern `{pattern}` matches the empty string, so every result would be an error"
        )
    return compiled


def _line(match: re.Match[str]) -> str:
    text = match.string
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _MAX_LINE_CHARS // 2)
    end = text.find("\n", match.start())
    return text[start : min(end if end >= 0 else len(text), start + _MAX_LINE_CHARS)].strip()


@memoized
def find_error(result: ToolResult, call: ToolCall | None = None) -> Failure | None:
    """What makes `result` an error, by facts before words; None if nothing does.

    Linear in its length, and never raises. What a `call` only reads, and what an error flag clears, is not judged by
    its words.
    """
    failure = _error_of(result, call)
    if failure is not None or call is None or result.is_error or not runs_shell(call):
        return failure
    text = next((layer for layer in reversed(_layers(result.content)) if isinstance(layer, str)), result.content)
    line = told_by_line(call, text)
    return None if line is None else Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))


def _error_of(result: ToolResult, call: ToolCall | None) -> Failure | None:
    recorded = _recorded_failure(result if call is not None else without_frame(result))
    if recorded is not None:
        return recorded
    if _is_recorded_success(result):
        return None if call is None else _failure_within(effects_of(call), result.content)
    layers = _layers(result.content)
    client = _http_client(call) if call is not None else None
    is_lookup = only_fetches(client) if client else call is not None and kind_of(call.name or "") is ToolKind.READS
    if call is not None and (reason := never_ran(call, result.content)) is not None:
        return Failure(Certainty.STRUCTURED, reason, None, (ResultEvidence("words", reason[:200]),))
    for layer in _stating_objects(layers, result, call):
        is_decided, failure = _stated_failure(layer, result, call, client, is_lookup=is_lookup)
        if is_decided:
            return failure
    text = next((layer for layer in reversed(layers) if isinstance(layer, str)), "")
    is_fetched = is_lookup or (call is not None and only_asks(call) is True)
    page = error_page(text, is_lookup=is_fetched) if client or _fetches_page(call) else None
    if call is not None and text.lstrip()[:1] == "<" and not _shows_file(call):
        page = page or error_document(text)
    failure = page or _text_failure(text, result, call)
    if failure is not None and failure.certainty is Certainty.TEXTUAL and call is not None:
        failure = None if repeats_argument(call, structs.replace(result, content=text)) else failure
    # Words of the fields of an object that states no error, or the value of one: `{"id": 9, "result": "failed"}`.
    is_field = len(layers) > 1 and (text is layers[0] or _is_value(layers, text))
    return None if is_field and failure is not None and failure.certainty is Certainty.TEXTUAL else failure


def _is_value(layers: Sequence[Any], text: str) -> bool:
    """Whether a text is one word, out of an object that has several members more."""
    outer = layers[-2] if text is layers[-1] else None
    return isinstance(outer, dict) and len(outer) > _MAX_WRAPPER_MEMBERS and " " not in text.strip()


_MAX_WRAPPER_MEMBERS = 2


def _stated_failure(
    fields: dict[str, Any], result: ToolResult, call: ToolCall | None, client: Effect | None, *, is_lookup: bool
) -> tuple[bool, Failure | None]:
    """Whether an object in a result decides what became of the call, and the failure that it states."""
    is_shell = call is not None and runs_shell(call)
    is_printed = result.is_error is False and is_shell and client is None  # JSON that a program printed
    refusal = denial(fields, call) if call is not None else None
    if refusal is None and (client or not is_shell):
        refusal = refusal_of_service(fields, call, is_lookup=is_lookup)
    if refusal is not None:
        return True, refusal
    if (frozenset(EXIT_KEYS) if is_printed else ERROR_KEYS).isdisjoint(fields):
        return False, None
    if call is not None and not result.is_error and describes_failed_thing(fields, call):
        return True, None
    failure = structured(fields if call is None else without_passed_codes(fields, call))
    if failure is not None and result.is_error:
        failure = structs.replace(failure, certainty=Certainty.FLAGGED)
    return failure is not None or (states_success(fields) and not result.is_error), failure


def _fetches_page(call: ToolCall | None) -> bool:
    """Whether a tool that runs no program is given an address."""
    is_program = call is None or any(effect.command is not None for effect in effects_of(call))
    return call is not None and not is_program and any("://" in str(value) for _, value in leaves(call.arguments))


def _shows_file(call: ToolCall) -> bool:
    """Whether a call shows what is kept on this machine: a shell's line, a reader of files."""
    effect = main_effect(effects_of(call))
    if effect is None or effect.command is not None:
        return effect is not None and _http_client(call) is None
    return effect.kind in (EffectKind.READ, EffectKind.PROBE) and not _fetches_page(call)


def _http_client(call: ToolCall) -> Effect | None:
    """The HTTP client that writes the output of a call's line, if the last program is one."""
    return next((effect for effect in effects_of(call)[-1:] if is_http_client(effect)), None)


def _stating_objects(layers: Sequence[Any], result: ToolResult, call: ToolCall | None) -> Iterator[dict[str, Any]]:
    """The objects in a result that its tool may have written, not those that it only shows."""
    for layer in layers:
        if not isinstance(layer, dict):
            continue
        if call is None or result.is_error or not is_shown_object(call, layer, ERROR_MEMBERS):
            yield layer


def _failure_within(effects: tuple[Effect, ...], text: str) -> Failure | None:
    """The failure of one of a line's programs, where the line itself succeeded."""
    code = printed_exit_code(effects, text)
    if code:
        return Failure(Certainty.STRUCTURED, f"exit code {code}", code, (_of_text(code),))
    client = next((effect for effect in effects[-1:] if is_http_client(effect)), None)
    if client is not None and (page := error_page(text, is_lookup=only_fetches(client))) is not None:
        return page
    body = _decoded(text) if client is not None and text.startswith("{") else None
    if client is not None and isinstance(body, dict):
        is_lookup = only_fetches(client)
        refused = refusal_of_service(body, None, is_lookup=is_lookup) or (None if is_lookup else structured(body))
        if refused is not None:
            return refused
    line = error_before_pipe(effects, text) or error_despite_code(effects, text)
    return None if line is None else Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))


def _text_failure(text: str, result: ToolResult, call: ToolCall | None) -> Failure | None:
    """What makes a text an error: the flag, an exit code that it states, else its words."""
    printed = None if call is None else printed_exit_code(effects_of(call), text)
    framed = unframed(text)
    code = framed.exit_code if printed is None else printed
    if printed is None and code and call is not None and states_code_in_content(call, framed):
        code = None
    stated = () if code is None else (_of_text(code),)
    if result.is_error:
        flag = ResultEvidence("error flag", "true")
        return Failure(Certainty.FLAGGED, _words_of(text, code) or "empty result", code, (flag, *stated))
    if code is not None:
        return Failure(Certainty.STRUCTURED, _words_of(text, code), code, stated) if code else None
    if is_running(text) or (result.is_error is False and call is not None and has_known_effect(call)):
        return None
    line = error_line(text) if call is None else words_decide(call, structs.replace(result, content=text))
    return None if line is None else Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))


def _recorded_failure(result: ToolResult) -> Failure | None:
    """The failure that the source recorded beside the text."""
    recorded = result.recorded
    if recorded is None:
        return None
    code, state = recorded.exit_code, recorded.state
    if not code and (state is None or state in _GOOD_STATES):
        return None
    value = f"{code}" if code else f"{state}"
    evidence = ResultEvidence(recorded.field, value)
    flag = (ResultEvidence("error flag", "true"),) if result.is_error else ()
    certainty = Certainty.FLAGGED if result.is_error or not recorded.exit_code else Certainty.STRUCTURED
    text = next((layer for layer in reversed(_layers(result.content)) if isinstance(layer, str)), result.content)
    return Failure(certainty, _words_of(text, code) or value, code, (evidence, *flag))


def _is_recorded_success(result: ToolResult) -> bool:
    recorded = result.recorded
    if recorded is None or result.is_error:
        return False
    return recorded.exit_code == 0 or recorded.state in _GOOD_STATES


def _of_text(code: int) -> ResultEvidence:
    return ResultEvidence("exit code in the text", str(code))


def _words_of(text: str, code: int | None) -> str:
    """The words that report a failure that a fact states; empty if there are neither words nor a code."""
    body = unframed(text).output
    return (
        error_line(body)
        or error_line(text)
        or fault_line(body)
        or (telling_line(body) if code is not None else None)
        or (body.strip() if code is None else first_line(body).strip())
        or ("" if code is None else f"exit code {code}")
    )


def is_empty(result: ToolResult) -> bool:
    """Whether a result is empty: no text, or null, `""`, `{}` or `[]`, also within a template's wrapper."""
    if len(result.content) > _MAX_EMPTY_CHARS:
        return False
    layers = _layers(result.content)
    if any(isinstance(layer, dict) and states_success(layer) for layer in layers):
        return False
    last = layers[-1].strip() if isinstance(layers[-1], str) else layers[-1]
    return last is None or last in ("", [], {})


def _layers(content: str) -> Sequence[Any]:
    """A result's text and its nested contents: the JSON in a text, the body in an envelope."""
    if _MAY_BE_JSON.match(content) is None:
        return (content,)
    return _short_layers(content) if len(content) <= _MAX_EMPTY_CHARS else tuple(_unwrapped(content))


@lru_cache(_CACHE_SIZE)  # a result is checked for an error, and later for emptiness
def _short_layers(content: str) -> Sequence[Any]:
    return tuple(_unwrapped(content))


def _unwrapped(content: str) -> Iterator[Any]:
    value: Any = content
    yield value
    for _ in range(2 * _WRAPS):
        if isinstance(value, str):
            inner = _decoded(_without_http_head(value))
            if inner is _UNREADABLE:
                return
        else:
            inner = _body(value)
            if inner is _UNREADABLE:
                return
        value = inner
        yield value


def _without_http_head(text: str) -> str:
    """The body of an answer that an HTTP client shows with its status, and perhaps its headers."""
    if not text.startswith(("HTTP/", "HTTP 2")):
        return text
    body = text.partition("\n")[2].lstrip("\n")
    return body if body[:1] in ("{", "[") else text.partition("\n\n")[2]


def _decoded(text: str) -> Any:
    if _MAY_BE_JSON.match(text) is None:
        return _UNREADABLE
    try:
        return _decode(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _UNREADABLE


def _body(value: Any) -> Any:
    """The content of an envelope: the body field of an object, or the first text of a list of content blocks."""
    if isinstance(value, dict):
        body = value.get("body")  # of an HTTP client's answer; a message's body is no envelope
        if isinstance(body, dict) or (isinstance(body, str) and body.startswith("{")):
            return body
        return next((value[key] for key in _ENVELOPE if key in value), _UNREADABLE)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        if value[0].get("type") == "text":
            return value[0].get("text", _UNREADABLE)
        if len(value) == 1 and "message" in value[0] and not ERROR_CODES.isdisjoint(value[0]):  # Salesforce
            return value[0]
    return _UNREADABLE


_NO_PATTERNS = ErrorPatterns()


def steps_of(
    trace: Trace,
    pairing: Pairing,
    faults: CallFaults,
    patterns: ErrorPatterns = _NO_PATTERNS,
    known: KnownPaths | None = None,
) -> Iterator[Step]:
    """The steps of `trace`, not yet linked with each other.

    `patterns` are the user's own patterns of an error; `known` the paths that somebody named.
    """
    paths = known or KnownPaths()
    runs = BackgroundRuns()
    went_on_after = last_turn_with_words(trace)
    for number, (placed, answer) in enumerate(pairing.pairs, 1):
        acting = structs.replace(placed, call=runs.original(placed.call))
        runs.add(placed.call, answer.result if answer is not None else None)
        judgement = judged_result(acting, answer.result, patterns, paths) if answer is not None else None
        codes = [fault.rule.code for fault in faults.of(placed.location, trace)]
        outcome = _outcome(placed, codes, judgement, is_answered=answer is not None, went_on_after=went_on_after)
        yield Step(
            number,
            placed.call,
            placed.location,
            outcome,
            answer.result if answer else None,
            answer.location if answer else None,
            judgement.certainty if judgement and outcome is StepOutcome.ERROR_RESULT else None,
            error=judgement.words if judgement and judgement.kind is not ResultKind.PROBE else None,
            result_kind=judgement.kind if judgement else None,
            rules=(judgement.rule,) if judgement else (),
        )


def last_turn_with_words(trace: Trace) -> int:
    """The number of the last turn that is no result, 0 if there is none: the agent ignored open calls before it.

    One more than the trace has turns if the session has ended, so that nobody will answer its open calls.
    """
    if ends_unanswered(trace):
        return len(trace.turns) + 1
    return next((number for number in range(len(trace.turns), 0, -1) if _is_no_result(trace, number)), 0)


def goes_on_after(trace: Trace, step: Step) -> bool:
    """Whether a turn that is no result comes after a step's call."""
    return any(_is_no_result(trace, number) for number in range(step.location.turn + 1, len(trace.turns) + 1))


def _is_no_result(trace: Trace, number: int) -> bool:
    return trace.turns[number - 1].role is not Role.TOOL


_KIND_OUTCOMES = MappingProxyType(
    {
        ResultKind.FAILURE: StepOutcome.ERROR_RESULT,
        ResultKind.FINDING: StepOutcome.ERROR_RESULT,
        ResultKind.PROBE: StepOutcome.OK,
        ResultKind.REJECTED: StepOutcome.REJECTED,
        ResultKind.NOT_RUN: StepOutcome.NOT_RUN,
    }
)


def _outcome(
    placed: LocatedCall, codes: Sequence[str], judgement: Judgement | None, *, is_answered: bool, went_on_after: int
) -> StepOutcome:
    if not placed.call.valid or any(code.startswith(SYNTAX_CODES) for code in codes):
        return StepOutcome.MALFORMED
    if _UNKNOWN_TOOL in codes:
        return StepOutcome.UNKNOWN_TOOL
    if any(code.startswith(_SCHEMA) for code in codes):
        return StepOutcome.INVALID
    if judgement is not None:
        return _KIND_OUTCOMES[judgement.kind]
    if is_answered or ends_run(placed.call):
        return StepOutcome.OK
    is_lost = CALL_LOST_BY_SERVER.code in codes
    return StepOutcome.UNANSWERED if is_lost or placed.location.turn < went_on_after else StepOutcome.PENDING


def judged_result(
    placed: LocatedCall, result: ToolResult, patterns: ErrorPatterns = _NO_PATTERNS, known: KnownPaths | None = None
) -> Judgement | None:
    """What kind of result a call got; None for a success."""
    judgement = _UNDECIDED if patterns else _judged_alone(placed.call, result)
    if judgement is not _UNDECIDED:
        return judgement
    paths, turn = known or KnownPaths(), placed.location.turn
    return _judged(placed.call, result, patterns, lambda effect: paths.are_named(effect.targets, turn))


_UNDECIDED = Judgement(ResultKind.FAILURE, Certainty.TEXTUAL, "", (), VerdictRule.MISSING_TARGET)
"""Stands for the judgement of a result that depends on what was named before its call."""


@memoized
def _judged_alone(call: ToolCall, result: ToolResult) -> Judgement | None:
    """The kind of a result by itself; `_UNDECIDED` if it depends on who named a target before."""
    is_alone = True

    def is_named(_: Effect) -> bool:
        nonlocal is_alone
        is_alone = False
        return False

    judgement = _judged(call, result, _NO_PATTERNS, is_named)
    return judgement if is_alone else _UNDECIDED


def _judged(
    call: ToolCall, result: ToolResult, patterns: ErrorPatterns, is_named: Callable[[Effect], bool]
) -> Judgement | None:
    result = plain_result(result)
    if not patterns and is_plain_success(call, result):
        return None
    result = without_frame(_of_runs(call, result), call)
    failure = find_error(result, call)
    if failure is None and (line := hidden_finding(call, result)) is not None:
        failure = Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("words", line[:200]),))
    if failure is None and (line := patterns.line_in(result.content)) is not None:
        failure = Failure(Certainty.TEXTUAL, line, None, (ResultEvidence("error pattern", line[:200]),))
    return kind_of_result(call, result, failure, is_named)


def plain_result(result: ToolResult) -> ToolResult:
    """The result as its tool wrote it and a reader sees it; the same object if it is so already.

    Without colours and carriage returns, by which words of a program would not be known, and without the reminders that
    Claude Code adds.
    """
    content = without_terminal_sequences(result.content.removeprefix("\ufeff"))
    content = content.replace("\r\n", "\n") if "\r" in content else content
    for _ in range(_MAX_REMINDERS):
        before, opener, reminder = content.rpartition("<system-reminder>")
        if not opener or not before.strip() or not reminder.rstrip().endswith("</system-reminder>"):
            break
        content = before.rstrip()
    return result if content == result.content else structs.replace(result, content=content)


def without_frame(result: ToolResult, call: ToolCall | None = None) -> ToolResult:
    """The result with the output alone as its content, and the exit code that its text states as recorded.

    What a call only shows (a file, a log) stays as it is, and so does a state that the source recorded.
    """
    framed = unframed(result.content)
    if framed.output is result.content or (call is not None and states_code_in_content(call, framed)):
        return result
    recorded = result.recorded
    if framed.exit_code is not None and (recorded is None or recorded.exit_code is None):
        state = recorded.state if recorded is not None else None
        field = f"result field {framed.field}" if framed.field else "exit code in the text"
        recorded = recorded if state in _GOOD_STATES else RecordedState(framed.exit_code, state, field)
    return structs.replace(result, content=framed.output, recorded=recorded)


@memoized
def as_read(result: ToolResult, call: ToolCall) -> ToolResult:
    """The result as a reader sees it, with the output alone; the same object if it is so already."""
    return without_frame(plain_result(result), call)


def repeats_argument(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result only repeats what the call passed: the words are the agent's own, such as its answer."""
    text = result.content.strip()
    return bool(text) and any(isinstance(value, str) and value.strip() == text for _, value in leaves(call.arguments))


def _of_runs(call: ToolCall, result: ToolResult) -> ToolResult:
    """A list of what became of each argument of a call: the text of those that failed, else of all, and the state.

    Cline's `run_commands`: `[{"query": "cat x", "result": "...", "error": "exited with code 1", "success": false}]`.
    """
    if result.recorded is not None or not result.content.startswith("[{") or not isinstance(call.arguments, dict):
        return result
    runs = _decoded(result.content)
    texts = (text for value in call.arguments.values() for text in (value if isinstance(value, list) else [value]))
    asked = frozenset(text for text in texts if isinstance(text, str) and text)
    if not isinstance(runs, list) or not all(_is_run_of(run, asked) for run in runs):
        return result
    state = RunState.COMPLETED if all(run["success"] for run in runs) else RunState.FAILED
    deciding = [run for run in runs if not run["success"]] or runs
    outputs = (run.get("result") or run.get("error") for run in deciding)
    words = "\n".join(output for output in outputs if isinstance(output, str))
    recorded = RecordedState(state=state, field="result field success")
    is_error = result.is_error is True or state is RunState.FAILED
    return structs.replace(result, content=words, is_error=is_error, recorded=recorded)


def _is_run_of(run: Any, asked: frozenset[str]) -> bool:
    if not isinstance(run, dict) or not isinstance(run.get("success"), bool):
        return False
    return any(isinstance(value, str) and value in asked for value in run.values())


_SIGNS = (
    "error",
    "traceback",
    "running",
    "started",
    "background",
    "[]",
    "[ ]",
    "false",
    '"skipped"',
    '"cancel',
    "not_exec",
)
"""Case-folded substrings of what the other rules can find in a JSON object on one line."""
_MAX_REMINDERS = 8
_MIN_ANSWER_WORDS = 8  # a shorter answer of a tool that changes something may be a denial


def is_plain_success(call: ToolCall, result: ToolResult) -> bool:
    """Whether a result is surely a success, as most results of functions are: an object on one line without signs.

    The call runs no program, and has no other effect that is known by its tool's name. Then facts are only in members
    that the object lacks, no pattern begins at its brace, and no pattern within it applies. `judged_result` gives the
    same answer in seven times the time.
    """
    text = result.content
    if result.recorded is not None or result.is_error or not text.startswith('{"') or not text.endswith("}"):
        return False
    if len(text) > HEAD or not isinstance(call.arguments, dict) or call.name is None or has_known_effect(call):
        return False
    folded = text.casefold()
    if any(sign in folded for sign in _SIGNS) or len(text.splitlines()) > 1 or fails_within(text):
        return False
    if kind_of(call.name) is ToolKind.WRITES and len(text.split()) < _MIN_ANSWER_WORDS:
        return False
    value = _decoded(text)
    if not isinstance(value, dict) or not ERROR_KEYS.isdisjoint(value) or not value.keys().isdisjoint(_ENVELOPE):
        return False
    is_lookup = kind_of(call.name) is ToolKind.READS
    return denial(value, call) is None and refusal_of_service(value, call, is_lookup=is_lookup) is None
