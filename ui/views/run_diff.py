"""Compares runs of one task: where they diverge and what differs, as lines and as JSON for `weaklink diff --json`."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct, structs

from weaklink.inspector.chain.alignment import (
    AlignedRow,
    Alignment,
    Divergence,
    RunInputDifference,
    Sameness,
    align,
    run_input_differences,
    run_label,
)
from weaklink.inspector.chain.sequence_diff import diff_texts
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Role, SpanKind, ToolCall, Trace
from weaklink.inspector.wire.provider_json import parse_json
from weaklink.ui.json_types.runs import (
    AlignedRowJson,
    ComparedRunJson,
    DivergedStepJson,
    DivergenceJson,
    RunDiffJson,
    TextDiffJson,
    TextPieceJson,
)
from weaklink.ui.views.layers import Layer, steps_at
from weaklink.ui.views.run_diff_overview import grid_lines, run_verdict
from weaklink.ui.views.segment_json import location_object
from weaklink.ui.views.status import call_lines, outcome_words, status_run, task_run
from weaklink.ui.views.styled_text import (
    Line,
    Run,
    Style,
    clipped,
    counted,
    folded_middle,
    quoted,
    visible_line,
    wrapped,
)
from weaklink.ui.views.text_diff import text_diff_lines
from weaklink.ui.views.trace import ending, model_of
from weaklink.ui.views.trace_summary import outcome_object

_MAX_LAID_OUT_CHARS = 2_000_000
_MORE = "--full shows all"


class ComparedRun(Struct, frozen=True):
    """One run and the name that the user gave it (`12`, `log.jsonl#3`).

    `layer` is the layer at which its calls and results are compared, and `layered` its steps there; None means the
    steps of its chain.
    """

    called: str
    trace: Trace
    inspection: Inspection
    layer: Layer | None = None
    layered: tuple[Step, ...] | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that are compared."""
        return self.inspection.chain.steps if self.layered is None else self.layered

    @property
    def unrecorded(self) -> int:
        """The number of steps of its chain that are not compared, since its log lacks their layer."""
        return 0 if self.layered is None else len(self.inspection.chain.steps) - len(self.layered)

    def at(self, layer: Layer | None) -> "ComparedRun":
        """The run with its steps at a layer; None means those of its chain."""
        layered = None if layer is None else steps_at(self.trace, self.inspection, layer)
        return structs.replace(self, layer=layer, layered=layered)


class RunDiff(Struct, frozen=True):
    """Two or more runs, the differences in their inputs, and their steps side by side."""

    runs: tuple[ComparedRun, ...]
    input_differences: tuple[RunInputDifference, ...]
    alignment: Alignment

    @property
    def verdict(self) -> str:
        """Where the runs first diverge, in one sentence."""
        chains = [run.inspection.chain for run in self.runs]
        said = run_verdict(self.alignment, chains, [last_words(run) for run in self.runs], self.without_rows)
        missing = [
            f"{counted(run.unrecorded, 'step')} of {run_label(index)}"
            for index, run in enumerate(self.runs)
            if run.unrecorded
        ]
        return f"{said} Not recorded as {self.runs[0].layer}: {', '.join(missing)}." if missing else said

    @property
    def without_rows(self) -> str:
        """Why there are no rows, if there are none: the runs call no tool, or their logs have no call at the layer."""
        layer = self.runs[0].layer
        is_recorded = layer is None or not any(run.unrecorded for run in self.runs)
        return "No run calls a tool" if is_recorded else f"No run has a call recorded as {layer}"


def compare(runs: Sequence[ComparedRun]) -> RunDiff:
    """Compare runs with the first one."""
    alignment = align([run.steps for run in runs])
    input_differences = run_input_differences([run.trace for run in runs], alignment)
    return RunDiff(tuple(runs), tuple(input_differences), alignment)


