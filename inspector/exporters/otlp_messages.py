"""Turns as messages of the GenAI semantic conventions (open-telemetry/semantic-conventions: docs/gen-ai).

A message is `{"role", "parts": [{"type": "text", "content"}, ...]}`. A call's arguments are an object where they are
strict JSON, else their raw text, as instrumentations send what they could not parse.
"""

from collections.abc import Iterable, Iterator

import msgspec

from inspector.exporters.otlp_values import utf_8
from inspector.json_text import write_json
from inspector.model import Json, Role, Turn


def messages_text(turns: Iterable[Turn]) -> str:
    """The turns as the JSON text that an attribute holds."""
    return write_json([message_object(turn) for turn in turns], ascii_only=False)


def message_object(turn: Turn) -> dict[str, Json]:
    """One turn; an answer says how it ended."""
    message: dict[str, Json] = {"role": turn.role.value, "parts": list(_parts(turn))}
    if turn.role is Role.ASSISTANT:
        message["finish_reason"] = (turn.generation and turn.generation.finish_reason) or ""
    return message


def _parts(turn: Turn) -> Iterator[Json]:
    headers = {header.part: header for header in turn.calls}
    for part in turn.parts:
        text = utf_8(part.text)
        if part.name.startswith("call:"):
            header = headers.get(part.name)
            yield {
                "type": "tool_call",
                "id": utf_8(header.id) if header and header.id else None,
                "name": utf_8(header.name) if header and header.name else "",
                "arguments": _arguments(text),
            }
        elif part.name == "reasoning":
            yield {"type": "reasoning", "content": text}
        elif part.name == "text" and turn.role is Role.TOOL:
            call_id = turn.result.call_id if turn.result else None
            yield {"type": "tool_call_response", "id": call_id and utf_8(call_id), "response": text}
        elif part.name == "text":
            yield {"type": "text", "content": text}
        else:
            yield {"type": part.name, "content": text}


def _arguments(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
