"""D707 and D708: the tools that a sample offers, as far as the engine does not say it."""

from collections.abc import Iterator

from inspector.chain.steps import quoted
from inspector.dataset.lint.engine_faults import with_severity
from inspector.dataset.lint.structure import row_fault
from inspector.dataset.samples import Sample
from inspector.diagnostics import Diagnostic, Fault
from inspector.rules.rule import Severity
from inspector.rules.training import TOOLS_NOT_DECLARED, TOOLS_UNREADABLE


def unreadable_tools(sample: Sample) -> Iterator[Diagnostic]:
    """D708 for a list in a field of its own; one in a text is at the engine's place."""
    offered = sample.offered
    if offered.error is not None and offered.place != "system":
        message = f"The offered tools cannot be read: {offered.error}."
        yield row_fault(sample, TOOLS_UNREADABLE, message, str(offered.place), hint="Write the list as JSON.")


def undeclared_tools(sample: Sample) -> Iterator[Diagnostic]:
    """D707 where the engine knows of no tools: an error for each call outside a list, one info where there is none."""
    steps, offered = sample.inspection.chain.steps, sample.offered
    if not len(steps) or _engine_has_tools(sample):
        return
    if offered.place is None:
        names = list(dict.fromkeys(step.call.name or "" for step in steps))
        shown = ", ".join(quoted(name) for name in names[:5] if name)
        first = next(iter(steps))
        message = f"The sample has no list of tools, so the calls of {shown or 'its tools'} cannot be checked."
        fault = Fault(TOOLS_NOT_DECLARED, first.call.name_range or first.call.range, message)
        yield with_severity(fault.at(first.location.turn, first.location.part), Severity.INFO)
        return
    for step in steps if offered.is_readable else ():
        if step.call.name is not None and offered.find(step.call.name) is None:
            message = f"{quoted(step.call.name)} is called and not offered."
            place = step.call.name_range or step.call.range
            yield Fault(TOOLS_NOT_DECLARED, place, message).at(step.location.turn, step.location.part)


def _engine_has_tools(sample: Sample) -> bool:
    if any(part.definitions for part in sample.inspection.parts):
        return True
    return any(turn.generation is not None and turn.generation.tools for turn in sample.trace.turns)
