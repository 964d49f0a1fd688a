"""A candidate for a verifier: one answer of a model in its conversation, and what can be read from it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import read_messages, read_tools
from weaklink.inspector.chain.expected_calls import ExpectedCall, parsed_if_text
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.dataset.context_values import ContextValues, FoldedText, allowed_key, fold_text
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.references import reference_of
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.importers.data.public_shapes import ANSWERS, public_prompt
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.inspection import format_of, inspect_trace, read_part
from weaklink.inspector.memoized import CacheKey
from weaklink.inspector.model import Generation, Json, Part, Role, Span, SpanKind, ToolCall, ToolDefinition, Trace, Turn
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

_SCHEMA_TAG = re.compile(r"<schema>\s*(.*?)\s*</?schema>", re.DOTALL)
_OFFERS = ("enum", "const", "default", "example", "examples")
_TEMPLATE = re.compile(r"<\|(?:im_start|start_header_id|start)\|>|<start_of_turn>|<｜(?:User|Assistant)｜>")
_MAX_DEPTH = 32
_NO_BYTES = b"{}"  # a candidate's trace gets no id from its bytes, so the row is not written for them


class VerifierInput(Struct, frozen=True):
    """An answer to verify: its whole conversation, and the facts that its row contains.

    `own_from` is the turn, from 1, at which the candidate's own turns begin; they are compared with `expected`.
    `schema` is the JSON Schema that the answer must follow, or None. `expected` are the calls that the task requires:
    empty if it requires none, None if the row has no reference, and `reference_error` why its reference cannot be read,
    or None. `require_call`: without a reference, an answer needs a call (True); with one, an answer without any call
    passes (False); None: as the reference says.
    `offers_none`: the row has a list of tools, which is empty. `answer_format` is a regular expression.
    """

    trace: Trace
    own_from: int = 1
    schema: Json = None
    expected: tuple[ExpectedCall, ...] | None = None
    answer_format: str | None = None
    reasoning_cap: int = 30_000
    reference_error: str | None = None
    require_call: bool | None = None
    offers_none: bool = False


class CandidateCall(Struct, frozen=True):
    """A call of the conversation and its location. `step` is its step in the chain, None if no chain was needed."""

    call: ToolCall
    location: Location
    step: Step | None = None


class CandidateReading:
    """The parsed conversation of a candidate; each property is computed when it is first used.

    A candidate that is one answer to a prompt without earlier answers and results has no chain: only its own turn is
    parsed, and the rest of the conversation is used only as context for values. Most rewards are computed for such
    candidates.
    """

    def __init__(self, candidate: VerifierInput) -> None:
        self.candidate = candidate
        self.trace = candidate.trace

    @property
    def answer_turn(self) -> int:
        """The number of the candidate's last assistant turn, which is its answer; 0 if there is none."""
        turns, first = self.trace.turns, self.candidate.own_from
        return next((index for index in range(len(turns), first - 1, -1) if turns[index - 1].role is Role.ASSISTANT), 0)

    @cached_property
    def is_single(self) -> bool:
        """Whether the candidate is the only answer, and the conversation contains no result."""
        roles = [turn.role for turn in self.trace.turns]
        return roles[-1:] == [Role.ASSISTANT] and roles.count(Role.ASSISTANT) == 1 and Role.TOOL not in roles

    @cached_property
    def format(self) -> Format:
        """The format that the conversation is parsed as."""
        return format_of(self.trace)

    @cached_property
    def inspection(self) -> Inspection:
        """The inspection of the whole conversation."""
        return inspect_trace(self.trace, reasoning_budget=self.candidate.reasoning_cap)

    @cached_property
    def _last(self) -> tuple[tuple[PartInspection, ...], tuple[Diagnostic, ...]]:
        number = len(self.trace.turns)
        turn = self.trace.turns[-1]
        offered = OfferedTools(self.tools)
        read = [read_part(turn, number, part, self.format, offered) for part in turn.parts]
        return tuple(part for part, _ in read), tuple(
            diagnostic for _, diagnostics in read for diagnostic in diagnostics
        )

    @property
    def parts(self) -> Sequence[PartInspection]:
        """The inspected parts of the whole conversation, or of the only answer."""
        return self._last[0] if self.is_single else tuple(self.inspection.parts)

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """The faults of these parts, and of the chain if there is one."""
        return self._last[1] if self.is_single else tuple(self.inspection.diagnostics)

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of the chain; none for the only answer."""
        return () if self.is_single else tuple(self.inspection.chain.steps)

    @cached_property
    def calls(self) -> tuple[CandidateCall, ...]:
        """Every call of the conversation, in order, including attempted calls if there is a chain."""
        if not self.is_single:
            return tuple(CandidateCall(step.call, step.location, step) for step in self.steps)
        return tuple(
            CandidateCall(call, Location(part.turn, part.part, call.range))
            for part in self.parts
            for call in part.calls
        )

    @cached_property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The offered tools: those of the last request; if it has none, those that the prompt's text defines."""
        for turn in reversed(self.trace.turns):
            if turn.generation is not None and turn.generation.tools:
                return turn.generation.tools
        if not self.is_single:
            return tuple(tool for part in self.inspection.parts for tool in part.definitions)
        prompt_turns = (turn for turn in self.trace.turns if turn.role in (Role.SYSTEM, Role.USER))
        return tuple(
            tool
            for turn in prompt_turns
            for part in turn.parts
            for tool in defined_in(part.text, self.format.name, turn.role)[0]
        )

    @cached_property
    def answer(self) -> str:
        """The text of the last answer, without its calls, reasoning and markers."""
        number = self.answer_turn
        inspections = [part for part in self.parts if part.turn == number and part.part == "text"]
        if not inspections:
            return ""
        part = self.trace.turns[number - 1].part("text")
        text = part.text if part is not None else ""
        return "".join(span.inner.of(text) for span in inspections[0].spans if span.kind is SpanKind.TEXT)

    def context(self, before_turn: int, tool: ToolDefinition | None = None) -> ContextValues:
        """The values that a call of `tool` may use: those in messages before `before_turn` that are not the agent's.

        Of the tool definitions, only the values that this tool offers count: enums, defaults and descriptions.
        """
        texts = [text for number, text in self._context_texts if number < before_turn]
        allowed, described = offered_values(tool) if tool is not None else (frozenset[str](), None)
        return ContextValues(
            (*texts, described) if described is not None else texts, allowed, user_words=self._user_words
        )

    @cached_property
    def _context_texts(self) -> tuple[tuple[int, FoldedText], ...]:
        return tuple(
            (number, fold_text(text))
            for number, turn in enumerate(self.trace.turns, 1)
            if turn.role is not Role.ASSISTANT
            for part in turn.parts
            for text in (self._without_definitions(number, part),)
            if text
        )

    def _without_definitions(self, number: int, part: Part) -> str:
        role = self.trace.turns[number - 1].role
        if role is Role.TOOL or "{" not in part.text:
            return part.text
        if self.is_single:
            return defined_in(part.text, self.format.name, role)[1]
        spans = self._spans.get(number, ()) if part.name == "text" else ()
        return _without(part.text, (span.range for span in spans if span.kind is SpanKind.TOOL_DEFINITIONS))

    @cached_property
    def _spans(self) -> dict[int, Sequence[Span]]:
        return {part.turn: part.spans for part in self.inspection.parts if part.part == "text"}

    @cached_property
    def _user_words(self) -> str:
        return " ".join(part.text for turn in self.trace.turns if turn.role is Role.USER for part in turn.parts)


