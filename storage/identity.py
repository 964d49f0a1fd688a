"""When two traces are the same trace, and which of two versions of it is the longer."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from inspector.model import Trace
from storage.packing.blobs import text_to_bytes
from storage.packing.values import pack


class IdentityKind(StrEnum):
    """By what a trace is known again."""

    SESSION = "session"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Identity:
    """What two versions of one trace have in common, and no other trace has.

    For a session: source, and its external ids in the order of their names. For content: its hash, and the record.
    """

    kind: IdentityKind
    key: tuple[str, ...]

    def digest(self) -> bytes:
        """32 bytes that stand for the identity."""
        return sha256(pack([self.kind.value, *self.key])).digest()


@dataclass(frozen=True, slots=True, order=True)
class TraceExtent:
    """How much of a session a trace holds; the version with more of it replaces the one with less."""

    turns: int
    characters: int
    chunks: int


def identity_of(trace: Trace) -> Identity:
    """By what `trace` is known again: its source and external ids, or else its content and its record."""
    source, record = trace.provenance.source, trace.provenance.record
    if trace.external_ids:
        ids = sorted((one.name, one.value) for one in trace.external_ids)
        return Identity(IdentityKind.SESSION, (source, *(side for pair in ids for side in pair)))
    return Identity(IdentityKind.CONTENT, (content_hash(trace), record))


def content_hash(trace: Trace) -> str:
    """The SHA-256, in hexadecimal, of what was said: roles, parts, the headers of calls and results; no times."""
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
