"""What hypothesis draws: inspections."""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.strategies import json_values, texts, tool_definitions
from weaklink.inspector.chain.steps import Break, Certainty, Chain, Reaction, Recovery, Status, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic, Edit, Fault, Fix, Location, Related
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Parameter, Span, SpanKind, ToolCall, ToolResult
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.text import Range

_Value = TypeVar("_Value")
_WORDS = texts(max_size=3)


def _made(kind: Callable[..., _Value], *fields: st.SearchStrategy[Any]) -> st.SearchStrategy[_Value]:
    """Like `st.builds`, which cannot read the hints of a msgspec structure that speaks of itself."""
    return st.tuples(*fields).map(lambda drawn: kind(*drawn))


def _ranges() -> st.SearchStrategy[Range]:
    return st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda ends: Range(min(ends), max(ends)))


def _spans() -> st.SearchStrategy[Span]:
    flat = _made(Span, st.sampled_from(SpanKind), _ranges(), _ranges(), st.booleans(), _WORDS)
    nested = st.lists(flat, max_size=2).map(tuple)
    return _made(Span, st.sampled_from(SpanKind), _ranges(), _ranges(), st.booleans(), _WORDS, nested)


def _calls() -> st.SearchStrategy[ToolCall]:
    maybe, maybe_range = st.none() | _WORDS, st.none() | _ranges()
    raw = _WORDS | st.sampled_from(("{}", '{"a": 1.0}', "[1]", "1e5", '"5"'))
    flags = st.booleans()
    values = json_values() | st.just([True]) | st.just({"a": 1})
    parameters = st.lists(_made(Parameter, _WORDS, _WORDS, _ranges(), maybe_range, flags), max_size=2).map(tuple)
    count = st.integers(0, 9)
    return _made(
        ToolCall, maybe, values, raw, flags, _ranges(), maybe, flags, count, maybe_range, maybe_range, parameters
    )


def _results() -> st.SearchStrategy[ToolResult]:
    maybe = st.none() | _WORDS
    return _made(ToolResult, _WORDS, _ranges(), maybe, maybe, st.none() | st.booleans(), st.integers(0, 9))


def _locations() -> st.SearchStrategy[Location]:
    return _made(Location, st.integers(1, 4), st.sampled_from(("text", "call:0", "\0")), _ranges())


def _diagnostics() -> st.SearchStrategy[Diagnostic]:
    edits = st.lists(_made(Edit, _ranges(), _WORDS), max_size=2).map(tuple)
    faults = _made(
        Fault,
        st.sampled_from(RULES),
        _ranges(),
        _WORDS,
        st.none() | _WORDS,
        st.none() | _made(Fix, edits, st.booleans()),
        st.none() | _WORDS,
        st.lists(_made(Related, _ranges(), _WORDS), max_size=1).map(tuple),
    )
    return _made(Diagnostic, _locations(), faults)


@st.composite
def inspections(draw: st.DrawFn) -> Inspection:
    """Inspections that say anything of any text, which need not be that of a trace."""
    parts = _made(
        PartInspection,
        st.integers(1, 4),
        st.sampled_from(("text", "call:0", "\0")),
        _WORDS,
        st.lists(_spans(), max_size=2).map(tuple),
        st.lists(_calls(), max_size=2).map(tuple),
        st.lists(_results(), max_size=2).map(tuple),
        st.lists(tool_definitions(), max_size=1).map(tuple),
    )
    inspected_parts = tuple(draw(st.lists(parts, max_size=3)))
    calls = [call for part in inspected_parts for call in part.calls]
    results = [result for part in inspected_parts for result in part.results]
    steps = _made(
        Step,
        st.integers(1, 9),
        _calls() | st.sampled_from(calls) if calls else _calls(),
        _locations(),
        st.sampled_from(StepOutcome),
        st.none() | _results() | st.sampled_from(results) if results else st.none() | _results(),
        st.none() | _locations(),
        st.none() | st.sampled_from(Certainty),
        st.none() | st.integers(1, 9),
        st.lists(st.integers(1, 9), max_size=2).map(tuple),
        st.none() | st.integers(1, 9),
        st.none() | st.sampled_from(Recovery),
        st.none() | _WORDS,
    )
    maybe = st.none() | _WORDS
    broken = _made(
        Break,
        st.integers(1, 9),
        st.integers(1, 9),
        maybe,
        st.sampled_from(StepOutcome),
        _WORDS.filter(bool),
        _WORDS,
        st.none() | st.sampled_from(Reaction),
    )
    chain = Chain(
        tuple(draw(st.lists(steps, max_size=3))),
        draw(st.sampled_from(Status)),
        draw(st.none() | broken),
        draw(maybe),
        draw(st.lists(st.integers(1, 9), max_size=3).map(tuple)),
    )
    return Inspection(
        draw(_WORDS), draw(_WORDS), inspected_parts, chain, tuple(draw(st.lists(_diagnostics(), max_size=3)))
    )
