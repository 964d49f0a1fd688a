"""A tool call as people read it: its name, what it was called with, and whether it can be trusted."""

from collections.abc import Iterator

from inspector.chain.steps import Step, StepOutcome
from inspector.json_text import write_json
from inspector.model import Json, ToolCall
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped
from ui.views.status import outcome_words, step_glyph
from ui.views.visible import visible_line
from ui.views.wording import folded_middle, wrapped

UNNAMED = "(no readable name)"


def call_lines(call: ToolCall, *, width: int, indent: int = 0, step: Step | None = None) -> Iterator[Line]:
    """The lines of a call: a mark and its name, then one line an argument, long values folded in the middle."""
    lead = Run(" " * indent)
    yield from ((lead, *line) for line in wrapped(call_head(call, step), width - indent, indent=4))
    if isinstance(call.arguments, dict):
        for key, value in call.arguments.items():
            name = folded_middle(key, max(width // 2, 24))
            room = max(width - indent - len(name) - 6, 24)
            yield clipped((lead, Run("    "), Run(name, Style.KEY), Run(f": {value_text(value, room)}")), width)
    elif call.raw_arguments.strip():
        said = folded_middle(call.raw_arguments.strip(), max(width - indent - 6, 24))
        yield clipped((lead, Run("    "), Run(said)), width)


def call_head(call: ToolCall, step: Step | None = None) -> Line:
    """A call's mark, name, step and id; words say what the mark means where all is not well.

    The mark is that of the step, what became of the call, where there is one; else whether the call can be read.
    """
    name = Run(visible_line(call.name) if call.name else UNNAMED, Style.STRONG)
    id = (Run(f"  {visible_line(call.id)}", Style.DIM),) if call.id else ()
    style = Style.OK if call.valid else Style.WARNING if call.recovered else Style.ERROR
    unread = "" if call.valid else "read by repair" if call.recovered else "could not be read"
    if step is None:
        mark = Run({Style.OK: "✔ ", Style.WARNING: "◆ "}.get(style, "✖ "), style)
        said = f"  {'not valid as written; ' if call.recovered else ''}{unread}"
        return (mark, name, *id, *((Run(said, style),) if unread else ()))
    glyph = step_glyph(step)
    became = () if step.outcome is StepOutcome.OK else (Run(f": {outcome_words(step)}", glyph.style),)
    why = (Run(f"; {unread}", style),) if unread else ()
    return (glyph, Run(" "), name, Run(f"  step {step.number}", Style.DIM), *became, *why, *id)


def call_brief(call: ToolCall, room: int) -> str:
    """A call on one line, as much of it as `room` code points show: `get_weather(city: "Oslo")`."""
    name = visible_line(call.name) if call.name else UNNAMED
    if not isinstance(call.arguments, dict):
        said = call.raw_arguments[: room + 1].strip()
    else:
        said = ", ".join(f"{key}: {_written(value)}" for key, value in call.arguments.items())
    return f"{name}({visible_line(said if len(said) <= room else said[: room - 1] + '…')})"


def value_text(value: Json, room: int) -> str:
    """A JSON value on one line in about `room` code points."""
    return folded_middle(_written(value), room)


def _written(value: Json) -> str:
    return write_json(value, ascii_only=False)
