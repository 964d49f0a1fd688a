"""Judges one answer: what it breaks of the API's promises, of the request, and of what a right answer must have.

A finding about the form of an answer, or about something that the request makes the server enforce (a forced tool, a
strict schema, JSON mode), is the server's. A finding about the calls and the text themselves may be the model's: it is
`UNKNOWN` until `inspector.probe.ownership` has seen the model's own text.

One fault is one finding: a call that the inspection already finds malformed is not reported as a wrong call too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import read_chat_request
from weaklink.inspector.chain.layers import same_arguments
from weaklink.inspector.checks.json_schema import unsafe_part
from weaklink.inspector.checks.prepared_schema import UncheckedValue, prepared_schema
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import flag_of, object_of, objects_of, word_of, write_json
from weaklink.inspector.model import FinishReason, Json, Provenance, ToolCall, Trace, Turn
from weaklink.inspector.model.trace import PROBED
from weaklink.inspector.probe.answers import ProbeAnswer
from weaklink.inspector.probe.promises import PROMISES, broken_promises
from weaklink.inspector.probe.suite import ExpectedAnswer, ProbeRequest, SuiteCall
from weaklink.inspector.rules.markers import SPECIAL_TOKEN_LEAK
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import TOKENS_PART

_MAX_QUOTE_CHARS = 160
_SPECIAL_TOKEN = re.compile(r"<\|[A-Za-z_]{2,40}\|>|</s>|<end_of_turn>")
_REASONING_TAG = re.compile(r"</?think(?:ing)?>|\[/?THINK\]")
_CONTEXT = re.compile(r"(?i)context[ _](?:size|length|window)|max_model_len")
_ENFORCED = {
    "forced-call-missing": "`tool_choice` that forces a call leaves the model no answer without one.",
    "other-tool-than-forced": "`tool_choice` with a name leaves the model no other tool.",
    "call-despite-none": "With `tool_choice: none` an answer has no call.",
    "parallel-call-despite-false": "With `parallel_tool_calls: false` an answer has at most one call.",
    "strict-schema-violated": "The arguments of a strict tool follow its schema.",
    "json-mode-violated": "With `response_format` the content is JSON, and follows the schema if there is one.",
}
_OF_THE_ANSWER = {
    "call-missing": "The answer has every call that the request asks for.",
    "call-unwanted": "The answer has no call that the request does not ask for.",
    "call-repeated": "The answer has each call once.",
    "wrong-arguments": "The call has the arguments that the request states.",
    "wrong-tool": "The call names the tool that the request states.",
    "wrong-text": "The answer contains the words that the request states.",
    "wrong-json": "The answer is JSON of the form that the request states.",
    "streamed-differs": "The answer is the same, streamed and whole.",
    "special-token-in-content": "Special tokens of the chat template are no text of the answer.",
    "reasoning-in-content": "Reasoning is not part of the content.",
}
_LEAKS = frozenset({"special-token-in-content", "reasoning-in-content"})
_OF_THE_SERVER = {
    "no-answer": "Every request gets an answer.",
    "request-refused": "The server accepts the parameters that the API defines.",
    "context-exceeded": (
        "The server's context holds the request (`--max-model-len` of vLLM, `--context-length` of SGLang, `-c` of "
        "llama.cpp set it)."
    ),
}
KINDS: Mapping[str, str] = {**PROMISES, **_ENFORCED, **_OF_THE_ANSWER, **_OF_THE_SERVER}
"""Every kind of finding that is not a rule, with what it violates."""


class Owner(StrEnum):
    """Who made a fault; `unknown` if nothing shows it."""

    SERVER = "server"
    MODEL = "model"
    UNKNOWN = "unknown"


class ProbeFinding(Struct, frozen=True):
    """One fault of an answer.

    `kind` is one of `KINDS`, or the name of a rule, whose code is then in `code`. `evidence` says what shows the owner,
    in words. `part` and `range` are the characters in the answer, as the trace has them; None for the whole answer.
    `as_predicted`: whether the answer is what the named server parser returns for the model's text; None if unknown.
    """

    kind: str
    owner: Owner
    message: str
    evidence: str = ""
    code: str = ""
    part: str = ""
    range: Range | None = None
    as_predicted: bool | None = None


class CallErrors(Struct, frozen=True):
    """OpenRouter's three kinds of errors: whether a call of the answer has them.

    https://openrouter.ai/docs/guides/routing/auto-exacto: `InvalidJson` (the arguments are no JSON), `UnknownName` (the
    tool was not offered), `SchemaMismatch`. A request is flagged if any of its calls is.
    """

    invalid_json: bool = False
    unknown_name: bool = False
    schema_mismatch: bool = False

    @property
    def any(self) -> bool:
        """Whether the request is flagged."""
        return self.invalid_json or self.unknown_name or self.schema_mismatch


class JudgedAnswer:
    """One answer with what is found in it; each property is computed once."""

    def __init__(self, request: ProbeRequest, answer: ProbeAnswer) -> None:
        self.request, self.answer = request, answer

    @cached_property
    def trace(self) -> Trace:
        """The request's messages and the answer as a trace."""
        return trace_of(self.answer.body, self.answer.turn)

    @cached_property
    def inspection(self) -> Inspection:
        """The inspection of what the server delivered; `ownership` compares it with the tokens of the answer."""
        *before, answer = self.trace.turns
        parts = tuple(part for part in answer.parts if part.name != TOKENS_PART)
        return inspect_trace(structs.replace(self.trace, turns=(*before, structs.replace(answer, parts=parts))))

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the server delivered."""
        number = len(self.trace.turns)
        parts = (part for part in self.inspection.parts if part.turn == number and part.part.startswith("call:"))
        return tuple(call for part in parts for call in part.calls)

    @property
    def content(self) -> str:
        """The content that the server delivered."""
        part = self.answer.turn.part("text")
        return part.text if part is not None else ""

    @property
    def is_cut(self) -> bool:
        """Whether the answer ended at the limit of its length."""
        generation = self.answer.turn.generation
        return generation is not None and generation.finish is FinishReason.LENGTH

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The errors of the answer's calls and markers."""
        number = len(self.trace.turns)
        return tuple(
            diagnostic
            for diagnostic in self.inspection.diagnostics
            if _is_of_answer(diagnostic, number) and diagnostic.rule is not SPECIAL_TOKEN_LEAK
        )

    @cached_property
    def findings(self) -> tuple[ProbeFinding, ...]:
        """What is wrong with the answer; what repeats word by word is one finding, at its first place."""
        same: dict[tuple[str, str], list[ProbeFinding]] = {}
        for finding in _findings(self):
            same.setdefault((finding.kind, finding.message), []).append(finding)
        return tuple(_folded(group) for group in same.values())

    @cached_property
    def errors(self) -> CallErrors:
        """OpenRouter's kinds of errors."""
        codes = {
            diagnostic.rule.code for diagnostic in self.diagnostics if diagnostic.location.part.startswith("call:")
        }
        return CallErrors(
            any(not is_json(call.raw_arguments) for call in self.calls),
            "T401" in codes,
            any(code.startswith("S2") for code in codes),
        )


