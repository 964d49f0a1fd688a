"""OpenAI's chat completions, streamed or whole: their JSON objects, in the order they come, as wire events.

Sources: OpenAI's API reference (chat completion object and chunk); `reasoning_content` (DeepSeek, SGLang, llama.cpp),
`reasoning` (vLLM, OpenRouter), `reasoning_details` (OpenRouter).

Pieces of calls are identified by `index`; servers that violate this are supported as well.
"""

from operator import attrgetter
from typing import Annotated, Any, TypeAlias

import msgspec

from weaklink.inspector.json_text import compact_json, object_of, objects_of, word_of
from weaklink.inspector.model import Json, Usage
from weaklink.inspector.wire.answer_reader import ChoiceParts, ChunkTokens, ObjectReader, ids_and_texts
from weaklink.inspector.wire.events import PROMPT_TOKENS_PART, CallNamed, PartGrew, WireEvent
from weaklink.inspector.wire.provider_json import StructReader

_Nothing: TypeAlias = (
    Annotated[list[Any], msgspec.Meta(max_length=0)] | Annotated[dict[str, Any], msgspec.Meta(max_length=0)] | None
)
_ANSWER = frozenset({"choices", "usage"})
API = "chat.completions"
"""The name of this kind of endpoint in a generation's facts."""
DETAILS_PART = "wire:reasoning_details"
"""The part that keeps, as JSON texts, reasoning details with more than text: signatures, encrypted blocks."""
LEGACY_INDEX = -1
"""The index of the only call of the legacy `function_call`."""
REASONING_KEYS = ("reasoning_content", "reasoning")
"""The members of a message that are thoughts; some servers send the same text under both."""
DETAIL_KEYS = ("text", "summary")
"""The members of an element of `reasoning_details` that are thoughts; the first one with a text counts."""
BLOCK_TEXTS = {
    "text": ("text", "text"),
    "input_text": ("text", "text"),
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "thinking": ("reasoning", "thinking"),
    "reasoning": ("reasoning", "text"),
    "reasoning_text": ("reasoning", "text"),
}
"""The types of content blocks that are texts: the part that the text goes to, and the member that has the text.

Thoughts may also be a list of text blocks (Mistral).
"""


class FunctionDelta(msgspec.Struct, forbid_unknown_fields=True):
    """A call's name and a piece of its arguments, or, from some servers, their value."""

    name: str | None = None
    arguments: Any = None


