"""Calls in tags that are named like the tool: `<f><a>1</a></f>` and `<f>{"a": 1}</f>`."""

import re
from collections.abc import Iterator

from inspector.checks.attempted.attempt import Attempt, Evidence, ReadArguments
from inspector.checks.attempted.names import NamedTool, ToolNames
from inspector.checks.typed_arguments import typed
from inspector.json_scanner import read_json
from inspector.model import Json, Parameter, ToolCall
from inspector.text import Range

_OPENER = re.compile(r"<([A-Za-z_][\w.\-\\]{0,127})>")
_CHILD = re.compile(r"\s*<([A-Za-z_][\w\-]{0,127})>")
_LONGEST = 16_384


def tag_calls(text: str, names: ToolNames) -> Iterator[Attempt]:
    """The calls in tags of tools' names, in order."""
    at = 0
    while (opener := _OPENER.search(text, at)) is not None:
        at = opener.end()
        named = names.find(opener[1])
        if named is None:
            continue
        closer = f"</{opener[1]}>"
        end = text.find(closer, at, at + _LONGEST)
        attempt = None if end < 0 else _attempt(named, text, opener, end, end + len(closer))
        if attempt is not None:
            at = attempt.range.end
            yield attempt


def _attempt(named: NamedTool, text: str, opener: re.Match[str], inner_end: int, end: int) -> Attempt | None:
    inner = text[opener.end() : inner_end]
    arguments = _in_json(inner) if inner.lstrip()[:1] == "{" else _in_tags(inner, named)
    if not arguments or not named.knows(arguments):
        return None
    place = Range(opener.start(), end)
    shape = f"in tags `<{opener[1]}>`"
    found = ReadArguments(Evidence.STRONG, arguments, guessed=True)
    return Attempt(named, place, place, shape, inner.strip(), found)


def _in_json(inner: str) -> dict[str, Json] | None:
    nodes = read_json(inner).nodes
    value = nodes[0].value() if nodes else None
    return value if isinstance(value, dict) else None


def _in_tags(inner: str, named: NamedTool) -> dict[str, Json] | None:
    """The arguments of one tag each; None where there is anything else."""
    parameters: list[Parameter] = []
    at = 0
    while (child := _CHILD.match(inner, at)) is not None:
        closer = f"</{child[1]}>"
        end = inner.find(closer, child.end())
        if end < 0:
            return None
        written = inner[child.end() : end]
        parameters.append(Parameter(child[1], written, Range(child.end(), end)))
        at = end + len(closer)
    if inner[at:].strip() or not parameters:
        return None
    arguments: Json = {one.name: one.text for one in parameters}
    place = Range(0, len(inner))
    call = ToolCall(named.name, arguments, inner, valid=True, range=place, parameters=tuple(parameters))
    found = typed(call, named.tool.parameters).call.arguments
    return found if isinstance(found, dict) else None
