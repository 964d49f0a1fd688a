"""What BFCL's `inference_log` keeps beside the answers: the words before each turn, and the results after each step.

The log is a list. Of its entries the objects are the turns: `begin_of_turn_query` holds messages, `step_0`, `step_1`,
... lists of entries with a role. Those of role `tool` are results, in the order of the step's calls and without their
ids. The others repeat the answers, or tell of the simulation's state and the handler's doings (BFCL,
`bfcl_eval/model_handler/base_handler.py`).
"""

from collections.abc import Iterator

from inspector.importers.source import JsonObject
from inspector.model import Json, Role, Turn
from inspector.wire.openai_messages import read_message

_QUERY = "begin_of_turn_query"


class InferenceLog:
    """The log of one row; empty where `value` is none."""

    def __init__(self, value: Json) -> None:
        entries = value if isinstance(value, list) else []
        self._turns: list[JsonObject] = [one for one in entries if isinstance(one, dict) and _QUERY in one]

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

    def _turn(self, turn: int) -> JsonObject:
        return self._turns[turn] if turn < len(self._turns) else {}


def _messages(value: Json) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