class CustomToolDelta(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a custom tool and a piece of its input, which is free text."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece of a call, identified by `index`; `id` and name come with the first piece only."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: FunctionDelta | None = None
    custom: CustomToolDelta | None = None


class ChoiceDelta(msgspec.Struct, forbid_unknown_fields=True):
    """An addition to a choice or, in a body that came whole, its message. Members not named here may contain text."""

    role: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: FunctionDelta | None = None
    annotations: _Nothing = None
    audio: _Nothing = None


_thoughts = attrgetter(*REASONING_KEYS)


class TokenLogprob(msgspec.Struct):
    """One token's text and log probability; vLLM can write `token_id:123` instead of the text."""

    token: str = ""
    logprob: float | None = None


class Logprobs(msgspec.Struct):
    """The tokens of a chunk."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None


class ChoiceShape(msgspec.Struct):
    """One of the answers to a request; most requests have only one."""

    index: int = 0
    delta: ChoiceDelta | None = None
    message: ChoiceDelta | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[int] | None = None


class TokenDetails(msgspec.Struct):
    """The details of both token counts, as one shape."""

    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class OpenAIUsageShape(msgspec.Struct):
    """Token counts, under the names of chat completions or of the Responses API; DeepSeek names cached tokens itself.

    In a stream they come with the last chunk, if requested, or cumulatively with each.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: TokenDetails | None = None
    completion_tokens_details: TokenDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: TokenDetails | None = None
    output_tokens_details: TokenDetails | None = None

    def usage(self) -> Usage:
        """The counts as `Usage`."""
        prompt = self.prompt_tokens_details or self.input_tokens_details or TokenDetails()
        completion = self.completion_tokens_details or self.output_tokens_details or TokenDetails()
        return Usage(
            self.input_tokens if self.prompt_tokens is None else self.prompt_tokens,
            self.output_tokens if self.completion_tokens is None else self.completion_tokens,
            completion.reasoning_tokens,
            self.prompt_cache_hit_tokens if prompt.cached_tokens is None else prompt.cached_tokens,
        )


_read_usage = StructReader(OpenAIUsageShape)


def stored_usage(usage: Json) -> Usage:
    """The token counts of a stored response; what is none is left out. Never raises."""
    try:
        return _read_usage(compact_json(usage))[0].usage()
    except ValueError:  # no object, or one that is nested too deeply
        return Usage()


class ChatChunk(msgspec.Struct):
    """One event of a stream, or a body that came whole."""

    id: str | None = None
    model: str | None = None
    choices: list[ChoiceShape] | None = None
    usage: OpenAIUsageShape | None = None
    error: Any = None
    object: str | None = None
    prompt_token_ids: Any = None


read_chunk = StructReader(ChatChunk)


class ChatReader(ObjectReader):
    """Reads the objects of one answer: many chunks, or one body that came whole; see `inspector.wire.answer_reader`."""

    __slots__ = ("_choices", "_first")

    api = API
    unended = "The stream ended with neither a finish reason nor `[DONE]`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self._first = ChoiceReader(0)
        self._choices = {0: self._first}

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        strange: list[str] = []
        try:
            chunk = read_chunk.decode(text)  # nearly every chunk
        except (ValueError, RecursionError):
            try:
                chunk, strange = read_chunk.read_members(text)
            except ValueError:
                return self.faults.read_error(text, raw, at_s, wire_events)
        if chunk.choices is None and chunk.usage is None and not _ANSWER & set(strange):
            return self.faults.read_error(text, raw, at_s, wire_events)
        strange += self._read_chunk(chunk, raw, at_s, wire_events)
        if strange:
            self._keep(strange, raw, at_s, wire_events)
        return True

    def _read_chunk(self, chunk: ChatChunk, raw: str, at_s: float | None, wire_events: list[WireEvent]) -> list[str]:
        strange: list[str] = []
        if not (self._model and self._response_id):
            self._learn_head(chunk.id, chunk.model, wire_events)
        if chunk.prompt_token_ids is not None:
            wire_events.append(PartGrew(PROMPT_TOKENS_PART, compact_json(chunk.prompt_token_ids), at_s))
        for choice in chunk.choices or ():
            strange += self._read_choice(choice, raw, at_s, wire_events)
        if chunk.usage is not None:
            self._learn_usage(chunk.usage, wire_events)
        self.faults.last_part = self._first.last_part
        if chunk.error:
            self.faults.fail(chunk.error, raw, at_s, wire_events)
        return strange

    def _read_choice(
        self, choice: ChoiceShape, raw: str, at_s: float | None, wire_events: list[WireEvent]
    ) -> list[str]:
        reader = self._choices.get(choice.index)
        if reader is None:
            reader = self._choices.setdefault(choice.index, ChoiceReader(choice.index))
        if choice.message is not None and (choice.delta is not None or reader.has_grown):
            strange = [f"choices[{choice.index}].message"]  # the whole message again, after its pieces
        else:
            strange = reader.read(choice, at_s, wire_events)
            if reader.reused_index is not None:
                self.faults.keep_reused(reader.reused_index, raw, at_s, wire_events)
            if reader.repeated_name:
                self.faults.keep_repeated_name(reader.repeated_name, raw, at_s, wire_events)
        if choice.finish_reason and not choice.index and choice.finish_reason != self.finish:
            self._learn_finish(choice.finish_reason, wire_events)
        return strange


class ChoiceReader(ChoiceParts):
    """Turns the pieces of one choice into events."""

    __slots__ = ("_calls", "repeated_name", "reused_index")

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self._calls = CallParts(self.prefix)
        self.reused_index: int | None = None  # the index of a new call, if another one already has it
        self.repeated_name = ""  # the name of a call whose earlier piece had the name, too

    def read(self, choice: ChoiceShape, at_s: float | None, wire_events: list[WireEvent]) -> list[str]:
        """Append the events of a piece; returns the paths of what contradicts earlier pieces."""
        first = len(wire_events)
        strange: list[str] = []
        self.reused_index, self.repeated_name = None, ""
        delta = choice.delta or choice.message
        if delta is not None:
            content = delta.content
            if isinstance(content, list):
                content, others = _join_blocks(delta, content)
                path = f"choices[{choice.index}].{'message' if choice.delta is None else 'delta'}.content"
                strange += [f"{path}[{index}]" for index in others]
            self._read_texts(delta, content, at_s, wire_events)
            if delta.tool_calls or delta.function_call:
                strange += self._read_calls(delta, at_s, wire_events, whole=choice.delta is None)
        if choice.token_ids or choice.logprobs:
            self.add_tokens(_tokens(choice), at_s, wire_events, since=first)
        if self.prefix and choice.finish_reason:
            self.keep("finish_reason", choice.finish_reason, at_s, wire_events)
        return strange

    def _read_texts(
        self, delta: ChoiceDelta, content: str | None, at_s: float | None, wire_events: list[WireEvent]
    ) -> None:
        if content and not (delta.reasoning_content or delta.reasoning or delta.reasoning_details):
            self.grow("text", content, at_s, wire_events)  # nearly every piece
        else:
            for words in _reasoning(delta):
                self.grow("reasoning", words, at_s, wire_events)
            if delta.reasoning_details and _more_than_words(delta.reasoning_details):
                self.keep(DETAILS_PART, compact_json(delta.reasoning_details), at_s, wire_events)
            if content:
                self.grow("text", content, at_s, wire_events)
        if delta.refusal:
            self.grow("refusal", delta.refusal, at_s, wire_events)

    def _read_calls(
        self, delta: ChoiceDelta, at_s: float | None, wire_events: list[WireEvent], *, whole: bool
    ) -> list[str]:
        pieces = delta.tool_calls or []
        if delta.function_call:
            pieces = [*pieces, ToolCallDelta(index=LEGACY_INDEX, function=delta.function_call)]
        contradicting = []
        for index, piece in enumerate(pieces):
            function = piece.function
            if function is None or not isinstance(function.arguments, str):
                function = _function(piece)
            call = self._calls.assign(piece, function, whole=whole)
            if self._calls.reused_index is not None:
                self.reused_index = self._calls.reused_index
            if call.learn(piece, function):
                custom = piece.function is None and piece.custom is not None
                self.name_call(CallNamed(call.part, function.name or None, piece.id or None, custom), at_s, wire_events)
            elif call.contradicts(piece, function):
                contradicting.append(f"tool_calls[{index}]")
            elif function.name and not whole:
                self.repeated_name = function.name
            if function.arguments:
                self.last_part, self.has_grown = call.part, True
                wire_events.append(PartGrew(call.part, function.arguments, at_s))
        return contradicting


def _tokens(choice: ChoiceShape) -> ChunkTokens:
    tokens = [*(choice.logprobs.content or ()), *(choice.logprobs.refusal or ())] if choice.logprobs else []
    ids, texts = ids_and_texts(token.token for token in tokens)
    logprobs = tuple(token.logprob for token in tokens if token.logprob is not None)
    return ChunkTokens(texts, tuple(choice.token_ids or ()) or ids, logprobs or None)


def _reasoning(delta: ChoiceDelta) -> list[str]:
    plain = [words for words in _thoughts(delta) if words]
    if plain or not delta.reasoning_details:  # nearly every piece
        return [*dict.fromkeys(plain)] if len(plain) > 1 else plain
    return detail_texts(delta.reasoning_details)


def detail_texts(details: Json) -> list[str]:
    """The thoughts in the `reasoning_details` of a message; never raises."""
    thoughts = ((word_of(detail.get(key)) for key in DETAIL_KEYS) for detail in objects_of(details))
    return [words for texts in thoughts if (words := next(filter(None, texts), ""))]


def _more_than_words(details: object) -> bool:
    if not isinstance(details, list):
        return True
    return any(not isinstance(detail, dict) or detail.get("signature") or detail.get("data") for detail in details)


def _join_blocks(delta: ChoiceDelta, blocks: list[Any]) -> tuple[str, list[int]]:
    """The text of content blocks, whose thoughts and refusals go to the delta; and the indexes of other blocks."""
    texts = {"text": [""], "reasoning": [delta.reasoning_content or ""], "refusal": [delta.refusal or ""]}
    strange = []
    for index, block in enumerate(blocks):
        part, words, is_whole = block_text(block)
        if part:
            texts[part].append(words)
        if not is_whole:
            strange.append(index)
    delta.reasoning_content, delta.refusal = "".join(texts["reasoning"]), "".join(texts["refusal"])
    return "".join(texts["text"]), strange


def block_text(block: Json) -> tuple[str, str, bool]:
    """The part that a content block's text goes to, the text, and whether it is all of the block; never raises.

    The part is `""` if the block is no text.
    """
    if isinstance(block, str):
        return "text", block, True
    part, words = _text_member(block)
    if isinstance(words, str):
        return part, words, True
    if part != "reasoning" or not isinstance(words, list):
        return "", "", False
    texts = [text for kind, text in map(_text_member, words) if kind == "text" and isinstance(text, str)]
    return part, "".join(texts), len(texts) == len(words)


def _text_member(block: Json) -> tuple[str, Json]:
    members = object_of(block)
    part, key = BLOCK_TEXTS.get(word_of(members.get("type")), ("", ""))
    return part, members.get(key) if part else None


def _function(piece: ToolCallDelta) -> FunctionDelta:
    """The name and the arguments' text of a piece."""
    function = piece.function
    if function is None:
        return FunctionDelta(piece.custom.name, piece.custom.input) if piece.custom else FunctionDelta()
    if function.arguments is not None and not isinstance(function.arguments, str):
        return FunctionDelta(function.name, compact_json(function.arguments))
    return function


class StreamedCall:
    """A call as far as it has come: its part, its header, and whether its arguments may be complete."""

    __slots__ = ("id", "looks_complete", "name", "part")

    def __init__(self, part: str) -> None:
        self.part = part
        self.name = ""
        self.id = ""
        self.looks_complete = False

    def learn(self, piece: ToolCallDelta, function: FunctionDelta) -> bool:
        """Take the header of a piece; returns whether it has anything new. The first id and name stay."""
        new = bool((piece.id and not self.id) or (function.name and not self.name))
        self.id = self.id or piece.id or ""
        self.name = self.name or function.name or ""
        return new

    def contradicts(self, piece: ToolCallDelta, function: FunctionDelta) -> bool:
        """Whether the piece names another id or name than this call has."""
        return bool((piece.id and piece.id != self.id) or (function.name and function.name != self.name))


class CallParts:
    """Assigns the part `call:N` to each call of an answer, N in order of appearance.

    A piece with a new index opens a new call. Some servers send every call with index 0; they are detected by the name,
    which only a first piece has: a piece with a name opens a new call if its id is not known yet or, without an id, if
    the call under this index has another name, or ends like a complete object while the piece begins one. A piece
    without an index is assigned by its id, or belongs to the latest call. `reused_index` is the index of the latest
    piece if it opened a call although another call has this index, else None.
    """

    __slots__ = ("_by_id", "_by_index", "_count", "_latest", "_prefix", "reused_index")

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._by_index: dict[int, StreamedCall] = {}
        self._by_id: dict[str, StreamedCall] = {}
        self._latest: StreamedCall | None = None
        self._count = 0
        self.reused_index: int | None = None

    def assign(self, piece: ToolCallDelta, function: FunctionDelta, *, whole: bool = False) -> StreamedCall:
        """The call that the piece belongs to; a new one for each piece if the message came whole."""
        call = None if whole else self._known(piece, function)
        self.reused_index = piece.index if call is None and not whole and piece.index in self._by_index else None
        if call is None:
            call = StreamedCall(f"{self._prefix}call:{self._count}")
            self._count += 1
        if piece.index is not None:
            self._by_index[piece.index] = call
        if piece.id:
            self._by_id[piece.id] = call
        self._latest = call
        _note_end(call, function.arguments)
        return call

    def _known(self, piece: ToolCallDelta, function: FunctionDelta) -> StreamedCall | None:
        if piece.index is None and piece.id:
            return self._by_id.get(piece.id)
        call = self._latest if piece.index is None else self._by_index.get(piece.index)
        if call is None or not call.contradicts(piece, function) or not function.name:
            return None if call and _begins_again(call, piece, function) else call
        if piece.id:
            return self._by_id.get(piece.id) if call.id else call
        return call if not call.name else None


def _begins_again(call: StreamedCall, piece: ToolCallDelta, function: FunctionDelta) -> bool:
    begins = (function.arguments or "").lstrip().startswith("{")
    return bool(function.name) and not piece.id and call.looks_complete and begins


def _note_end(call: StreamedCall, arguments: str | None) -> None:
    ending = arguments.rstrip() if arguments else ""
    if ending:
        call.looks_complete = ending[-1] == "}"
