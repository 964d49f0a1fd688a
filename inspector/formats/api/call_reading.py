r"""Reads a call of an API, whole or in the fragments of a stream, with positions in its JSON's raw characters.

Theory of operation. A streamed call arrives as pieces, each in an object of its own, and its arguments are JSON within
JSON. So a position in them is a position in a decoded text that no raw text contains:

    raw                 data: {... {"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}} ...}
                        data: {... {"index":0,"function":{"arguments":": 1}"}} ...}
    pieces              the two inner objects, which the shapes of the API find (`ApiCallPiece`)
    `GrowingCall`       name f, id c1, and two literals: the raw {\"a\" at 99 is the text {"a", and : 1} at 193 itself
    `Decoded`           the text {"a": 1}; position 4 of it is raw position 193
    `ToolCall`          from the first piece's object to the last one's end; `raw_arguments` is the decoded text

The arguments are read as any payload; its faults, ranges and fixes are then mapped back to raw characters, and a fix
that has to be written within a string is escaped. Whole arguments may be an object instead, or free text if the tool
takes code; a mixture of these, a second name, or a piece after the call's end is a fault.
"""

from collections.abc import Sequence

from msgspec import Struct, field, structs

from weaklink.inspector.apis.located_pieces import ApiCallPiece
from weaklink.inspector.diagnostics import Edit, Fault, Fix, Related
from weaklink.inspector.formats.api.units import Unit
from weaklink.inspector.formats.json.call_shape import has_arguments, is_no_object, not_an_object
from weaklink.inspector.formats.json.calls import strict_object
from weaklink.inspector.json_scanner import JsonKind, JsonNode, is_strict, read_json
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.model import CallHeader, Decoded, Json, Literal, Part, Span, SpanKind, ToolCall, Turn
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.conversation import MISSING_CALL_ID
from weaklink.inspector.rules.json_syntax import ARGUMENTS_AS_OBJECT, EMPTY_ARGUMENTS
from weaklink.inspector.rules.recording import REPEATED_CALL_NAME
from weaklink.inspector.scanning import BracketCounter, trailing_backslashes
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import WIRE_PREFIX

CODE_TOOLS = frozenset({"python"})
"""Tools whose arguments are raw code, not JSON (functionary and gpt-oss call their interpreter like this)."""


class GrowingCall(Struct):
    """A partial call; `has_ended` is set once no more pieces may come. Ranges are in the whole text.

    `broken` are faults of the JSON around its arguments, which are reported elsewhere; `is_strict` says that the text
    of all its pieces is strict JSON; `late` is the fault of a call that continues after its end, `name_again`
    that of a later piece with a name.
    """

    start: int
    end: int
    name: str = ""
    name_range: Range | None = None
    id: str | None = None
    fragments: list[Literal] = field(default_factory=list)
    value: JsonNode | None = None
    value_text: str = ""
    value_at: int = 0
    is_encoded: bool = False
    is_text: bool = False
    is_streamed: bool = False
    foreign_key: Range | None = None
    requires_id: bool = False
    broken: list[Fault] = field(default_factory=list)
    is_strict: bool = True
    late: Fault | None = None
    name_again: Fault | None = None
    has_ended: bool = False
    _counter: BracketCounter = field(default_factory=BracketCounter)

    @property
    def looks_complete(self) -> bool:
        """Whether its arguments look complete."""
        return self.has_ended or self._counter.complete

    def add(self, piece: ApiCallPiece, unit: Unit) -> None:
        """Add a piece to the call."""
        self.end = max(self.end, unit.base + piece.range.end)
        if piece.name is not None and not self.name:
            name = piece.name.scalar
            self.name = name if isinstance(name, str) else ""
            self.name_range = piece.name.range.moved(unit.base)
        elif piece.name is not None and isinstance(piece.name.scalar, str) and self.name_again is None:
            self.name_again = _named_again(self.name, piece.name, unit)
        if piece.id is not None and isinstance(piece.id.scalar, str):
            self.id = self.id or piece.id.scalar or None
        self.is_encoded = self.is_encoded or piece.is_encoded
        self.is_text = self.is_text or piece.is_text
        self.is_streamed = self.is_streamed or piece.key is not None
        self.requires_id = self.requires_id or piece.requires_id
        if piece.foreign_key is not None:
            self.foreign_key = piece.foreign_key.moved(unit.base)
        if piece.arguments is not None and piece.arguments.kind is JsonKind.STRING:
            fragment = literal(piece.arguments, unit)
            self._counter.feed(fragment.text)
            self.fragments.append(fragment)
        elif piece.arguments is not None:
            self.value, self.value_at = piece.arguments, unit.base
            self.value_text = piece.arguments.range.of(unit.readable)

    def add_faults(self, piece: ApiCallPiece, unit: Unit, errors: Sequence[Fault]) -> None:
        """Record the faults of a piece; `errors` are those of its unit, with ranges in the whole text.

        An error may be reported once for a whole unit, at another piece, so the piece's own text is read again.
        """
        piece_range = piece.range.moved(unit.base)
        self.broken += (fault for fault in errors if piece_range.covers(fault.range))
        if errors:
            self.is_strict = self.is_strict and is_strict(unit.readable, piece.range)

    @property
    def range(self) -> Range:
        """The range of the call, from its first piece to its last."""
        return Range(self.start, self.end)


