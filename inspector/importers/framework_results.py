"""What a run of a tool gave, in whatever shape it stands in a tracing store."""

from dataclasses import dataclass

from inspector.importers.framework_messages import is_message, read_any_messages
from inspector.importers.framework_requests import unfolded
from inspector.model import Json, Role
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_message


@dataclass(frozen=True, slots=True)
class GivenResult:
    """A result's text, None where there is none; the id of the call, and whether it failed, where that is told."""

    text: str | None
    call_id: str = ""
    failed: bool | None = None


def read_given(output: Json, *, depth: int = 4) -> GivenResult:
    """A tool's output: a text, a tool message of a framework, a list of text blocks (MCP), or any JSON; never raises.

    JSON that was stored as a text stays that text, character by character. What stands in `{"output": ...}` counts, to
    a `depth`.
    """
    given, text = unfolded(output)
    if given is None:
        return GivenResult(None)
    if isinstance(given, str):
        return GivenResult(given)
    if isinstance(given, dict):
        if is_message(given):
            return _of_message(given) or GivenResult(text or compact_json(given))
        within = given.get("output")
        if given.keys() == {"output"} and isinstance(within, str | dict) and depth:
            return read_given(within, depth=depth - 1)
        content = given.get("content")
        if isinstance(content, list) and given.keys() <= {"content", "isError", "is_error", "structuredContent"}:
            failed = given.get("isError", given.get("is_error"))
            return GivenResult(_blocks_text(content), failed=failed if isinstance(failed, bool) else None)
    return GivenResult(text or compact_json(given))


def _of_message(message: Json) -> GivenResult | None:
    turns = read_any_messages(message).turns
    turn = next((turn for turn in turns if turn.role is Role.TOOL and turn.result is not None), None)
    if turn is None or turn.result is None:
        return None
    text = "".join(part.text for part in turn.parts)
    return GivenResult(text, turn.result.call_id or "", turn.result.is_error)


def _blocks_text(blocks: list[Json]) -> str:
    return "".join(part.text for part in read_message({"role": "tool", "content": blocks}).parts)
