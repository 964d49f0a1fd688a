"""The shapes of OpenAI's chat completions, and what servers make of them, as typed structures.

Sources: OpenAI's API reference (chat completion object and chunk); `reasoning_content` (DeepSeek, SGLang, llama.cpp),
`reasoning` (vLLM, OpenRouter), `reasoning_details` (OpenRouter), `token_ids` (vLLM), lists of content blocks (Mistral).
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import msgspec

from inspector.model import Usage

_Nothing: TypeAlias = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class FunctionPiece(msgspec.Struct, forbid_unknown_fields=True):
    """A call's name and a piece of its arguments."""

    name: str | None = None
    arguments: str | None = None


class CustomPiece(msgspec.Struct, forbid_unknown_fields=True):
    """The same of a custom tool, whose input is free text."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece of a call, keyed by `index`; `id` and name come with the first piece only."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: FunctionPiece | None = None
    custom: CustomPiece | None = None


class Delta(msgspec.Struct, forbid_unknown_fields=True):
    """What a choice grew by; or, in a body that came whole, its message. A member not named here may hold words."""

    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: FunctionPiece | None = None
    annotations: _Nothing = None
    audio: _Nothing = None


class TokenLogprob(msgspec.Struct):
    """One token's words and log probability; vLLM can write `token_id:123` in place of the words."""

    token: str = ""
    logprob: float | None = None


class Logprobs(msgspec.Struct):
    """The tokens of a chunk."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None


class ChoiceShape(msgspec.Struct):
    """One of the answers to a request; requests ask for one, as a rule."""

    index: int = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[int] | None = None


class TokenDetails(msgspec.Struct):
    """The details of both token counts, as one shape."""

    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class OpenAIUsageShape(msgspec.Struct):
    """Token counts; in a stream they come with the last chunk, if asked for, or cumulatively with each."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: TokenDetails | None = None
    completion_tokens_details: TokenDetails | None = None
    prompt_cache_hit_tokens: int | None = None

    def usage(self) -> Usage:
        """The same in weaklink's words."""
        prompt = self.prompt_tokens_details or TokenDetails()
        completion = self.completion_tokens_details or TokenDetails()
        cached = self.prompt_cache_hit_tokens if prompt.cached_tokens is None else prompt.cached_tokens
        return Usage(self.prompt_tokens, self.completion_tokens, completion.reasoning_tokens, cached)


class ChatChunk(msgspec.Struct):
    """One event of a stream, or a body that came whole."""

    id: str | None = None
    model: str | None = None
    choices: list[ChoiceShape] | None = None
    usage: OpenAIUsageShape | None = None
    error: Any = None
    object: str | None = None
    prompt_token_ids: Any = None


decode_chunk: Callable[[str], ChatChunk] = msgspec.json.Decoder(ChatChunk).decode
"""A chunk of the usual shape; ValueError or RecursionError for any other."""
