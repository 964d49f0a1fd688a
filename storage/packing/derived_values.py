"""The derived values of a trace as plain values: spans, calls, results, steps, the break and diagnostics.

A text that the part's text has at a known range is not stored again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from weaklink.inspector.chain.steps import (
    OUTCOME_RULES,
    Break,
    Certainty,
    Reaction,
    Recovery,
    ResultKind,
    Said,
    Step,
    StepOutcome,
)
from weaklink.inspector.diagnostics import AttemptedCall, Diagnostic, Edit, Fault, Fix, Location, Related
from weaklink.inspector.errors import UnknownRuleError
from weaklink.inspector.inspected import PartInspection
from weaklink.inspector.model import Json, Parameter, Span, SpanKind, ToolCall, ToolResult, Trace, Turn
from weaklink.inspector.model.columns import Column
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range
from weaklink.storage.packing.paged_blobs import StringPool
from weaklink.storage.packing.records import state_facts, state_from, tool_facts, tool_from
from weaklink.storage.packing.values import packable, unpack, unpack_list

LAYOUT = 2
"""The first value of a packed inspection: increase it whenever the packed values or their order change."""

_KINDS = tuple(SpanKind)
_AT_ARGUMENTS, _AT_RANGE = 0, 1
_DEEP = 100  # brackets; msgspec recurses, so texts with more are not decoded again


class Texts(Protocol):
    """The text of each part of a trace, by turn (from 1) and name; the last one if parts of a turn share a name."""

    def get(self, place: tuple[int, str], default: str, /) -> str:
        """The text of the part at `place`, or `default` if there is none."""
        ...


def texts_of(trace: Trace) -> Texts:
    """The texts that an inspection of `trace` refers to; those of a lazy column are looked up in it, not held."""
    if isinstance(trace.turns, Column):
        return _InColumn(trace.turns)
    return {(number, part.name): part.text for number, turn in enumerate(trace.turns, 1) for part in turn.parts}


class _InColumn:
    """The texts of turns that are built when they are accessed."""

    def __init__(self, turns: Column[Turn]) -> None:
        self._turns = turns

    def get(self, place: tuple[int, str], default: str, /) -> str:
        """The text of the last part with this name in this turn, or `default`."""
        number, name = place
        if not 0 < number <= len(self._turns):
            return default
        parts = self._turns[number - 1].parts
        return next((part.text for part in reversed(parts) if part.name == name), default)


Position = Callable[[ToolCall | ToolResult, Location | None], int | None]
"""The position of a call or result, from this location, among the packed ones; None if it is not one of them."""


class OtherLayoutError(ValueError):
    """The inspection has the layout of another version of weaklink; it can be rebuilt."""


def step_facts(step: Step, position: Position, texts: Texts) -> list[Any]:
    """A step; its call and its result are replaced with their positions, if they have any."""
    result_location = step.result_location
    call_position = position(step.call, step.location)
    return [
        step.number,
        call_facts(step.call, _text(texts, step.location)) if call_position is None else call_position,
        _location(step.location),
        step.outcome.value,
        None if step.result is None else _result(step.result, result_location, position, texts),
        None if result_location is None else _location(result_location),
        step.certainty and step.certainty.value,
        step.retry_of,
        step.depends_on,
        step.recovered_by,
        step.recovery and step.recovery.value,
        step.error,
        step.result_kind and step.result_kind.value,
        step.said and step.said.value,
        None if step.said_at is None else _location(step.said_at),
    ]


def step_from(facts: list[Any], calls: Sequence[Any], results: Sequence[Any], texts: Texts, pool: StringPool) -> Step:
    """The inverse of `step_facts`, with the same texts; positions are indices of `calls` and `results`."""
    number, call, at, outcome, result, place, certainty, retry_of, depends_on, recovered_by, recovery, *later = facts
    error, kind, said, said_at = later
    location = _location_from(at, pool)
    result_location = None if place is None else _location_from(place, pool)
    if isinstance(result, list):
        result = result_from(result, _text(texts, result_location))
    elif result is not None:
        result = results[result]
    return Step(
        number,
        call_from(call, _text(texts, location)) if isinstance(call, list) else calls[call],
        location,
        StepOutcome(outcome),
        result,
        result_location,
        Certainty(certainty) if certainty else None,
        retry_of,
        tuple(depends_on),
        recovered_by,
        Recovery(recovery) if recovery else None,
        error,
        ResultKind(kind) if kind else None,
        Said(said) if said else None,
        None if said_at is None else _location_from(said_at, pool),
    )


def break_facts(broken: Break | None) -> list[Any] | None:
    """A break."""
    if broken is None:
        return None
    reaction = broken.reaction and broken.reaction.value
    return [broken.step, broken.turn, broken.tool, broken.outcome.value, broken.code, broken.message, reaction]


def break_from(facts: list[Any] | None) -> Break | None:
    """The inverse of `break_facts`."""
    if facts is None:
        return None
    step, turn, tool, outcome, code, message, reaction = facts
    kind = StepOutcome(outcome)
    rule = code or OUTCOME_RULES[kind].code  # an inspection of an earlier version may have no code
    return Break(step, turn, tool, kind, rule, message, Reaction(reaction) if reaction else None)


def diagnostic_facts(diagnostic: Diagnostic) -> list[Any]:
    """A diagnostic; its rule is replaced with its code."""
    fault = diagnostic.fault
    moved = None if fault.range == diagnostic.location.range else [fault.range.start, fault.range.end]
    fix = fault.fix and [fault.fix.safe, [[edit.range.start, edit.range.end, edit.text] for edit in fault.fix.edits]]
    related = [[one.range.start, one.range.end, one.message] for one in fault.related]
    place = _location(diagnostic.location)
    facts = [fault.rule.code, place, moved, fault.message, fault.hint, fix, fault.path, related]
    if fault.call is None and fault.against is None:
        return facts
    call = None if fault.call is None else _attempt_facts(fault.call)
    return [*facts, call] if fault.against is None else [*facts, call, _location(fault.against)]


def diagnostic_from(facts: list[Any], rules: Mapping[str, Rule], pool: StringPool) -> Diagnostic:
    """The inverse of `diagnostic_facts`; `rules` are those of all diagnostics, by code."""
    code, place, moved, message, hint, fix, path, related, *later = facts
    location = _location_from(place, pool)
    fault = Fault(
        rules[code],
        Range(*moved) if moved else location.range,
        pool.setdefault(message, message),
        hint and pool.setdefault(hint, hint),
        Fix(tuple(Edit(Range(start, end), text) for start, end, text in fix[1]), fix[0]) if fix else None,
        path and pool.setdefault(path, path),
        tuple(Related(Range(start, end), text) for start, end, text in related),
        _attempt_from(later[0]) if later and later[0] else None,
        _location_from(later[1], pool) if len(later) > 1 else None,
    )
    return Diagnostic(location, fault)


def _attempt_facts(call: AttemptedCall) -> list[Any]:
    place = [call.range.start, call.range.end]
    return [call.name, packable(call.arguments), call.raw_arguments, place, call.recovered, call.is_step]


def _attempt_from(facts: list[Any]) -> AttemptedCall:
    name, arguments, raw_arguments, place, recovered, is_step = facts
    return AttemptedCall(name, arguments, raw_arguments, Range(*place), recovered, is_step)


def rule_facts(rule: Rule) -> list[Any]:
    """A rule, without its code."""
    return [rule.name, rule.severity.value]


def rules_from(facts: Mapping[str, list[Any]]) -> Mapping[str, Rule]:
    """The rules with these codes; rules that this weaklink does not know are built from the stored facts."""
    return {code: _rule(code, *values) for code, values in facts.items()}


def _rule(code: str, name: str, severity: str) -> Rule:
    try:
        return find_rule(code)
    except UnknownRuleError:
        summary = "A rule of another version of weaklink; only that version can explain it."
        return Rule(code, name, Severity(severity), summary, summary)


def _result(result: ToolResult, location: Location | None, position: Position, texts: Texts) -> Any:
    at = position(result, location)
    return result_facts(result, _text(texts, location)) if at is None else at


def _text(texts: Texts, location: Location | None) -> str:
    return "" if location is None else texts.get((location.turn, location.part), "")


def _location(location: Location) -> list[Any]:
    return [location.turn, location.part, location.range.start, location.range.end]


def _location_from(facts: list[Any], pool: StringPool) -> Location:
    turn, part, start, end = facts
    return Location(turn, pool.setdefault(part, part), Range(start, end))


_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_decode_json = msgspec.json.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


def part_facts(part: PartInspection, text: str) -> list[Any]:
    """The inspection of one part; `text` is that part's text."""
    labels: dict[str, int] = {}
    return [
        part.turn,
        part.part,
        part.format,
        list(_spans(part.spans, labels)),
        list(labels),
        [call_facts(call, text) for call in part.calls],
        [result_facts(result, text) for result in part.results],
        [tool_facts(tool) for tool in part.definitions],
    ]


