"""How a trace ended and what became of its steps, as a glyph and a word."""

from types import MappingProxyType

from inspector.chain.endings import task_outcome
from inspector.chain.steps import Recovery, Status, Step, StepOutcome
from inspector.model import Liveness, Outcome, TaskOutcome
from ui.views.palette import Style
from ui.views.run import Run

_STATUS = MappingProxyType(
    {
        Status.BROKEN: ("✖", Style.ERROR),
        Status.ABORTED: ("…", Style.WARNING),
        Status.RECOVERED: ("◆", Style.WARNING),
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
        StepOutcome.UNANSWERED: ("?", Style.ERROR),
        StepOutcome.PENDING: ("…", Style.WARNING),
        StepOutcome.OK: ("✔", Style.OK),
    }
)
_RECOVERY = MappingProxyType(
    {
        Recovery.ANSWERED: "answered all the same",
        Recovery.SOURCE_SUCCESS: "not needed for success",
        Recovery.NOT_NEEDED: "not needed",
    }
)
_TASK = MappingProxyType({TaskOutcome.SUCCESS: ("passed", Style.OK), TaskOutcome.FAILURE: ("failed", Style.ERROR)})
_FAULTY_BUT_READABLE = (StepOutcome.INVALID, StepOutcome.UNKNOWN_TOOL)


LIVENESS = MappingProxyType({Liveness.RUNNING: Run("▸ running", Style.INFO), Liveness.IDLE: Run("▹ idle", Style.DIM)})
"""In the place of a status while a trace is still being recorded."""
RUNNING = LIVENESS[Liveness.RUNNING]

DAMAGED = Run("✖ damaged", Style.ERROR)
"""In the place of a status where what the database holds of a trace is not what was written."""


def status_run(status: Status, outcome: StepOutcome | None = None) -> Run:
    """A status as a glyph and its word; `outcome` is that of the break: one by schema is `▲`, not `✖`."""
    glyph, style = _STATUS[status]
    if outcome in _FAULTY_BUT_READABLE:
        glyph = "▲"
    return Run(f"{glyph} {status.value}", style)


def task_run(outcome: Outcome | None) -> Run | None:
    """What the source says of the task, in short, with its reward: `passed 1`, `failed`; None where it does not say."""
    task = task_outcome(outcome)
    if outcome is None or task is TaskOutcome.UNKNOWN:
        return None
    word, style = _TASK[task]
    return Run(word if outcome.reward is None else f"{word} {outcome.reward:g}", style)


def step_glyph(step: Step) -> Run:
    """A step's outcome as one glyph; `◆` where it failed and the agent recovered from it."""
    if step.recovery is not None:
        return Run("◆", Style.WARNING)
    return Run(*_OUTCOME[step.outcome])


def outcome_words(step: Step) -> str:
    """What became of a step, how sure that is, and what made it good or that nobody missed it."""
    certainty = f" ({step.certainty.value})" if step.certainty else ""
    if step.recovery is None:
        return f"{step.outcome.value}{certainty}"
    made_good = _RECOVERY.get(step.recovery, f"recovered by {step.recovered_by}")
    return f"{step.outcome.value}{certainty}, {made_good}"
