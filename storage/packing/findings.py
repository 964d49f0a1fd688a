"""What was found in a trace as a whole, as plain values: the steps of its chain, its break, its diagnostics."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inspector.chain.steps import Break, Certainty, Reaction, Recovery, Step, StepOutcome
from inspector.chain.verdict import OUTCOME_RULES
from inspector.diagnostics import AttemptedCall, Diagnostic, Edit, Fault, Fix, Location, Related
from inspector.errors import UnknownRuleError
from inspector.model import ToolCall, ToolResult
from inspector.rules.catalogue import find_rule
from inspector.rules.rule import Rule, Severity
from inspector.text import Range
from storage.packing.readings import call_facts, call_from, result_facts, result_from
from storage.packing.shelf_rows import Once
from storage.packing.texts import Texts
from storage.packing.values import packable

Position = Callable[[ToolCall | ToolResult, Location | None], int | None]
"""Where a call or result from that place stands among those that are packed; None where it is not one of them."""

LAYOUT = 1
"""What a packed inspection begins with: a new number for every change of what is packed in it, or in which order."""


class OtherLayoutError(ValueError):
    """An inspection that another version of weaklink packed in another layout; it can be made again."""


def step_facts(step: Step, position: Position, texts: Texts) -> list[Any]:
    """A step; its call and its result by their positions where they have some."""
    there = step.result_location
    called = position(step.call, step.location)
    return [
        step.number,
        call_facts(step.call, _text(texts, step.location)) if called is None else called,
        _location(step.location),
        step.outcome.value,
        None if step.result is None else _result(step.result, there, position, texts),
        None if there is None else _location(there),
        step.certainty and step.certainty.value,
        step.retry_of,
        step.depends_on,
        step.recovered_by,
        step.recovery and step.recovery.value,
        step.error,
    ]


def step_from(facts: list[Any], calls: Sequence[Any], results: Sequence[Any], texts: Texts, once: Once) -> Step:
    """The step that `step_facts` was given with the same texts; `calls` and `results` are what stands at positions."""
    number, call, at, outcome, result, there, certainty, retry_of, depends_on, recovered_by, recovery, *later = facts
    location = _location_from(at, once)
    result_location = None if there is None else _location_from(there, once)
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
        later[0] if later else None,
    )


def break_facts(broken: Break | None) -> list[Any] | None:
    """A break."""
    if broken is None:
        return None
    reaction = broken.reaction and broken.reaction.value
    return [broken.step, broken.turn, broken.tool, broken.outcome.value, broken.code, broken.message, reaction]


def break_from(facts: list[Any] | None) -> Break | None:
    """The break that `break_facts` was given."""
    if facts is None:
        return None
    step, turn, tool, outcome, code, message, reaction = facts
    kind = StepOutcome(outcome)
    rule = code or OUTCOME_RULES[kind].code  # an inspection of an earlier version may name none
    return Break(step, turn, tool, kind, rule, message, Reaction(reaction) if reaction else None)


def diagnostic_facts(diagnostic: Diagnostic) -> list[Any]:
    """A diagnostic; of its rule the code alone."""
    fault = diagnostic.fault
    moved = None if fault.range == diagnostic.location.range else [fault.range.start, fault.range.end]
    fix = fault.fix and [fault.fix.safe, [[edit.range.start, edit.range.end, edit.text] for edit in fault.fix.edits]]
    related = [[one.range.start, one.range.end, one.message] for one in fault.related]
    place = _location(diagnostic.location)
    facts = [fault.rule.code, place, moved, fault.message, fault.hint, fix, fault.path, related]
    return facts if fault.call is None else [*facts, _attempt_facts(fault.call)]


def diagnostic_from(facts: list[Any], rules: Mapping[str, Rule], once: Once) -> Diagnostic:
    """The diagnostic that `diagnostic_facts` was given; `rules` are those of all diagnostics, by code."""
    code, place, moved, message, hint, fix, path, related, *later = facts
    location = _location_from(place, once)
    fault = Fault(
        rules[code],
        Range(*moved) if moved else location.range,
        once.setdefault(message, message),
        hint and once.setdefault(hint, hint),
        Fix(tuple(Edit(Range(start, end), text) for start, end, text in fix[1]), fix[0]) if fix else None,
        path and once.setdefault(path, path),
        tuple(Related(Range(start, end), text) for start, end, text in related),
        _attempt_from(later[0]) if later else None,
    )
    return Diagnostic(location, fault)


def _attempt_facts(call: AttemptedCall) -> list[Any]:
    place = [call.range.start, call.range.end]
    return [call.name, packable(call.arguments), call.raw_arguments, place, call.recovered, call.is_step]


def _attempt_from(facts: list[Any]) -> AttemptedCall:
    name, arguments, raw_arguments, place, recovered, is_step = facts
    return AttemptedCall(name, arguments, raw_arguments, Range(*place), recovered, is_step)


def rule_facts(rule: Rule) -> list[Any]:
    """A rule, beside its code."""
    return [rule.name, rule.severity.value]


def rules_from(facts: Mapping[str, list[Any]]) -> Mapping[str, Rule]:
    """The rules with these codes; one that this weaklink does not know is told by what was kept of it."""
    return {code: _rule(code, *said) for code, said in facts.items()}


def _rule(code: str, name: str, severity: str) -> Rule:
    try:
        return find_rule(code)
    except UnknownRuleError:
        summary = "A rule of another version of weaklink, which alone can explain it."
        return Rule(code, name, Severity(severity), summary, summary)


def _result(result: ToolResult, there: Location | None, position: Position, texts: Texts) -> Any:
    at = position(result, there)
    return result_facts(result, _text(texts, there)) if at is None else at


def _text(texts: Texts, location: Location | None) -> str:
    return "" if location is None else texts.get((location.turn, location.part), "")


def _location(location: Location) -> list[Any]:
    return [location.turn, location.part, location.range.start, location.range.end]


def _location_from(facts: list[Any], once: Once) -> Location:
    turn, part, start, end = facts
    return Location(turn, once.setdefault(part, part), Range(start, end))
