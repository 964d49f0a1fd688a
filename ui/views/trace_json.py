"""A trace as JSON values for `weaklink show --json`."""

from collections.abc import Sequence
from itertools import groupby
from typing import cast

from weaklink.inspector.chain.endings import abort_words
from weaklink.inspector.chain.grouping import grouped
from weaklink.inspector.chain.layers import PartTexts
from weaklink.inspector.chain.steps import Chain, Status, Step
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.model import Generation, Instant, Liveness, Trace, Turn
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex
from weaklink.ui.json_types.faults import RelatedJson, TraceDiagnosticJson
from weaklink.ui.json_types.traces import (
    GenerationJson,
    InstantJson,
    LayerTextsJson,
    PartJson,
    ShownBreakJson,
    ShownTraceJson,
    StepJson,
    TurnJson,
)
from weaklink.ui.views.layers import CallLayer, StepLayers, TraceLayers, with_before
from weaklink.ui.views.segment_json import call_object, diagnostic_object, location_object, span_object
from weaklink.ui.views.trace import model_of
from weaklink.ui.views.trace_summary import break_object, moment, outcome_object, parent_object
from weaklink.ui.views.turn import UnfinishedTurn


def trace_object(
    id: int,
    trace: Trace,
    inspection: Inspection,
    *,
    liveness: Liveness | None = None,
    open_turns: Sequence[UnfinishedTurn] = (),
) -> ShownTraceJson:
    """A whole trace: its data in `list`, its turns with texts, spans and calls, its chain, and its diagnostics.

    `open_turns` are the turns of a running trace that have not ended: their text so far, without diagnostics.
    `notes` are sentences on how the trace was read: what its source does not have, or what is damaged.
    """
    provenance, chain = trace.provenance, inspection.chain
    severities = [diagnostic.rule.severity for diagnostic in inspection.diagnostics]
    return {
        "id": id,
        "name": trace.name,
        "source": provenance.source,
        "file": provenance.file,
        "record": provenance.record,
        "external_ids": {id.name: id.value for id in trace.external_ids},
        "model": model_of(trace),
        "format": inspection.format,
        "started_at": moment(trace.started.at_s if trace.started else None),
        "tool_calls": len(chain.steps),
        "errors": severities.count(Severity.ERROR),
        "warnings": severities.count(Severity.WARNING),
        "status": chain.status.value,
        "outcome": outcome_object(trace.outcome),
        "project": trace.project,
        "branch": trace.branch,
        "parent": parent_object(trace.parent),
        "abort_reason": chain.abort_reason,
        "abort_message": abort_words(trace) if chain.status is Status.ABORTED else None,
        "certainty": chain.certainty.value,
        "rule": chain.rule.value,
        "break": _break_in_full(chain),
        "turns": _turn_objects(trace, inspection),
        "chain": _chain_objects(trace, inspection),
        "diagnostics": _diagnostic_objects(trace, inspection),
        "running": liveness is Liveness.RUNNING,
        "idle": liveness is Liveness.IDLE,
        "open_turns": [_turn_object(turn.turn, turn.number, list(turn.parts)) for turn in open_turns],
        "notes": list(provenance.warnings),
    }


def generation_object(generation: Generation) -> GenerationJson:
    """The generation of an assistant turn; every key is always present."""
    usage, error = generation.usage, generation.error
    return {
        "api": generation.api,
        "requested_model": generation.requested_model,
        "answered_model": generation.answered_model,
        "parameters": generation.parameters,
        "tools": [tool.name for tool in generation.tools],
        "attempt": generation.attempt,
        "started_at": _instant(generation.started),
        "first_token_at": _instant(generation.first_token),
        "ended_at": _instant(generation.ended),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "finish_reason": generation.finish_reason,
        "finish": generation.finish.value if generation.finish else None,
        "error": {"phase": error.phase.value, "message": error.message, "status": error.status, "code": error.code}
        if error
        else None,
        "body": generation.body.value,
    }


def _break_in_full(chain: Chain) -> ShownBreakJson | None:
    broken = chain.broken
    value = break_object(broken)
    if broken is None or value is None:
        return None
    reaction = broken.reaction.value if broken.reaction else None
    return {**value, "reaction": reaction, "caused": list(chain.caused)}


def _turn_objects(trace: Trace, inspection: Inspection) -> list[TurnJson]:
    parts = {number: list(parts) for number, parts in groupby(inspection.parts, key=lambda part: part.turn)}
    return [_turn_object(turn, number, parts.get(number, [])) for number, turn in enumerate(trace.turns, 1)]


