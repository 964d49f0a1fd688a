"""Compared runs as the JSON value that `weaklink diff --json` prints."""

from inspector.chain.alignment import AlignedRow, Divergence
from inspector.chain.alignment_asked import run_label
from inspector.chain.alignment_text import text_pieces
from inspector.chain.steps import Step
from inspector.diagnostics import Location
from inspector.model import Json
from ui.views.run_diff import ComparedRun, RunDiff, call_texts, differing_pair, last_words
from ui.views.segment_json import JsonObject
from ui.views.trace import model_of
from ui.views.trace_json import outcome_object


def diff_object(diff: RunDiff) -> JsonObject:
    """Runs, how they were asked, where they part, and every row; every key is always there.

    A run is named by its letter everywhere. `divergence` and `text_diff` are null where the steps are the same.
    """
    parted = diff.alignment.divergence
    return {
        "verdict": diff.verdict,
        "runs": [_run(run, index) for index, run in enumerate(diff.runs)],
        "asked_differently": [
            {"what": one.what.value, "runs": [run_label(run) for run in one.runs], "message": one.message}
            for one in diff.asked
        ],
        "divergence": _divergence(parted) if parted is not None else None,
        "text_diff": _text_diff(diff),
        "rows": [_row(row) for row in diff.alignment.rows],
    }


def _run(run: ComparedRun, index: int) -> JsonObject:
    chain, came = run.inspection.chain, run.trace.provenance
    return {
        "run": run_label(index),
        "called": run.called,
        "name": run.trace.name,
        "file": came.file,
        "record": came.record,
        "model": model_of(run.trace),
        "status": chain.status.value,
        "outcome": outcome_object(run.trace.outcome),
        "broken_at": chain.broken.step if chain.broken is not None else None,
        "steps": len(chain.steps),
        "last_words": last_words(run),
    }


def _divergence(parted: Divergence) -> JsonObject:
    return {
        "row": parted.row + 1,
        "what": parted.what.value,
        "steps": {run_label(run): _step(step) for run, step in enumerate(parted.steps)},
    }


def _row(row: AlignedRow) -> JsonObject:
    cells = zip(row.steps, row.sameness, strict=True)
    return {
        "same": row.is_same,
        "runs": {
            run_label(run): {"sameness": sameness.value, "step": _step(step)}
            for run, (step, sameness) in enumerate(cells)
        },
    }


def _step(step: Step | None) -> Json:
    if step is None:
        return None
    return {
        "step": step.number,
        "tool": step.call.name,
        "arguments": step.call.arguments,
        "outcome": step.outcome.value,
        "call": _place(step.location),
        "result": _place(step.result_location) if step.result_location is not None else None,
    }


def _place(place: Location) -> JsonObject:
    return {"turn": place.turn, "part": place.part, "start": place.range.start, "end": place.range.end}


def _text_diff(diff: RunDiff) -> Json:
    """The pieces in which the first two differing runs' steps part: of their calls, and of their results."""
    pair, parted = differing_pair(diff), diff.alignment.divergence
    if pair is None or parted is None:
        return None
    one, other = parted.steps[pair[0]], parted.steps[pair[1]]
    texts = iter(call_texts(*(step for step in (one, other) if step is not None)))
    return {
        "runs": [run_label(run) for run in pair],
        "call": _pieces(next(texts) if one else "", next(texts) if other else ""),
        "result": _pieces(_result(one), _result(other)),
    }


def _pieces(one: str, other: str) -> list[Json]:
    return [{"kind": piece.kind.value, "text": piece.text} for piece in text_pieces(one, other)]


def _result(step: Step | None) -> str:
    return step.result.content if step is not None and step.result is not None else ""
