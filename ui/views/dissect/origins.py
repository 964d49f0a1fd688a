"""Where the values of a call's arguments came from: the earlier place of each, or that it stood nowhere before."""

from collections.abc import Iterator

from inspector.chain.data_flow import DataFlow, Flow, Origin
from inspector.chain.origins import OriginKind
from inspector.chain.steps import Step
from ui.views.call import value_text
from ui.views.dissect.side import SideLine, SideLines
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.visible import visible_line

_WORDS = {
    OriginKind.SYSTEM: "the system prompt",
    OriginKind.USER: "the user's words",
    OriginKind.RESULT: "the result of step {}",
    OriginKind.TOOLS: "a tool's definition",
    OriginKind.ARGUMENT: "an argument of step {}",
}
_LONGEST = 40


def origins(flow: DataFlow, step: Step | None) -> SideLines:
    """A line for each value of a step's arguments; it leads to where the value stood first."""
    return SideLines(_lines(flow, step))


def origin_of(flow: DataFlow, step: int, pointer: str) -> Origin | None:
    """Where the value at a pointer, or the first value within it, came from; None where it stood nowhere before."""
    below = (one for one in flow.of(step) if one.pointer == pointer or one.pointer.startswith(f"{pointer}/"))
    return next((one.origins[0] for one in below if one.origins), None)


def origin_words(origin: Origin) -> str:
    """What an origin is, in words."""
    return _WORDS[origin.kind].format(origin.step)


def _lines(flow: DataFlow, step: Step | None) -> Iterator[SideLine]:
    if step is None:
        yield SideLine((Run("Here is no call: select one to see where its values came from.", Style.DIM),))
        return
    found = flow.of(step.number)
    yield SideLine(
        (Run(f"step {step.number} ", Style.STRONG), Run(visible_line(step.call.name or ""), Style.TOOL_CALL))
    )
    if not found:
        yield SideLine((Run("The call has no values to look for.", Style.DIM),))
    for one in found:
        yield from _value(one)


def _value(flow: Flow) -> Iterator[SideLine]:
    named: Line = (
        Run(f"  {visible_line(flow.pointer or 'arguments')} ", Style.KEY),
        Run(value_text(flow.value, _LONGEST)),
    )
    if flow.is_trivial:
        yield SideLine((*named, Run("  too short to look for", Style.DIM)))
    elif not flow.origins:
        yield SideLine((*named, Run("  ▲ stood nowhere before", Style.WARNING)))
    else:
        first, *more = flow.origins
        yield SideLine(
            (*named, Run(f"  ← {origin_words(first)}, turn {first.location.turn}", Style.OK)), first.location
        )
        for other in more:
            came = f"← {origin_words(other)}, turn {other.location.turn}"
            said = f"      part `{visible_line(other.text[:_LONGEST])}` {came}"
            yield SideLine((Run(said, Style.DIM),), other.location)
