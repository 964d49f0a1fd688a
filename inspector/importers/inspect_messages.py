"""Inspect's messages as turns: attachments put back in their places, malformed arguments found where they are told.

A message is OpenAI's in shape, with the tool's name in `function`, arguments as objects, and thoughts in blocks
`{"type": "reasoning"}` (Inspect, `model/_chat_message.py`, `_util/content.py`, `tool/_tool_call.py`). Arguments that
did not parse are lost but for the words of `parse_error`, which quote them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from inspector.importers.identity import text_of
from inspector.importers.source import JsonObject
from inspector.memory import RECORD_BYTES
from inspector.model import Json, Part, ResultHeader, Role, Turn
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_message

_PARSE_ERROR = re.compile(
    r"Error parsing the following tool call arguments:\n\n(?P<arguments>.*)\n\nError details: ", re.DOTALL
)
_PROTOCOLS = ("attachment://", "tc://")
_WORDS = ("role", "content", "tool_calls", "tool_call_id")
_DEPTH = 64


class Attachments:
    """The texts that a sample keeps apart from where they stand; images stay the references they are.

    What is put back may have 32 MiB together; beyond, references stay, and `are_left` is true.
    """

    def __init__(self, value: Json) -> None:
        self._texts = value if isinstance(value, dict) else {}
        self._names = {text: name for name, text in self._texts.items() if isinstance(text, str)}
        self._left = RECORD_BYTES // 2
        self.are_left = False

    def key_of(self, message: Json) -> str:
        """What tells a message from the others of its sample: an answer's id; else, and in older logs, its words.

        It is the same whether texts stand in the message or apart. Requests may repeat one message of the user's where
        the conversation has several of the same words, each with its id.
        """
        if not isinstance(message, dict):
            return compact_json(message)
        named = text_of(message, "id") if message.get("role") == "assistant" else ""
        return named or compact_json([self._named(message.get(key), _DEPTH) for key in _WORDS])

    def resolve(self, value: Json, depth: int = _DEPTH) -> Json:
        """A JSON value with every text that is a reference replaced; as it is where nested more than 64 deep."""
        if isinstance(value, str):
            return self._text(value)
        if depth and isinstance(value, list):
            return [self.resolve(one, depth - 1) for one in value]
        if depth and isinstance(value, dict):
            return {key: self.resolve(one, depth - 1) for key, one in value.items()}
        return value

    def _named(self, value: Json, depth: int) -> Json:
        """A value with every text that stands apart replaced by its name there."""
        if isinstance(value, str):
            return value.partition("://")[2] if value.startswith(_PROTOCOLS) else self._names.get(value, value)
        if depth and isinstance(value, list):
            return [self._named(one, depth - 1) for one in value]
        if depth and isinstance(value, dict):
            return {key: self._named(one, depth - 1) for key, one in value.items() if one is not None}
        return value

    def _text(self, text: str) -> str:
        if not self._texts or not text.startswith(_PROTOCOLS):
            return text
        found = self._texts.get(text.partition("://")[2])
        if not isinstance(found, str) or found.startswith("data:"):
            return text
        self._left -= len(found)
        if self._left < 0:
            self.are_left = True
            return text
        return found


def read_inspect_message(message: Json, attachments: Attachments, arguments: Mapping[str, str]) -> Turn:
    """A message as a turn; `arguments` are the exact texts of calls' arguments, by the calls' ids. Never raises."""
    if not isinstance(message, dict):
        return read_message(message)
    resolved = attachments.resolve(message)
    assert isinstance(resolved, dict)  # as the message is
    calls = resolved.get("tool_calls")
    turn = read_message(
        {
            **resolved,
            "content": _content(resolved.get("content")),
            "tool_calls": [_call(one, arguments) for one in calls] if isinstance(calls, list) else calls,
        }
    )
    return _with_error(turn, resolved) if turn.role is Role.TOOL else turn


def _content(content: Json) -> Json:
    if not isinstance(content, list):
        return content
    return [read for block in content for read in _blocks(block)]


def _blocks(block: Json) -> list[Json]:
    """A block in the shape that messages have elsewhere; redacted thoughts keep their block beside the summary."""
    if not isinstance(block, dict) or block.get("type") != "reasoning":
        return [block]
    if block.get("redacted") is not True:
        return [{"type": "reasoning", "text": text_of(block, "reasoning", "summary")}]
    summary = text_of(block, "summary")
    return [{"type": "reasoning", "text": summary}, block] if summary else [block]


def _call(call: Json, arguments: Mapping[str, str]) -> Json:
    if not isinstance(call, dict):
        return call
    exact = arguments.get(text_of(call, "id"))
    if exact is None and (quoted := _PARSE_ERROR.match(text_of(call, "parse_error"))):
        exact = quoted["arguments"]
    return call if exact is None else {**call, "arguments": exact}


def _with_error(turn: Turn, message: JsonObject) -> Turn:
    """A result: the words of its error stand for its text where that is empty, else in a part beside it."""
    error = message.get("error")
    said = text_of(error, "message") if isinstance(error, dict) else text_of(message, "tool_error")
    header = ResultHeader(
        text_of(message, "tool_call_id") or None, text_of(message, "function") or None, True if said else None
    )
    if not said:
        return replace(turn, result=header)
    if not any(part.text for part in turn.parts):
        return replace(turn, result=header, parts=(Part("text", said),))
    told = [Part("content:error", said)] if not any(part.text == said for part in turn.parts) else []
    return replace(turn, result=header, parts=(*turn.parts, *told))
