"""A trace as rows: its turns, parts and tools, its totals, and the identity that all its versions share."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise, takewhile
from math import isfinite, isnan
from typing import TypeVar

from msgspec import Struct, structs

from weaklink.inspector.chain.endings import task_outcome
from weaklink.inspector.memoized import CacheKey, memoized
from weaklink.inspector.model import Generation, Instant, Outcome, Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.model.exchange import compacted
from weaklink.storage.checksums import canonical, record_checksum, turn_checksum
from weaklink.storage.packing.blobs import checksum_of, escaped, key, text_to_bytes, to_blob
from weaklink.storage.packing.chunks import pack_chunks
from weaklink.storage.packing.records import pack_facts, provenance_facts, tool_facts, trace_facts, turn_facts
from weaklink.storage.packing.values import pack
from weaklink.storage.tables import Row, Toolset

_HASH_DIGITS = 12
_SHARED, _LONGEST_SHARED = (Role.SYSTEM, Role.USER), 16_384  # roles of the texts to cache, and bytes of the longest


def first_token_s(turn: Turn) -> float | None:
    """From the generation's start to its first token, or to the first chunk of any part; None without such times."""
    generation = turn.generation
    if generation is None:
        return None
    if generation.started is not None and generation.first_token is not None:
        return _finite(generation.first_token.at_s - generation.started.at_s)
    offsets = [chunks.offsets_s for part in turn.parts if (chunks := part.chunks) is not None]
    if not offsets:
        return None
    return min((at_s for some in offsets if some for at_s in some if at_s is not None and isfinite(at_s)), default=None)


def max_gap_s(part: Part) -> float | None:
    """The longest time between two consecutive chunks of a part; None without such times."""
    offsets = part.chunks.offsets_s if part.chunks is not None else None
    if not offsets:
        return None
    gaps = (after - before for before, after in pairwise(offsets) if before is not None and after is not None)
    return max(filter(isfinite, gaps), default=None)


def prompt_hash(turns: Sequence[Turn]) -> str:
    """A hash (12 hex digits) of the system prompt and the tools of the first generation; `""` if it has neither."""
    before = list(takewhile(lambda turn: turn.role is not Role.ASSISTANT, turns))
    first = turns[len(before)].generation if len(before) < len(turns) else None
    texts = [text_to_bytes(part.text) for turn in before if turn.role is Role.SYSTEM for part in turn.parts]
    tools = packed_tools(first.tools)[0] if first is not None and first.tools else b""
    if not texts and not tools:
        return ""
    hashed = sha256(tools)
    for text in texts:
        hashed.update(b"%d " % len(text) + text)
    return hashed.hexdigest()[:_HASH_DIGITS]


def _finite(seconds: float) -> float | None:
    return seconds if isfinite(seconds) else None


def packed_tools(tools: tuple[ToolDefinition, ...]) -> tuple[bytes, Toolset]:
    """The hash of a set of tools, 32 bytes, and its packed bodies."""
    return _packed(CacheKey(id(tools), tools))  # most turns, and most traces of a file, share one tuple


@lru_cache(maxsize=32)
def _packed(offered: CacheKey[tuple[ToolDefinition, ...]]) -> tuple[bytes, Toolset]:
    packed = tuple((key(tool.name), pack(tool_facts(tool))) for tool in offered.value)
    return sha256(pack([body for _, body in packed])).digest(), packed


class IdentityKind(StrEnum):
    """What identifies a trace: its session, or its content."""

    SESSION = "session"
    CONTENT = "content"


class Identity(Struct, frozen=True):
    """What all versions of one trace have in common, and no other trace has.

    The key of a session is its source and its external ids, sorted by name; that of content is its hash and the record.
    """

    kind: IdentityKind
    key: tuple[str, ...]

    def digest(self) -> bytes:
        """A hash of the identity, 32 bytes."""
        return sha256(pack([self.kind.value, *self.key])).digest()


class TraceExtent(Struct, frozen=True, order=True):
    """How much of a session a trace contains; a version with more replaces one with less."""

    turns: int
    characters: int
    chunks: int


def identity_of(trace: Trace) -> Identity:
    """The identity of `trace`: its source and external ids, or else its content and its record."""
    source, record = trace.provenance.source, trace.provenance.record
    if trace.external_ids:
        ids = sorted((id_.name, id_.value) for id_ in trace.external_ids)
        return Identity(IdentityKind.SESSION, (source, *(side for pair in ids for side in pair)))
    return Identity(IdentityKind.CONTENT, (content_hash(trace), record))


