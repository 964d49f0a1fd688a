"""Commands that an agent's harness found in an answer's words, as calls of the tool that they stand for."""

from collections.abc import Iterable
from dataclasses import replace

from inspector.json_text import write_json
from inspector.model import CallHeader, Part, ResultHeader, Role, Turn

DERIVED = "commands in the text of answers stand as calls of `bash`, as the agent itself took them"
"""What a trace's provenance says where `with_commands` was used."""


def with_commands(turn: Turn, commands: Iterable[str]) -> Turn:
    """An answer with a call of `bash` for each command; one that has structured calls stays as it is."""
    if turn.calls:
        return turn
    parts = tuple(
        Part(f"call:{at}", write_json({"command": command}, ascii_only=False)) for at, command in enumerate(commands)
    )
    calls = tuple(CallHeader(part.name, "bash") for part in parts)
    return replace(turn, parts=(*turn.parts, *parts), calls=calls) if calls else turn


def as_result(turn: Turn) -> Turn:
    """What the environment said to a command, in a user's message, as the result that it is."""
    return replace(turn, role=Role.TOOL, result=ResultHeader())


def awaits_result(turn: Turn) -> bool:
    """Whether a turn is an answer of the run with such calls, which no id ties to their results."""
    return bool(turn.calls) and turn.calls[0].id is None and turn.generation is not None
