"""Finds the offered tool that a call means, and the faults of tool definitions."""

from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches

from weaklink.inspector.apis.openai.tool_lists import callable_tools, has_unnamed_tools
from weaklink.inspector.checks.json_schema import Path
from weaklink.inspector.checks.prepared_schema import DefinitionFault, PreparedSchema, prepared_schema
from weaklink.inspector.checks.wording import pointer, quoted
from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.json_scanner import JsonNode, read_json
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolCall, ToolDefinition
from weaklink.inspector.rules import conversation as rules
from weaklink.inspector.text import Range

_MAX_NAMES = 500
_MAX_NAME_CHARS = 200
_MAX_FAULTS = 10


class OfferedTools:
    """The tools that one request offered, by name; of two with the same name the last counts.

    `reported` has the names of those whose faults were already reported; pass the same set on if several requests offer
    the same tools. `is_whole` means that there are no other tools: only then is any other name unknown. `loaded` are
    tools that came later than the request's list, for example from a search for tools.
    """

    def __init__(
        self,
        definitions: Iterable[ToolDefinition] = (),
        *,
        reported: set[str] | None = None,
        is_whole: bool = True,
        loaded: tuple[ToolDefinition, ...] = (),
    ) -> None:
        self.definitions = tuple(definitions)
        self.loaded = loaded
        self.reported: set[str] = set() if reported is None else reported
        self.is_whole = is_whole and not has_unnamed_tools((*self.definitions, *loaded))
        self._by_name = callable_tools((*self.definitions, *loaded))
        self._prepared: dict[str, PreparedSchema] = {}

    def __bool__(self) -> bool:
        return bool(self.definitions)

    def find(self, name: str) -> ToolDefinition | None:
        """The tool of that name; None if there is none."""
        return self._by_name.get(name)

    def schema_of(self, tool: ToolDefinition) -> PreparedSchema:
        """The tool's schema, ready to check arguments."""
        prepared = self._prepared.get(tool.name)
        if prepared is None:
            prepared = self._prepared[tool.name] = prepared_schema(tool.parameters)
        return prepared

    def nearest(self, name: str) -> str | None:
        """The name most similar to this one; None if none is similar."""
        return nearest_word(name, list(self._by_name))

    @property
    def names(self) -> list[str]:
        """The names of the offered tools."""
        return list(self._by_name)


def unknown_tool(call: ToolCall, offered: OfferedTools, builtin_tools: Container[str] = ()) -> Iterator[Fault]:
    """The fault of a call that names none of the offered tools; `builtin_tools` are always offered."""
    if call.name is None or not offered.is_whole or offered.find(call.name) is not None or call.name in builtin_tools:
        return
    names = offered.names
    shown = ", ".join(map(quoted, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    message = f"No tool {quoted(call.name)} was offered, only {shown}."
    nearest = offered.nearest(call.name)
    location = call.name_range or call.range
    if nearest is None:
        yield Fault(rules.UNKNOWN_TOOL, location, message)
        return
    is_bare = len(location) == len(call.name)
    written = nearest if is_bare else write_json(nearest, ascii_only=False)
    fix = Fix((Edit(location, written),), safe=False) if call.name_range else None
    yield Fault(rules.UNKNOWN_TOOL, location, message, f"Did you mean {quoted(nearest)}?", fix)


def check_definition(tool: ToolDefinition) -> Iterator[Fault]:
    """The faults of a definition in a text, each at its place in that text."""
    if tool.range is None:
        return
    faults = prepared_schema(tool.parameters).faults
    if not faults:
        return
    nodes = read_json(tool.raw).nodes
    for fault in faults[:_MAX_FAULTS]:
        location = _range_of(nodes[0], fault.path) if nodes else None
        yield _fault(tool, fault, location.moved(tool.range.start) if location else tool.range)


def check_structured_definition(tool: ToolDefinition, call: ToolCall, offered: OfferedTools) -> Iterator[Fault]:
    """The faults of a definition in a structured field: reported once, on the name of a call."""
    if tool.range is not None or tool.name in offered.reported:
        return
    offered.reported.add(tool.name)
    for fault in offered.schema_of(tool).faults[:_MAX_FAULTS]:
        yield _fault(tool, fault, call.name_range or call.range)


def nearest_word(word: str, choices: list[str]) -> str | None:
    """The choice that `word` most likely misspells, None if none is similar; bounded for long lists and words."""
    folded = {_folded(choice): choice for choice in reversed(choices[:_MAX_NAMES]) if len(choice) <= _MAX_NAME_CHARS}
    folded_word = _folded(word[:_MAX_NAME_CHARS])
    if folded_word in folded:
        return folded[folded_word]
    matches = get_close_matches(folded_word, folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_").strip()


def _fault(tool: ToolDefinition, fault: DefinitionFault, location: Range) -> Fault:
    where = f" at `{pointer(fault.path)}`" if fault.path else ""
    return Fault(fault.rule, location, f"Tool {quoted(tool.name)}{where}: {fault.message}", fault.hint)


def _range_of(definition: JsonNode, path: Path) -> Range | None:
    """The range of the deepest value on the way to `path` in the definition's text."""
    wrapper = definition.member("function")
    inner = wrapper.value if wrapper is not None and wrapper.value.members else definition
    member = inner.member("parameters") or inner.member("input_schema")
    if member is None:
        return None
    node = member.value
    for step in path:
        inner_node = node.node_at(pointer((step,)))
        if inner_node is None:
            break
        node = inner_node
    return node.range
