"""References of a schema that lead nowhere or out of it, which are taken out: nothing is ever fetched."""

import re
from collections.abc import Iterator

from inspector.checks.schema_problems import Problem, places, short
from inspector.model import Json
from inspector.rules import schema as rules

_QUOTED = re.compile(r"'([^']*)'")


def without_reference(schema: Json, words: str) -> Iterator[Problem]:
    """Takes the references (or the dialect) that the library's words name out of `schema`."""
    named = [name for name in _QUOTED.findall(words) if name]
    for path, node in list(places(schema)):
        for keyword in ("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$id", "id"):
            value = node.get(keyword)
            if isinstance(value, str) and any(_is_named(value, name) for name in named):
                del node[keyword]
                rule = rules.INVALID_TOOL_SCHEMA if keyword == "$schema" else rules.UNRESOLVABLE_REFERENCE
                yield Problem(rule, (*path, keyword), *_about(keyword, value))


def leads_nowhere(words: str) -> str:
    """The sentence for a reference that the library's words tell of, but that is not found in the schema."""
    return f"A reference of the schema leads nowhere, so that arguments are not checked: {short(words, 160)}."


def _is_named(reference: str, name: str) -> bool:
    place, _, fragment = reference.partition("#")
    return reference == name or (bool(place) and name.endswith(place)) or (not place and fragment == name)


def _about(keyword: str, value: str) -> tuple[str, str | None]:
    if keyword == "$schema":
        return f"`$schema` names `{short(value)}`, a dialect that is not known; taken as draft 2020-12.", None
    if value.startswith("#") or keyword in ("$id", "id"):
        return f"`{keyword}` is `{short(value)}`, which leads nowhere in this schema; it is not checked.", None
    hint = "Put the schema into `$defs` and refer to it there."
    return f"`{keyword}` leads to `{short(value)}`, which is never fetched; it is not checked.", hint
