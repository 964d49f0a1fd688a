"""The pieces that one JSON value of an API contains, and how to look them up in its nodes."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias

import msgspec

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.json_scanner import JsonKind, JsonNode
from weaklink.inspector.model import ErrorPhase, FinishReason, SpanKind
from weaklink.inspector.rules.recording import CUT_OFF_BY_LENGTH, ERROR_INSIDE_200, UNKNOWN_WIRE_EVENT
from weaklink.inspector.text import Range
from weaklink.inspector.wire.answer_reader import aborted_message, cut_off_message, finish_meaning, read_error


class TextPiece(msgspec.Struct, frozen=True):
    """Text or reasoning in a string.

    `by_model` is False if it is not from the model; `in_order` is False if its position does not show when it was
    written (the members of an object may be in any order).
    """

    kind: SpanKind
    node: JsonNode
    label: str = ""
    by_model: bool = True
    in_order: bool = True

    @property
    def range(self) -> Range:
        """The string, quotes included."""
        return self.node.range


class ApiCallPiece(msgspec.Struct, frozen=True):
    """A call, or one of the pieces that a stream sends it in.

    `range` is its object. `key` identifies the call that a piece belongs to; None if the call is whole. `arguments` is
    a string that contains JSON (in a stream a fragment of it), an object, or None. `is_encoded`: whole arguments belong
    into a string, as OpenAI's do, and not into an object. `is_text`: they are free text; `foreign_key` is the position
    of a wrong key for them; `requires_id`: a result must name the call's id.
    """

    range: Range
    key: str | None = None
    name: JsonNode | None = None
    id: JsonNode | None = None
    arguments: JsonNode | None = None
    is_encoded: bool = False
    is_text: bool = False
    foreign_key: Range | None = None
    requires_id: bool = False


class RefusedCall(msgspec.Struct, frozen=True):
    """A call that the server itself refused, in a string of its JSON (see `inspector.apis.refused_calls`).

    `written` is what the model wrote, as a range of the string's value; empty if the server does not say it. `reason`
    is what the server returned instead of the call, in its own words.
    """

    node: JsonNode
    written: Range
    reason: str

    @property
    def range(self) -> Range:
        """The string, quotes included."""
        return self.node.range


class ResultPiece(msgspec.Struct, frozen=True):
    """A tool's result; `content` is a string, or any value whose JSON is the content."""

    range: Range
    content: JsonNode | None
    call_id: JsonNode | None = None
    name: JsonNode | None = None
    is_error: bool | None = None


class TurnBegins(msgspec.Struct, frozen=True):
    """A message begins."""

    range: Range


class CallsEnd(msgspec.Struct, frozen=True):
    """The call of that key is complete; every open call if it is None."""

    range: Range
    key: str | None = None


class ApiFault(msgspec.Struct, frozen=True):
    """A fault of the answer."""

    fault: Fault

    @property
    def range(self) -> Range:
        """The fault's range."""
        return self.fault.range


ApiPiece: TypeAlias = TextPiece | ApiCallPiece | RefusedCall | ResultPiece | TurnBegins | CallsEnd | ApiFault


class ApiShapeReader(Protocol):
    """Reads the values of one answer, one after the other, and remembers what a stream's pieces belong to."""

    @property
    def expects_end(self) -> bool:
        """Whether a stream began whose end has not come yet."""
        ...

    def read(self, value: JsonNode, text: str) -> list[ApiPiece] | None:
        """The pieces of a value; None if it has none of the API's shapes. Never raises."""
        ...

    def end(self, marker: Range) -> list[ApiPiece]:
        """The pieces of the stream's end marker."""
        ...


def cut_off(reason: JsonNode | None) -> Iterator[ApiFault]:
    """The fault of a finish reason that means the length limit."""
    finish = str(reason.scalar) if reason is not None else ""
    if reason is not None and finish_meaning(finish) is FinishReason.LENGTH:
        hint = "Raise the limit on output tokens."
        yield ApiFault(Fault(CUT_OFF_BY_LENGTH, reason.range, cut_off_message(finish), hint))


def another_answer(node: JsonNode, index: int) -> ApiFault:
    """The fault that a request has several answers; `node` is the answer of that index."""
    message = f"Answer {index} is another answer to the same request; only answer 0 is read."
    return ApiFault(Fault(UNKNOWN_WIRE_EVENT, node.range, message))


def error_inside(node: JsonNode) -> Iterator[ApiFault]:
    """The fault of an `error` in a stream, or of an event that is one."""
    error = member(node, "error") or (node if text_of(node, "type") == "error" else None)
    if error is not None:
        message = aborted_message(read_error(error.value(), ErrorPhase.IN_STREAM))
        yield ApiFault(Fault(ERROR_INSIDE_200, error.range, message))


def member(node: JsonNode | None, *keys: str) -> JsonNode | None:
    """The value under the first of `keys` that is there and not null."""
    if node is None or node.kind is not JsonKind.OBJECT:
        return None
    for key in keys:
        entry = node.member(key)
        if entry is not None and entry.value.kind is not JsonKind.NULL:
            return entry.value
    return None


def string(node: JsonNode | None, *keys: str) -> JsonNode | None:
    """The string under the first of `keys` that is there and not null; None if that is no string."""
    value = member(node, *keys)
    return value if value is not None and value.kind is JsonKind.STRING else None


def text_of(node: JsonNode | None, *keys: str) -> str:
    """That string's value, `""` if there is none."""
    value = string(node, *keys)
    return value.scalar if value is not None and isinstance(value.scalar, str) else ""


def items(node: JsonNode | None, *keys: str) -> tuple[JsonNode, ...]:
    """The elements of the array under the first of `keys` that is there."""
    value = member(node, *keys)
    return value.items if value is not None and value.kind is JsonKind.ARRAY else ()


def objects(node: JsonNode | None, *keys: str) -> Iterator[JsonNode]:
    """Those of them that are objects."""
    return (item for item in items(node, *keys) if item.kind is JsonKind.OBJECT)


def number(node: JsonNode | None, key: str) -> int | None:
    """The integer under `key`."""
    value = member(node, key)
    scalar = value.scalar if value is not None else None
    return scalar if isinstance(scalar, int) and not isinstance(scalar, bool) else None


def truth(node: JsonNode | None, key: str) -> bool | None:
    """The truth value under `key`."""
    value = member(node, key)
    scalar = value.scalar if value is not None else None
    return scalar if isinstance(scalar, bool) else None


def filled(node: JsonNode | None, *keys: str) -> Iterator[JsonNode]:
    """The strings under these keys that are not empty, in the order of the keys."""
    return (value for key in keys if (value := string(node, key)) is not None and value.scalar)
