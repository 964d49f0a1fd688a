"""The conversations that the benchmarks of a cluster read: short ones of one call, and long ones of sixty."""

import json
from pathlib import Path

_CALLS = 60
_RESULT = "The forecast for the next days, hour by hour, as the station sent it. " * 14
_ARGUMENTS = '{"city": "Oslo", "days": 3'


def write_short(path: Path, rows: int) -> None:
    """Conversations of one call each, of which one in nine is broken."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            question = f"{number}: {'How is the weather? ' * (number % 20)}"
            messages = [*_turns(question, 1, is_sound=number % 9 > 0), _answer()]
            stream.write(json.dumps({"messages": messages, "model": f"m{number % 3}"}) + "\n")


def write_long(path: Path, rows: int) -> None:
    """Conversations of sixty calls each, with results of a thousand characters; the last call of one in nine is bad."""
    with path.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            messages = [
                turn
                for at in range(_CALLS)
                for turn in _turns(f"{number}.{at}: and then?", at, is_sound=at < _CALLS - 1 or number % 9 > 0)
            ]
            stream.write(json.dumps({"messages": [*messages, _answer()], "model": f"m{number % 3}"}) + "\n")


def _turns(question: str, at: int, *, is_sound: bool) -> list[dict[str, object]]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": _ARGUMENTS + "}" * is_sound}}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{at}", "content": _RESULT if at != 1 else "4 degrees"},
    ]


def _answer() -> dict[str, object]:
    return {"role": "assistant", "content": "It is 4 degrees."}
