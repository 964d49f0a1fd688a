"""What is derived from a format's table of states: its markers, and the fast lane over it."""

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, field

from weaklink.inspector.formats.api.parser import ApiOrText, may_be_api
from weaklink.inspector.formats.format import Format
from weaklink.inspector.model import Json, Role, ToolCall
from weaklink.inspector.segmenter.fast_lane import FastLane
from weaklink.inspector.segmenter.machine import Machine
from weaklink.inspector.segmenter.table import Lookahead
from weaklink.inspector.text import Range


class FormatMarkers(Struct, frozen=True):
    """The markers in a format's table; everything is empty if the format is not read with a table.

    `all` is every marker. `call_openers` open a call or a block of calls, sorted. `bare_calls` begin a call without a
    marker: a bracket, and what must follow it. `headers` are markers that a tool's name must follow, and more.
    `wrappers` are the markers that open a wrapper around calls, each with the one that closes it. `on_own_lines` are
    those that the format's template writes at the beginning of a line.
    """

    all: frozenset[str] = frozenset()
    call_openers: tuple[str, ...] = ()
    bare_calls: tuple[tuple[str, Lookahead], ...] = ()
    headers: tuple[tuple[str, Lookahead], ...] = ()
    wrappers: Mapping[str, str] = field(default_factory=dict)
    on_own_lines: frozenset[str] = frozenset()


_NAME = "f_1"
_ARGUMENTS: tuple[dict[str, Json], ...] = ({"a": "x"}, {})
_CALLS = tuple(ToolCall("f", arguments, "", valid=True, range=Range(0, 0)) for arguments in _ARGUMENTS)


@lru_cache(maxsize=128)
def markers_of(own: Format) -> FormatMarkers:
    """The markers of a format; computed once per format."""
    parser = own.new_parser()
    machine = parser.text_side if isinstance(parser, ApiOrText) else parser
    if not isinstance(machine, Machine):
        return FormatMarkers()
    bare = (
        (transition.marker, transition.ahead)
        for transition in machine.home_transitions
        if transition.marker in ("{", "[") and transition.ahead is not None
    )
    headers = (
        (transition.marker, transition.ahead)
        for transition in machine.home_transitions
        if transition.ahead is not None and transition.ahead.cut_short.match(_NAME) is not None
    )
    written = own.write_calls(_CALLS)
    return FormatMarkers(
        machine.markers,
        tuple(sorted(machine.call_openers)),
        tuple(bare),
        tuple((marker, ahead) for marker, ahead in headers if len(marker) > 2),
        machine.wrappers,
        frozenset(marker for marker in machine.markers if f"\n{marker}" in written),
    )


@lru_cache(maxsize=512)
def lane_of(own: Format, role: Role) -> FastLane | None:
    """The fast lane for whole texts in turns of a role; created once per format and role.

    None if the format is not read with a table, or with a plug-in's machine, which may read differently.
    """
    parser = own.new_parser("", role)
    if isinstance(parser, ApiOrText):
        return FastLane(parser.text_side, may_be_api) if type(parser.text_side) is Machine else None
    return FastLane(parser) if type(parser) is Machine else None
