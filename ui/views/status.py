"""The status of traces, steps and calls as glyphs and words, and a tool call as lines."""

from collections.abc import Iterator
from types import MappingProxyType

from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.chain.steps import Break, Recovery, ResultKind, Status, Step, StepOutcome
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Liveness, Outcome, TaskOutcome, ToolCall
from weaklink.inspector.rules.rule import Severity
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, folded_middle, visible_line, wrapped

UNNAMED = "(no readable name)"

GLYPHS = MappingProxyType({Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.INFO: "·"})
"""The glyph before a diagnostic of each severity."""

OK_GLYPH = "✔"
"""The glyph before what is right."""

_STATUS = MappingProxyType(
    {
        Status.BROKEN: ("✖", Style.ERROR),
        Status.ABORTED: ("…", Style.WARNING),
        Status.RECOVERED: ("◆", Style.REASONING),
        Status.UNKNOWN: ("?", Style.INFO),
        Status.OK: ("✔", Style.OK),
    }
)

_OUTCOME = MappingProxyType(
    {
        StepOutcome.MALFORMED: ("✖", Style.ERROR),
        StepOutcome.UNKNOWN_TOOL: ("▲", Style.ERROR),
        StepOutcome.INVALID: ("▲", Style.ERROR),
        StepOutcome.ERROR_RESULT: ("✖", Style.ERROR),
        StepOutcome.REJECTED: ("⊘", Style.WARNING),
        StepOutcome.NOT_RUN: ("⊘", Style.DIM),
        StepOutcome.UNANSWERED: ("?", Style.ERROR),
        StepOutcome.PENDING: ("…", Style.WARNING),
        StepOutcome.OK: ("✔", Style.OK),
    }
)

_RECOVERY = MappingProxyType(
    {
        Recovery.ANSWERED: "answered anyway",
        Recovery.WORKED_AROUND: "worked around by {by}",
        Recovery.NOT_NEEDED: "not needed",
    }
)

_KIND_WORDS = MappingProxyType(
    {ResultKind.FAILURE: "failure", ResultKind.FINDING: "finding", ResultKind.PROBE: "ok, the answer is no"}
)

_TASK = MappingProxyType({TaskOutcome.SUCCESS: ("passed", Style.OK), TaskOutcome.FAILURE: ("failed", Style.ERROR)})
_FAULTY_BUT_READABLE = (StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL)
LIVENESS = MappingProxyType({Liveness.RUNNING: Run("▸ running", Style.INFO), Liveness.IDLE: Run("▹ idle", Style.DIM)})
"""Shown instead of a status while a trace is being recorded."""

RUNNING = LIVENESS[Liveness.RUNNING]
WAITING = Run("▹ waiting", Style.INFO)
"""Shown for a running trace between two answers: its client has not sent the next request yet."""
DAMAGED = Run("✖ damaged", Style.ERROR)
"""Shown instead of a status if the stored data of a trace is corrupt."""


def liveness_run(liveness: Liveness, *, open_turns: int) -> Run:
    """The state of a trace that is being recorded; `open_turns` of its answers are arriving."""
    return WAITING if liveness is Liveness.RUNNING and not open_turns else LIVENESS[liveness]