def _turn_object(turn: Turn, number: int, parts: list[PartInspection]) -> TurnJson:
    return {
        "turn": number,
        "role": turn.role.value,
        "source_role": turn.source_role,
        "flags": [flag.value for flag in sorted(turn.flags)],
        "generation": generation_object(turn.generation) if turn.generation else None,
        "parts": [_part_object(turn, part) for part in parts],
    }


def _part_object(turn: Turn, part: PartInspection) -> PartJson:
    source, header = turn.part(part.part), turn.call_header(part.part)
    return {
        "part": part.part,
        "caller": header.caller if header is not None else None,
        "text": source.text if source else "",
        "grade": source.grade.value if source else None,
        "chunks": len(source.chunks) if source and source.chunks else None,
        "spans": [span_object(span) for span in part.spans],
        "tool_calls": [call_object(call) for call in part.calls],
        "tool_results": [
            {
                "name": result.name,
                "call_id": result.call_id,
                "is_error": result.is_error,
                "content": result.content,
                "span": result.span,
                "start": result.range.start,
                "end": result.range.end,
            }
            for result in part.results
        ],
    }


def _instant(instant: Instant | None) -> InstantJson | None:
    return {"at": moment(instant.at_s), "source": instant.source.value} if instant else None


def _chain_objects(trace: Trace, inspection: Inspection) -> list[StepJson]:
    layers = TraceLayers(trace, inspection)
    return [_step_object(step, layers.of(step)) for step in inspection.chain.steps]


def _layer_objects(layers: Sequence[CallLayer], *, is_result: bool) -> list[LayerTextsJson]:
    """The layers of a call or of a result; `text` is null if the layer is not recorded, or if its text is at `place`.

    `same` is whether the value equals that of the previous recorded layer, or null if there is none.
    """
    return [
        {
            "layer": layer.name.value,
            "recorded": layer.text is not None,
            "comparable": layer.is_comparable,
            "same": layer.is_same_as(before, is_result=is_result),
            "text": None if layer.location is not None and layer.location.is_in_turn else layer.text,
            "place": location_object(layer.location) if layer.location is not None else None,
            "basis": layer.basis,
            "request": layer.request or None,
        }
        for before, layer in with_before(layers)
    ]


def _step_object(step: Step, layers: StepLayers) -> StepJson:
    return {
        "step": step.number,
        "tool": step.call.name,
        "call_id": step.call.id,
        "outcome": step.outcome.value,
        "result_kind": step.result_kind.value if step.result_kind else None,
        "certainty": step.certainty.value if step.certainty else None,
        "call": location_object(step.location),
        "result": location_object(step.result_location) if step.result_location else None,
        "retry_of": step.retry_of,
        "recovery": step.recovery.value if step.recovery else None,
        "recovered_by": step.recovered_by,
        "said": step.said.value if step.said else None,
        "said_at": location_object(step.said_at) if step.said_at else None,
        "rules": [rule.value for rule in step.rules],
        "depends_on": list(step.depends_on),
        "error": step.error,
        "layers": {
            "call": _layer_objects(layers.call, is_result=False),
            "result": _layer_objects(layers.result, is_result=True),
        },
    }


def _diagnostic_objects(trace: Trace, inspection: Inspection) -> list[TraceDiagnosticJson]:
    """The first diagnostic of each cause; the others of its cause are complete objects in `related`."""
    objects = _PlacedObjects(trace)
    shown: list[TraceDiagnosticJson] = []
    for group in grouped(inspection.diagnostics, inspection.chain):
        value = objects.of(group.shown)
        more = [cast("RelatedJson", objects.of(diagnostic)) for diagnostic in group.more]
        shown.append({**value, "related": [*value["related"], *more]})
    return shown


class _PlacedObjects:
    """Diagnostics as JSON values with their turn and part; the line index of a part is built once."""

    def __init__(self, trace: Trace) -> None:
        self._texts = PartTexts(trace)
        self._lines: dict[tuple[int, str], LineIndex] = {}

    def of(self, diagnostic: Diagnostic) -> TraceDiagnosticJson:
        location = diagnostic.location
        key = location.turn, location.part
        if key not in self._lines:
            self._lines[key] = LineIndex(self._texts.at(location))
        return {"turn": location.turn, "part": location.part, **diagnostic_object(diagnostic, self._lines[key])}
