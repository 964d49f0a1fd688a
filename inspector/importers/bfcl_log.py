"""What BFCL's `inference_log` keeps beside the answers: the words before each turn, and the results after each step.

The log is a list. Of its entries the objects are the turns: `begin_of_turn_query` holds messages, `step_0`, `step_1`,
... lists of entries with a role. Those of role `tool` are results, in the order of the step's calls and without their
ids. Those of role `inference_input`, which BFCL logs on demand, hold the tools of a request; in a log of one answer
they are entries of the list itself. The others repeat the answers, or tell of the simulation's state and the handler's
doings (BFCL, `bfcl_eval/model_handler/base_handler.py`).
"""

from collections.abc import Iterator

from inspector.importers.source import JsonObject
from inspector.model import Json, Role, ToolDefinition, Turn
from inspector.wire.openai_messages import read_message, read_tools

_QUERY = "begin_of_turn_query"
_INPUT = "inference_input"


class InferenceLog:
    """The log of one row; empty where `value` is none."""

    def __init__(self, value: Json) -> None:
        entries = value if isinstance(value, list) else []
        self._turns: list[JsonObject] = [one for one in entries if isinstance(one, dict) and _QUERY in one]
        self._only = [one for one in entries if isinstance(one, dict) and _QUERY not in one]

    def __bool__(self) -> bool:
        return bool(self._turns)

    def asked(self, turn: int) -> Iterator[Turn]:
        """What was said before the answers of a turn, counted from 0."""
        yield from map(read_message, _messages(self._turn(turn).get(_QUERY)))

    def results(self, turn: int, step: int) -> Iterator[Turn]:
        """What the calls of a step gave, both counted from 0."""
        for message in map(read_message, _messages(self._turn(turn).get(f"step_{step}"))):
            if message.role is Role.TOOL:
                yield message

    def tools(self, turn: int, step: int) -> tuple[ToolDefinition, ...]:
        """The tools of the request of a step, both counted from 0, or of the only request; none where not logged."""
        for entry in _messages(self._turn(turn).get(f"step_{step}")) if self._turns else self._only:
            content = entry.get("content") if isinstance(entry, dict) and entry.get("role") == _INPUT else None
            if isinstance(content, dict) and content.get("tools"):
                return read_tools(content["tools"])
        return ()

    def _turn(self, turn: int) -> JsonObject:
        return self._turns[turn] if turn < len(self._turns) else {}


def _messages(value: Json) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
