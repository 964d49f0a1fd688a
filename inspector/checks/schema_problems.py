"""Problems of a schema and violations of one, as values with their paths."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec import Struct

from inspector.json_text import write_json
from inspector.model import Json
from inspector.rules.rule import Rule

Path = tuple[str | int, ...]
"""Keys and indexes from a schema's root, or a value's, to a place in it."""


class Problem(Struct, frozen=True):
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


class Violation(Struct, frozen=True):
    """One way in which a value breaks its schema: the keyword, where in the value, and what the schema says.

    `limit` is the keyword's own value, or for `required` the missing name, for the `additional` and `unevaluated`
    keywords the names or indexes that are too many, for `type` the list of types. `schema` is the subschema that holds
    the keyword. `alternatives` are the violations of each branch of `anyOf` and `oneOf`.
    """

    keyword: str
    path: Path
    limit: Json
    schema: Json = None
    alternatives: tuple[tuple["Violation", ...], ...] = ()


def violation_of(error: Any, root: Json) -> Violation:
    """An error of jsonschema-rs (its `ValidationError`, whose `kind` names the keyword) against the schema `root`."""
    kind = error.kind
    name, facts = kind.name, kind.as_dict()
    branches = facts.get("context", ())
    inner = facts.get("error")
    schema = _subschema(root, error.schema_path)
    if name == "propertyNames" and inner is not None and not isinstance(inner, str):
        return Violation(name, tuple(error.instance_path), inner.instance, schema, ((violation_of(inner, root),),))
    keyword = "backtracking" if type(kind).__name__ in {"BacktrackLimitExceeded", "RegexEngineFailure"} else name
    path: Path = tuple(error.instance_path)
    limit = _limit(keyword, facts, schema, error.schema_path)
    alternatives = tuple(tuple(violation_of(one, root) for one in branch) for branch in branches)
    return Violation(keyword, path, limit, schema, alternatives)


def _limit(keyword: str, facts: dict[str, Any], schema: Json, schema_path: list[str | int]) -> Json:
    word = schema_path[-1] if schema_path else keyword
    written = schema.get(str(word)) if isinstance(schema, dict) else None
    if "limit" in facts and isinstance(written, int | float | Decimal) and not isinstance(written, bool):
        return written  # the validator bounds lengths to 64 bits
    for key in ("property", "unexpected", "types", "options", "expected_value", "limit", "multiple_of", "format"):
        if key in facts:
            found: Json = facts[key]
            return found
    return written


def _subschema(root: Json, path: list[str | int]) -> Json:
    """The subschema that holds the keyword at the end of `path`."""
    for step in path[:-1]:
        if isinstance(root, dict):
            root = root.get(str(step))
        elif isinstance(root, list) and isinstance(step, int) and step < len(root):
            root = root[step]
        else:
            return None
    return root
