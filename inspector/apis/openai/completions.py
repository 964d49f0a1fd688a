"""OpenAI's completions of raw prompts: the request, and the answer (streamed or whole) as wire events."""

import msgspec

from weaklink.inspector.apis.openai.chat import OpenAIUsageShape
from weaklink.inspector.json_text import compact_json, flag_of, word_of
from weaklink.inspector.model import Json, Part, Role, Turn
from weaklink.inspector.wire.answer_reader import ChoiceParts, ChunkTokens, ObjectReader, ids_and_texts
from weaklink.inspector.wire.events import (
    PROMPT_TOKENS_PART,
    DecodedRequest,
    WireEvent,
    parameters_of,
)
from weaklink.inspector.wire.provider_json import NOTHING, StructReader, raw_text

API = "completions"
"""The name of this kind of endpoint in a generation's facts."""

PROMPT_LOGPROBS_PART = "wire:prompt_logprobs"
"""The part that keeps, as JSON text, the log probabilities of the prompt, if the server sent them (vLLM)."""


def read_completions_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for completions of a raw prompt; never raises.

    A prompt is one user turn, several prompts are several turns; a prompt of token ids is kept as JSON text in the part
    `content:0`. The turns of the prompt's template are not separated here.
    """
    prompt = request.get("prompt")
    prompts = prompt if isinstance(prompt, list) and not all(isinstance(token, int) for token in prompt) else [prompt]
    return DecodedRequest(
        API,
        word_of(request.get("model")),
        tuple(prompt_turn(prompt) for prompt in prompts if prompt is not None),
        parameters=parameters_of(request, without=("model", "prompt", "stream")),
        streams=flag_of(request.get("stream")) or False,
    )


def prompt_turn(prompt: Json) -> Turn:
    """A raw prompt as a user's turn."""
    part = Part("text", prompt) if isinstance(prompt, str) else Part("content:0", compact_json(prompt))
    return Turn(Role.USER, (part,), "prompt")


class TokenColumns(msgspec.Struct):
    """The tokens of a choice, as the completions API writes them: in columns."""

    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None


class TextChoice(msgspec.Struct, forbid_unknown_fields=True):
    """One of the answers: an addition to its text, or the whole text."""

    text: str | None = None
    index: int = 0
    finish_reason: str | None = None
    logprobs: TokenColumns | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: msgspec.Raw = NOTHING
    prompt_logprobs: msgspec.Raw = NOTHING
    stop_reason: int | str | None = None
    matched_stop: int | str | None = None
    content_filter_results: msgspec.Raw = NOTHING


class TextChunk(msgspec.Struct):
    """One event of a stream, or a body that came whole."""

    id: str | None = None
    model: str | None = None
    choices: list[TextChoice] | None = None
    usage: OpenAIUsageShape | None = None
    error: msgspec.Raw = NOTHING


_read_chunk = StructReader(TextChunk)


class CompletionsReader(ObjectReader):
    """Reads the objects of one answer: many chunks, or one body that came whole; see `inspector.wire.answer_reader`.

    Choice 0 is the part `text`; any other is kept separately, in `choice1:text` and so on.
    """

    __slots__ = ("_choices",)

    api = API
    unended = "The stream ended with neither a finish reason nor `[DONE]`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        super().__init__(status=status, whole=whole)
        self._choices: dict[int, ChoiceParts] = {}

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        try:
            chunk, strange = _read_chunk(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, wire_events)
        if chunk.choices is None and chunk.usage is None:
            return self.faults.read_error(text, raw, at_s, wire_events)
        self._learn_head(chunk.id, chunk.model, wire_events)
        for choice in chunk.choices or ():
            self._read_choice(choice, at_s, wire_events)
        self._learn_usage(chunk.usage, wire_events)
        if raw_text(chunk.error):
            self.faults.read_error(text, raw, at_s, wire_events)
        self._keep(strange, raw, at_s, wire_events)
        return True

    def _read_choice(self, choice: TextChoice, at_s: float | None, wire_events: list[WireEvent]) -> None:
        parts = self._choices.setdefault(choice.index, ChoiceParts(choice.index))
        for part, kept in (
            (PROMPT_TOKENS_PART, choice.prompt_token_ids),
            (PROMPT_LOGPROBS_PART, choice.prompt_logprobs),
        ):
            if text := raw_text(kept):
                parts.keep(part, text, at_s, wire_events)
        since = len(wire_events)
        if choice.text:
            parts.grow("text", choice.text, at_s, wire_events)
        columns = choice.logprobs or TokenColumns()
        ids, words = ids_and_texts(columns.tokens or ())
        logprobs = tuple(number for number in columns.token_logprobs or () if number is not None)
        tokens = ChunkTokens(words, tuple(choice.token_ids or ()) or ids, logprobs or None)
        parts.add_tokens(tokens, at_s, wire_events, since=since)
        if choice.finish_reason and choice.index:
            parts.keep("finish_reason", choice.finish_reason, at_s, wire_events)
        elif choice.finish_reason and choice.finish_reason != self.finish:
            self._learn_finish(choice.finish_reason, wire_events)