def part_from(packed: msgspec.Raw, texts: Texts) -> PartInspection:
    """The inverse of `part_facts`; the part's text is found in `texts` by turn and name."""
    turn, part, name, spans, labels, calls, results, definitions = unpack_list(packed)
    number, named = unpack(turn), unpack(part)
    text = texts.get((number, named), "")
    return PartInspection(
        number,
        named,
        unpack(name),
        _spans_from(iter(unpack(spans)), unpack(labels), -1),
        tuple(call_from(unpack(call), text) for call in unpack_list(calls)),
        tuple(result_from(unpack(result), text) for result in unpack_list(results)),
        tuple(tool_from(tool) for tool in unpack(definitions)),
    )


def _spans(spans: Sequence[Span], labels: dict[str, int]) -> Iterator[int]:
    """Eight numbers per span, a parent before its children; the last is the number of children."""
    for span in spans:
        yield from (_NUMBER[span.kind], span.range.start, span.range.end, span.inner.start, span.inner.end)
        yield from (span.closed, labels.setdefault(span.label, len(labels)), len(span.children))
        yield from _spans(span.children, labels)


def _spans_from(numbers: Iterator[int], labels: Sequence[str], count: int) -> tuple[Span, ...]:
    """The next `count` spans; all that are left if it is negative."""
    spans: list[Span] = []
    while len(spans) != count and (kind := next(numbers, None)) is not None:
        start, end, inner_start, inner_end, closed, label, children = (next(numbers) for _ in range(7))
        inside = _spans_from(numbers, labels, children) if children else ()
        whole, inner = Range(start, end), Range(inner_start, inner_end)
        spans.append(Span(_KINDS[kind], whole, inner, bool(closed), labels[label], inside))
    return tuple(spans)