def diff_lines(diff: RunDiff, width: int, *, full: bool = False) -> Iterator[Line]:
    """The lines of `weaklink diff`: verdict, differences in the inputs, the steps, and the first difference."""
    yield from wrapped(quoted(diff.verdict, Style.STRONG), width)
    if diff.input_differences:
        yield ()
        yield (Run("The requests of the runs differ:", Style.WARNING),)
        for difference in diff.input_differences:
            yield from wrapped((Run("  ▲ ", Style.WARNING), *quoted(difference.message)), width, indent=4)
    yield ()
    for index, run in enumerate(diff.runs):
        yield clipped(_run_head(run, run_label(index)), width)
    if diff.alignment.rows:
        yield ()
        yield from grid_lines(diff.alignment, len(diff.runs), width, full=full)
    yield from first_difference_lines(diff, width, full=full)


def row_diff_lines(
    diff: RunDiff, row: int, pair: tuple[int, int], width: int, *, full: bool = False, more: str = ""
) -> Iterator[Line]:
    """The differences between two runs (given by index) in one row; if the call is the same in both, that call.

    `more` is a note on how to see all if not all is shown.
    """
    steps = tuple(diff.alignment.rows[row].steps[run] for run in pair)
    labels = [run_label(run) for run in pair]
    match steps:
        case (None, None):
            yield (Run(f"Neither {labels[0]} nor {labels[1]} makes a call here.", Style.DIM),)
        case (Step() as first, Step() as second):
            lines = list(_step_diff((first, second), pair, width, full=full, more=more))
            yield from lines[1:] if lines else _same_call_lines(first, second, labels, width)
        case (first, second):
            yield from islice(_only((first, second), pair, width, full=full, more=more), 1, None)


def call_texts(*steps: Step) -> list[str]:
    """Calls as lines: the tool, then its arguments with one member per line; all as written if one is broken."""
    is_sound = all(step.call.valid and isinstance(step.call.arguments, dict) for step in steps)
    return [_members(step.call) if is_sound else f"{step.call.name or ''}\n{step.call.raw_arguments}" for step in steps]


def last_words(run: ComparedRun) -> str:
    """The agent's texts after the turn of its last call, without reasoning, each on a line; may be empty."""
    steps = run.inspection.chain.steps
    after = steps[-1].location.turn if steps else 0
    texts: list[str] = []
    parts = run.inspection.parts
    for index in range(bisect_right(parts, after, key=lambda inspection: inspection.turn), len(parts)):
        part = parts[index]
        turn = run.trace.turns[part.turn - 1]
        source = turn.part(part.part) if part.part == "text" else None
        if source is not None and turn.role is Role.ASSISTANT:
            texts.append("".join(span.inner.of(source.text) for span in part.spans if span.kind is SpanKind.TEXT))
    return "\n".join(text.strip() for text in texts).strip()


def differing_pair(diff: RunDiff) -> tuple[int, int] | None:
    """The indexes of the two runs at the first divergence: the first that has the step, and the first that differs."""
    divergence = diff.alignment.divergence
    if divergence is None:
        return None
    row = diff.alignment.rows[divergence.row]
    stem = next(index for index, step in enumerate(row.steps) if step is not None)
    other = next(index for index, sameness in enumerate(row.sameness) if sameness is not Sameness.SAME)
    return min(stem, other), max(stem, other)


def _members(call: ToolCall) -> str:
    members = call.arguments.items() if isinstance(call.arguments, dict) else ()
    return "\n".join([call.name or "", *(f"  {key}: {_member(value)}" for key, value in members)])


def _member(value: object) -> str:
    """A value as JSON, so that `"true"` and `true` differ; a multi-line text keeps its lines, within quotes."""
    if isinstance(value, str) and "\n" in value:
        return f'"{value}"'
    return write_json(value, ascii_only=False)


def _run_head(run: ComparedRun, label: str) -> Line:
    chain = run.inspection.chain
    status = status_run(chain.status, chain.broken)
    provenance = run.trace.provenance
    name = run.trace.name or " ".join(word for word in (provenance.file.rpartition("/")[2], provenance.record) if word)
    details = [visible_line(word) for word in (name, model_of(run.trace)) if word]
    return (
        Run(f"{label}  ", Style.STRONG),
        Run(visible_line(run.called)),
        Run("  "),
        status,
        Run(f" {ending(chain)}" if chain.steps else " no tool was called"),
        *((Run(missing, Style.WARNING),) if (missing := not_recorded(run)) else ()),
        *((Run("  task "), task) if (task := task_run(run.trace.outcome)) else ()),
        Run("".join(f"  {word}" for word in details), Style.DIM),
    )


