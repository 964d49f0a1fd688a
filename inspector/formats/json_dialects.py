"""Makes formats whose calls are JSON between markers: most families differ in the markers only.

A dialect names its markers and whether an array, a row of objects or one object is its own way; the rest is common.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from inspector.formats.bare_json import BARE_HOMES, CALL_END, BareJson, bare_calls, bare_states
from inspector.formats.chat_turns import ROLE_HOMES, TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, Ways, dialect_table
from inspector.formats.format import Format, Signs
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call
from inspector.model import Role, SpanKind, ToolCall
from inspector.segmenter.ahead import Ahead, Repeat
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine
from inspector.segmenter.payload import JSON
from inspector.segmenter.readings import SpanReader
from inspector.segmenter.table import HOME, Cut, State, Table, Transition

TOOL_RESPONSE = Enclosed("<tool_response>", "</tool_response>")
"""What models write around a result that they invent, whatever their family's own template has."""

_CALL_KEYS = Ahead(Repeat(r"\s"), ('"name"', '"arguments"'))


@dataclass(frozen=True, slots=True)
class JsonMarkers:
    """How a dialect marks its calls.

    `calls` are the markers around a call; one without a closer ends with its JSON value, and `ahead` must follow it.
    `results`, `definitions` and `reasoning` as in `dialect_table`; `turns` and `turn_states` are the dialect's own ways
    by turn tokens, beside those of all, and `homes` the states of their roles. `bare` are calls that no marker opens.
    """

    calls: tuple[Enclosed, ...] = ()
    bare: BareJson | None = None
    ahead: Ahead | None = None
    results: tuple[Enclosed, ...] = (TOOL_RESPONSE,)
    definitions: tuple[Enclosed, ...] = ()
    reasoning: tuple[ReasoningTag, ...] = THINK_TAGS
    turns: tuple[Transition, ...] = ()
    turn_states: tuple[State, ...] = field(default=(), repr=False)
    homes: dict[str, str] = field(default_factory=lambda: ROLE_HOMES)


def json_table(markers: JsonMarkers) -> Table:
    """The table of a dialect of JSON between markers."""

    def states(ways: Ways) -> Iterator[State]:
        for call in markers.calls:
            yield from _call(call, ways)
        yield CALL_END
        if markers.bare is not None:
            yield from bare_states(markers.bare, ways)

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
        homes=BARE_HOMES if markers.bare is not None else markers.homes,
        default_home="start" if markers.bare is not None else "text",
    )


def json_format(
    *,
    name: str,
    summary: str,
    models: Iterable[str],
    markers: JsonMarkers,
    signs: Signs,
    reader: SpanReader,
    write_calls: Callable[[Sequence[ToolCall]], str],
    aliases: Iterable[str] = (),
    ids: bool = False,
    expresses: Callable[[ToolCall], bool] = is_json_call,
    text_reader: SpanReader | None = None,
    near_calls: tuple[tuple[re.Pattern[str], str], ...] = (),
    calls_only: bool = False,
) -> Format:
    """A format over `markers`, whose calls `reader` reads and `write_calls` writes.

    `expresses` says which calls it can hold, ids aside; `text_reader` reads text spans;
    `near_calls` and `calls_only` as in Format.
    """
    table = json_table(markers)
    drafts = ReasoningReader(
        [call.opener for call in markers.calls],
        [call.closer for call in markers.calls if call.closer],
        bare=bare_calls(markers.bare) if markers.bare is not None else (),
    )
    of_text = {} if text_reader is None else {SpanKind.TEXT: text_reader}

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        return Machine(table, role=role.value, prompt=prompt)

    def expresses_all(call: ToolCall) -> bool:
        return (ids or call.id is None) and expresses(call)

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
                SpanKind.REASONING: drafts,
                **of_text,
            }
        ),
        write_calls=write_calls,
        expresses=expresses_all,
        ids=ids,
        near_calls=near_calls,
        calls_only=calls_only,
    )


def _call(call: Enclosed, ways: Ways) -> Iterator[State]:
    name = f"call {call.opener}"
    if call.closer:
        ends = (Transition(call.closer, Cut.AFTER, HOME), *ways.out_of_call)
        yield State(name, SpanKind.TOOL_CALL, ends, "tool_call", call.opener, call.closer, payload=JSON)
        return
    then = Transition("(end of the value)", Cut.NOWHERE, f"{name} end", width=0)
    yield State(
        name, SpanKind.TOOL_CALL, ways.out_of_call, label="tool_call", opener=call.opener, payload=JSON, then=then
    )
    # A second object or array behind the first belongs to the same call: it has no marker of its own.
    again = (
        Transition(f"{space}{bracket}", Cut.NOWHERE, name, width=0, ahead=ahead)
        for space in ("", "\n", " ")
        for bracket, ahead in (("{", _CALL_KEYS), ("[{", _CALL_KEYS))
    )
    yield replace(CALL_END, name=f"{name} end", transitions=tuple(again))
