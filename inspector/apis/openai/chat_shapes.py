"""The shapes of OpenAI's chat completions as typed structures, and lenient reading of chunks that do not fit them.

Sources: OpenAI's API reference (chat completion object and chunk); `reasoning_content` (DeepSeek, SGLang, llama.cpp),
`reasoning` (vLLM, OpenRouter), `reasoning_details` (OpenRouter).
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from inspector.model import Json, Usage
from inspector.wire.provider_json import compact_json, parse_json

_CALL_MEMBERS = frozenset({"index", "id", "type", "function", "custom"})
_Nothing: TypeAlias = Annotated[list[Any], msgspec.Meta(max_length=0)] | None


class FunctionDelta(msgspec.Struct, forbid_unknown_fields=True):
    """A call's name and a piece of its arguments."""

    name: str | None = None
    arguments: str | None = None


class CustomToolDelta(msgspec.Struct, forbid_unknown_fields=True):
    """The same of a custom tool, whose input is free text."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece of a call, keyed by `index`; `id` and name come with the first piece only."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: FunctionDelta | None = None
    custom: CustomToolDelta | None = None


class ChoiceDelta(msgspec.Struct, forbid_unknown_fields=True):
    """What a choice grew by; or, in a body that came whole, its message. A member not named here may hold words."""

    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[ToolCallDelta] | None = None
    function_call: FunctionDelta | None = None
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

_Shape = TypeVar("_Shape")


def lenient_chunk(text: str) -> tuple[ChatChunk, list[str]]:
    """A chunk of an unusual shape, as far as it can be read, and the paths of members that could not.

    ValueError where the text is no JSON object, or holds neither choices nor usage.
    """
    document = parse_json(text)
    if not isinstance(document, dict) or not document.keys() & {"choices", "usage"}:
        raise ValueError("no chat completion")
    strange: list[str] = []
    choices = document.get("choices")
    return (
        ChatChunk(
            id=_take(document.get("id"), str, "id", strange),
            model=_take(document.get("model"), str, "model", strange),
            choices=[_choice(choice, f"choices[{at}]", strange) for at, choice in _items(choices, "choices", strange)],
            usage=_take(document.get("usage"), OpenAIUsageShape, "usage", strange),
            error=document.get("error"),
            object=_take(document.get("object"), str, "object", strange),
            prompt_token_ids=document.get("prompt_token_ids"),
        ),
        strange,
    )


def _choice(value: Json, path: str, strange: list[str]) -> ChoiceShape:
    if not isinstance(value, dict):
        strange.append(path)
        return ChoiceShape()
    delta, message = value.get("delta"), value.get("message")
    return ChoiceShape(
        index=_take(value.get("index"), int, f"{path}.index", strange) or 0,
        delta=None if delta is None else _delta(delta, f"{path}.delta", strange),
        message=None if message is None else _delta(message, f"{path}.message", strange),
        finish_reason=_take(value.get("finish_reason"), str, f"{path}.finish_reason", strange),
        logprobs=_take(value.get("logprobs"), Logprobs, f"{path}.logprobs", strange),
        token_ids=_take(value.get("token_ids"), list[int], f"{path}.token_ids", strange),
    )


def _delta(value: Json, path: str, strange: list[str]) -> ChoiceDelta:
    if not isinstance(value, dict):
        strange.append(path)
        return ChoiceDelta()
    delta = ChoiceDelta(reasoning_details=value.get("reasoning_details"))
    for key, member in value.items():
        where = f"{path}.{key}"
        if key == "content" and isinstance(member, list):
            _read_blocks(member, delta, where, strange)
        elif key in {"role", "content", "reasoning_content", "reasoning", "refusal"}:
            setattr(delta, key, _take(member, str, where, strange))
        elif key == "tool_calls":
            delta.tool_calls = [_call(call, f"{where}[{at}]", strange) for at, call in _items(member, where, strange)]
        elif key == "function_call":
            delta.function_call = _function(member, where, strange)
        elif key != "reasoning_details" and member not in (None, "", [], {}):
            strange.append(where)
    return delta


def _read_blocks(blocks: list[Json], delta: ChoiceDelta, path: str, strange: list[str]) -> None:
    text, thinking = [], []
    for at, block in enumerate(blocks):
        match block:
            case {"type": "text", "text": str(words)}:
                text.append(words)
            case {"type": "thinking", "thinking": list(inner)}:
                thinking += [str(words) for piece in inner for words in _texts(piece, f"{path}[{at}]", strange)]
            case {"type": "thinking", "thinking": str(words)}:
                thinking.append(words)
            case _:
                strange.append(f"{path}[{at}]")
    delta.content = "".join(text)
    delta.reasoning_content = "".join([delta.reasoning_content or "", *thinking])


def _texts(block: Json, path: str, strange: list[str]) -> list[str]:
    match block:
        case {"type": "text", "text": str(words)}:
            return [words]
    strange.append(path)
    return []


def _call(value: Json, path: str, strange: list[str]) -> ToolCallDelta:
    if not isinstance(value, dict):
        strange.append(path)
        return ToolCallDelta()
    call = ToolCallDelta(
        index=_take(value.get("index"), int, f"{path}.index", strange),
        id=_take(value.get("id"), str, f"{path}.id", strange),
        type=_take(value.get("type"), str, f"{path}.type", strange),
        function=_function(value.get("function"), f"{path}.function", strange),
        custom=_take(value.get("custom"), CustomToolDelta, f"{path}.custom", strange),
    )
    strange += [f"{path}.{key}" for key, member in value.items() if key not in _CALL_MEMBERS and member is not None]
    return call


def _function(value: Json, path: str, strange: list[str]) -> FunctionDelta | None:
    if not isinstance(value, dict):
        return None if value is None else _take(value, FunctionDelta, path, strange)
    arguments = value.get("arguments")
    strange += [f"{path}.{key}" for key, member in value.items() if key not in {"name", "arguments"} and member]
    return FunctionDelta(
        _take(value.get("name"), str, f"{path}.name", strange),
        arguments if arguments is None or isinstance(arguments, str) else compact_json(arguments),
    )


def _take(value: Json, shape: type[_Shape], path: str, strange: list[str]) -> _Shape | None:
    if value is None:
        return None
    try:
        return msgspec.convert(value, shape)
    except (ValueError, RecursionError):
        strange.append(path)
        return None


def _items(value: Json, path: str, strange: list[str]) -> list[tuple[int, Json]]:
    if isinstance(value, list):
        return list(enumerate(value))
    if value is not None:
        strange.append(path)
    return []