def content_hash(trace: Trace) -> str:
    """The SHA-256, in hexadecimal, of the content: roles, parts, the headers of calls and results; no times."""
    content = sha256()
    for turn in trace.turns:
        result = turn.result and [turn.result.call_id, turn.result.name, turn.result.is_error]
        calls = [[header.part, header.name, header.id] for header in turn.calls]  # `custom` follows from the source
        texts = [text_to_bytes(part.text) for part in turn.parts]
        heads = [[part.name, len(text)] for part, text in zip(turn.parts, texts, strict=True)]
        content.update(pack([turn.role.value, heads, calls, result]))
        for text in texts:
            content.update(text)
    return content.hexdigest()


_Number = TypeVar("_Number", int, float)


class TurnTotals(Struct, frozen=True):
    """Totals of a sequence of turns; the totals of two adjacent sequences can be added.

    `model` is the first model that answered, or else was requested. Token counts are None if no turn has one; times
    (seconds since 1970-01-01 UTC) are None if no turn has one. `first_token_s` is the longest time from a generation's
    start to its first token, `max_gap_s` the longest between two chunks of one part; both are None without recorded
    times. `prompt_hash` is a hash of the system prompt and the tools of the first generation; a sum has that of the
    first sequence, which is that of both only if the first `has_answer`, a turn of the model. `checksum` is the sum of
    the turns' checksums (`storage.checksums`); only `record_rows` sets it.
    """

    turns: int = 0
    characters: int = 0
    chunks: int = 0
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    first_start_s: float | None = None
    last_end_s: float | None = None
    first_token_s: float | None = None
    max_gap_s: float | None = None
    prompt_hash: str = ""
    has_answer: bool = False
    checksum: int = 0

    def __add__(self, other: "TurnTotals") -> "TurnTotals":
        return TurnTotals(
            self.turns + other.turns,
            self.characters + other.characters,
            self.chunks + other.chunks,
            self.model or other.model,
            _known_sum((self.input_tokens, other.input_tokens)),
            _known_sum((self.output_tokens, other.output_tokens)),
            min(_known((self.first_start_s, other.first_start_s)), default=None),
            max(_known((self.last_end_s, other.last_end_s)), default=None),
            max(_known((self.first_token_s, other.first_token_s)), default=None),
            max(_known((self.max_gap_s, other.max_gap_s)), default=None),
            self.prompt_hash if self.turns else other.prompt_hash,
            self.has_answer or other.has_answer,
            self.checksum + other.checksum,
        )

    @property
    def extent(self) -> TraceExtent:
        """How much of a session these turns contain."""
        return TraceExtent(self.turns, self.characters, self.chunks)

    @property
    def duration_s(self) -> float | None:
        """From the first start to the last end; None if one of them is unknown."""
        if self.first_start_s is None or self.last_end_s is None:
            return None
        return self.last_end_s - self.first_start_s


NOTHING = TurnTotals()
"""The totals of no turns."""


def totals_of(turns: Sequence[Turn]) -> TurnTotals:
    """The totals of these turns, without their checksum."""
    parts = [part for turn in turns for part in turn.parts]
    generations = [turn.generation for turn in turns if turn.generation is not None]
    streamed = [part for part in parts if part.chunks is not None]
    return TurnTotals(
        len(turns),
        sum([len(part.text) for part in parts]),
        sum([len(part.chunks or ()) for part in streamed]),
        next(filter(None, (generation.answered_model or generation.requested_model for generation in generations)), ""),
        _known_sum([generation.usage.input_tokens for generation in generations]),
        _known_sum([generation.usage.output_tokens for generation in generations]),
        min(_known([at_s(generation.started) for generation in generations]), default=None),
        max(_known([at_s(generation.ended) for generation in generations]), default=None),
        max(_known([first_token_s(turn) for turn in turns if turn.generation is not None]), default=None),
        max(_known([max_gap_s(part) for part in streamed]), default=None),
        prompt_hash(turns),
        any(turn.role is Role.ASSISTANT for turn in turns),
    )


def at_s(instant: Instant | None) -> float | None:
    """The time as a column stores it; None if it is unknown or not finite."""
    return instant.at_s if instant is not None and isfinite(instant.at_s) else None


def sum_of(counts: Iterable[int | None]) -> int | None:
    """The sum of the known counts; None if none is known, or if the sum does not fit into a column (64 bits)."""
    total = _known_sum(counts)
    return total if total is not None and -(2**63) <= total < 2**63 else None


def _known_sum(counts: Iterable[int | None]) -> int | None:
    known = _known(counts)
    return sum(known) if known else None


def _known(values: Iterable[_Number | None]) -> list[_Number]:
    return [value for value in values if value is not None]


class RecordRows(Struct, frozen=True):
    """The rows of a trace's record.

    `toolsets` are the distinct sets of tools by their hash, which the rows of turns have as `toolset`. `fingerprint` is
    equal for two records with the same content, whatever the paths of their files. `exchanges` are the packed lines of
    the trace's HTTP exchanges with their numbers; the fingerprint does not cover them.
    """

    identity: bytes
    fingerprint: bytes
    totals: TurnTotals
    trace: Row
    external_ids: list[Row]
    turns: list[Row]
    parts: list[Row]
    toolsets: dict[bytes, Toolset]
    exchanges: tuple[tuple[int, bytes], ...] = ()

    @property
    def extent(self) -> TraceExtent:
        """How much of its session the trace contains."""
        return self.totals.extent


