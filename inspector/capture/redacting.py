"""What a recorder needs of whoever takes secrets out of a recording, and those that a recording can choose from."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from inspector.model import Chunk, ToolDefinition, Trace, Turn


class RedactsChunks(Protocol):
    """Takes secrets out of one turn while it arrives; may hold back what could be the beginning of one."""

    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """What is certain by now, in the order of the sequence."""
        ...

    def close(self) -> tuple[Chunk, ...]:
        """The rest."""
        ...


class Redacts(Protocol):
    """Takes secrets out of what is recorded; see `inspector.redaction`."""

    count: int
    """How many were taken out so far."""
    keeps_content: bool
    """Whether words that are no secrets are kept."""

    def text(self, text: str) -> str:
        """Any text."""
        ...

    def url(self, url: str) -> str:
        """An address, or a path with its query."""
        ...

    def turn(self, turn: Turn) -> Turn:
        """A whole turn with its generation."""
        ...

    def trace(self, trace: Trace) -> Trace:
        """The facts of a trace, and its turns."""
        ...

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> RedactsChunks:
        """Whoever takes the secrets out of the chunks of one turn, whose request offered `tools`."""
        ...


class NoRedaction:
    """Takes out nothing."""

    count = 0
    keeps_content = True

    def text(self, text: str) -> str:
        """The text as it is."""
        return text

    def url(self, url: str) -> str:
        """The address as it is."""
        return url

    def turn(self, turn: Turn) -> Turn:
        """The turn as it is."""
        return turn

    def trace(self, trace: Trace) -> Trace:
        """The trace as it is."""
        return trace

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> RedactsChunks:
        """Whoever hands on all chunks."""
        return _NoChunkRedaction()


class _NoChunkRedaction:
    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunks)

    def close(self) -> tuple[Chunk, ...]:
        return ()
