"""The request of OpenAI's Responses."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.model import CallHeader, Json, Part, ResultHeader, Role, Turn
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_message, read_tools
from inspector.wire.openai_responses import API
from inspector.wire.request import DecodedRequest, flag_of, parameters_of, text_of

_NO_SETTINGS = ("model", "input", "instructions", "tools", "stream", "previous_response_id")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


def read_responses_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for a response; never raises.

    `instructions` are the system turn. Items of one answer that follow each other (reasoning, messages, calls) are one
    assistant turn; an item of a kind that weaklink does not read is kept as JSON text in a part `content:N`, N its
    place in the input. With `previous_response_id` the input is only what is new.
    """
    given = request.get("input")
    items: list[Json] = given if isinstance(given, list) else [] if given is None else [given]
    return DecodedRequest(
        API,
        text_of(request.get("model")),
        (*_instructions(request.get("instructions")), *_turns(items)),
        read_tools(request.get("tools")),
        parameters_of(request, without=_NO_SETTINGS),
        flag_of(request.get("stream")) or False,
        text_of(request.get("previous_response_id")),
    )


def _instructions(instructions: Json) -> Iterator[Turn]:
    if instructions:
        yield read_message({"role": "system", "content": instructions})


def _turns(items: list[Json]) -> Iterator[Turn]:
    answer: list[tuple[int, dict[str, Json]]] = []
    for at, item in enumerate(items):
        if isinstance(item, dict) and _is_answer(item):
            answer.append((at, item))
            continue
        yield from _answer(answer)
        answer = []
        yield _turn(item)
    yield from _answer(answer)


def _is_answer(item: dict[str, Json]) -> bool:
    kind = _kind(item)
    return item.get("role") == "assistant" if kind == "message" else kind not in _RESULTS


def _kind(item: dict[str, Json]) -> str:
    """What an item is; one that does not say it is a message, as the API has it."""
    return text_of(item.get("type", "message"))


def _turn(item: Json) -> Turn:
    if not isinstance(item, dict):
        return read_message({"role": "user", "content": item} if isinstance(item, str) else item)
    if _kind(item) not in _RESULTS:
        return read_message(item)
    output = item.get("output", "")
    read = read_message({"role": "tool", "content": output})
    return Turn(Role.TOOL, read.parts, _kind(item), result=ResultHeader(text_of(item.get("call_id")) or None))


def _answer(items: list[tuple[int, dict[str, Json]]]) -> Iterator[Turn]:
    """The turn of items that follow each other, if there are any."""
    if not items:
        return
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for at, item in items:
        kind = _kind(item)
        if kind in _CALLS:
            part = f"call:{len(calls)}"
            name, call_id = text_of(item.get("name")) or None, text_of(item.get("call_id")) or None
            calls.append(CallHeader(part, name, call_id, kind == "custom_tool_call"))
            given = item.get(_CALLS[kind], "")
            texts[part] = [given if isinstance(given, str) else compact_json(given)]
        elif kind == "reasoning":
            texts.setdefault("reasoning", []).extend(_reasoning(item))
            if encrypted := text_of(item.get("encrypted_content")):
                texts[f"wire:encrypted_reasoning:{at}"] = [encrypted]
        elif kind == "message":
            for said in read_message(item).parts:
                texts.setdefault(said.name.replace("content:", f"content:{at}."), []).append(said.text)
        else:
            texts[f"content:{at}"] = [compact_json(item)]
    parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items())
    yield replace(Turn(Role.ASSISTANT, parts, "assistant"), calls=tuple(calls))


def _reasoning(item: dict[str, Json]) -> Iterator[str]:
    for key in ("summary", "content"):
        pieces = item.get(key)
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                yield text_of(piece.get("text"))
