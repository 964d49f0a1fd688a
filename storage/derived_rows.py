"""Inspections as rows, all but the ids of their traces."""

from collections import Counter
from dataclasses import dataclass

from inspector.chain.steps import Break, Step
from inspector.inspection import Inspection
from inspector.model import Role, Trace
from inspector.rules.rule import Severity
from storage.arguments import argument_rows
from storage.checksums import derived_checksum
from storage.figure_rows import figures_in, tool_rows, violation_rows
from storage.measures import measure_columns
from storage.packing.escapes import escaped, key
from storage.packing.inspections import pack_inspection
from storage.packing.texts import texts_of
from storage.rows import Row


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """The rows that keep what was found; `trace` holds the derived columns of the trace's row."""

    digest: bytes
    trace: Row
    inspection: Row
    calls: list[Row]
    diagnostics: list[Row]
    tools: list[Row]
    codes: list[Row]
    arguments: list[Row]
    figures: Row
    violations: list[Row]


def derived_rows(inspection: Inspection, trace: Trace) -> DerivedRows:
    """An inspection of this trace, as rows."""
    texts = texts_of(trace)
    severities = Counter(one.rule.severity for one in inspection.diagnostics)
    packed = pack_inspection(inspection, texts)
    calls = call_rows(inspection)
    diagnostics = [
        {
            "number": at,
            "turn": one.location.turn,
            "part": escaped(one.location.part),
            "start": one.location.range.start,
            "end": one.location.range.end,
            "code": one.rule.code,
            "severity": one.rule.severity.value,
        }
        for at, one in enumerate(inspection.diagnostics)
    ]
    codes = Counter(one.rule.code for one in inspection.diagnostics)
    figures = figures_in(trace, inspection)
    columns = {
        "inspector_version": escaped(inspection.version),
        "format": key(inspection.format),
        "status": inspection.chain.status.value,
        "abort_reason": _escaped(inspection.chain.abort_reason),
        "tool_calls": len(calls),
        "errors": severities[Severity.ERROR],
        "warnings": severities[Severity.WARNING],
        **_filter_columns(inspection, trace),
        **_break_columns(inspection.chain.broken),
    }
    return DerivedRows(
        digest=packed.digest,
        trace=columns | {"derived_checksum": derived_checksum(columns, packed.digest)},
        inspection=packed._asdict(),
        calls=calls,
        diagnostics=diagnostics,
        tools=tool_rows(figures),
        codes=[{"code": code, "diagnostics": count} for code, count in codes.items()],
        arguments=argument_rows(inspection.parts),
        figures=dict(figures.numbers()),
        violations=violation_rows(figures),
    )


def call_rows(inspection: Inspection) -> list[Row]:
    """The rows of all calls, with what became of those that are steps."""
    steps = {(step.location.turn, step.location.part, step.call.range): step for step in inspection.chain.steps}
    placed = [(part, call) for part in inspection.parts for call in part.calls]
    return [
        {
            "number": at,
            "turn": part.turn,
            "part": escaped(part.part),
            "start": call.range.start,
            "end": call.range.end,
            "name": None if call.name is None else key(call.name),
            "valid": call.valid,
            "recovered": call.recovered,
        }
        | _outcome(steps.get((part.turn, part.part, call.range)))
        for at, (part, call) in enumerate(placed)
    ]


def _filter_columns(inspection: Inspection, trace: Trace) -> Row:
    """The derived columns of the trace's row that are there for filters and figures."""
    assistant = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
    infos = sum(one.rule.severity is Severity.INFO for one in inspection.diagnostics)
    return {"infos": infos} | measure_columns(inspection, texts_of(trace), assistant)


def _break_columns(broken: Break | None) -> Row:
    return {
        "break_step": broken and broken.step,
        "break_turn": broken and broken.turn,
        "break_tool": broken and _escaped(broken.tool),
        "break_outcome": broken and broken.outcome.value,
        "break_code": broken and _escaped(broken.code),
        "break_message": broken and escaped(broken.message),
        "break_reaction": broken and broken.reaction and broken.reaction.value,
    }


def _outcome(step: Step | None) -> Row:
    return {
        "outcome": step and step.outcome.value,
        "certainty": step and step.certainty and step.certainty.value,
        "step": step and step.number,
        "recovery": step and step.recovery and step.recovery.value,
        "recovered_by": step and step.recovered_by,
    }


def _escaped(text: str | None) -> str | None:
    return None if text is None else escaped(text)