def read_call(call: GrowingCall) -> tuple[ToolCall, list[Fault]]:
    """The call made of the pieces, and its faults, without those of the JSON around it.

    An empty string, null and no arguments at all mean an empty object.
    """
    faults = [fault for fault in (call.late, call.name_again) if fault is not None]
    if call.value is not None and not any(fragment.text for fragment in call.fragments):
        read = _from_object(call, call.value, faults)
    else:
        read = _from_strings(call, faults)
    fault_range = call.name_range or call.range
    if not call.name:
        faults.append(Fault(rules.NOT_A_CALL, fault_range, "The call has no `name`: the tool is unknown."))
    if call.requires_id and call.id is None:
        what = f"The call of `{call.name}`" if call.name else "The call"
        message = f"{what} has no id: no result can refer to it, and most clients and servers reject the history."
        faults.append(Fault(MISSING_CALL_ID, fault_range, message))
    if call.foreign_key is not None:
        message, hint = (
            "The arguments are under `parameters`; this API uses `arguments`.",
            "Rename the key to `arguments`.",
        )
        faults.append(Fault(rules.WRONG_ARGUMENTS_KEY, call.foreign_key, message, hint))
    return read, faults


def begin(piece: ApiCallPiece, unit: Unit) -> GrowingCall:
    """A new call with its first piece."""
    call = GrowingCall(unit.base + piece.range.start, unit.base + piece.range.end)
    call.add(piece, unit)
    return call


def _from_object(call: GrowingCall, value: JsonNode, faults: list[Fault]) -> ToolCall:
    arguments_range = value.range.moved(call.value_at)
    is_other = is_no_object(value)
    if call.is_encoded:
        faults.append(_as_object(arguments_range, value))
    elif is_other:
        faults.append(not_an_object(value, arguments_range))
    readable = _is_repairable(call) and not (is_other and not call.is_encoded)
    valid = readable and call.is_strict and not call.broken and not call.is_encoded
    return ToolCall(
        name=call.name or None,
        arguments=value.value() if readable else call.value_text,
        raw_arguments=call.value_text,
        valid=valid,
        range=call.range,
        id=call.id,
        recovered=readable and not valid,
        name_range=call.name_range,
        arguments_range=arguments_range,
    )