def trace_of(body: Mapping[str, Json], turn: Turn) -> Trace:
    """A trace of a request and its answer."""
    request = read_chat_request(dict(body))
    turns = (*request.turns, structs.replace(turn, generation=request.answered_by(turn.generation)))
    return Trace(turns, model=request.model, provenance=Provenance(source=PROBED))


def is_json(text: str) -> bool:
    """Whether arguments are JSON, as `JSON.parse` decides it."""
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    raise ValueError(word)


def _is_of_answer(diagnostic: Diagnostic, number: int) -> bool:
    """Whether a diagnostic is about the answer's calls or markers: its form and its chain are judged elsewhere."""
    code = diagnostic.rule.code
    is_about_calls = code[0] in "JSF" or code == "T401" or diagnostic.rule.owner == "server"
    is_answer = (
        diagnostic.location.turn == number
        and diagnostic.location.is_in_turn
        and not diagnostic.location.part.startswith("wire:")
    )
    return is_answer and is_about_calls and diagnostic.rule.severity is Severity.ERROR


def _findings(judged: JudgedAnswer) -> Iterator[ProbeFinding]:
    answer = judged.answer
    if answer.is_refused:
        if not judged.request.is_extension:
            kind = "context-exceeded" if _CONTEXT.search(answer.failure) else "request-refused"
            yield _of_server(kind, f"The server refused the request: {answer.failure}")
        return
    if answer.status is None or answer.failure:
        yield _of_server("no-answer", answer.failure)
        return
    promises = [_of_server(kind, message) for kind, message in broken_promises(answer)]
    yield from promises
    if not answer.choice:
        return
    findings = [_of_diagnostic(diagnostic) for diagnostic in judged.diagnostics]
    findings += _leaks(judged)
    enforced = list(_enforced(judged))
    strict = {tool for tool, is_strict in _tools(answer.body).items() if is_strict}
    for finding in findings:
        name = _called_name(judged, finding.part)
        if finding.code.startswith("S2") and name in strict:
            message, evidence = f"`{name}` is strict: {finding.message}", _ENFORCED["strict-schema-violated"]
            kind = "strict-schema-violated"
            yield structs.replace(finding, kind=kind, owner=Owner.SERVER, message=message, evidence=evidence)
        else:
            yield finding
    yield from enforced
    if not judged.is_cut:
        is_explained = any(finding.kind not in _LEAKS for finding in findings) or bool(enforced)
        yield from _expected(judged, is_explained=is_explained)


