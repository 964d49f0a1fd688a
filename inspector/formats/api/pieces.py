"""What one JSON value of an API says, piece by piece: words, calls, results; places count from the value's own text."""

from typing import Protocol, TypeAlias

import msgspec

from inspector.diagnostics import Fault
from inspector.json_scanner import JsonNode
from inspector.model import SpanKind
from inspector.text import Range


class TextPiece(msgspec.Struct, frozen=True):
    """Words in a string: text or reasoning.

    `by_model` is False where somebody else says them; `in_order` where their place says nothing about when they were
    said (the members of an object may stand in any order).
    """

    kind: SpanKind
    node: JsonNode
    label: str = ""
    by_model: bool = True
    in_order: bool = True

    @property
    def place(self) -> Range:
        """The string, quotes included."""
        return self.node.range


class CallPiece(msgspec.Struct, frozen=True):
    """A call, or one of the pieces that a stream sends it in.

    `place` is its object. `key` tells to which call a piece belongs; None where the call is whole. `arguments` is a
    string that holds JSON (in a stream a fragment of it), an object, or None. `is_text` says that they are free text,
    `foreign_key` where a wrong key for them stands, `wants_id` that a result must name the call's id.
    """

    place: Range
    key: str | None = None
    name: JsonNode | None = None
    id: JsonNode | None = None
    arguments: JsonNode | None = None
    is_text: bool = False
    foreign_key: Range | None = None
    wants_id: bool = False


class RefusedCall(msgspec.Struct, frozen=True):
    """A call that the server itself could not read: a string of the server's tells it in words."""

    node: JsonNode

    @property
    def place(self) -> Range:
        """The string, quotes included."""
        return self.node.range


class ResultPiece(msgspec.Struct, frozen=True):
    """A tool's result; `content` is a string, or any value whose JSON is the content."""

    place: Range
    content: JsonNode | None
    call_id: JsonNode | None = None
    name: JsonNode | None = None
    is_error: bool | None = None


class TurnBegins(msgspec.Struct, frozen=True):
    """A message begins."""

    place: Range


class CallsEnd(msgspec.Struct, frozen=True):
    """The call of that key is complete; every open call where it is None."""

    place: Range
    key: str | None = None


class Oddity(msgspec.Struct, frozen=True):
    """Something about the answer that is to be told."""

    fault: Fault

    @property
    def place(self) -> Range:
        """Where."""
        return self.fault.range


Piece: TypeAlias = TextPiece | CallPiece | RefusedCall | ResultPiece | TurnBegins | CallsEnd | Oddity


class ApiShapeReader(Protocol):
    """Reads the values of one answer, one after the other, and remembers what a stream's pieces belong to.

    `strings` says that the API's whole calls hold their arguments as a string, as OpenAI's do, and not as an object;
    `awaits_end` that a stream began whose end has not come yet.
    """

    strings: bool

    @property
    def awaits_end(self) -> bool:
        """See above."""
        ...

    def read(self, value: JsonNode, text: str) -> list[Piece] | None:
        """What a value says; None where it has none of the API's shapes. Never raises."""
        ...

    def end(self, place: Range) -> list[Piece]:
        """What the stream's end sign says, which stands at `place`."""
        ...
