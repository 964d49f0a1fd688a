"""Google's Gemini API: the shapes of `generateContent`, the answer (streamed or whole) as wire events, and the request.

A stream is an event stream (`alt=sse`) or one JSON array that arrives element by element; only the finish reason ends
it. Candidate 0 is the turn; others are kept in parts that begin with `choice1:` and so on. Sources: the API references
of the Gemini API and of Vertex AI, and the types of python-genai:google/genai/types.py.

`GeminiShapes` reads responses, contents and parts, whole or as a stream, with their positions.

Sources: Gemini's API reference (GenerateContentResponse, Content, Part); langchain-google-genai:tests/unit_tests/
test_chat_models.py. Protobuf's JSON accepts every member in camel and in snake case. A call without arguments may lack
`args`; numbers arrive as floats; a call that the server could not read is in `finishMessage` only.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from weaklink.inspector.apis.located_pieces import (
    ApiCallPiece,
    ApiPiece,
    ResultPiece,
    TextPiece,
    TurnBegins,
    another_answer,
    cut_off,
    error_inside,
    filled,
    items,
    member,
    number,
    objects,
    string,
    text_of,
    truth,
)
from weaklink.inspector.apis.refused_calls import refused_by_gemini
from weaklink.inspector.json_scanner import JsonKind, JsonNode
from weaklink.inspector.json_text import Json, compact_json, word_of
from weaklink.inspector.model.calls import ToolDefinition
from weaklink.inspector.model.trace import CallHeader, FinishReason, Part, ResultHeader, Role, SpanKind, Turn, Usage
from weaklink.inspector.text import Range
from weaklink.inspector.wire import events
from weaklink.inspector.wire.answer_reader import ChoiceParts, ChunkTokens, ObjectReader
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, parse_json, raw_text

_NO_SETTINGS = frozenset({"model", "contents", "systemInstruction", "tools"})
API = "generate_content"
"""The name of this kind of endpoint in a generation's facts."""
MESSAGE_PART = "wire:finish_message"
"""The part that keeps the server's reason for ending or blocking; a malformed call is in no other part."""
_READ = frozenset({"text", "thought", "thoughtSignature", "functionCall"})
_VERBATIM_KINDS = frozenset(
    {"executableCode", "codeExecutionResult", "inlineData", "fileData", "toolCall", "toolResponse"}
)
_VERBATIM_MEMBERS = (
    (MESSAGE_PART, "finish_message"),
    ("wire:citations", "citation_metadata"),
    ("wire:grounding", "grounding_metadata"),
    ("wire:url_context", "url_context_metadata"),
)
_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")
_FINISH = ("finishReason", "finish_reason")
_FINISH_MESSAGE = ("finishMessage", "finish_message")
_DISTINCTIVE = frozenset({"functionCall", "functionResponse", "thought", "thoughtSignature"})
_KINDS = _DISTINCTIVE | _VERBATIM_KINDS
RESPONSE_KEYS = frozenset({"candidates", *("promptFeedback", "prompt_feedback"), *("usageMetadata", "usage_metadata")})
"""The members that show that an object is a response."""
_ROLES = frozenset({"model", "user", "function", "tool", "system", ""})


def read_gemini_request(request: dict[str, Json]) -> events.DecodedRequest:
    """A request for generated content; never raises.

    Names in snake_case are read too, and the wrapper of Code Assist (`{"model", "request": {...}}`). A content with
    function responses gives one tool turn for each, in order, and a turn for its other parts. The model and whether a
    stream is requested are usually in the path: see `inspector.apis.providers.read_request`.
    """
    inner = request.get("request")
    wrapped = isinstance(inner, dict) and "contents" in inner
    body = {
        camel_case(key): value for key, value in (inner if wrapped and isinstance(inner, dict) else request).items()
    }
    contents = body.get("contents", [])
    return events.DecodedRequest(
        API,
        word_of(request.get("model")).removeprefix("models/"),
        (
            *_system(body.get("systemInstruction")),
            *(turn for content in _listed(contents) for turn in _turns(content)),
        ),
        tuple(_tools(body.get("tools"))),
        events.parameters_of(body, without=_NO_SETTINGS),
    )