def _folded(group: Sequence[ProbeFinding]) -> ProbeFinding:
    first = group[0]
    return first if len(group) == 1 else structs.replace(first, message=f"{first.message} ({len(group)} times)")


def _of_server(kind: str, message: str) -> ProbeFinding:
    return ProbeFinding(kind, Owner.SERVER, message, KINDS[kind])


def _of_diagnostic(diagnostic: Diagnostic) -> ProbeFinding:
    owner = Owner.SERVER if diagnostic.rule.owner == "server" else Owner.UNKNOWN
    evidence = "The answer contains both the model's call and the server's reply." if owner is Owner.SERVER else ""
    return ProbeFinding(
        diagnostic.rule.name,
        owner,
        diagnostic.fault.message,
        evidence,
        diagnostic.rule.code,
        diagnostic.location.part,
        diagnostic.location.range,
    )


def _leaks(judged: JudgedAnswer) -> Iterator[ProbeFinding]:
    """Special tokens and tags of reasoning in the content, unless the request itself mentions them."""
    for kind, pattern, what in (
        ("special-token-in-content", _SPECIAL_TOKEN, "the special token"),
        ("reasoning-in-content", _REASONING_TAG, "the tag of reasoning"),
    ):
        match = pattern.search(judged.content)
        if match is not None and match[0] not in write_json(judged.answer.body.get("messages"), ascii_only=False):
            message = f"The content contains {what} `{match[0]}`: {quoted_line(judged.content)}."
            yield ProbeFinding(kind, Owner.UNKNOWN, message, part="text", range=Range(*match.span()))


def _called_name(judged: JudgedAnswer, part: str) -> str:
    header = judged.answer.turn.call_header(part)
    return (header.name or "") if header is not None else ""


def _tools(body: Mapping[str, Json]) -> dict[str, bool]:
    """The offered tools by name, and whether each is strict."""
    functions = [object_of(tool.get("function")) for tool in objects_of(body.get("tools"))]
    return {word_of(function.get("name")): flag_of(function.get("strict")) is True for function in functions}


def _enforced(judged: JudgedAnswer) -> Iterator[ProbeFinding]:
    """What the request made the server enforce, and it did not."""
    body, calls = judged.answer.body, judged.calls
    choice = body.get("tool_choice")
    forced = word_of(object_of(object_of(choice).get("function")).get("name"))
    if choice == "none" and calls:
        yield _of_server("call-despite-none", f"The answer calls `{calls[0].name}`, and `tool_choice` is `none`.")
    if (choice == "required" or forced) and not calls and not judged.is_cut:
        wanted = f"a call of `{forced}`" if forced else "a call"
        yield _of_server("forced-call-missing", f"`tool_choice` forces {wanted}, and the answer has none.")
    for call in calls:
        if forced and call.name != forced:
            yield _of_server(
                "other-tool-than-forced", f"`tool_choice` forces `{forced}`; the answer calls `{call.name}`."
            )
    if body.get("parallel_tool_calls") is False and len(calls) > 1:
        message = f"`parallel_tool_calls` is false, and the answer has {len(calls)} calls."
        yield _of_server("parallel-call-despite-false", message)
    yield from _json_mode(judged)


def _json_mode(judged: JudgedAnswer) -> Iterator[ProbeFinding]:
    form = object_of(judged.answer.body.get("response_format"))
    kind = word_of(form.get("type"))
    if kind not in ("json_object", "json_schema") or judged.calls or judged.is_cut:
        return
    problem = _content_problem(judged.content, object_of(form.get("json_schema")).get("schema"))
    if problem:
        yield _of_server("json-mode-violated", f"`response_format` is `{kind}`: {problem}")


