"""The markers that a format's table of states holds."""

from functools import lru_cache

from inspector.formats.api.parser import ApiOrText
from inspector.formats.format import Format
from inspector.segmenter.machine import Machine
from inspector.segmenter.table import Lookahead


@lru_cache(maxsize=128)
def markers_of(own: Format) -> frozenset[str]:
    """Every marker of a format; none where it is read by no table."""
    machine = _machine(own)
    return machine.markers if machine is not None else frozenset()


@lru_cache(maxsize=128)
def call_openers_of(own: Format) -> tuple[str, ...]:
    """The markers of a format that open a call, sorted; none where it is read by no table."""
    machine = _machine(own)
    return tuple(sorted(machine.call_openers)) if machine is not None else ()


@lru_cache(maxsize=128)
def bare_calls_of(own: Format) -> tuple[tuple[str, Lookahead], ...]:
    """What begins a call of a format without a marker: a bracket, and what must follow it."""
    machine = _machine(own)
    ways = machine.home_ways if machine is not None else ()
    return tuple((way.marker, way.ahead) for way in ways if way.marker in ("{", "[") and way.ahead is not None)


def _machine(own: Format) -> Machine | None:
    """The machine that reads the format's text, where its markers stand in a table."""
    parser = own.new_parser()
    parser = parser.text_side if isinstance(parser, ApiOrText) else parser
    return parser if isinstance(parser, Machine) else None


@lru_cache(maxsize=128)
def wrappers_of(own: Format) -> dict[str, str]:
    """The markers that open a wrapper around calls, each with the one that closes it."""
    machine = _machine(own)
    return machine.wrappers if machine is not None else {}
