"""Traces and inspections as rows, all but the ids that only the database can give."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from math import isfinite
from typing import Any, TypeAlias

from inspector.chain.steps import Break, Step
from inspector.inspection import Inspection
from inspector.model import Generation, Instant, Part, ToolDefinition, Trace
from inspector.rules.rule import Severity
from storage.identity import Extent, extent_of, identity_of
from storage.packing.blobs import text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks
from storage.packing.escapes import escaped, key
from storage.packing.inspections import Texts, pack_inspection
from storage.packing.records import provenance_facts, tool_facts, trace_facts, turn_facts
from storage.packing.values import pack

Row: TypeAlias = dict[str, Any]
"""One row's values by column name."""

Toolset: TypeAlias = tuple[tuple[str, bytes], ...]
"""Offered tools, in order: the name of each, and its packed definition."""


@dataclass(frozen=True, slots=True)
class RecordRows:
    """The rows that keep what came in.

    `toolsets` are the distinct sets of tools by their hash, which stands in the turns as `toolset`. `fingerprint` is
    equal for two records that say the same, wherever their files lie.
    """

    identity: bytes
    fingerprint: bytes
    extent: Extent
    trace: Row
    external_ids: list[Row]
    turns: list[Row]
    parts: list[Row]
    toolsets: dict[bytes, Toolset]


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


def record_rows(trace: Trace) -> RecordRows:
    """A trace as rows."""
    fingerprint = sha256(pack(trace_facts(trace)))
    turns: list[Row] = []
    parts: list[Row] = []
    toolsets = _Toolsets()
    for number, turn in enumerate(trace.turns, 1):
        toolset = toolsets.hash_of(turn.generation.tools) if turn.generation else None
        facts = pack(turn_facts(turn))
        fingerprint.update(pack([turn.role.value, toolset, facts, len(turn.parts)]))
        columns = {"number": number, "role": turn.role.value, "toolset": toolset, "facts": to_blob(facts)}
        turns.append(columns | _generation_columns(turn.generation or Generation()))
        for at, part in enumerate(turn.parts):
            text, chunks = text_to_bytes(part.text), None if part.chunks is None else pack_chunks(part.chunks)
            fingerprint.update(pack([part.name, len(text), chunks]))
            fingerprint.update(text)
            parts.append({"turn": number, "number": at} | _part_columns(part, text, chunks))
    extent = extent_of(trace)
    ids = enumerate(trace.external_ids)
    return RecordRows(
        identity=identity_of(trace).digest(),
        fingerprint=fingerprint.digest(),
        extent=extent,
        trace=_trace_columns(trace, extent),
        external_ids=[{"number": at, "name": escaped(one.name), "value": key(one.value)} for at, one in ids],
        turns=turns,
        parts=parts,
        toolsets=toolsets.found,
    )


def derived_rows(inspection: Inspection, texts: Texts) -> DerivedRows:
    """An inspection of the trace with these texts, as rows."""
    packed = pack_inspection(inspection, texts)
    steps = {(step.location.turn, step.location.part, step.call.range): step for step in inspection.chain.steps}
    placed = [(part, call) for part in inspection.parts for call in part.calls]
    severities = Counter(one.rule.severity for one in inspection.diagnostics)
    calls = [
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
    digest = blake2b(packed, digest_size=16).digest()
    return DerivedRows(
        digest=digest,
        trace={
            "inspector_version": escaped(inspection.version),
            "format": key(inspection.format),
            "status": inspection.chain.status.value,
            "abort_reason": _escaped(inspection.chain.abort_reason),
            "tool_calls": len(calls),
            "errors": severities[Severity.ERROR],
            "warnings": severities[Severity.WARNING],
        }
        | _break_columns(inspection.chain.broken),
        inspection={"digest": digest, "body": to_blob(packed)},
        calls=calls,
        diagnostics=diagnostics,
        tools=_tool_rows(calls, inspection.chain.steps),
        codes=[{"code": code, "diagnostics": count} for code, count in codes.items()],
    )


class _Toolsets:
    """The sets of tools of one trace; most turns offer the very same tuple, which is then packed once."""

    def __init__(self) -> None:
        self.found: dict[bytes, Toolset] = {}
        self._by_identity: dict[int, bytes] = {}

    def hash_of(self, tools: tuple[ToolDefinition, ...]) -> bytes | None:
        if not tools:
            return None
        if id(tools) not in self._by_identity:
            packed = tuple((key(tool.name), pack(tool_facts(tool))) for tool in tools)
            digest = sha256(pack([body for _, body in packed])).digest()
            self.found[digest] = packed
            self._by_identity[id(tools)] = digest
        return self._by_identity[id(tools)]


def _trace_columns(trace: Trace, extent: Extent) -> Row:
    said = trace.provenance
    generations = [turn.generation for turn in trace.turns if turn.generation is not None]
    models = (trace.model, *(one.answered_model or one.requested_model for one in generations))
    return {
        "name": escaped(trace.name),
        "source": key(said.source),
        "file": escaped(said.file),
        "record": escaped(said.record),
        "model": key(next(filter(None, models), "")),
        "started_at_s": _at(trace.started),
        "duration_s": _duration(generations),
        "turns": extent.turns,
        "characters": extent.characters,
        "chunks": extent.chunks,
        "input_tokens": _sum(one.usage.input_tokens for one in generations),
        "output_tokens": _sum(one.usage.output_tokens for one in generations),
        "facts": to_blob(pack(trace_facts(trace))),
        "provenance": to_blob(pack(provenance_facts(said))),
    }


def _generation_columns(generation: Generation) -> Row:
    return {
        "requested_model": escaped(generation.requested_model),
        "answered_model": escaped(generation.answered_model),
        "finish": generation.finish and generation.finish.value,
        "started_at_s": _at(generation.started),
        "ended_at_s": _at(generation.ended),
        "input_tokens": _sum((generation.usage.input_tokens,)),
        "output_tokens": _sum((generation.usage.output_tokens,)),
    }


def _part_columns(part: Part, text: bytes, chunks: bytes | None) -> Row:
    return {
        "name": escaped(part.name),
        "characters": len(part.text),
        "chunk_count": None if part.chunks is None else len(part.chunks),
        "text": to_blob(text),
        "chunks": None if chunks is None else to_blob(chunks),
    }


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
    certainty = step and step.certainty and step.certainty.value
    return {"outcome": step and step.outcome.value, "certainty": certainty}


def _tool_rows(calls: Iterable[Row], steps: Sequence[Step]) -> list[Row]:
    """How often each tool was called, and how often in vain; an unreadable name is an empty one."""
    called = Counter(call["name"] or "" for call in calls)
    failed = Counter(key(step.call.name or "") for step in steps if step.outcome.failed)
    return [{"name": name, "calls": count, "failed": failed[name]} for name, count in called.items()]


def _escaped(text: str | None) -> str | None:
    return None if text is None else escaped(text)


def _at(instant: Instant | None) -> float | None:
    return instant.at_s if instant is not None and isfinite(instant.at_s) else None


def _duration(generations: Sequence[Generation]) -> float | None:
    starts = [at for one in generations if (at := _at(one.started)) is not None]
    ends = [at for one in generations if (at := _at(one.ended)) is not None]
    return max(ends) - min(starts) if starts and ends else None


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known, None where nothing is or where no column could hold it."""
    known = [count for count in counts if count is not None]
    total = sum(known)
    return total if known and -(2**63) <= total < 2**63 else None
