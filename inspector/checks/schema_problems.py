"""What is wrong with a schema, and the places within one."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules.rule import Rule

Path = tuple[str | int, ...]
"""Keys and indexes from a schema's root, or a value's, to a place in it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a schema: the rule, where in `parameters`, one sentence, and the smallest repair."""

    rule: Rule
    path: Path
    message: str
    hint: str | None = None


def places(schema: Json) -> Iterator[tuple[Path, dict[str, Json]]]:
    """Every object within `schema`, itself included, with its place."""
    pending: list[tuple[Path, Json]] = [((), schema)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict):
            yield path, node
            pending += (((*path, key), inner) for key, inner in node.items())
        elif isinstance(node, list):
            pending += (((*path, index), inner) for index, inner in enumerate(node))


def parent(schema: Json, path: Path) -> tuple[Json, str | int]:
    """What holds the value at `path`, and under which key; as far as the way leads."""
    for step in path[:-1]:
        if isinstance(schema, dict):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and isinstance(step, int) and step < len(schema):
            schema = schema[step]
    return schema, path[-1] if path else ""


def short(value: Json, most: int = 40) -> str:
    """A value as a message quotes it: cut where it is long, with nothing in it that a screen would obey."""
    text = value if isinstance(value, str) else write_json(value, ascii_only=False)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