def _content_problem(content: str, schema: Json) -> str:
    """Why a content is not JSON of a schema, `""` if it is."""
    try:
        value: Json = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return f"the content is not JSON: {quoted_line(content)}."
    if not isinstance(schema, dict) or unsafe_part(value) is not None:
        return ""
    violations = prepared_schema(schema).violations(value)
    if isinstance(violations, UncheckedValue) or not violations:
        return ""
    path = "".join(f"/{step}" for step in violations[0].path)
    return f"the content violates the schema at `{path or '/'}` (`{violations[0].keyword}`): {quoted_line(content)}."


def _expected(judged: JudgedAnswer, *, is_explained: bool) -> Iterator[ProbeFinding]:
    """What a right answer must have, and this one has not; calls are not compared if another finding explains them."""
    expected = judged.request.expected
    if expected.calls is not None and not is_explained:
        yield from _expected_calls(judged.calls, expected.calls)
    if judged.calls or is_explained:
        return
    missing = next((word for word in expected.text if word.casefold() not in judged.content.casefold()), None)
    if missing is not None:
        message = f"The answer lacks `{missing}`: {quoted_line(judged.content)}."
        yield ProbeFinding("wrong-text", Owner.UNKNOWN, message, part="text")
    elif expected.json_schema is not None and (problem := _content_problem(judged.content, expected.json_schema)):
        yield ProbeFinding("wrong-json", Owner.UNKNOWN, problem[:1].upper() + problem[1:], part="text")


def _expected_calls(calls: Sequence[ToolCall], expected: Sequence[SuiteCall]) -> Iterator[ProbeFinding]:
    left = list(calls)
    missing: list[SuiteCall] = []
    for wanted in expected:
        fitting = next((call for call in left if wanted.fits(call)), None)
        if fitting is None:
            missing.append(wanted)
        else:
            left.remove(fitting)
    for wanted in missing:
        near = next((call for call in left if call.name == wanted.name), next(iter(left), None))
        if near is None:
            have = f"{len(calls)} of {len(expected)} calls" if calls else "no call"
            yield ProbeFinding("call-missing", Owner.UNKNOWN, f"The answer has {have}; expected {_shown(wanted)}.")
            continue
        left.remove(near)
        kind = "wrong-arguments" if near.name == wanted.name else "wrong-tool"
        message = f"The answer calls `{near.name}` with {quoted_line(near.raw_arguments)}; expected {_shown(wanted)}."
        yield ProbeFinding(kind, Owner.UNKNOWN, message, part=_part_of(calls, near), range=near.range)
    for call in left:
        is_repeated = any(
            call is not other and call.name == other.name and same_arguments(call.raw_arguments, other.raw_arguments)
            for other in calls
        )
        kind = "call-repeated" if is_repeated else "call-unwanted"
        message = f"The answer calls `{call.name}` with {quoted_line(call.raw_arguments)}"
        reason = " again." if is_repeated else ", which the request does not ask for."
        yield ProbeFinding(kind, Owner.UNKNOWN, message + reason, part=_part_of(calls, call), range=call.range)


def _part_of(calls: Sequence[ToolCall], call: ToolCall) -> str:
    return f"call:{next(index for index, other in enumerate(calls) if other is call)}"


def _shown(call: SuiteCall) -> str:
    arguments = (
        f" with {quoted_line(write_json(call.arguments, ascii_only=False))}" if call.arguments is not None else ""
    )
    return f"`{call.name}`{arguments}"


def answer_fits(expected: ExpectedAnswer, calls: Sequence[ToolCall], content: str) -> bool:
    """Whether calls and content are a right answer."""
    if expected.calls is not None and any(_expected_calls(calls, expected.calls)):
        return False
    if not all(word.casefold() in content.casefold() for word in expected.text):
        return False
    return expected.json_schema is None or not _content_problem(content, expected.json_schema)


def quoted_line(text: str) -> str:
    """A text on one line, in backquotes, with an ellipsis for what is over `_MAX_QUOTE_CHARS` code points."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= _MAX_QUOTE_CHARS else line[: _MAX_QUOTE_CHARS - 1] + '…'}`"
