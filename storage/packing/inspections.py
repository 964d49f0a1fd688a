"""An inspection as bytes: one blob a trace, from which every derived value comes back as it was."""

from collections.abc import Iterable, Mapping
from typing import Any

from inspector.chain.steps import Break, Certainty, Chain, Reaction, Recovery, Status, Step, StepOutcome
from inspector.diagnostics import Diagnostic, Edit, Fault, Fix, Location, Related
from inspector.errors import UnknownRuleError
from inspector.inspection import Inspection, PartInspection
from inspector.model import ToolCall, ToolResult, Trace
from inspector.rules.catalogue import find_rule
from inspector.rules.rule import Rule, Severity
from inspector.text import Range
from storage.packing.readings import (
    call_facts,
    call_from,
    part_from,
    part_reading,
    result_facts,
    result_from,
)
from storage.packing.values import pack, unpack, unpack_list

Texts = Mapping[tuple[int, str], str]
"""The text of each part of a trace, by turn (from 1) and name."""

Once = dict[str, str]
"""Words that were met, so that equal ones are kept once."""


def texts_of(trace: Trace) -> Texts:
    """The texts that an inspection of `trace` speaks of."""
    return {(number, part.name): part.text for number, turn in enumerate(trace.turns, 1) for part in turn.parts}


def pack_inspection(inspection: Inspection, texts: Texts) -> bytes:
    """An inspection of the trace with these texts, as bytes."""
    chain = inspection.chain
    placed = _placed(inspection.parts)  # held until all is packed: an id is that of a thing that is there
    places = {id(value): at for at, value in enumerate(placed)}
    rules = {one.rule.code: [one.rule.name, one.rule.severity.value] for one in inspection.diagnostics}
    return pack(
        [
            inspection.version,
            inspection.format,
            [part_reading(part, texts.get((part.turn, part.part), "")) for part in inspection.parts],
            [_step(step, places, texts) for step in chain.steps],
            chain.status.value,
            _break(chain.broken),
            chain.abort_reason,
            rules,
            [_diagnostic(diagnostic) for diagnostic in inspection.diagnostics],
            chain.caused,
        ]
    )


def unpack_inspection(raw: bytes, texts: Texts) -> Inspection:
    """The inspection that `pack_inspection` was given with the same texts.

    It may say a hundred thousand things: each is unpacked by itself, and equal words are kept once.
    """
    version, name, parts, steps, status, broken, abort_reason, rules, diagnostics, *later = unpack_list(raw)
    read = tuple(part_from(part, texts) for part in unpack_list(parts))
    placed = _placed(read)
    by_code = {code: _rule(code, *said) for code, said in unpack(rules).items()}
    once: Once = {}
    return Inspection(
        unpack(version),
        unpack(name),
        read,
        Chain(
            tuple(_step_from(unpack(step), placed, texts, once) for step in unpack_list(steps)),
            Status(unpack(status)),
            _break_from(unpack(broken)),
            unpack(abort_reason),
            tuple(unpack(later[0])) if later else (),  # an inspection from before a break told what it caused
        ),
        tuple(_diagnostic_from(unpack(diagnostic), by_code, once) for diagnostic in unpack_list(diagnostics)),
    )


def _placed(parts: Iterable[PartInspection]) -> list[ToolCall | ToolResult]:
    """The calls and results of all parts in one row, as steps name them: by position."""
    placed: list[ToolCall | ToolResult] = []
    for part in parts:
        placed += part.calls
        placed += part.results
    return placed


def _step(step: Step, places: Mapping[int, int], texts: Texts) -> list[Any]:
    there = step.result_location
    return [
        step.number,
        places[id(step.call)] if id(step.call) in places else call_facts(step.call, _text(texts, step.location)),
        _location(step.location),
        step.outcome.value,
        None if step.result is None else _step_result(step.result, there, places, texts),
        None if there is None else _location(there),
        step.certainty and step.certainty.value,
        step.retry_of,
        step.depends_on,
        step.recovered_by,
        step.recovery and step.recovery.value,
        step.error,
    ]


def _step_result(result: ToolResult, there: Location | None, places: Mapping[int, int], texts: Texts) -> Any:
    return places[id(result)] if id(result) in places else result_facts(result, _text(texts, there))


def _step_from(facts: list[Any], placed: list[Any], texts: Texts, once: Once) -> Step:
    number, call, at, outcome, result, there, certainty, retry_of, depends_on, recovered_by, recovery, *later = facts
    location = _location_from(at, once)
    result_location = None if there is None else _location_from(there, once)
    if isinstance(result, list):
        result = result_from(result, _text(texts, result_location))
    elif result is not None:
        result = placed[result]
    return Step(
        number,
        call_from(call, _text(texts, location)) if isinstance(call, list) else placed[call],
        location,
        StepOutcome(outcome),
        result,
        result_location,
        Certainty(certainty) if certainty else None,
        retry_of,
        tuple(depends_on),
        recovered_by,
        Recovery(recovery) if recovery else None,
        later[0] if later else None,
    )


def _text(texts: Texts, location: Location | None) -> str:
    return "" if location is None else texts.get((location.turn, location.part), "")


def _location(location: Location) -> list[Any]:
    return [location.turn, location.part, location.range.start, location.range.end]


def _location_from(facts: list[Any], once: Once) -> Location:
    turn, part, start, end = facts
    return Location(turn, once.setdefault(part, part), Range(start, end))


def _break(broken: Break | None) -> list[Any] | None:
    if broken is None:
        return None
    reaction = broken.reaction and broken.reaction.value
    return [broken.step, broken.turn, broken.tool, broken.outcome.value, broken.code, broken.message, reaction]


def _break_from(facts: list[Any] | None) -> Break | None:
    if facts is None:
        return None
    step, turn, tool, outcome, code, message, reaction = facts
    return Break(step, turn, tool, StepOutcome(outcome), code, message, Reaction(reaction) if reaction else None)


def _diagnostic(diagnostic: Diagnostic) -> list[Any]:
    fault = diagnostic.fault
    moved = None if fault.range == diagnostic.location.range else [fault.range.start, fault.range.end]
    fix = fault.fix and [fault.fix.safe, [[edit.range.start, edit.range.end, edit.text] for edit in fault.fix.edits]]
    related = [[one.range.start, one.range.end, one.message] for one in fault.related]
    place = _location(diagnostic.location)
    return [fault.rule.code, place, moved, fault.message, fault.hint, fix, fault.path, related]


def _diagnostic_from(facts: list[Any], rules: Mapping[str, Rule], once: Once) -> Diagnostic:
    code, place, moved, message, hint, fix, path, related = facts
    location = _location_from(place, once)
    fault = Fault(
        rules[code],
        Range(*moved) if moved else location.range,
        once.setdefault(message, message),
        hint and once.setdefault(hint, hint),
        Fix(tuple(Edit(Range(start, end), text) for start, end, text in fix[1]), fix[0]) if fix else None,
        path and once.setdefault(path, path),
        tuple(Related(Range(start, end), text) for start, end, text in related),
    )
    return Diagnostic(location, fault)


def _rule(code: str, name: str, severity: str) -> Rule:
    """The rule of that code; one that this weaklink does not know is told by what was kept of it."""
    try:
        return find_rule(code)
    except UnknownRuleError:
        summary = "A rule of another version of weaklink, which alone can explain it."
        return Rule(code, name, Severity(severity), summary, summary)
