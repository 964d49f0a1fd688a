"""Where in a record of training data the texts of its trace stand, in whichever shape it has them."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.dataset.repair import Place
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import Trace
from inspector.wire.json_text import compact_json

_LISTS = ("messages", "conversations", "conversation", "items")
_TEXTS = ("text", "completion", "output", "response", "generated_text", "result")
_BLOCKS = frozenset({"text", "input_text", "output_text"})


@dataclass(frozen=True, slots=True)
class Slot:
    """The value that holds a part's text: a string, or an object of arguments.

    `before` code points of the part stand elsewhere: a completion goes on where a prompt in a chat template ends.
    """

    node: JsonNode
    before: int = 0


def find_slots(row: JsonNode, trace: Trace) -> dict[Place, Slot]:
    """The value of each part, as far as there is one.

    `row` is the record, `trace` what its importer made of it. A value counts only where its text is the part's, or the
    end of it, so a part that an importer has put together of several values has none.
    """
    found: dict[Place, Slot] = {}
    for number, message in _messages(row, trace):
        turn = trace.turns[number - 1]
        for name, value in _values(message):
            part = turn.part(name)
            before = _before(value, part.text, is_end=number == len(trace.turns)) if part is not None else None
            if before is not None:
                found[number, name] = Slot(value, before)
    return found


def _messages(row: JsonNode, trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """The number of each turn, and the message or the value that it was made of."""
    if row.kind is JsonKind.ARRAY:
        yield from _numbered(row.items, trace)
        return
    listed = next((one.value for key in _LISTS if (one := row.member(key)) is not None), None)
    if listed is not None:
        system = row.member("system")
        if system is not None and len(trace.turns) == len(listed.items) + 1:
            yield 1, system.value
        yield from _numbered(listed.items, trace)
        return
    answer = next((one.value for key in _TEXTS if (one := row.member(key)) is not None), None)
    if answer is not None and trace.turns:
        yield len(trace.turns), answer


def _numbered(messages: tuple[JsonNode, ...], trace: Trace) -> Iterator[tuple[int, JsonNode]]:
    """Messages in order are the last turns: a system prompt beside them is a turn before."""
    before = len(trace.turns) - len(messages)
    if before in (0, 1):
        yield from enumerate(messages, before + 1)


def _values(message: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The names of a message's parts, and the values that may hold their texts."""
    if message.kind is JsonKind.STRING:
        yield "text", message
    elif message.kind is JsonKind.ARRAY:
        yield from _bare_calls(message)
    for key in ("value", "content"):
        member = message.member(key)
        if member is not None:
            yield from _texts(member.value)
            if key == "value":
                yield "call:0", member.value
    yield from _calls(message)


def _texts(value: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """A text, or the only text among a message's blocks."""
    if value.kind is not JsonKind.ARRAY:
        yield "text", value
        return
    kinds = ((block.member("type"), block.member("text")) for block in value.items)
    texts = [text.value for kind, text in kinds if kind is not None and text is not None and _is_text(kind.value)]
    if len(texts) == 1:
        yield "text", texts[0]


def _is_text(kind: JsonNode) -> bool:
    return isinstance(kind.scalar, str) and kind.scalar in _BLOCKS


def _calls(message: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The arguments of calls in fields of their own."""
    listed, legacy = message.member("tool_calls"), message.member("function_call")
    calls = [*(listed.value.items if listed is not None else ()), *([legacy.value] if legacy is not None else [])]
    for at, call in enumerate(calls):
        inner = call.member("function") or call.member("custom")
        function = inner.value if inner is not None and inner.value.kind is JsonKind.OBJECT else call
        arguments = function.member("arguments") or function.member("input")
        if arguments is not None:
            yield f"call:{at}", arguments.value


def _bare_calls(listed: JsonNode) -> Iterator[tuple[str, JsonNode]]:
    """The arguments of calls as BFCL has them: `[{"name": "{...}"}]`."""
    calls = [member.value for item in listed.items for member in item.members]
    yield from ((f"call:{at}", value) for at, value in enumerate(calls))


def _before(value: JsonNode, text: str, *, is_end: bool) -> int | None:
    """How much of a part's text stands before what a value says; None where the value does not say the part's text."""
    if value.kind is JsonKind.OBJECT:
        return 0 if compact_json(value.value()) == text else None
    said = value.scalar if value.kind is JsonKind.STRING else None
    if not isinstance(said, str) or not (text.endswith(said) if is_end and said else text == said):
        return None
    return len(text) - len(said)