def record_rows(trace: Trace, *, after: TurnTotals = NOTHING) -> RecordRows:
    """A trace as rows.

    The rows of a turn depend on its number and the turn alone, never on other turns: a running trace is written turn by
    turn, and its checksum is a sum over them. The fingerprint is that of the compact form (`compacted`), in which trace
    files have the same trace.

    With `after`, the totals of turns that are already stored, `trace` has only the turns after those. The result then
    has the rows of these turns, the totals of all turns, and a fingerprint that no whole trace has.
    """
    trace_values = pack_facts(trace_facts(trace))
    fingerprint = sha256(pack([trace_values, after.turns] if after.turns else trace_values))
    turns: list[Row] = []
    parts: list[Row] = []
    toolsets = _Toolsets()
    checksum = 0
    compact = trace if after.turns else compacted(trace)
    for number, (turn, short) in enumerate(zip(trace.turns, compact.turns, strict=True), after.turns + 1):
        toolset = toolsets.hash_of(turn.generation.tools) if turn.generation else None
        rows = _rows_of_turn(turn, short, number, toolset)
        for piece in rows.fingerprinted:
            fingerprint.update(piece)
        turns.append(rows.turn)
        parts += rows.parts
        checksum += rows.checksum
    totals = structs.replace(totals_of(trace.turns), checksum=checksum)
    if after is not NOTHING:
        totals = after + totals
    ids = enumerate(trace.external_ids)
    return RecordRows(
        identity=identity_of(trace).digest(),
        fingerprint=fingerprint.digest(),
        totals=totals,
        trace=_trace_columns(trace, totals, trace_values),
        external_ids=[
            {"number": number, "name": escaped(external_id.name), "value": key(external_id.value)}
            for number, external_id in ids
        ],
        turns=turns,
        parts=parts,
        toolsets=toolsets.found,
    )


class _TurnRows(Struct, frozen=True):
    """The rows of a turn and of its parts, what the fingerprint covers of them, and their checksum."""

    turn: Row
    parts: list[Row]
    fingerprinted: list[bytes]
    checksum: int


@memoized
def _rows_of_turn(turn: Turn, short: Turn, number: int, toolset: bytes | None) -> _TurnRows:
    """The rows of turn `number`; `short` is its compact form."""
    turn_values = pack_facts(turn_facts(turn))
    short_values = turn_values if short is turn else pack_facts(turn_facts(short))
    fingerprinted = [pack([turn.role.value, toolset, short_values, len(turn.parts)])]
    columns = {"number": number, "role": turn.role.value, "toolset": toolset, "facts": to_blob(turn_values)}
    parts: list[Row] = []
    for index, part in enumerate(turn.parts):
        text, chunks = text_to_bytes(part.text), None if part.chunks is None else pack_chunks(part.chunks)
        fingerprinted += pack([part.name, len(text), chunks]), text
        blob = to_blob(text) if turn.role not in _SHARED or len(text) > _LONGEST_SHARED else _shared_blob(text)
        parts.append({"turn": number, "number": index} | _part_columns(part, blob, chunks))
    of_generation = _NO_GENERATION if turn.generation is None else _generation_columns(turn.generation)
    return _TurnRows(columns | of_generation, parts, fingerprinted, _turn_checksum(columns, parts))


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


def _trace_columns(trace: Trace, totals: TurnTotals, facts: bytes) -> Row:
    provenance = trace.provenance
    columns = {
        "name": escaped(trace.name),
        "source": key(provenance.source),
        "file": escaped(provenance.file),
        "record": escaped(provenance.record),
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
        "project": key(trace.project),
        "facts": to_blob(facts),
        "provenance": to_blob(pack(provenance_facts(provenance))),
        "turns_checksum": totals.checksum,
    }
    return columns | {"record_checksum": record_checksum(columns)}


def outcome_columns(outcome: Outcome | None) -> Row:
    """The columns that filters read of the source's own outcome; a reward that is NaN is stored as None."""
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


_NO_GENERATION = _generation_columns(Generation())


@lru_cache(maxsize=128)
def _shared_blob(text: bytes) -> bytes:
    """The blob of a text that many traces share, cached."""
    return to_blob(text)


def _part_columns(part: Part, text: bytes, chunks: bytes | None) -> Row:
    return {
        "name": escaped(part.name),
        "characters": len(part.text),
        "chunk_count": None if part.chunks is None else len(part.chunks),
        "text": text,
        "chunks": None if chunks is None else to_blob(chunks),
    }
