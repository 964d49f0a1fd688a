"""Makes formats whose calls are JSON between markers: most families differ in the markers only.

A dialect names its markers and whether an array, a row of objects or one object is its own way; the rest is common.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, Ways, dialect_table
from inspector.formats.format import Format, Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.ahead import Ahead
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Table, Transition

_END = Transition("(end of the value)", Cut.NOWHERE, "call end", width=0)
_ANY = Transition("(anything else)", Cut.BEFORE, HOME, width=0)


@dataclass(frozen=True, slots=True)
class JsonMarkers:
    """How a dialect marks its calls.

    `calls` are the markers around a call; one without a closer ends with its JSON value, and `ahead` must follow it.
    `results`, `definitions` and `reasoning` as in `dialect_table`; `turns` and `turn_states` are the dialect's own ways
    by turn tokens, beside those of all.
    """

    calls: tuple[Enclosed, ...]
    ahead: Ahead | None = None
    results: tuple[Enclosed, ...] = ()
    definitions: tuple[Enclosed, ...] = ()
    reasoning: tuple[ReasoningTag, ...] = THINK_TAGS
    turns: tuple[Transition, ...] = ()
    turn_states: tuple[State, ...] = field(default=(), repr=False)


def json_table(markers: JsonMarkers) -> Table:
    """The table of a dialect of JSON between markers."""

    def states(ways: Ways) -> Iterator[State]:
        for call in markers.calls:
            yield _call(call, ways)
        # A bracket too many still belongs to the call that it breaks.
        yield State("call end", SpanKind.TOOL_CALL, (), label="tool_call", other=r"[^\]}]", other_goes=_ANY)

    return dialect_table(
        calls=(
            Transition(call.opener, Cut.BEFORE, f"call {call.opener}", ahead=None if call.closer else markers.ahead)
            for call in markers.calls
        ),
        call_states=states,
        call_closers=(call.closer for call in markers.calls if call.closer),
        results=markers.results,
        definitions=markers.definitions,
        reasoning=markers.reasoning,
        turns=(*TURN_TRANSITIONS, *markers.turns),
        turn_states=(*TURN_STATES, *markers.turn_states),
    )


def json_format(
    *,
    name: str,
    summary: str,
    models: Iterable[str],
    markers: JsonMarkers,
    signs: Signs,
    reader: JsonCallReader,
    write_calls: Callable[[Sequence[ToolCall]], str],
    aliases: Iterable[str] = (),
    ids: bool = False,
) -> Format:
    """A format over `markers`, whose calls `reader` reads and `write_calls` writes."""
    table = json_table(markers)
    openers = [call.opener for call in markers.calls]

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        return Machine(table, role=role.value, prompt=prompt)

    def expresses(call: ToolCall) -> bool:
        return (ids or call.id is None) and is_json_call(call)

    return Format(
        name=name,
        summary=summary,
        aliases=tuple(aliases),
        models=tuple(models),
        confidence=signs,
        new_parser=new_parser,
        readers=MappingProxyType(
            {
                SpanKind.TOOL_CALL: reader,
                SpanKind.TOOL_RESULT: read_result,
                SpanKind.TOOL_DEFINITIONS: read_definitions,
                SpanKind.REASONING: ReasoningReader(openers, [call.closer for call in markers.calls if call.closer]),
            }
        ),
        write_calls=write_calls,
        expresses=expresses,
        ids=ids,
    )


def _call(call: Enclosed, ways: Ways) -> State:
    name = f"call {call.opener}"
    if call.closer:
        ends = (Transition(call.closer, Cut.AFTER, HOME), *ways.out_of_call)
        return State(name, SpanKind.TOOL_CALL, ends, "tool_call", call.opener, call.closer, payload=JSON)
    return State(
        name, SpanKind.TOOL_CALL, ways.out_of_call, label="tool_call", opener=call.opener, payload=JSON, then=_END
    )
