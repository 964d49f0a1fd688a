"""The interface of the redactors that remove secrets from a recording, and a redactor that removes nothing."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from weaklink.inspector.model import Chunk, ToolDefinition, Trace, Turn


class RedactsChunks(Protocol):
    """Removes secrets from one turn while it arrives; may hold back text that could be the beginning of one."""

    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """The chunks that are certain by now, in the order of the sequence."""
        ...

    def close(self) -> tuple[Chunk, ...]:
        """The remaining chunks."""
        ...


class Redacts(Protocol):
    """Removes secrets from what is recorded; see `inspector.redaction`."""

    count: int
    """How many secrets were removed so far."""
    keeps_content: bool
    """Whether text without secrets is kept."""

    def text(self, text: str) -> str:
        """Redact any text."""
        ...

    def url(self, url: str) -> str:
        """Redact an address, or a path with its query."""
        ...

    def turn(self, turn: Turn) -> Turn:
        """Redact a whole turn with its generation."""
        ...

    def trace(self, trace: Trace) -> Trace:
        """Redact the facts of a trace, and its turns."""
        ...

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> RedactsChunks:
        """A redactor for the chunks of one turn, whose request offered `tools`."""
        ...


class NoRedaction:
    """Removes nothing."""

    count = 0
    keeps_content = True

    def text(self, text: str) -> str:
        """The text, unchanged."""
        return text

    def url(self, url: str) -> str:
        """The address, unchanged."""
        return url

    def turn(self, turn: Turn) -> Turn:
        """The turn, unchanged."""
        return turn

    def trace(self, trace: Trace) -> Trace:
        """The trace, unchanged."""
        return trace

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> RedactsChunks:
        """A redactor that passes on all chunks."""
        return _NoChunkRedaction()


class _NoChunkRedaction:
    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunks)

    def close(self) -> tuple[Chunk, ...]:
        return ()
