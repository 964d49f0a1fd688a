"""Lists beside the stream: every diagnostic, and every step of the chain, one line each."""

from collections.abc import Sequence

from inspector.chain.steps import Step
from inspector.diagnostics import Diagnostic, Location
from inspector.model.columns import Made
from ui.views.call import call_brief
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.side import LazyLines, SideLine, SideLines, SideSource, nearest
from ui.views.palette import GLYPHS, Style, style_of
from ui.views.places import NO_PART, Places
from ui.views.run import Line, Run
from ui.views.status import outcome_words, step_glyph
from ui.views.visible import visible_line
from ui.views.wording import quoted


def diagnostic_list(dissection: Dissection) -> SideSource:
    """A line for each diagnostic, in the order of their places."""
    found = dissection.inspection.diagnostics
    if not found:
        return SideLines([SideLine((Run("✔ ", Style.OK), Run("Nothing is wrong with this trace.")))])
    located = Made(found, _place)
    return LazyLines(
        located,
        lambda index, width: _diagnostic(found[index]),
        lambda place: _near(dissection, dissection.faults.places, located, place),
    )


def step_list(dissection: Dissection) -> SideSource:
    """A line for each step; a step leads to its call."""
    steps = dissection.inspection.chain.steps
    if not steps:
        return SideLines([SideLine((Run("No tool was called.", Style.DIM),))])
    digits = len(str(len(steps)))
    located = Made(steps, _place)
    return LazyLines(
        located,
        lambda index, width: _step(steps[index], digits, width),
        lambda place: _near(dissection, dissection.steps.calls, located, place),
    )


def _place(thing: Diagnostic | Step) -> Location:
    return thing.location


def _near(dissection: Dissection, places: Places, located: Sequence[Location], place: Location) -> int | None:
    """The index of what is nearest to a place; what lies in no part of its turn is known by the name it gives."""
    order = dissection.order_of(place)
    if order[1] != NO_PART:
        return places.nearest(order)
    apart = places.numbers(places.of_part(place.turn, NO_PART))
    alike = [index for index in apart if located[index].part == place.part]
    found = nearest([located[index] for index in alike], place)
    return alike[found] if found is not None else places.first(places.of_turn(place.turn))


def _diagnostic(one: Diagnostic) -> Line:
    rule = one.rule
    style = style_of(rule.severity)
    return (
        Run(f"{GLYPHS[rule.severity.value]} {rule.code}", style),
        Run(f" {rule.name:<22} ", Style.STRONG),
        Run(f"turn {one.location.turn:<4}", Style.DIM),
        *quoted(one.fault.message),
    )


def _step(step: Step, digits: int, width: int) -> Line:
    glyph = step_glyph(step)
    used = f" uses {', '.join(map(str, step.depends_on))}" if step.depends_on else ""
    return (
        glyph,
        Run(f" {step.number:>{digits}}  ", Style.STRONG),
        Run(f"turn {step.location.turn:<4}", Style.DIM),
        Run(f"{outcome_words(step)}{visible_line(used)}  ", glyph.style),
        Run(call_brief(step.call, width), Style.TOOL_CALL),
    )
