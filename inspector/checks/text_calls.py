"""F317 in logs that store calls apart and do not record the tools: bare JSON and Python-like calls in an answer's text.

Theory. A coding agent's log has its calls in a place of their own, so a call in the text is lost: no tool ran. The log
does not say which tools were offered, but the session's own calls show some of them: their names, the arguments that
each call of a tool had (its required ones), and those that any call had. A text is a call of such a tool only if it
says exactly that: the tool's name as it is written, all required arguments, and no unknown one. It must have lines of
its own, as nobody writes an example within a sentence that way, and must not be quoted (see `quoted_calls`):

    I will look at the file now.

    Read(file_path="/src/app.py")

Nothing here reads a text that has neither `NAME(` nor `"NAME"`, so most sessions cost one search a tool and text.
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from weaklink.inspector.checks.attempted.call_search import CallSearch
from weaklink.inspector.checks.quoted_calls import quoted_ranges
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import Json, Role, ToolDefinition, Turn
from weaklink.inspector.rules.markers import ATTEMPTED_CALL
from weaklink.inspector.text import Range
from weaklink.inspector.wire.provider_json import try_parse_json

_MAX_ARGUMENT_CHARS = 1 << 20  # of one call


class SessionTools:
    """The tools that a session's own calls show; their arguments are read when a text first names one of them."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = [turn for turn in turns if turn.role is Role.ASSISTANT and turn.calls]
        self._names = {call.name for turn in self._turns for call in turn.calls if call.name}
        self._offered: OfferedTools | None = None

    def calls_in(self, text: str, search: CallSearch, read: Iterable[Range], request: str) -> list[Fault]:
        """The calls in an answer's text, except those in the ranges that are `read` as calls already.

        `request` is the user's last text before it.
        """
        if not any(f"{name}(" in text or f'"{name}"' in text for name in self._names):
            return []
        faults = [fault for fault in search.in_text(text, 0, self.offered, at_end=True) if self._is_call(fault, text)]
        ranges = [fault.range for fault in faults]
        left_out = (*read, *(quoted_ranges(text, ranges, request) if ranges else ()))
        return [_lost(fault) for fault in faults if not any(range_.overlaps(fault.range) for range_ in left_out)]

    @property
    def offered(self) -> OfferedTools:
        """The tools, with the arguments of their calls as schemas."""
        if self._offered is None:
            self._offered = OfferedTools(_definitions(self._turns), is_whole=False)
        return self._offered

    def _is_call(self, fault: Fault, text: str) -> bool:
        call = fault.call
        tool = self.offered.find(call.name) if call is not None else None
        if fault.rule is not ATTEMPTED_CALL or call is None or tool is None or not isinstance(call.arguments, dict):
            return False
        schema = tool.parameters
        assert isinstance(schema, dict), "made by _definition"
        required, known = schema["required"], schema["properties"]
        assert isinstance(required, list)
        assert isinstance(known, dict)
        is_named = f"{call.name}(" in fault.range.of(text) or f'"{call.name}"' in fault.range.of(text)
        has_all = bool(required) and call.arguments.keys() >= set(required)
        return is_named and has_all and call.arguments.keys() <= known.keys() and _has_own_lines(text, fault.range)


def _definitions(turns: Iterable[Turn]) -> list[ToolDefinition]:
    seen: dict[str, list[frozenset[str]]] = {}
    for turn in turns:
        for call in turn.calls:
            part = turn.part(call.part)
            arguments = _arguments(part.text) if part is not None else {}
            if call.name and arguments:
                seen.setdefault(call.name, []).append(frozenset(arguments))
    return [_definition(name, keys) for name, keys in seen.items()]


def _arguments(text: str) -> dict[str, Json]:
    """The arguments of a call; none if they are too long or no object."""
    return object_of(try_parse_json(text)) if len(text) <= _MAX_ARGUMENT_CHARS else {}


def _definition(name: str, seen: Sequence[frozenset[str]]) -> ToolDefinition:
    """A tool by the sets of arguments that its calls had."""
    known, required = frozenset[str]().union(*seen), seen[0].intersection(*seen)
    properties: dict[str, Json] = {key: {} for key in sorted(known)}
    return ToolDefinition(
        name, parameters={"type": "object", "properties": properties, "required": [*sorted(required)]}
    )


def _has_own_lines(text: str, call_range: Range) -> bool:
    before = text[: call_range.start].rpartition("\n")[2]
    after = text[call_range.end :].partition("\n")[0]
    return not before.strip() and not after.strip(" \t\r;")


def _lost(fault: Fault) -> Fault:
    assert fault.call is not None, "an attempted call has one"
    message = (
        f"A call of `{fault.call.name}` is written here as text. This log stores calls apart from the text, so no tool "
        "ran."
    )
    hint = "Let the agent answer such a text with an error that asks for a call, so that the model makes it again."
    return structs.replace(fault, message=message, hint=hint, fix=None)
