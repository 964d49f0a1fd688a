"""Turns, their parts, and the chunks that the parts arrived in."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat

import msgspec

from inspector.model.columns import Entries, first_above
from inspector.model.generation import Generation


class Role(StrEnum):
    """Whose turn it is."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One arrival on the wire. A chunk is not a token.

    A msgspec structure and no dataclass: one is made for every arrival, and it costs a fifth of the time.
    `sequence` counts the arrivals of a turn from 0, over all its parts. `offset_s` is seconds since the turn's
    generation started, None where no time was kept; `token_ids` and `logprobs` likewise.
    """

    sequence: int
    part: str
    text: str
    offset_s: float | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of one part, in columns: entry i of each belongs to chunk i.

    `ends` are the code-point offsets in the part's text at which chunks end, ascending; the last is the text's length.
    `offsets_s`, `token_ids` and `logprobs` are None where the source kept none for the whole part, and hold None for
    single chunks without. Columns have equal lengths; ValueError otherwise. Each is a tuple, or where they are many a
    column of `inspector.model.columns`: go through it from one end to the other where it is wanted whole.
    """

    ends: Entries[int]
    sequences: Entries[int]
    offsets_s: Entries[float | None] | Entries[float] | None = None
    token_ids: Entries[tuple[int, ...] | None] | Entries[tuple[int, ...]] | None = None
    logprobs: Entries[tuple[float, ...] | None] | Entries[tuple[float, ...]] | None = None

    def __post_init__(self) -> None:
        for column in (self.sequences, self.offsets_s, self.token_ids, self.logprobs):
            if column is not None and len(column) != len(self.ends):
                raise ValueError(f"{len(self.ends)} chunks, but a column of {len(column)}")

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, offset: int) -> int:
        """The index of the chunk that brings the character at `offset`; how many chunks there are where none does."""
        return first_above(self.ends, offset)


class Grade(StrEnum):
    """How much a source kept of a part's stream."""

    TOKEN_IDS = "token ids"
    CHUNKS = "chunks"
    TEXT_ONLY = "text only"


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a turn: `text`, `reasoning`, or `call:0`, `call:1`, ... whose text is a call's arguments.

    Sources bring others, which are kept word for word: `refusal`, `content:N` (a content block that is no text),
    `wire:...` (what a decoder did not take) and `choiceN:...` (a further choice of the same request).
    """

    name: str
    text: str
    chunks: Chunks | None = None

    @property
    def grade(self) -> Grade:
        """What the source kept of this part's stream; never more than it did."""
        if self.chunks is None:
            return Grade.TEXT_ONLY
        return Grade.TOKEN_IDS if self.chunks.token_ids is not None else Grade.CHUNKS

    def arrivals(self) -> Iterator[Chunk]:
        """The chunks one by one, in order; none where the source kept only the text."""
        if self.chunks is None:
            return
        chunks, none = self.chunks, repeat(None)
        known = (chunks.offsets_s or none, chunks.token_ids or none, chunks.logprobs or none)
        start = 0
        for end, sequence, offset_s, ids, odds in zip(chunks.ends, chunks.sequences, *known, strict=False):
            yield Chunk(sequence, self.name, self.text[start:end], offset_s, ids, odds)
            start = end


@dataclass(frozen=True, slots=True)
class CallHeader:
    """What a structured API says of a call beside its arguments; `part` names the part that holds those.

    `custom` says that the tool takes a free text and no JSON, as OpenAI's custom tools do: the part is the argument.
    """

    part: str
    name: str | None
    id: str | None = None
    custom: bool = False


@dataclass(frozen=True, slots=True)
class ResultHeader:
    """What a structured source says of the result that a tool turn holds; None where it does not say."""

    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None


class TurnFlag(StrEnum):
    """Why a turn is not what it seems."""

    INJECTED = "injected"
    DEMONSTRATION = "demonstration"
    SYNTHETIC = "synthetic"
    COPIED_CONTEXT = "copied_context"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation.

    `source_role` is the source's own word for the role (`gpt`, `observation`, `ipython`). `calls` describe the parts
    named `call:N`, `result` what a tool turn answers; an assistant turn that was generated has a `generation`.
    """

    role: Role
    parts: tuple[Part, ...]
    source_role: str = ""
    calls: tuple[CallHeader, ...] = ()
    result: ResultHeader | None = None
    generation: Generation | None = None
    flags: frozenset[TurnFlag] = frozenset()

    def part(self, name: str) -> Part | None:
        """The part of that name, or None."""
        return next((part for part in self.parts if part.name == name), None)
