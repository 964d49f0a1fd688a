"""Everything that is said of a trace, against only cutting its texts into spans."""

import json
import random
from functools import partial

from benchmarks.corpus import CALL_SIZES, SESSION_CHARACTERS, call_payload, prose
from benchmarks.measuring import best_of, goal, print_line
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, ResultHeader, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.segmentation import segment

_AT_LEAST = 0.4
_BROKEN_OF_100 = 4
_ROW: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "name": {"type": "string", "maxLength": 200},
        "price": {"type": "number"},
        "ok": {"type": "boolean"},
    },
    "required": ["id", "name"],
}
_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "rows": {"type": "array", "items": _ROW},
    },
    "required": ["city", "days", "rows"],
    "additionalProperties": False,
}
TOOLS = (
    ToolDefinition("store_rows", "Store rows", _PARAMETERS),
    *(ToolDefinition(f"tool_{number}", "Does a thing", _PARAMETERS) for number in range(9)),
)


def full_diagnostics() -> None:
    """Schema checks, chain analysis and all, over sessions of agents, against bare segmentation of the same texts."""
    print_line(f"full diagnostics: sessions with tools and results, {_BROKEN_OF_100} of 100 calls broken")
    for name, sizes in (("mixed", CALL_SIZES), *((f"{size:,} B", (size,)) for size in CALL_SIZES)):
        trace = _session(sizes)
        best = best_of({"bare": partial(_segmented, trace), "full": partial(inspect_trace, trace)}, rounds=3)
        size = sum(len(part.text) for turn in trace.turns for part in turn.parts)
        calls = sum(turn.role is Role.ASSISTANT for turn in trace.turns)
        print_line(
            f"  calls of {name}: {calls} calls, bare {size / 1e6 / best['bare']:,.0f} MB/s, "
            f"full {size / 1e6 / best['full']:,.0f} MB/s, "
            f"{(best['full'] - best['bare']) / calls * 1e6:,.0f} us a call more"
        )
        ratio = best["bare"] / best["full"]
        print_line(
            f"    of bare segmentation: {goal(ratio, _AT_LEAST, at_least=True) if name == 'mixed' else f'{ratio:6.2f}'}"
        )


def _segmented(trace: Trace) -> None:
    for turn in trace.turns:
        for part in turn.parts:
            segment(part.text, "hermes", role=turn.role)


def _session(sizes: tuple[int, ...]) -> Trace:
    """A session as `benchmarks.corpus` has them, each call answered."""
    rng = random.Random(0)
    turns = [Turn(Role.USER, (Part("text", prose(200)),))]
    generation = Generation(tools=TOOLS)
    length = seed = 0
    while length < SESSION_CHARACTERS:
        payload = call_payload(sizes[seed % len(sizes)], seed)
        thought, text = prose(len(payload) // 2, seed), prose(len(payload) - len(payload) // 2, seed + 1)
        if rng.randrange(100) < _BROKEN_OF_100:
            payload = _broken(rng, payload)
        said = f"<think>\n{thought}\n</think>\n{text}\n<tool_call>\n{payload}\n</tool_call>\n"
        result = json.dumps({"stored": seed, "status": "ok", "note": prose(120, seed)})
        turns.append(Turn(Role.ASSISTANT, (Part("text", said),), generation=generation))
        turns.append(Turn(Role.TOOL, (Part("text", result),), result=ResultHeader(name="store_rows")))
        length += len(said)
        seed += 1
    turns.append(Turn(Role.ASSISTANT, (Part("text", prose(400)),), generation=generation))
    return Trace(tuple(turns), format="hermes")


def _broken(rng: random.Random, payload: str) -> str:
    """The payload with one of the faults that models make."""
    match rng.randrange(4):
        case 0:
            return payload[:-1]
        case 1:
            return payload.replace('"days": 3', '"days": "3"')
        case 2:
            return payload.replace('"city": "Tromsø", ', "")
    return payload.replace("store_rows", "store_row")