def not_recorded(run: ComparedRun) -> str:
    """The number of its steps that are not compared because their layer is not recorded; `""` if none."""
    missing = run.unrecorded
    return f"  {run.layer.value}: {counted(missing, 'step')} not recorded" if run.layer is not None and missing else ""


def first_difference_lines(diff: RunDiff, width: int, *, full: bool = False) -> Iterator[Line]:
    """What differs at the first divergence, or in the final answers if no step differs."""
    pair, divergence = differing_pair(diff), diff.alignment.divergence
    if pair is None or divergence is None:
        words = [last_words(run) for run in diff.runs]
        other = next((index for index, text in enumerate(words) if text != words[0]), None)
        if other is not None:
            yield from _text_diff("final answers", (0, other), ("", ""), (words[0], words[other]), width, full=full)
        return
    steps = divergence.steps[pair[0]], divergence.steps[pair[1]]
    if steps[0] is None or steps[1] is None:
        yield from _only(steps, pair, width)
        return
    yield from _step_diff((steps[0], steps[1]), pair, width, full=full)


def _same_call_lines(first: Step, second: Step, labels: Sequence[str], width: int) -> Iterator[Line]:
    """Two steps with the same call and result: the call, and their outcomes if these differ."""
    judged = [outcome_words(step) for step in (first, second)]
    yield (Run(f"{labels[0]} and {labels[1]} make the same call with the same result.", Style.DIM),)
    if judged[0] != judged[1]:
        line = f"  {labels[0]}: {judged[0]}; {labels[1]}: {judged[1]}"
        yield clipped((Run(visible_line(line), Style.WARNING),), width)
    yield from call_lines(first.call, width=width, indent=2, step=first)
    if first.result is not None:
        line = folded_middle(first.result.content, max(width - 4, 24))
        yield clipped((Run("  → ", Style.TOOL_RESULT), Run(line)), width)


def _step_diff(
    steps: tuple[Step, Step], pair: tuple[int, int], width: int, *, full: bool, more: str = _MORE
) -> Iterator[Line]:
    calls = call_texts(*steps)
    if calls[0] != calls[1]:
        locations = [_call_place(step) for step in steps]
        yield from _text_diff("call", pair, locations, calls, width, full=full, more=more)
    results = tuple(step.result.content if step.result is not None else "" for step in steps)
    if steps[0].call.name == steps[1].call.name and results[0] != results[1]:
        locations = [_result_place(step) for step in steps]
        yield from _text_diff("result", pair, locations, _laid_out(results), width, full=full, more=more)


def _call_place(step: Step) -> str:
    return f"step {step.number}, turn {step.location.turn}"


def _result_place(step: Step) -> str:
    turn = f"turn {step.result_location.turn}" if step.result_location is not None else "no result"
    return f"step {step.number}, {turn}"


def _laid_out(results: tuple[str, ...]) -> tuple[str, ...]:
    """JSON results with one member per line if that shows the difference; others unchanged."""
    values = [_indented(text) for text in results]
    return tuple(value for value in values if value) if all(values) and values[0] != values[1] else results


