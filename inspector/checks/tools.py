"""Which tool a call means among those that were offered, and what is wrong with the definitions themselves."""

from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches

from inspector.checks.json_schema import Path, Problem
from inspector.checks.prepared_schema import PreparedSchema, prepared_schema
from inspector.checks.wording import pointer, quoted
from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner import JsonNode, read_json
from inspector.json_text import write_json
from inspector.model import ToolCall, ToolDefinition
from inspector.rules import conversation as rules
from inspector.text import Range

_MOST_NAMES = 500
_LONGEST_NAME = 200
_MOST_PROBLEMS = 10


class OfferedTools:
    """The tools that one request offered, by name; of two with one name the last counts.

    `told` holds the names of those whose faults were reported already; pass one set on where several requests offer
    the same tools. `is_whole` says that there are no others: only then is a name unknown that is not among them.
    """

    def __init__(
        self, definitions: Iterable[ToolDefinition] = (), *, told: set[str] | None = None, is_whole: bool = True
    ) -> None:
        self.definitions = tuple(definitions)
        self.told: set[str] = set() if told is None else told
        self.is_whole = is_whole
        self._by_name = {tool.name: tool for tool in self.definitions}
        self._prepared: dict[str, PreparedSchema] = {}

    def __bool__(self) -> bool:
        return bool(self.definitions)

    def find(self, name: str) -> ToolDefinition | None:
        """The tool of that name."""
        return self._by_name.get(name)

    def schema_of(self, tool: ToolDefinition) -> PreparedSchema:
        """The tool's schema, ready to check arguments."""
        found = self._prepared.get(tool.name)
        if found is None:
            found = self._prepared[tool.name] = prepared_schema(tool.parameters)
        return found

    def nearest(self, name: str) -> str | None:
        """The name most like this one."""
        return nearest_word(name, list(self._by_name))

    @property
    def names(self) -> list[str]:
        """The names on offer."""
        return list(self._by_name)


def unknown_tool(call: ToolCall, offered: OfferedTools, own_tools: Container[str] = ()) -> Iterator[Fault]:
    """The fault that a call names none of the tools on offer; `own_tools` are always on offer."""
    if call.name is None or not offered.is_whole or offered.find(call.name) is not None or call.name in own_tools:
        return
    names = offered.names
    shown = ", ".join(map(quoted, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    message = f"No tool {quoted(call.name)} was offered, only {shown}."
    nearest = offered.nearest(call.name)
    place = call.name_range or call.range
    if nearest is None:
        yield Fault(rules.UNKNOWN_TOOL, place, message)
        return
    fix = Fix((Edit(place, write_json(nearest, ascii_only=False)),), safe=False) if call.name_range else None
    yield Fault(rules.UNKNOWN_TOOL, place, message, f"Did you mean {quoted(nearest)}?", fix)


def check_definition(tool: ToolDefinition) -> Iterator[Fault]:
    """What is wrong with a definition that stands in a text, each fault at its place in that text."""
    if tool.range is None:
        return
    problems = prepared_schema(tool.parameters).problems
    if not problems:
        return
    nodes = read_json(tool.raw).nodes
    for problem in problems[:_MOST_PROBLEMS]:
        place = _place(nodes[0], problem.path) if nodes else None
        yield _fault(tool, problem, place.moved(tool.range.start) if place else tool.range)


def check_structured_definition(tool: ToolDefinition, call: ToolCall, offered: OfferedTools) -> Iterator[Fault]:
    """What is wrong with a definition that came in a structured field: told once, on the name of a call."""
    if tool.range is not None or tool.name in offered.told:
        return
    offered.told.add(tool.name)
    for problem in offered.schema_of(tool).problems[:_MOST_PROBLEMS]:
        yield _fault(tool, problem, call.name_range or call.range)


def nearest_word(word: str, choices: list[str]) -> str | None:
    """The choice that `word` is most likely a slip for, None where none is near; bounded for long lists and words."""
    folded = {_folded(choice): choice for choice in reversed(choices[:_MOST_NAMES]) if len(choice) <= _LONGEST_NAME}
    wanted = _folded(word[:_LONGEST_NAME])
    if wanted in folded:
        return folded[wanted]
    found = get_close_matches(wanted, folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_").strip()


def _fault(tool: ToolDefinition, problem: Problem, place: Range) -> Fault:
    where = f" at `{pointer(problem.path)}`" if problem.path else ""
    return Fault(problem.rule, place, f"Tool {quoted(tool.name)}{where}: {problem.message}", problem.hint)


def _place(definition: JsonNode, path: Path) -> Range | None:
    """The deepest place on the way to `path` that the definition's text has; a key where the path ends at one."""
    wrapper = definition.member("function")
    inner = wrapper.value if wrapper is not None and wrapper.value.members else definition
    member = inner.member("parameters") or inner.member("input_schema")
    if member is None:
        return None
    node = member.value
    for step in path:
        found = node.at(pointer((step,)))
        if found is None:
            break
        node = found
    return node.range