def _system(content: Json) -> Iterator[Turn]:
    if content:
        for turn in _turns(content):
            yield Turn(Role.SYSTEM, turn.parts, "system")


def _turns(content: Json) -> Iterator[Turn]:
    if isinstance(content, str):
        yield Turn(Role.USER, (Part("text", content),), "user")
        return
    content_members = content if isinstance(content, dict) else {}
    source_role = word_of(content_members.get("role"))
    parts_so_far: list[tuple[int, dict[str, Json]]] = []
    for index, part in enumerate(_listed(content_members.get("parts", [] if content_members else content))):
        members: dict[str, Json] = {"": part}
        if isinstance(part, dict):
            members = {camel_case(key): value for key, value in part.items()}
        if isinstance(response := members.get("functionResponse"), dict):
            yield from _part_turns(parts_so_far, source_role)
            parts_so_far = []
            yield _result(response, source_role)
        else:
            parts_so_far.append((index, members))
    yield from _part_turns(parts_so_far, source_role)


def _part_turns(parts: list[tuple[int, dict[str, Json]]], source_role: str) -> Iterator[Turn]:
    if not parts:
        return
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for index, members in parts:
        match members:
            case {"text": str(words)}:
                texts.setdefault("reasoning" if members.get("thought") is True else "text", []).append(words)
            case {"functionCall": dict(call)}:
                part = f"call:{len(calls)}"
                calls.append(CallHeader(part, word_of(call.get("name")) or None, word_of(call.get("id")) or None))
                texts[part] = [compact_json(call["args"]) if "args" in call else ""]
            case _:
                texts[f"content:{index}"] = [compact_json(members.get("", members))]
        if signature := word_of(members.get("thoughtSignature")):
            texts[f"wire:signature:{index}"] = [signature]
    role = Role.ASSISTANT if source_role == "model" else Role.SYSTEM if source_role == "system" else Role.USER
    yield Turn(role, tuple(Part(name, "".join(all_)) for name, all_ in texts.items()), source_role, tuple(calls))


def _result(response: dict[str, Json], source_role: str) -> Turn:
    header = ResultHeader(word_of(response.get("id")) or None, word_of(response.get("name")) or None)
    return Turn(Role.TOOL, (Part("text", compact_json(response.get("response"))),), source_role, result=header)


def _tools(tools: Json) -> Iterator[ToolDefinition]:
    """The functions of each tool; a server-side tool is kept in `raw`, with its member's name as the name."""
    for tool in _listed(tools):
        members = {camel_case(key): value for key, value in tool.items()} if isinstance(tool, dict) else {}
        for key, value in members.items():
            if key != "functionDeclarations":
                yield ToolDefinition(key, raw=compact_json({key: value}))
                continue
            for declared in _listed(value):
                yield _definition(declared)


def _definition(declared: Json) -> ToolDefinition:
    members = {camel_case(key): value for key, value in declared.items()} if isinstance(declared, dict) else {}
    return ToolDefinition(
        word_of(members.get("name")),
        word_of(members.get("description")),
        members.get("parametersJsonSchema", members.get("parameters")),
        compact_json(declared),
    )


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [] if value is None else [value]


