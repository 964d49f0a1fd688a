"""A trace as an annotation for training data: step-level data flow and decision points, as one JSON object.

The keys `steps`, `step_id`, `tool`, `arguments`, `output_var`, `produces`, `depends_on`, `data_flow`, `critical_path`,
`annotations`, `decision_points`, `after_step`, `condition`, `action` and `reasoning` are those that multi-step
function-calling data uses; all others link what they say to the characters of the trace.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from inspector.chain.call_faults import CallFaults
from inspector.chain.data_flow import Flow
from inspector.chain.steps import Break, Step
from inspector.exporters.annotation_actions import FollowingAction, WhatCameNext
from inspector.exporters.annotation_conditions import Condition, conditions
from inspector.exporters.annotation_flow import Edge, by_reference, dependencies, edges_of, place_value
from inspector.exporters.annotation_names import output_variables
from inspector.exporters.annotation_results import StepResult
from inspector.inspection import Inspection, data_flow_of
from inspector.model import Json, Trace


def annotation(trace: Trace, inspection: Inspection, id: int | None = None) -> dict[str, Json]:
    """The annotation of a trace; `id` is its number in a database. Every key is always there. Never raises.

    Conditions are observed facts and actions what the agent did next; `reasoning` holds its own words, at most 600
    code points of them, and is null where it said nothing. Takes time linear in the trace but for a logarithm.
    """
    steps = inspection.chain.steps
    flow = data_flow_of(trace, inspection)
    variables = output_variables(steps)
    results = {step.number: StepResult(step, variables[step.number]) for step in steps}
    edges = _edges(steps, flow.flows, results)
    used = _used(edges, results)
    return {
        "id": id,
        **_origin(trace, inspection),
        "steps": [_step(step, edges, results, used) for step in steps],
        "critical_path": list(flow.critical_path),
        "annotations": {"data_dependencies": dependencies(edges, variables)},
        "decision_points": _decision_points(trace, inspection),
    }


def _origin(trace: Trace, inspection: Inspection) -> dict[str, Json]:
    """Which trace this is, and how it ended."""
    came, chain = trace.provenance, inspection.chain
    return {
        "name": trace.name,
        "source": came.source,
        "file": came.file,
        "record": came.record,
        "external_ids": {one.name: one.value for one in trace.external_ids},
        "model": trace.model,
        "format": inspection.format,
        "status": chain.status.value,
        "break": _break(chain.broken),
    }


def _break(broken: Break | None) -> Json:
    return None if broken is None else {"step": broken.step, "code": broken.code, "message": broken.message}


def _edges(steps: Sequence[Step], flows: Sequence[Flow], results: Mapping[int, StepResult]) -> dict[int, list[Edge]]:
    by_step: defaultdict[int, list[Flow]] = defaultdict(list)
    for flow in flows:
        by_step[flow.step].append(flow)
    numbered = {step.number: step for step in steps}
    return {step.number: edges_of(step, by_step[step.number], numbered, results) for step in steps}


def _used(edges: Mapping[int, Sequence[Edge]], results: Mapping[int, StepResult]) -> dict[int, list[str]]:
    """The paths of each step's result that later steps take from."""
    used: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for found in edges.values():
        for edge in found:
            if (giver := edge.result_step) in results and giver is not None:
                used[giver][edge.source] = None
    return {number: list(paths) for number, paths in used.items()}


def _step(
    step: Step,
    edges: Mapping[int, Sequence[Edge]],
    results: Mapping[int, StepResult],
    used: Mapping[int, Sequence[str]],
) -> Json:
    mine, result = edges[step.number], results[step.number]
    return {
        "step_id": step.number,
        "tool": step.call.name,
        "arguments": step.call.arguments,
        "output_var": result.variable,
        "produces": result.produces(used.get(step.number, ())),
        "depends_on": list(step.depends_on),
        "data_flow": [edge.value() for edge in mine],
        "arguments_by_reference": by_reference(step, mine),
        "result_kind": result.kind,
        "outcome": step.outcome.value,
        "retry_of": step.retry_of,
        "recovery": step.recovery.value if step.recovery else None,
        "recovered_by": step.recovered_by,
        "call_id": step.call.id,
        "call_place": place_value(step.location),
        "result_place": place_value(step.result_location) if step.result_location else None,
    }


def _decision_points(trace: Trace, inspection: Inspection) -> list[Json]:
    came_next = WhatCameNext(trace, inspection)
    found = conditions(inspection.chain.steps, CallFaults(inspection.diagnostics))
    return [_decision_point(step, condition, came_next.after(step)) for step, condition in found]


def _decision_point(step: Step, condition: Condition, came: FollowingAction) -> Json:
    place = step.result_location or step.location
    return {
        "after_step": step.number,
        "condition": condition.text,
        "action": came.action.value if came.action else None,
        "reasoning": came.reasoning.text if came.reasoning else None,
        "condition_kind": condition.kind.value,
        "condition_code": condition.code,
        "next_steps": list(came.steps),
        "condition_place": place_value(place),
        "reasoning_place": place_value(came.reasoning.location) if came.reasoning else None,
    }
