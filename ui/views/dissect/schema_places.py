"""Which words of a tool's JSON Schema a diagnostic is about."""

from collections.abc import Iterable, Iterator

from inspector.diagnostics import Diagnostic
from inspector.model import Json

_KEYWORDS = {"S201": "required", "S202": "type", "S204": "enum", "S206": "type", "S209": "format"}


def violated(schema: Json, diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[str, Diagnostic]]:
    """For each diagnostic by schema the JSON Pointer, into the schema, of what is violated."""
    for one in diagnostics:
        if one.rule.code.startswith("S2"):
            yield _pointer(schema, one), one


def _pointer(schema: Json, diagnostic: Diagnostic) -> str:
    tokens = (diagnostic.fault.path or "").split("/")[1:]
    node, pointer, rest = _walked(schema, tokens)
    if diagnostic.rule.code == "S203":
        word = "additionalProperties" if isinstance(node, dict) and "additionalProperties" in node else "properties"
    elif rest:
        return pointer
    else:
        word = _KEYWORDS.get(diagnostic.rule.code, "")
    return f"{pointer}/{word}" if word and isinstance(node, dict) and word in node else pointer


def _walked(schema: Json, tokens: list[str]) -> tuple[Json, str, list[str]]:
    """As far as the schema says what a value's path leads to: the schema there, its pointer, and what is left."""
    node, pointer = _resolved(schema, schema, "")
    for index, token in enumerate(tokens):
        name = token.replace("~1", "/").replace("~0", "~")
        properties = node.get("properties") if isinstance(node, dict) else None
        if isinstance(properties, dict) and name in properties:
            node, pointer = properties[name], f"{pointer}/properties/{token}"
        elif isinstance(node, dict) and token.isdecimal() and isinstance(node.get("items"), dict):
            node, pointer = node["items"], f"{pointer}/items"
        else:
            return node, pointer, tokens[index:]
        node, pointer = _resolved(schema, node, pointer)
    return node, pointer, []


def _resolved(schema: Json, node: Json, pointer: str) -> tuple[Json, str]:
    """What a reference within the schema leads to; the reference itself where it leads nowhere or in a circle."""
    seen: set[str] = set()
    while isinstance(node, dict) and isinstance(target := node.get("$ref"), str) and target.startswith("#/"):
        found: Json = schema
        for token in target[2:].split("/"):
            name = token.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if found is None or target in seen:
            break
        seen.add(target)
        node, pointer = found, target[1:]
    return node, pointer
