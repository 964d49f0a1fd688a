"""Failed calls that later calls correct: what makes a fault of a training sample a lesson and no defect."""

from collections.abc import Sequence

from inspector.chain.steps import Recovery, Step, StepOutcome
from inspector.chain.tool_kinds import bare_name
from inspector.checks.tools import nearest_word
from inspector.dataset.samples import Sample

_DONE = (StepOutcome.OK, StepOutcome.PENDING)


def correction_of(step: Step, steps: Sequence[Step]) -> Step | None:
    """The step that corrects a failed one; None where none does, or where the failed call got no result.

    That is the step by which the chain calls it recovered, else a call in the next turn with calls that is ok or still
    waits for its result: of the same tool, of a tool with nearly that name, or of any where the name is unreadable.
    """
    if not step.outcome.failed or step.result is None or step.recovery is Recovery.ANSWERED:
        return None
    seen = (step.result_location or step.location).turn
    later = [one for one in steps if one.location.turn > max(seen, step.location.turn)]
    if step.recovered_by is not None:
        found = next((one for one in later if one.number == step.recovered_by), None)
        if found is not None:
            return found
    following = [one for one in later if one.location.turn == later[0].location.turn] if later else []
    return next((one for one in following if one.outcome in _DONE and _is_same_tool(step, one)), None)


def _is_same_tool(failed: Step, later: Step) -> bool:
    if not failed.call.name or not later.call.name:
        return not failed.call.name
    mine, theirs = bare_name(failed.call.name), bare_name(later.call.name)
    return mine == theirs or (failed.outcome is StepOutcome.UNKNOWN_TOOL and nearest_word(mine, [theirs]) is not None)


def deliberate_steps(sample: Sample) -> tuple[Step, ...]:
    """The failed calls that the sample shows on purpose, with their corrections behind them."""
    steps = tuple(sample.inspection.chain.steps)
    is_marked = sample.type == "error_recovery" or bool(sample.row.value.get("injected"))
    return tuple(step for step in steps if _is_deliberate(step, steps, is_marked=is_marked))


def _is_deliberate(step: Step, steps: tuple[Step, ...], *, is_marked: bool) -> bool:
    if not step.outcome.failed:
        return False
    later = [one for one in steps if one.number > step.number and not one.outcome.failed]
    if is_marked:
        return bool(later)
    has_refusal = step.error is not None or step.outcome is StepOutcome.ERROR_RESULT
    same_tool = any(one.call.name == step.call.name for one in later)
    return has_refusal and (same_tool or (step.recovery is not None and step.recovery.is_sure))
