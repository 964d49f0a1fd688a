"""The request of Anthropic's messages."""

from collections.abc import Iterator

from inspector.model import CallHeader, Json, Part, ResultHeader, Role, Turn
from inspector.wire.anthropic_messages import API
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_message, read_tools
from inspector.wire.request import DecodedRequest, flag_of, parameters_of, text_of


def read_messages_request(request: dict[str, Json]) -> DecodedRequest:
    """A request for messages; never raises.

    A user message with results gives one tool turn for each, in order, and a user turn for what else it says. Input of
    a call is the compact JSON of the object that stands there. A result that is a list of blocks gives the text of its
    text blocks; any other block is kept in a part `content:N`.
    """
    messages = request.get("messages", [])
    return DecodedRequest(
        API,
        text_of(request.get("model")),
        (*_system(request.get("system")), *(turn for message in _listed(messages) for turn in read_turns(message))),
        read_tools(request.get("tools")),
        parameters_of(request, without=("model", "messages", "system", "tools", "stream")),
        flag_of(request.get("stream")) or False,
    )


def read_turns(message: Json) -> Iterator[Turn]:
    """The turns of one message: one, or more where results stand in it; never raises."""
    blocks = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(blocks, list):
        yield read_message(message)
        return
    if message.get("role") == "assistant":
        yield _assistant(blocks)
        return
    said: list[Json] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from _said(message, said)
            said = []
            yield _result(block)
        else:
            said.append(block)
    if said or not blocks:
        yield from _said(message, said, even_empty=not blocks)


def _said(message: dict[str, Json], blocks: list[Json], *, even_empty: bool = False) -> Iterator[Turn]:
    if blocks or even_empty:
        yield read_message({"role": message.get("role"), "content": blocks})


def _system(system: Json) -> Iterator[Turn]:
    if system:
        yield read_message({"role": "system", "content": system})


def _result(block: dict[str, Json]) -> Turn:
    read = read_message({"role": "tool", "content": block.get("content", "")})
    is_error = block.get("is_error")
    header = ResultHeader(
        text_of(block.get("tool_use_id")) or None, None, is_error if isinstance(is_error, bool) else None
    )
    return Turn(Role.TOOL, read.parts, "user", result=header)


def _assistant(blocks: list[Json]) -> Turn:
    """An earlier answer; its parts are named as those of the answer's own decoder."""
    texts: dict[str, list[str]] = {}
    calls: list[CallHeader] = []
    for at, block in enumerate(blocks):
        members = block if isinstance(block, dict) else {}
        match block:
            case {"type": "tool_use"}:
                part = f"call:{len(calls)}"
                calls.append(CallHeader(part, text_of(members.get("name")) or None, text_of(members.get("id")) or None))
                texts[part] = [compact_json(members["input"]) if "input" in members else ""]
            case {"type": "thinking", "thinking": str(words)}:
                texts.setdefault("reasoning", []).append(words)
                if signature := text_of(members.get("signature")):
                    texts[f"wire:signature:{at}"] = [signature]
            case {"type": "redacted_thinking", "data": str(words)}:
                texts[f"wire:redacted_thinking:{at}"] = [words]
            case {"type": "text", "text": str(words)} | str(words):
                texts.setdefault("text", []).append(words)
            case _:
                texts[f"content:{at}"] = [compact_json(block)]
    parts = tuple(Part(name, "".join(pieces)) for name, pieces in texts.items())
    return Turn(Role.ASSISTANT, parts or (Part("text", ""),), "assistant", tuple(calls))


def _listed(messages: Json) -> list[Json]:
    return messages if isinstance(messages, list) else [messages]
