"""Keywords that break the meta-schema, mended to what they mean: Python's types, `required: true`, older drafts."""

from collections.abc import Iterator, Sequence

from inspector.checks.schema_problems import Path, Problem, parent, short
from inspector.model import Json
from inspector.rules import schema as rules

_TYPES = {
    **dict.fromkeys(("str", "string", "text", "char", "date", "datetime"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "number", "numeric"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("dict", "map", "hashmap", "object", "json"), "object"),
    **dict.fromkeys(("list", "array", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("none", "nonetype", "null"), "null"),
}


def without_faults(schema: Json, paths: Sequence[Path]) -> Iterator[Problem]:
    """Mends the keywords at these places of `schema`, in it, or takes them out; deepest first."""
    for path in sorted(paths, key=lambda path: (-len(path), [str(step) for step in path])):
        if not path:
            if len(paths) == 1:
                yield Problem(
                    rules.INVALID_TOOL_SCHEMA, (), "`parameters` breaks the meta-schema of JSON Schema as a whole."
                )
            continue
        holder, keyword = parent(schema, path)
        if isinstance(holder, dict) and keyword in holder:
            yield _mend_keyword(schema, holder, str(keyword), path)
        elif isinstance(holder, list) and isinstance(keyword, int) and keyword < len(holder):
            yield Problem(
                rules.INVALID_TOOL_SCHEMA,
                path,
                f"`{short(holder[keyword])}` cannot stand here in a schema; it is not used.",
            )
            holder[keyword] = _harmless(path)


def _harmless(path: Path) -> Json:
    return "" if len(path) > 1 and path[-2] in ("required", "dependentRequired") else True


def _mend_keyword(schema: Json, holder: dict[str, Json], keyword: str, path: Path) -> Problem:
    value = holder.pop(keyword)
    message = f"`{short(keyword)}` cannot be `{short(value)}` in a schema; it is not used."
    hint = None
    if keyword == "type" and (meant := _meant_type(value)) is not None:
        holder["type"] = meant
        message = f"`{short(value)}` is no JSON type; taken as `{short(meant)}`."
        hint = f"Write `{short(meant)}`."
    elif keyword == "required" and isinstance(value, bool):
        if value and len(path) >= 3 and path[-3] == "properties":
            _require(schema, path)
        message = "`required` belongs to the object as a list of names, not to a property."
        hint = "List the names under the object's `required`."
    elif keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        limit = keyword.removeprefix("exclusive").lower()
        if value and isinstance(holder.get(limit), int | float):
            holder[keyword] = holder.pop(limit)
        message = f"`{keyword}` is a number since draft 6; taken as draft 4 means it."
        hint = f"Write the limit as `{keyword}`."
    elif keyword == "items" and isinstance(value, list):
        holder["prefixItems"] = value
        message = "`items` is one schema since draft 2020-12; taken as `prefixItems`."
        hint = "Rename it to `prefixItems`."
    return Problem(rules.INVALID_TOOL_SCHEMA, path, message, hint)


def _require(schema: Json, path: Path) -> None:
    """Adds the property at `path[-2]` to the required names of the object that holds it."""
    owner, _ = parent(schema, path[:-2])
    if isinstance(owner, dict):
        names = owner.setdefault("required", [])
        if isinstance(names, list) and path[-2] not in names:
            names.append(str(path[-2]))


def _meant_type(value: Json) -> Json:
    if isinstance(value, str):
        if value.lower() in ("any", "*", ""):
            return None
        return _TYPES.get(value.lower().partition("[")[0].partition("<")[0].strip())
    if isinstance(value, list):
        meant = [_TYPES[one.lower()] for one in value if isinstance(one, str) and one.lower() in _TYPES]
        return [*dict.fromkeys(meant)] if len(meant) == len(value) and meant else None
    return None
