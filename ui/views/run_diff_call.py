"""A call in short beside others of its tool: only the arguments in which it differs, cut where they differ."""

from collections.abc import Mapping, Sequence

from inspector.chain.steps import Step
from inspector.json_text import write_json
from inspector.model import Json
from ui.views.call import UNNAMED

LONGEST = 60
"""About how many code points of an argument or a result are quoted."""
_AROUND = 12


def differing_call(step: Step, others: Sequence[Step | None] = (), room: int = 2 * LONGEST) -> str:
    """A call with the arguments in which it differs from the others of its tool; with all where it is alone.

    Where `room` code points do not hold that, first the arguments' names are left out, then the end of the tool's.
    """
    name = step.call.name or UNNAMED
    mine = step.call.arguments
    if not isinstance(mine, dict):
        return f"{name}({step.call.raw_arguments[:LONGEST]})"
    shown = _differing(step, mine, others)
    rest = ["…"] if len(shown) < len(mine) else []
    said = f"{name}({', '.join([f'{key}={value}' for key, value in shown.items()] + rest)})"
    if len(said) <= room:
        return said
    values = ", ".join(shown.values())
    if len(name) + len(values) + 2 <= room:
        return f"{name}({values})"
    return f"{name if len(name) <= room // 2 else name[: room // 2 - 1] + '…'}({values})"


def _differing(step: Step, mine: Mapping[str, Json], others: Sequence[Step | None]) -> dict[str, str]:
    """The arguments that the others do not have so, with their values as JSON, excerpts of long ones."""
    theirs: list[dict[str, Json]] = []
    for one in others:
        arguments = one.call.arguments if one is not None and one.call.name == step.call.name else None
        if one is not step and isinstance(arguments, dict):
            theirs.append(arguments)
    return {
        key: _value(value, [one.get(key) for one in theirs])
        for key, value in mine.items()
        if not theirs or any(key not in one or one[key] != value for one in theirs)
    }


def _value(value: Json, others: Sequence[Json]) -> str:
    """A value as JSON; of a long one the surroundings of the place where it differs from the others."""
    text = write_json(value, ascii_only=False)
    if len(text) <= LONGEST // 2:
        return text
    theirs = next((write_json(one, ascii_only=False) for one in others if one != value), "")
    return excerpt(text, theirs, LONGEST // 2)


def excerpt(text: str, other: str, room: int) -> str:
    """`text` from shortly before where it differs from the other, in at most `room` code points."""
    shorter = min(len(text), len(other))
    at = next((at for at in range(shorter) if text[at] != other[at]), shorter) if other else 0
    start = 0 if at + _AROUND < room else max(at - _AROUND, 0)
    shown = text[start : start + room]
    return ("…" if start else "") + shown + ("…" if start + room < len(text) else "")
