"""What an inspection says of a trace as a whole: its kinds of spans, its reasoning, how its steps came out."""

from collections import defaultdict
from collections.abc import Sequence

from inspector.chain.steps import Step, StepOutcome
from inspector.inspection import Inspection
from inspector.model import SpanKind
from storage.packing.texts import Texts
from storage.rows import Row


def measure_columns(inspection: Inspection, texts: Texts, assistant_turns: Sequence[int]) -> Row:
    """The columns; `assistant_turns` are the numbers of the turns that the model wrote.

    `kinds` are the kinds of the top-level spans, sorted, with commas between them. `reasoning` is `on` where every
    assistant turn holds reasoning that is not blank, `off` where none does, else `mixed`, and empty without such turns.
    """
    kinds: set[SpanKind] = set()
    reasons: defaultdict[int, bool] = defaultdict(bool)
    for part in inspection.parts:
        kinds.update(span.kind for span in part.spans)
        text = texts.get((part.turn, part.part), "")
        reasons[part.turn] |= any(
            span.kind is SpanKind.REASONING and not span.inner.of(text).isspace() and span.inner.of(text) != ""
            for span in part.spans
        )
    return {
        "kinds": ",".join(sorted(kinds)),
        "reasoning": _reasoning([reasons[number] for number in assistant_turns]),
        **_step_columns(inspection.chain.steps),
    }


def _reasoning(turns: Sequence[bool]) -> str:
    if not turns:
        return ""
    if all(turns):
        return "on"
    return "mixed" if any(turns) else "off"


def _step_columns(steps: Sequence[Step]) -> Row:
    failed = [step for step in steps if step.outcome.failed]
    return {
        "steps": len(steps),
        "steps_ok": sum(step.outcome is StepOutcome.OK for step in steps),
        "steps_failed": len(failed),
        "steps_recovered": sum(step.recovery is not None for step in failed),
    }