def span_facts(span: Span) -> list[Any]:
    """A span with its descendants."""
    labels: dict[str, int] = {}
    numbers = list(_spans((span,), labels))
    return [list(labels), *numbers]


def span_from(facts: list[Any]) -> Span:
    """The inverse of `span_facts`."""
    labels, *numbers = facts
    return _spans_from(iter(numbers), labels, 1)[0]


def call_facts(call: ToolCall, text: str) -> list[Any]:
    """A call; `text` is the text of its part."""
    return [
        call.name,
        call.id,
        call.valid,
        call.recovered,
        call.span,
        *_ends(call.range),
        *_ends(call.name_range),
        *_ends(call.arguments_range),
        _raw(call, text),
        _arguments(call),
        *_parameters(call, text),
    ]


def call_from(facts: list[Any], text: str) -> ToolCall:
    """The inverse of `call_facts`, with the same text."""
    name, id_, valid, recovered, span, start, end, *ends, raw, arguments = facts[:13]
    whole = Range(start, end)
    place = _range(*ends[2:])
    source = (place if raw == _AT_ARGUMENTS and place is not None else whole).of(text) if isinstance(raw, int) else raw
    value = arguments[0] if arguments else _decode_json(source)
    parameters = tuple(_parameter_from(one, text) for one in facts[13:])
    return ToolCall(name, value, source, valid, whole, id_, recovered, span, _range(*ends[:2]), place, parameters)


def result_facts(result: ToolResult, text: str) -> list[Any]:
    """A result; `text` is the text of its part."""
    content = None if result.range.of(text) == result.content else result.content
    facts = [content, *_ends(result.range), result.call_id, result.name, result.is_error, result.span]
    return facts if result.recorded is None else [*facts, state_facts(result.recorded)]


def result_from(facts: list[Any], text: str) -> ToolResult:
    """The inverse of `result_facts`, with the same text."""
    content, start, end, call_id, name, is_error, span, *recorded = facts
    place = Range(start, end)
    state = state_from(recorded[0]) if recorded else None
    return ToolResult(place.of(text) if content is None else content, place, call_id, name, is_error, span, state)


def _parameters(call: ToolCall, text: str) -> Iterator[list[Any]]:
    """A call's parameters; the text of one is None if its range has the same text, as nearly always."""
    for one in call.parameters:
        written = None if one.range.of(text) == one.text else one.text
        yield [one.name, written, *_ends(one.range), *_ends(one.name_range), one.typed]


def _parameter_from(facts: list[Any], text: str) -> Parameter:
    name, written, start, end, *named, typed = facts
    place = Range(start, end)
    return Parameter(name, place.of(text) if written is None else written, place, _range(*named), typed)


def _raw(call: ToolCall, text: str) -> str | int:
    if call.arguments_range is not None and call.arguments_range.of(text) == call.raw_arguments:
        return _AT_ARGUMENTS
    return _AT_RANGE if call.range.of(text) == call.raw_arguments else call.raw_arguments


def _arguments(call: ToolCall) -> list[Any]:
    """The value in a list, or an empty list if the raw text decodes to exactly this value."""
    raw = call.raw_arguments
    if call.arguments is raw or raw.count("[") + raw.count("{") > _DEEP:
        return [packable(call.arguments)]
    try:
        decoded: Json = _decode_json(raw)
        same = decoded == call.arguments and _encode(decoded) == _encode(call.arguments)  # True == 1 == 1.0
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError, RecursionError):
        same = False
    return [] if same else [packable(call.arguments)]


def _ends(place: Range | None) -> tuple[int | None, int | None]:
    return (None, None) if place is None else (place.start, place.end)


def _range(start: int | None, end: int | None) -> Range | None:
    return None if start is None or end is None else Range(start, end)