def _indented(text: str) -> str:
    if len(text) > _MAX_LAID_OUT_CHARS or text.lstrip()[:1] not in ("{", "["):
        return ""
    try:
        return json.dumps(parse_json(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def _only(
    steps: tuple[Step | None, Step | None], pair: tuple[int, int], width: int, *, full: bool = False, more: str = _MORE
) -> Iterator[Line]:
    """The call that only one of two runs makes, with the sign of that run."""
    before, after = (call_texts(step)[0] if step is not None else "" for step in steps)
    for step, run in zip(steps, pair, strict=True):
        if step is not None:
            yield ()
            head = Run(f"Only {run_label(run)} makes this call", Style.STRONG)
            yield clipped((head, Run(f"  {_call_place(step)}", Style.DIM)), width)
    yield from text_diff_lines(before, after, width, full=full, more=more)


def _text_diff(
    what: str,
    pair: tuple[int, int],
    locations: Sequence[str],
    texts: Sequence[str],
    width: int,
    *,
    full: bool,
    more: str = _MORE,
) -> Iterator[Line]:
    yield ()
    yield (Run(f"What differs in the {what}", Style.STRONG),)
    for sign, run, location, style in zip("-+", pair, locations, (Style.REMOVED, Style.ADDED), strict=True):
        yield clipped(
            (Run(f"    {sign} {run_label(run)}", style), Run(f"  {location}" if location else "", Style.DIM)), width
        )
    yield from text_diff_lines(texts[0], texts[1], width, full=full, more=more)


def diff_object(diff: RunDiff) -> RunDiffJson:
    """The runs, the differences in their inputs, the divergence, and every row; every key is always present.

    A run is identified by its letter everywhere. `divergence` and `text_diff` are null if the steps are the same.
    """
    divergence = diff.alignment.divergence
    return {
        "verdict": diff.verdict,
        "runs": [_run(run, index) for index, run in enumerate(diff.runs)],
        "asked_differently": [
            {
                "what": difference.what.value,
                "runs": [run_label(run) for run in difference.runs],
                "message": difference.message,
            }
            for difference in diff.input_differences
        ],
        "divergence": _divergence(divergence) if divergence is not None else None,
        "text_diff": _text_diff_object(diff),
        "rows": [_row(row) for row in diff.alignment.rows],
    }


def _run(run: ComparedRun, index: int) -> ComparedRunJson:
    chain, provenance = run.inspection.chain, run.trace.provenance
    return {
        "run": run_label(index),
        "called": run.called,
        "name": run.trace.name,
        "file": provenance.file,
        "record": provenance.record,
        "model": model_of(run.trace),
        "status": chain.status.value,
        "outcome": outcome_object(run.trace.outcome),
        "broken_at": chain.broken.step if chain.broken is not None else None,
        "steps": len(chain.steps),
        "last_words": last_words(run),
        "layer": run.layer.value if run.layer is not None else None,
        "not_recorded": len(chain.steps) - len(run.steps),
    }


def _divergence(divergence: Divergence) -> DivergenceJson:
    return {
        "row": divergence.row + 1,
        "what": divergence.what.value,
        "steps": {run_label(run): _step(step) for run, step in enumerate(divergence.steps)},
    }


def _row(row: AlignedRow) -> AlignedRowJson:
    cells = zip(row.steps, row.sameness, strict=True)
    return {
        "same": row.is_same,
        "runs": {
            run_label(run): {"sameness": sameness.value, "step": _step(step)}
            for run, (step, sameness) in enumerate(cells)
        },
    }


def _step(step: Step | None) -> DivergedStepJson | None:
    if step is None:
        return None
    return {
        "step": step.number,
        "tool": step.call.name,
        "arguments": step.call.arguments,
        "outcome": step.outcome.value,
        "call": location_object(step.location),
        "result": location_object(step.result_location) if step.result_location is not None else None,
    }


def _text_diff_object(diff: RunDiff) -> TextDiffJson | None:
    """The text diff of the steps of the first two differing runs: of their calls, and of their results."""
    pair, divergence = differing_pair(diff), diff.alignment.divergence
    if pair is None or divergence is None:
        return None
    first, other = divergence.steps[pair[0]], divergence.steps[pair[1]]
    texts = iter(call_texts(*(step for step in (first, other) if step is not None)))
    return {
        "runs": [run_label(run) for run in pair],
        "call": _pieces(next(texts) if first else "", next(texts) if other else ""),
        "result": _pieces(_result(first), _result(other)),
    }


def _pieces(before: str, after: str) -> list[TextPieceJson]:
    return [{"kind": piece.kind.value, "text": piece.text} for piece in diff_texts(before, after)]


def _result(step: Step | None) -> str:
    return step.result.content if step is not None and step.result is not None else ""
