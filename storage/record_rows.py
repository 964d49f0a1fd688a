"""Traces as rows, all but the ids that only the database can give."""

from dataclasses import dataclass, replace
from hashlib import sha256
from math import isnan

from inspector.chain.endings import task_outcome
from inspector.model import Generation, Outcome, Part, ToolDefinition, Trace
from storage.checksums import canonical, record_checksum, turn_checksum
from storage.identity import TraceExtent, identity_of
from storage.offered import packed_tools
from storage.packing.blobs import checksum_of, text_to_bytes, to_blob
from storage.packing.chunks import pack_chunks
from storage.packing.escapes import escaped, key
from storage.packing.records import provenance_facts, trace_facts, turn_facts
from storage.packing.values import pack
from storage.packing.windows import chunks_blob
from storage.rows import Row, Toolset
from storage.totals import NOTHING, TurnTotals, at_s, sum_of, totals_of


@dataclass(frozen=True, slots=True)
class RecordRows:
    """The rows that keep what came in.

    `toolsets` are the distinct sets of tools by their hash, which stands in the turns as `toolset`. `fingerprint` is
    equal for two records that say the same, wherever their files lie.
    """

    identity: bytes
    fingerprint: bytes
    totals: TurnTotals
    trace: Row
    external_ids: list[Row]
    turns: list[Row]
    parts: list[Row]
    toolsets: dict[bytes, Toolset]

    @property
    def extent(self) -> TraceExtent:
        """How much of its session the trace holds."""
        return self.totals.extent


def record_rows(trace: Trace, *, behind: TurnTotals = NOTHING) -> RecordRows:
    """A trace as rows; or, where its turns stand `behind` others that are rows already, those of its turns alone.

    The rows of a part of a trace have the totals of the whole, but an identity and a fingerprint that are no other's.
    """
    fingerprint = sha256(pack([trace_facts(trace), behind.turns] if behind.turns else trace_facts(trace)))
    turns: list[Row] = []
    parts: list[Row] = []
    toolsets = _Toolsets()
    checksum = 0
    for number, turn in enumerate(trace.turns, behind.turns + 1):
        toolset = toolsets.hash_of(turn.generation.tools) if turn.generation else None
        facts = pack(turn_facts(turn))
        fingerprint.update(pack([turn.role.value, toolset, facts, len(turn.parts)]))
        columns = {"number": number, "role": turn.role.value, "toolset": toolset, "facts": to_blob(facts)}
        own: list[Row] = []
        turns.append(columns | _generation_columns(turn.generation or Generation()))
        for at, part in enumerate(turn.parts):
            text, chunks = text_to_bytes(part.text), None if part.chunks is None else pack_chunks(part.chunks)
            fingerprint.update(pack([part.name, len(text), chunks]))
            fingerprint.update(text)
            own.append({"turn": number, "number": at} | _part_columns(part, text, chunks))
        parts += own
        checksum += _turn_checksum(columns, own)
    totals = behind + replace(totals_of(trace.turns), checksum=checksum)
    ids = enumerate(trace.external_ids)
    return RecordRows(
        identity=identity_of(trace).digest(),
        fingerprint=fingerprint.digest(),
        totals=totals,
        trace=_trace_columns(trace, totals),
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
        digest, packed = packed_tools(tools)
        self.found[digest] = packed
        return digest


def _turn_checksum(turn: Row, parts: list[Row]) -> int:
    sums = [
        [part["number"], part["name"], checksum_of(part["text"]), part["chunks"] and checksum_of(part["chunks"])]
        for part in parts
    ]
    return turn_checksum(turn["number"], turn["role"], turn["toolset"], checksum_of(turn["facts"]), sums)


def _trace_columns(trace: Trace, totals: TurnTotals) -> Row:
    said = trace.provenance
    columns = {
        "name": escaped(trace.name),
        "source": key(said.source),
        "file": escaped(said.file),
        "record": escaped(said.record),
        "model": key(trace.model or totals.model),
        "started_at_s": canonical(at_s(trace.started)),
        "duration_s": canonical(totals.duration_s),
        "turns": totals.turns,
        "characters": totals.characters,
        "chunks": totals.chunks,
        "input_tokens": sum_of((totals.input_tokens,)),
        "output_tokens": sum_of((totals.output_tokens,)),
        "tokens": sum_of((totals.input_tokens, totals.output_tokens)),
        "first_token_s": canonical(totals.first_token_s),
        "max_gap_s": canonical(totals.max_gap_s),
        "prompt_hash": totals.prompt_hash,
        **outcome_columns(trace.outcome),
        "facts": to_blob(pack(trace_facts(trace))),
        "provenance": to_blob(pack(provenance_facts(said))),
        "turns_checksum": totals.checksum,
    }
    return columns | {"record_checksum": record_checksum(columns)}


def outcome_columns(outcome: Outcome | None) -> Row:
    """What filters ask of the source's own outcome; a reward that is no number is none."""
    reward = None if outcome is None or outcome.reward is None or isnan(outcome.reward) else outcome.reward
    return {"outcome": task_outcome(outcome).value, "reward": reward}


def _generation_columns(generation: Generation) -> Row:
    return {
        "requested_model": escaped(generation.requested_model),
        "answered_model": escaped(generation.answered_model),
        "finish": generation.finish and generation.finish.value,
        "started_at_s": at_s(generation.started),
        "ended_at_s": at_s(generation.ended),
        "input_tokens": sum_of((generation.usage.input_tokens,)),
        "output_tokens": sum_of((generation.usage.output_tokens,)),
    }


def _part_columns(part: Part, text: bytes, chunks: bytes | None) -> Row:
    return {
        "name": escaped(part.name),
        "characters": len(part.text),
        "chunk_count": None if part.chunks is None else len(part.chunks),
        "text": to_blob(text),
        "chunks": None if part.chunks is None or chunks is None else chunks_blob(part.chunks, chunks),
    }
