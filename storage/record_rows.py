"""Traces as rows, all but the ids that only the database can give."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import isfinite

from inspector.model import Generation, Instant, Part, ToolDefinition, Trace
from storage.identity import Extent, extent_of, identity_of
from storage.packing.blobs import text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks
from storage.packing.escapes import escaped, key
from storage.packing.records import provenance_facts, tool_facts, trace_facts, turn_facts
from storage.packing.values import pack
from storage.rows import Row, Toolset


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


class _Toolsets:
    """The sets of tools of one trace."""

    def __init__(self) -> None:
        self.found: dict[bytes, Toolset] = {}

    def hash_of(self, tools: tuple[ToolDefinition, ...]) -> bytes | None:
        if not tools:
            return None
        digest, packed = _packed(_Offered(tools))
        self.found[digest] = packed
        return digest


class _Offered:
    """A set of tools as a cache key by identity: most turns, and most traces of a file, offer the very same tuple."""

    __slots__ = ("tools",)

    def __init__(self, tools: tuple[ToolDefinition, ...]) -> None:
        self.tools = tools

    def __hash__(self) -> int:
        return id(self.tools)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Offered) and other.tools is self.tools


@lru_cache(maxsize=32)
def _packed(offered: _Offered) -> tuple[bytes, Toolset]:
    """The hash of a set of tools, and its packed bodies."""
    packed = tuple((key(tool.name), pack(tool_facts(tool))) for tool in offered.tools)
    return sha256(pack([body for _, body in packed])).digest(), packed


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
