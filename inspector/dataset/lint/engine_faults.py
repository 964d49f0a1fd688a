"""The engine's diagnostics as faults of training data: under the equivalent D rules, and deliberate faults as infos.

A fault has one code: if a D rule is equivalent to a T, J or F rule, the D rule replaces it at the same position, with
the same fix.

Deliberate faults are part of what the sample shows: in a sample of type `error_recovery`, or with `injected`, a failed
call that a later call corrects; in any other sample, a failed call with an error result that a later call of the same
intent corrects. These faults and their error results are infos.

D707 and D708 are here for samples whose tools the engine does not know.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from weaklink.inspector.chain.steps import Step, quoted, tool_named
from weaklink.inspector.dataset.lint.structure import row_fault, with_severity
from weaklink.inspector.dataset.samples import Sample, deliberate_steps
from weaklink.inspector.diagnostics import Diagnostic, Fault, Related
from weaklink.inspector.model import Json, Role, SpanKind, Turn
from weaklink.inspector.rules import conversation, schema, training
from weaklink.inspector.rules.markers import FOREIGN_FORMAT
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range

TWINS: dict[Rule, Rule] = {
    conversation.UNKNOWN_TOOL: training.TOOLS_NOT_DECLARED,
    conversation.RESULT_WITHOUT_CALL: training.ROLE_ORDER,
    conversation.RESULT_OUT_OF_ORDER: training.ROLE_ORDER,
    conversation.PLACEHOLDER_ARGUMENT: training.PLACEHOLDER_LEFT,
    FOREIGN_FORMAT: training.TEMPLATE_MISMATCH,
}
"""The rules of the engine, each with the D rule that replaces it in a training set."""
_MAX_NAMES = 8
_OPEN = frozenset(
    ("additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf")
)


def engine_faults(sample: Sample) -> Iterator[Diagnostic]:
    """The faults of the sample's inspection, under the rules for training data."""
    deliberate = deliberate_steps(sample)
    definitions, injected = _definitions(sample), _injected_turn(sample)
    for diagnostic in sample.inspection.diagnostics:
        if diagnostic.rule is conversation.NO_FINAL_ANSWER and not _has_only_thought(sample.trace.turns[-1]):
            continue  # D701 and D706 report an empty last turn and a result at the end
        if diagnostic.rule is conversation.UNRECOVERED_ERROR and deliberate:
            continue
        if diagnostic.rule is conversation.UNKNOWN_TOOL and sample.offered.error is not None:
            continue  # the tool may be in the part of the list that cannot be read
        renamed = _as(diagnostic, _rule_for(diagnostic, definitions))
        is_deliberate = diagnostic.location.turn == injected or any(_belongs(diagnostic, step) for step in deliberate)
        yield with_severity(renamed, Severity.INFO) if is_deliberate else renamed


def _has_only_thought(turn: Turn) -> bool:
    """Whether a turn without an answer is the model's and has words, which then are its reasoning."""
    return turn.role is Role.ASSISTANT and any(part.text.strip() for part in turn.parts)


def unmentioned_arguments(sample: Sample) -> Iterator[Diagnostic]:
    """S203 as an info: an argument that the tool's schema neither mentions nor forbids."""
    for step in sample.inspection.chain.steps:
        tool, arguments = sample.offered.find(step.call.name), step.call.arguments
        parameters = tool.parameters if tool is not None else None
        properties = parameters.get("properties") if isinstance(parameters, dict) else None
        if not isinstance(parameters, dict) or not isinstance(properties, dict) or not isinstance(arguments, dict):
            continue
        if not _OPEN.isdisjoint(parameters):  # it says itself what else is allowed, or the engine reports the key
            continue
        names = [name for name in arguments if name not in properties]
        if names:
            message = f"The schema of {tool_named(step.call.name)} does not mention {', '.join(map(quoted, names))}."
            hint = "Remove it, or add it to the schema."
            fault_range = step.call.arguments_range or step.call.range
            fault = Fault(schema.UNEXPECTED_PROPERTY, fault_range, message, hint, path="")
            yield with_severity(fault.at(step.location.turn, step.location.part), Severity.INFO)