def _from_strings(call: GrowingCall, faults: list[Fault]) -> ToolCall:
    decoded = Decoded(call.fragments) if call.fragments else None
    text = decoded.text if decoded is not None else ""
    repairable = _is_repairable(call)
    fits = repairable and call.is_strict and not call.broken
    arguments: Json = {}
    if call.is_text:
        arguments = text
    elif decoded is not None and text.strip():
        # If the JSON around the string is cut off, the same cut is reported already.
        is_cut = any(fault.rule is rules.TRUNCATED_JSON for fault in call.broken)
        parsed = _parsed_arguments(decoded.text, is_cut=is_cut)
        repairable = repairable and parsed.is_readable
        fits = fits and parsed.is_strict and (call.is_encoded or call.is_streamed)
        arguments = parsed.value if fits or repairable else text
        faults += [raw_fault(fault, decoded) for fault in parsed.faults] if call.late is None else []
        if not call.is_encoded and not call.is_streamed:
            faults.append(_as_string(decoded.range))
    elif decoded is not None and call.is_encoded:
        start, end = decoded.range.start - 1, decoded.range.end + 1  # with its quotes, if the text has them
        message = (
            f"The arguments of `{call.name}` are an empty string; strict clients fail to decode it and lose the call."
        )
        fault_range = Range(max(start, call.start), min(end, call.end))
        faults.append(Fault(EMPTY_ARGUMENTS, fault_range, message, "Write `{}` for no arguments."))
    return ToolCall(
        name=call.name or None,
        arguments=arguments,
        raw_arguments=text,
        valid=fits,
        range=call.range,
        id=call.id,
        recovered=repairable and not fits,
        name_range=call.name_range,
        arguments_range=decoded.range if decoded is not None else None,
        decoded=decoded,
    )


class _ParsedArguments(Struct, frozen=True):
    """The text of a call's arguments as a value; `is_readable` says that repairs turn it into an object.

    The ranges of the faults, and their fixes, are those of the text itself.
    """

    value: Json
    faults: tuple[Fault, ...]
    is_strict: bool = False
    is_readable: bool = False


def _parsed_arguments(text: str, *, is_cut: bool = False) -> _ParsedArguments:
    """The arguments in a text; `is_cut` says that it is reported already that the stream ends within them."""
    reading = read_json(text)
    faults = tuple(fault for fault in reading.faults if not (is_cut and fault.rule is rules.TRUNCATED_JSON))
    if len(reading.nodes) > 1:
        return _ParsedArguments(text, (*faults, _several(text, reading.nodes[1].range)))
    if not reading.nodes:
        return _ParsedArguments(text, faults, reading.strict)
    first = reading.nodes[0]
    inner = read_json(first.scalar) if first.kind is JsonKind.STRING and isinstance(first.scalar, str) else None
    if inner is not None and inner.strict and inner.nodes[0].kind is JsonKind.OBJECT:
        twice = _encoded_twice(text, first.range)
        return _ParsedArguments(inner.nodes[0].value(), (*faults, twice), is_readable=reading.strict)
    if reading.strict and is_no_object(first):
        return _ParsedArguments(first.value(), (*faults, not_an_object(first, Range(0, len(text)))))
    is_object = first.kind is JsonKind.OBJECT and has_arguments(first, text)
    return _ParsedArguments(first.value(), faults, reading.strict, reading.repairable and is_object)


def _is_repairable(call: GrowingCall) -> bool:
    """Whether the call has a name, and all faults around its arguments have a repair."""
    return bool(call.name) and call.late is None and all(fault.fix is not None for fault in call.broken)


def _named_again(name: str, again: JsonNode, unit: Unit) -> Fault:
    fault_range = again.range.moved(unit.base)
    if again.scalar:
        message = f"The name of the call of `{name}` comes again; clients that join pieces double it."
    else:
        message = f"A later piece of the call of `{name}` has an empty name; clients that keep the last one lose it."
    return Fault(REPEATED_CALL_NAME, fault_range, message)


def _as_object(arguments_range: Range, value: JsonNode) -> Fault:
    what = "an object" if value.kind is JsonKind.OBJECT else f"a JSON {value.kind.value}"
    return Fault(
        ARGUMENTS_AS_OBJECT,
        Range(arguments_range.start, arguments_range.start + 1),
        f"`arguments` is {what}; the OpenAI API uses a string of JSON, and clients that decode it fail.",
        "Write the arguments as a JSON string.",
    )


