"""Chat completions of an unusual shape, read member by member: what fits is taken, the rest is named."""

from typing import TypeVar

import msgspec

from inspector.model import Json
from inspector.wire.json_text import compact_json, parse_json
from inspector.wire.openai_shapes import (
    ChatChunk,
    ChoiceShape,
    CustomPiece,
    Delta,
    FunctionPiece,
    Logprobs,
    OpenAIUsageShape,
    ToolCallDelta,
)

_Shape = TypeVar("_Shape")
_CALL_MEMBERS = frozenset({"index", "id", "type", "function", "custom"})


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


def _delta(value: Json, path: str, strange: list[str]) -> Delta:
    if not isinstance(value, dict):
        strange.append(path)
        return Delta()
    delta = Delta(reasoning_details=value.get("reasoning_details"))
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


def _read_blocks(blocks: list[Json], delta: Delta, path: str, strange: list[str]) -> None:
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
        custom=_take(value.get("custom"), CustomPiece, f"{path}.custom", strange),
    )
    strange += [f"{path}.{key}" for key, member in value.items() if key not in _CALL_MEMBERS and member is not None]
    return call


def _function(value: Json, path: str, strange: list[str]) -> FunctionPiece | None:
    if not isinstance(value, dict):
        return None if value is None else _take(value, FunctionPiece, path, strange)
    arguments = value.get("arguments")
    strange += [f"{path}.{key}" for key, member in value.items() if key not in {"name", "arguments"} and member]
    return FunctionPiece(
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