@lru_cache(maxsize=256)
def defined_in(text: str, format: str, role: Role) -> tuple[tuple[ToolDefinition, ...], str]:
    """The tools that a prompt's text defines, and the text without them."""
    if "{" not in text:
        return (), text
    segmented = segment(text, format, role=role)
    ranges = (span.range for span in segmented.spans if span.kind is SpanKind.TOOL_DEFINITIONS)
    return segmented.definitions, _without(text, ranges)


def _without(text: str, ranges: Iterable[Range]) -> str:
    """The text without these ranges, which must be in order."""
    kept, position = [], 0
    for removed in ranges:
        kept.append(text[position : removed.start])
        position = removed.end
    return " ".join((*kept, text[position:])) if kept else text


def parameter_name(pointer: str) -> str:
    """The name of the parameter that a JSON pointer leads to, or that of the list with the value."""
    return next((word for word in reversed(pointer.split("/")) if word and not word.isdigit()), "")


def offered_values(tool: ToolDefinition) -> tuple[frozenset[str], FoldedText | None]:
    """The values that a tool's definition names (enums, defaults, examples), and its descriptions."""
    return _values_of(CacheKey((tool.name, tool.raw or repr(tool.parameters)), tool))


@lru_cache(maxsize=256)
def _values_of(offered: CacheKey[ToolDefinition]) -> tuple[frozenset[str], FoldedText | None]:
    allowed: set[str] = set()
    described = [offered.value.description]
    for keyword, value in _offers(offered.value.parameters, 0):
        if keyword == "description":
            described.append(str(value))
        else:
            values = value if isinstance(value, list) else [value]
            allowed.update(allowed_key(value) for value in values if not isinstance(value, dict | list))
    text = " ".join(filter(None, described))
    return frozenset(allowed), fold_text(text) if text else None


