"""D711: annotated steps, critical paths and decision points, compared with the data flow that is computed."""

import itertools
from collections.abc import Iterator

from inspector.chain.steps import Step, quoted
from inspector.dataset.lint.structure import row_fault
from inspector.dataset.samples import Sample
from inspector.diagnostics import Diagnostic
from inspector.model import Json
from inspector.rules.training import ANNOTATION_MISMATCH
from inspector.scanning import lazy_pattern

_KEYS = ("steps", "critical_path", "decision_points")
_FLOW = lazy_pattern(r"step[ _]?(\d+)(?:_output)?\s*(?:->|→|to)\s*(\w+?)(?:_parameter|_param|_argument)?\b")


def annotation_mismatches(sample: Sample) -> Iterator[Diagnostic]:
    """D711 in the row itself, and in its `annotation` or `annotations`."""
    row = sample.row.value
    for path in ((), ("annotation",), ("annotations",)):
        holder = row.get(path[0]) if path else row
        if isinstance(holder, dict) and any(isinstance(holder.get(key), list) for key in _KEYS):
            yield from _mismatches(sample, holder, path)


def _mismatches(sample: Sample, holder: dict[str, Json], path: tuple[str, ...]) -> Iterator[Diagnostic]:
    steps = {step.number: step for step in sample.inspection.chain.steps}
    listed = holder.get("steps")
    annotated = listed if isinstance(listed, list) and all(isinstance(one, dict) for one in listed) else []
    if annotated and len(annotated) != len(steps):
        message = f"{len(annotated)} steps are annotated, and the conversation has {len(steps)} calls."
        yield row_fault(sample, ANNOTATION_MISMATCH, message, *path, "steps")
    for at, one in enumerate(annotated):
        if isinstance(one, dict):
            for key, message in _wrong_step(one, at + 1, steps):
                yield row_fault(sample, ANNOTATION_MISMATCH, message, *path, "steps", at, key)
    yield from _wrong_path(sample, holder, path, steps)
    points = holder.get("decision_points")
    for at, point in enumerate(points if isinstance(points, list) else ()):
        after = point.get("after_step") if isinstance(point, dict) else None
        if after is not None and after not in steps:
            message = f"A decision point is after step {_shown(after)}, and the conversation has {len(steps)} calls."
            yield row_fault(sample, ANNOTATION_MISMATCH, message, *path, "decision_points", at, "after_step")


def _wrong_step(one: dict[str, Json], position: int, steps: dict[int, Step]) -> Iterator[tuple[str, str]]:
    """The member of an annotated step that is wrong, and why."""
    number = one.get("step_id", position)
    step = steps.get(number) if isinstance(number, int) else None
    if step is None or not isinstance(number, int):
        yield "step_id", f"Step {_shown(number)} is annotated, and the conversation has {len(steps)} calls."
        return
    tool = one.get("tool")
    if isinstance(tool, str) and step.call.name is not None and tool != step.call.name:
        yield "tool", f"Step {number} calls {quoted(step.call.name)}, and its annotation says {quoted(tool)}."
    declared = one.get("depends_on")
    if isinstance(declared, list):
        yield from _wrong_dependencies(number, declared, step)
    elif declared is None and step.depends_on and "depends_on" in one:
        yield from _wrong_dependencies(number, [], step)
    flow = one.get("data_flow")
    for source, parameter in _FLOW.findall(flow) if isinstance(flow, str) else ():
        if int(source) not in steps or int(source) >= number:
            yield "data_flow", f"`data_flow` of step {number} begins at step {source}, which is no earlier call."
        elif isinstance(step.call.arguments, dict) and parameter not in step.call.arguments:
            yield "data_flow", f"`data_flow` of step {number} ends at {quoted(parameter)}, which the call has not."


def _wrong_dependencies(number: int, declared: list[Json], step: Step) -> Iterator[tuple[str, str]]:
    named = {one for one in declared if isinstance(one, int)}
    for one in sorted(named - set(step.depends_on)):
        if one >= number or one < 1:
            yield "depends_on", f"Step {number} cannot depend on step {one}: that is no earlier call."
        else:
            yield "depends_on", f"Step {number} is said to depend on step {one}, and uses no value of its result."
    for one in sorted(set(step.depends_on) - named):
        yield "depends_on", f"Step {number} uses a value of step {one}'s result, and `depends_on` does not name it."


def _wrong_path(
    sample: Sample, holder: dict[str, Json], path: tuple[str, ...], steps: dict[int, Step]
) -> Iterator[Diagnostic]:
    listed = holder.get("critical_path")
    if not isinstance(listed, list) or not listed:
        return
    unknown = [one for one in listed if one not in steps]
    if unknown:
        message = f"`critical_path` names step {_shown(unknown[0])}, and the conversation has {len(steps)} calls."
        yield row_fault(sample, ANNOTATION_MISMATCH, message, *path, "critical_path")
        return
    numbers = [one for one in listed if isinstance(one, int)]
    for before, after in itertools.pairwise(numbers):
        if before not in steps[after].depends_on:
            message = f"`critical_path` goes from step {before} to step {after}, which uses no value of its result."
            yield row_fault(sample, ANNOTATION_MISMATCH, message, *path, "critical_path")


def _shown(value: Json) -> str:
    return quoted(str(value)) if not isinstance(value, int) else str(value)