class GeminiFunctionCall(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A call; `args` is an object, missing if it is empty."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = NOTHING


class GeminiPart(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A part of a kind that weaklink reads; a part of another kind is kept as its text."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: GeminiFunctionCall | None = None


class ContentShape(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The content of a candidate."""

    role: str | None = None
    parts: list[msgspec.Raw] | None = None


class ChosenToken(msgspec.Struct, rename="camel"):
    """A token that was chosen; protobuf leaves out an id or a probability of 0."""

    token: str = ""
    token_id: int = 0
    log_probability: float = 0.0


class LogprobsResult(msgspec.Struct, rename="camel"):
    """The tokens of a chunk."""

    chosen_candidates: list[ChosenToken] | None = None

    def tokens(self) -> ChunkTokens:
        """The tokens; they have ids if one of them is not 0."""
        chosen = self.chosen_candidates or []
        ids = tuple(token.token_id for token in chosen)
        logprobs = tuple(token.log_probability for token in chosen)
        return ChunkTokens([token.token for token in chosen], ids if any(ids) else None, logprobs or None)


class Candidate(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One of the answers to a request; most requests have only one."""

    index: int = 0
    content: ContentShape | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    citation_metadata: msgspec.Raw = NOTHING
    grounding_metadata: msgspec.Raw = NOTHING
    logprobs_result: LogprobsResult | None = None
    token_count: Any = None
    avg_logprobs: Any = None
    safety_ratings: Any = None
    url_context_metadata: msgspec.Raw = NOTHING


class GeminiUsageShape(msgspec.Struct, rename="camel"):
    """Token counts, cumulative; each event of a stream may bring them."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None

    def usage(self) -> Usage:
        """The counts as `Usage`: output includes thoughts, input includes the results of server-side tools."""
        input_counts = [
            count for count in (self.prompt_token_count, self.tool_use_prompt_token_count) if count is not None
        ]
        output_counts = [
            count for count in (self.candidates_token_count, self.thoughts_token_count) if count is not None
        ]
        return Usage(
            sum(input_counts) if input_counts else None,
            sum(output_counts) if output_counts else None,
            self.thoughts_token_count,
            self.cached_content_token_count,
        )


class PromptFeedback(msgspec.Struct, rename="camel"):
    """Why a prompt was not answered."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class GenerateResponse(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One event of a stream, or a body that came whole."""

    candidates: list[Candidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: GeminiUsageShape | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: Any = None
    model_status: Any = None
    error: msgspec.Raw = NOTHING
    response: msgspec.Raw = NOTHING
    trace_id: Any = None


def camel_case(key: str) -> str:
    """A name in snake_case as the API itself writes it."""
    first, *others = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


read_response = StructReader(GenerateResponse, rename=camel_case)

read_part = StructReader(GeminiPart, rename=camel_case)


class GeminiReader(ObjectReader):
    """Reads the objects of one answer: many chunks, or one body that came whole; see `inspector.wire.answer_reader`."""

    __slots__ = ("_candidates", "_first")

    api = API
    unended = "The stream ended without a finish reason."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self._first = CandidateReader(0)
        self._candidates = {0: self._first}

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        try:
            response, strange = read_response(text)
            if inner := raw_text(response.response):
                response, more = read_response(inner)
                strange = [*strange, *(f"response.{path}" for path in more)]
        except ValueError:
            return self.faults.read_error(text, raw, at_s, wire_events)
        is_answer = response.candidates or response.prompt_feedback or response.usage_metadata
        if raw_text(response.error) or not (is_answer or response.model_version):
            return self.faults.read_error(text, raw, at_s, wire_events)
        strange += self._read_response(response, raw, at_s, wire_events)
        self._keep(strange, raw, at_s, wire_events)
        return True

    def _read_response(
        self, response: GenerateResponse, raw: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> list[str]:
        strange = []
        self._learn_head(response.response_id, response.model_version, wire_events)
        self._learn_usage(response.usage_metadata, wire_events)
        for candidate in response.candidates or ():
            reader = self._candidates.setdefault(candidate.index, CandidateReader(candidate.index))
            strange += reader.read(candidate, at_s, wire_events)
        self.faults.last_part = self._first.last_part
        for candidate in response.candidates or ():
            if candidate.finish_reason and not candidate.index:
                self._learn_end(candidate, raw, at_s, wire_events)
        if response.prompt_feedback is not None and response.prompt_feedback.block_reason:
            self._learn_block(response.prompt_feedback, at_s, wire_events)
        return strange

    def _learn_end(
        self, candidate: Candidate, raw: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> None:
        if self._learn_finish(candidate.finish_reason or "", wire_events) is FinishReason.ERROR:
            words = candidate.finish_message or f"finish reason {self.finish}"
            error: Json = {"message": words, "code": self.finish}
            self.faults.fail(error, raw, at_s, wire_events, in_answer=True)

    def _learn_block(self, feedback: PromptFeedback, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        if feedback.block_reason_message:
            wire_events.append(events.PartGrew(MESSAGE_PART, feedback.block_reason_message, at_s))
        self.finish = feedback.block_reason or ""
        wire_events.append(events.FactsLearned(finish_reason=self.finish, finish=FinishReason.FILTER))


class CandidateReader(ChoiceParts):
    """Turns the pieces of one candidate into events."""

    __slots__ = ("_calls", "_count")

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self._calls = 0
        self._count = 0  # of parts

    def read(self, candidate: Candidate, at_s: float | None, wire_events: list[events.WireEvent]) -> list[str]:
        """Append the events of a piece; returns the paths of unknown members."""
        first = len(wire_events)
        strange = []
        for part in (candidate.content.parts if candidate.content else None) or ():
            strange += self._read_part(raw_text(part), at_s, wire_events)
        if candidate.logprobs_result is not None:
            self.add_tokens(candidate.logprobs_result.tokens(), at_s, wire_events, since=first)
        for part_name, attribute in _VERBATIM_MEMBERS:
            value = getattr(candidate, attribute)
            if text := value if isinstance(value, str) else raw_text(value) if value is not None else "":
                self.keep(part_name, text, at_s, wire_events)
        if self.prefix and candidate.finish_reason:
            self.keep("finish_reason", candidate.finish_reason, at_s, wire_events)
        return strange

    def _read_part(self, text: str, at_s: float | None, wire_events: list[events.WireEvent]) -> list[str]:
        index = self._count
        self._count += 1
        try:
            part, strange = read_part(text)
        except ValueError:
            return ["content.parts[]"]
        kinds = self._kinds(text) if strange else set()
        if kinds & _VERBATIM_KINDS and not kinds & {"text", "functionCall"}:
            self.keep(f"content:{index}", text, at_s, wire_events)
            strange = sorted(kinds - _VERBATIM_KINDS - _READ)
        if part.text:
            self.grow("reasoning" if part.thought else "text", part.text, at_s, wire_events)
        if part.function_call is not None:
            self._read_call(part.function_call, at_s, wire_events)
        if part.thought_signature:
            self.keep(f"wire:signature:{index}", part.thought_signature, at_s, wire_events)
        return [f"part.{path}" for path in strange]

    def _kinds(self, text: str) -> set[str]:
        document = parse_json(text)
        return {camel_case(key) for key in document} if isinstance(document, dict) else set()

    def _read_call(self, call: GeminiFunctionCall, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        part = f"call:{self._calls}"
        self._calls += 1
        self.name_call(events.CallNamed(self.prefix + part, call.name or None, call.id or None), at_s, wire_events)
        if arguments := raw_text(call.args):
            self.grow(part, arguments, at_s, wire_events)


class GeminiShapes:
    """The `ApiShapeReader` of Gemini's API: consecutive responses, a list of them, contents or parts."""

    def __init__(self) -> None:
        self._responses = 0
        self._others_reported = False
        self._has_ended = False

    @property
    def expects_end(self) -> bool:
        """See `ApiShapeReader`: whether several responses came, but no finish reason."""
        return self._responses > 1 and not self._has_ended

    def read(self, value: JsonNode, text: str) -> list[ApiPiece] | None:
        """See `ApiShapeReader`."""
        if value.kind is not JsonKind.ARRAY:
            return self._one(value)
        nodes = value.items
        if nodes and all(map(_is_response, nodes)):
            return [piece for response in nodes for piece in self._response(response)]
        if nodes and all(map(_is_content, nodes)):
            return [piece for content in nodes for piece in _content(content)]
        if nodes and all(map(_is_part, nodes)) and any(_kinds(part) & _DISTINCTIVE for part in nodes):
            return [piece for part in nodes for piece in _part(part, by_model=True)]
        return None

    def end(self, marker: Range) -> list[ApiPiece]:
        """See `ApiShapeReader`."""
        self._has_ended = True
        return []

    def _one(self, node: JsonNode) -> list[ApiPiece] | None:
        wrapped = member(node, "response")  # Code Assist
        if wrapped is not None and _is_response(wrapped):
            node = wrapped
        if _is_response(node):
            return list(self._response(node))
        if _is_content(node):
            return list(_content(node))
        contents = items(node, "contents")
        if contents and all(map(_is_content, contents)):
            return [piece for content in contents for piece in _content(content)]
        if _is_part(node) and member(node, *_CALL, *_RESULT) is not None:
            return list(_part(node, by_model=True))
        if self._responses and member(node, "error") is not None:
            self._has_ended = True
            return list(error_inside(node))
        return None

    def _response(self, node: JsonNode) -> Iterator[ApiPiece]:
        self._responses += 1
        for candidate in objects(node, "candidates"):
            index = number(candidate, "index")
            if index:
                if not self._others_reported:
                    yield another_answer(candidate, index)
                self._others_reported = True
                continue
            content = member(candidate, "content")
            if content is not None:
                yield from (piece for part in objects(content, "parts") for piece in _part(part, by_model=True))
            reason = string(candidate, *_FINISH)
            if reason is None:
                continue
            self._has_ended = True
            yield from cut_off(reason)
            if (refused := refused_by_gemini(candidate)) is not None:
                yield refused


def _is_response(node: JsonNode) -> bool:
    candidates = member(node, "candidates")
    if candidates is not None and candidates.kind is JsonKind.ARRAY:
        distinctive = ("content", "index", *_FINISH, *_FINISH_MESSAGE)
        return all(member(item, *distinctive) is not None for item in candidates.items)
    return member(node, *RESPONSE_KEYS - {"candidates"}) is not None


def _is_content(node: JsonNode) -> bool:
    parts = member(node, "parts")
    is_list = parts is not None and parts.kind is JsonKind.ARRAY
    return is_list and text_of(node, "role") in _ROLES and all(map(_is_part, items(node, "parts")))


def _is_part(node: JsonNode) -> bool:
    return string(node, "text") is not None or not _kinds(node).isdisjoint(_KINDS)


def _kinds(part: JsonNode) -> set[str]:
    return {camel_case(entry.key) for entry in part.members if entry.value.kind is not JsonKind.NULL}


def _content(node: JsonNode) -> Iterator[ApiPiece]:
    yield TurnBegins(Range(node.range.start, node.range.start))
    by_model = text_of(node, "role") in ("model", "")
    for part in objects(node, "parts"):
        yield from _part(part, by_model=by_model)


def _part(node: JsonNode, *, by_model: bool) -> Iterator[ApiPiece]:
    call, result = member(node, *_CALL), member(node, *_RESULT)
    if call is not None:
        yield ApiCallPiece(call.range, None, string(call, "name"), string(call, "id"), member(call, "args"))
    elif result is not None:
        response = member(result, "response")
        result_range = response.range if response is not None else result.range
        yield ResultPiece(result_range, response, string(result, "id"), string(result, "name"), _is_error(response))
    else:
        kind = SpanKind.REASONING if truth(node, "thought") else SpanKind.TEXT
        yield from (TextPiece(kind, text, by_model=by_model) for text in filled(node, "text"))


def _is_error(response: JsonNode | None) -> bool | None:
    """Whether a result is an error: by the API's rule, one with a member `error`."""
    return True if member(response, "error") is not None else None