def call_lines(call: ToolCall, *, width: int, indent: int = 0, step: Step | None = None) -> Iterator[Line]:
    """The lines of a call: a mark and its name, then one line per argument, with long values folded in the middle."""
    lead = Run(" " * indent)
    yield from ((lead, *line) for line in wrapped(call_head(call, step), width - indent, indent=4))
    if isinstance(call.arguments, dict):
        for key, value in call.arguments.items():
            name = folded_middle(key, max(width // 2, 24))
            room = max(width - indent - len(name) - 6, 24)
            yield clipped((lead, Run("    "), Run(name, Style.KEY), Run(f": {value_text(value, room)}")), width)
    elif call.raw_arguments.strip():
        text = folded_middle(call.raw_arguments.strip(), max(width - indent - 6, 24))
        yield clipped((lead, Run("    "), Run(text)), width)


def call_head(call: ToolCall, step: Step | None = None) -> Line:
    """A call's mark, name, step and id; words explain the mark unless the call is ok.

    The mark is the outcome of the step, if there is one; otherwise it shows whether the call could be read.
    """
    name = Run(visible_line(call.name) if call.name else UNNAMED, Style.STRONG)
    id = (Run(f"  {visible_line(call.id)}", Style.DIM),) if call.id else ()
    style = Style.OK if call.valid else Style.WARNING if call.recovered else Style.ERROR
    unread = "" if call.valid else "parsed after repair" if call.recovered else "could not be parsed"
    if step is None:
        mark = Run({Style.OK: "✔ ", Style.WARNING: "▲ "}.get(style, "✖ "), style)
        text = f"  {'not valid as written; ' if call.recovered else ''}{unread}"
        return (mark, name, *id, *((Run(text, style),) if unread else ()))
    glyph = step_glyph(step)
    outcome = () if step.is_good else (Run(f": {outcome_words(step)}", glyph.style),)
    why = (Run(f"; {unread}", style),) if unread else ()
    return (glyph, Run(" "), name, Run(f"  step {step.number}", Style.DIM), *outcome, *why, *id)


def call_brief(call: ToolCall, room: int) -> str:
    """A call on one line, with about `room` code points of arguments: `get_weather(city: "Oslo")`."""
    name = visible_line(call.name) if call.name else UNNAMED
    if not isinstance(call.arguments, dict):
        arguments = call.raw_arguments[: room + 1].strip()
    else:
        arguments = ", ".join(f"{key}: {_written(value)}" for key, value in call.arguments.items())
    return f"{name}({visible_line(arguments if len(arguments) <= room else arguments[: room - 1] + '…')})"


def value_text(value: Json, room: int) -> str:
    """A JSON value on one line in about `room` code points."""
    return folded_middle(_written(value), room)


def _written(value: Json) -> str:
    return write_json(value, ascii_only=False)


def status_run(status: Status, broken: Break | None = None) -> Run:
    """A status as a glyph and a word; if the chain broke at a readable but faulty call, with `▲`."""
    glyph, style = _STATUS[status]
    if broken is not None and broken.outcome in _FAULTY_BUT_READABLE:
        glyph = "▲"
    return Run(f"{glyph} {status.value}", style)


def task_run(outcome: Outcome | None) -> Run | None:
    """The task outcome of the source, with its reward: `passed 1`, `failed`; None if unknown."""
    task = task_outcome(outcome)
    if outcome is None or task is TaskOutcome.UNKNOWN:
        return None
    word, style = _TASK[task]
    return Run(word if outcome.reward is None else f"{word} {outcome.reward:g}", style)


def step_glyph(step: Step) -> Run:
    """A step's outcome as one glyph; `◆` if it failed and the agent recovered."""
    if step.recovery is not None:
        return Run("◆", Style.REASONING)
    return Run(*_OUTCOME[step.outcome])


def outcome_words(step: Step) -> str:
    """A step's outcome or kind of result, its certainty, how it was recovered, and what the agent said of it.

    For example `failure (structured), recovered by 4, reported`.
    """
    said = f", {step.said.value}" if step.said is not None and step.outcome.failed else ""
    certainty = f" ({step.certainty.value})" if step.certainty else ""
    word = step.outcome.value
    if step.result_kind is not None and step.outcome in (StepOutcome.ERROR_RESULT, StepOutcome.OK):
        word = _KIND_WORDS.get(step.result_kind, word)
    if step.recovery is None:
        return f"{word}{certainty}{said}"
    recovery = _RECOVERY.get(step.recovery, "recovered by {by}").format(by=step.recovered_by)
    return f"{word}{certainty}, {recovery}{said}"