def _as_string(arguments_range: Range) -> Fault:
    return Fault(
        rules.ARGUMENTS_AS_STRING,
        Range(arguments_range.start - 1, arguments_range.start),
        "The arguments are a JSON string, not an object: clients pass the tool a string.",
        "Write the object itself.",
    )


_encoded_twice = FaultMessage(
    rules.ARGUMENTS_AS_STRING,
    "The arguments were encoded twice: the string contains a string, which contains the object.",
    "Encode the object once.",
)
_several = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second value appears in the arguments of one call; clients that decode them fail.",
    "Give each value a separate call.",
)


def literal(node: JsonNode, unit: Unit) -> Literal:
    """The content of a string node of a unit's value; a string that the text's end cuts off has no closing quote."""
    first, end = node.range.start, node.range.end
    raw = unit.readable
    is_escaped = bool(trailing_backslashes(raw, first + 1, end - 1) & 1)
    closed = end - first >= 2 and raw[end - 1] == raw[first] and not is_escaped
    content = raw[first + 1 : end - 1] if closed else raw[first + 1 : end]
    text = node.scalar if isinstance(node.scalar, str) else content
    return Literal(unit.base + first + 1, content, text)


def raw_fault(fault: Fault, decoded: Decoded) -> Fault:
    """A fault found in a decoded text, moved to the raw characters; its edits are escaped for a JSON string."""
    return structs.replace(
        fault,
        range=decoded.place(fault.range),
        fix=_raw_fix(fault.fix, decoded) if fault.fix is not None else None,
        related=tuple(Related(decoded.place(related.range), related.message) for related in fault.related),
        call=structs.replace(fault.call, range=decoded.place(fault.call.range)) if fault.call is not None else None,
    )


def _raw_fix(fix: Fix, decoded: Decoded) -> Fix | None:
    if not all(decoded.is_exact(edit.range) for edit in fix.edits):
        return None
    edits: list[Edit] = []
    for edit in fix.edits:
        text = decoded.written(edit.text)
        for raw_range in decoded.raw_ranges(edit.range):
            edits.append(Edit(raw_range, text))
            text = ""
    return Fix(tuple(edits), fix.safe)


class StructuredResult(Struct, frozen=True):
    """The content of a structured part: spans that tile its text, the call if it is one, and faults."""

    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_structured_part(turn: Turn, part: Part) -> StructuredResult:
    """The reading of a part that is not the turn's `text`: `reasoning`, `call:N`, or a text under another name."""
    whole = Range(0, len(part.text))
    header = turn.call_header(part.name)
    if header is not None:
        return _read_call(part.text, header)
    if not part.text:
        return StructuredResult(())
    kind = SpanKind.REASONING if part.name == "reasoning" else SpanKind.TEXT
    kind = SpanKind.MARKUP if part.name.startswith(WIRE_PREFIX) else kind
    return StructuredResult((Span(kind, whole, whole, label=part.name),))


def _read_call(text: str, header: CallHeader) -> StructuredResult:
    """Read a call whose arguments are a separate part; an empty text means no arguments, as in the APIs."""
    whole = Range(0, len(text))
    spans = (Span(SpanKind.TOOL_CALL, whole, whole, label=header.part),) if text else ()
    plain: Json = strict_object(text) if text.strip() else {}
    if text.strip() and (
        header.custom or (plain is None and header.name in CODE_TOOLS and not text.lstrip().startswith("{"))
    ):
        plain = text
    parsed = _ParsedArguments(plain, (), is_strict=True) if plain is not None else _parsed_arguments(text)
    is_named = bool(header.name)
    call = ToolCall(
        header.name,
        parsed.value if parsed.is_strict or parsed.is_readable else text,
        text,
        parsed.is_strict and is_named,
        whole,
        id=header.id,
        recovered=parsed.is_readable and not parsed.is_strict and is_named,
        arguments_range=whole,
    )
    nameless = () if is_named else (Fault(rules.NOT_A_CALL, whole, "The call has no name: the tool is unknown."),)
    return StructuredResult(spans, (call,), (*nameless, *parsed.faults))