def one_for_each_object(sample: Sample, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The faults, with one for all of a tool's schema (S207) and one for all unknown keys of an object (S203).

    A set has one tool in thousands of rows, and its schema's types are wrong in each property or in none.
    """
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        groups.setdefault(_object_of(sample, diagnostic), []).append(diagnostic)
    for first, *others in groups.values():
        if not others:
            yield first
        elif first.rule.code == schema.INVALID_TOOL_SCHEMA.code:
            more = f"{len(others)} more fault{'s' if len(others) > 1 else ''}"
            yield _with_message(first, f"{first.fault.message} The schema has {more}.")
        else:
            names = ", ".join(quoted((other.fault.path or "").rpartition("/")[2]) for other in others[:_MAX_NAMES])
            message = f"{first.fault.message} Nor has it {names}{', ...' if len(others) > _MAX_NAMES else ''}."
            related = tuple(Related(other.range, "another key that the schema does not have") for other in others)
            yield _with_message(first, message, related)


def _object_of(sample: Sample, diagnostic: Diagnostic) -> tuple[object, ...]:
    """The key of the faults that are reported as one; unique for a fault that stays alone."""
    where, code = diagnostic.location, diagnostic.rule.code
    if diagnostic.fault.fix is None and code == schema.INVALID_TOOL_SCHEMA.code:
        return code, where.turn, where.part, where.range
    if diagnostic.fault.fix is None and code == schema.UNEXPECTED_PROPERTY.code and diagnostic.fault.path is not None:
        calls = ((step.number, step.location) for step in sample.inspection.chain.steps)
        in_part = ((number, call) for number, call in calls if (call.turn, call.part) == (where.turn, where.part))
        call = next((number for number, call in in_part if call.range.covers(where.range)), 0)
        return code, where.turn, where.part, call, diagnostic.fault.path.rpartition("/")[0]
    return (id(diagnostic),)


def _with_message(diagnostic: Diagnostic, message: str, related: tuple[Related, ...] = ()) -> Diagnostic:
    return Diagnostic(
        diagnostic.location, replace(diagnostic.fault, message=message, related=(*diagnostic.fault.related, *related))
    )


def _injected_turn(sample: Sample) -> Json:
    """The turn into which `weaklink data inject` injected a fault; None in other samples."""
    injected = sample.row.value.get("injected")
    return injected.get("turn") if isinstance(injected, dict) else None


def _rule_for(diagnostic: Diagnostic, definitions: list[tuple[int, str, Range]]) -> Rule:
    """The equivalent rule for training data; a fault inside the list of tools makes the list unreadable."""
    location = diagnostic.location
    for turn, part, within in definitions:
        if (
            (turn, part) == (location.turn, location.part)
            and within.covers(location.range)
            and diagnostic.rule.code[0] in "JF"
        ):
            return training.TOOLS_UNREADABLE
    return TWINS.get(diagnostic.rule, diagnostic.rule)


def _as(diagnostic: Diagnostic, rule: Rule) -> Diagnostic:
    fault: Fault = replace(diagnostic.fault, rule=rule)
    return Diagnostic(diagnostic.location, fault)


def _definitions(sample: Sample) -> list[tuple[int, str, Range]]:
    return [
        (part.turn, part.part, span.range)
        for part in sample.inspection.parts
        for span in part.spans
        if span.kind is SpanKind.TOOL_DEFINITIONS and sample.trace.turns[part.turn - 1].role is not Role.ASSISTANT
    ]


def _belongs(diagnostic: Diagnostic, step: Step) -> bool:
    """Whether a fault is in a step's call, or in its result."""
    location, call, result = diagnostic.location, step.location, step.result_location
    if (location.turn, location.part) == (call.turn, call.part):
        return location.range.start < call.range.end and call.range.start <= max(
            location.range.end, location.range.start + 1
        )
    return result is not None and diagnostic.rule is conversation.ERROR_RESULT and location.turn == result.turn


def unreadable_tools(sample: Sample) -> Iterator[Diagnostic]:
    """D708 for a list of tools in a separate field; for a list in a text, the engine has the position of the fault.

    Two tools of one name are a warning.
    """
    offered = sample.offered
    names = [tool.name for tool in offered.tools]
    if offered.error is None and len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        message = f"The list has two tools with the name {quoted(twice)}: which one a call means is unclear."
        diagnostic = row_fault(
            sample, training.TOOLS_UNREADABLE, message, str(offered.origin), hint="Remove or rename one."
        )
        yield with_severity(diagnostic, Severity.WARNING)
    if offered.error is not None and offered.origin != "system":
        message = f"The offered tools cannot be read: {offered.error}."
        yield row_fault(sample, training.TOOLS_UNREADABLE, message, str(offered.origin), hint="Write the list as JSON.")


def undeclared_tools(sample: Sample) -> Iterator[Diagnostic]:
    """D707 if the engine knows no tools: an error for each call of an unlisted tool; one info if there is no list."""
    steps, offered = sample.inspection.chain.steps, sample.offered
    if not len(steps) or _engine_has_tools(sample):
        return
    if offered.origin is None:
        names = list(dict.fromkeys(step.call.name or "" for step in steps))
        shown = ", ".join(quoted(name) for name in names[:5] if name)
        first = next(iter(steps))
        message = f"The sample has no list of tools, so the calls of {shown or 'its tools'} cannot be checked."
        fault = Fault(training.TOOLS_NOT_DECLARED, first.call.name_range or first.call.range, message)
        yield with_severity(fault.at(first.location.turn, first.location.part), Severity.INFO)
        return
    for step in steps if offered.is_readable else ():
        if step.call.name is not None and offered.find(step.call.name) is None:
            message = f"{quoted(step.call.name)} is called but not offered."
            fault_range = step.call.name_range or step.call.range
            yield Fault(training.TOOLS_NOT_DECLARED, fault_range, message).at(step.location.turn, step.location.part)


def _engine_has_tools(sample: Sample) -> bool:
    if any(part.definitions for part in sample.inspection.parts):
        return True
    return any(turn.generation is not None and turn.generation.tools for turn in sample.trace.turns)