def _offers(schema: Json, depth: int) -> Iterator[tuple[str, Json]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword in _OFFERS or (keyword == "description" and isinstance(value, str)):
                yield keyword, value
            else:
                yield from _offers(value, depth + 1)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _offers(inner, depth + 1)


def candidate_of(
    messages: Json,
    completion: Json = None,
    *,
    tools: Json = None,
    format: str = "",
    facts: Mapping[str, Json] | None = None,
) -> VerifierInput:
    """The candidate in OpenAI-shaped messages: `completion` (a text, a message, a list of them), or the last answer.

    An empty list or object is an empty answer. `messages` may be a string, the user's message. `facts` are the row's
    members that describe the task (see `with_row_facts`). Raises ValueError for facts that cannot be read.
    """
    prompt = _as_messages(messages, "user")
    before = list(read_messages(prompt)) if prompt else []
    answer_turns = _answer_turns(completion) if completion is not None else []
    offered = Generation(tools=read_tools(tools))
    turns = tuple(
        structs.replace(turn, generation=offered) if turn.role is Role.ASSISTANT and offered.tools else turn
        for turn in (*before, *answer_turns)
    )
    trace = Trace(turns, format="" if format == "auto" else format)
    own_from = len(before) + 1 if completion is not None else None
    return with_row_facts(trace, {"tools": tools, **(facts or {})}, own_from=own_from)


def _answer_turns(completion: Json) -> list[Turn]:
    """The turns of an answer; one without text if there is nothing to read."""
    turns = list(read_messages(_as_messages(completion, "assistant")))
    return turns or list(read_messages(_as_messages("", "assistant")))


def _as_messages(value: Json, role: str) -> Json:
    return [{"role": role, "content": value}] if isinstance(value, str) else value


def with_row_facts(trace: Trace, row: Mapping[str, Json], *, own_from: int | None = None) -> VerifierInput:
    """The candidate of a row whose conversation is `trace`.

    The schema is `schema`, or else `response_format`, or else `<schema>` in the system prompt. `references.py` says
    where the reference is. Without `own_from`, the candidate's turns begin after the last user turn. Raises ValueError,
    with the reason, for another member that cannot be read.
    """
    turns = trace.turns
    last_user_turn = next((index for index in range(len(turns), 0, -1) if turns[index - 1].role is Role.USER), 0)
    answer_format = row.get("answer_format")
    if answer_format is not None and not isinstance(answer_format, str):
        raise ValueError("`answer_format` must be a regular expression, as a string")
    expected: tuple[ExpectedCall, ...] | None = None
    reference_error: str | None = None
    try:
        expected = reference_of(row)
    except ValueError as error:
        reference_error = str(error)
    return VerifierInput(
        trace,
        own_from=last_user_turn + 1 if own_from is None else own_from,
        schema=_schema(trace, row),
        expected=expected,
        answer_format=answer_format,
        reference_error=reference_error,
        offers_none=json_within(row.get("tools", row.get("functions"))) == [],
    )


def _schema(trace: Trace, row: Mapping[str, Json]) -> Json:
    if row.get("schema") is not None:
        return parsed_if_text(row["schema"], "schema")
    if row.get("response_format") is not None:
        return _response_schema(parsed_if_text(row["response_format"], "response_format"))
    for turn in trace.turns:
        part = turn.part("text") if turn.role is Role.SYSTEM else None
        match = _SCHEMA_TAG.search(part.text) if part is not None else None
        if match is not None:
            return parsed_if_text(match[1], "<schema>")
    return None


def _response_schema(value: Json) -> Json:
    """The schema in OpenAI's `response_format`; any object for `json_object`, None if plain text was requested."""
    if not isinstance(value, dict):
        raise ValueError("`response_format` must be an object")
    inner = value.get("json_schema", value.get("schema"))
    if isinstance(inner, dict):
        return inner.get("schema", inner)
    if value.get("type") == "json_object":
        return {"type": "object", "additionalProperties": True}
    return None if value.get("type") == "text" else value


def row_candidate(row: JsonObject, *, format: str = "") -> VerifierInput:
    """The candidate in a row of any shape that a sample can have.

    The answer is `completion`, `answer` or `response` after the row's conversation or prompt, or else the
    conversation's last assistant message. A prompt that is a rendered chat template is split into its turns. Raises
    ValueError for a row without a conversation, or with facts that cannot be read.
    """
    row = public_prompt(row) or row
    named = row.get("format")
    format = format or (named if isinstance(named, str) else "")
    key = next((name for name in ANSWERS if isinstance(row.get(name), str | list | dict)), None)
    prompt = row.get("prompt")
    if isinstance(prompt, str) and _TEMPLATE.search(prompt):
        trace = read_transcript(prompt + (str(row[key]) if key is not None else ""))
        return with_row_facts(_with_tools(trace, row.get("tools"), format), row)
    if isinstance(prompt, str | list) and key is not None:
        return candidate_of(prompt, row[key], tools=row.get("tools"), format=format, facts=row)
    kept = {name: value for name, value in row.items() if name not in ANSWERS}
    sample = read_sample(DataRow("", "line 1", 1, kept, _NO_BYTES), format=format or "auto", is_public=False)
    if sample.shape is None and key is None:
        raise ValueError(f"the row has {refusal(row)}")
    if key is None or sample.shape is Shape.COMPLETION:
        sample = (
            sample if key is None else read_sample(DataRow("", "line 1", 1, row, _NO_BYTES), format=format or "auto")
        )
        trace = _with_format(sample.trace, format)
        return with_row_facts(trace, row)
    answer_turns = _answer_turns(row[key])
    turns = (*sample.trace.turns, *answer_turns)
    trace = _with_tools(structs.replace(sample.trace, turns=turns), row.get("tools"), format)
    return with_row_facts(trace, row, own_from=len(sample.trace.turns) + 1)


def _with_format(trace: Trace, format: str) -> Trace:
    return structs.replace(trace, format=format) if format not in ("", "auto") else trace


def _with_tools(trace: Trace, tools: Json, format: str) -> Trace:
    """The trace with this format, and with the offered tools on each of its answers."""
    offered = read_tools(tools)
    generation = Generation(tools=offered)
    turns = tuple(
        structs.replace(turn, generation=generation) if turn.role is Role.ASSISTANT and offered else turn
        for turn in trace.turns
    )
    return _with_format(structs.replace(trace, turns=turns), format)
