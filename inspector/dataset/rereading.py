"""Takes a model's raw output apart into the pieces that any format can be written from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inspector.diagnostics import Diagnostic
from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.completion import Calls, Piece, Reasoning, Words
from inspector.model import Span, SpanKind, ToolCall
from inspector.segmentation import Segmentation


@dataclass(frozen=True, slots=True)
class Reread:
    """What an output is made of; `notes` say, a sentence each, what was repaired, left as it was, or left out."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...] = ()


def reread(found: Segmentation) -> Reread:
    """The pieces of one model output.

    A malformed call that a repair could read is written from its repair; one that nothing could read stays as its raw
    text, among the words. Each is named. Raises ValueError where the text holds turns of others than the model.
    """
    notes: list[str] = []
    pieces = tuple(piece for at in range(len(found.spans)) for piece in _pieces(found, at, notes))
    return Reread(pieces, tuple(notes))


def _pieces(found: Segmentation, at: int, notes: list[str]) -> Iterator[Piece]:
    span = found.spans[at]
    said = found.decoded.get(at, span.inner.of(found.text))
    match span.kind:
        case SpanKind.TEXT:
            yield Words(said)
        case SpanKind.REASONING:
            yield Reasoning(said)
        case SpanKind.TOOL_CALL:
            yield from _calls(found, at, notes)
        case SpanKind.TOOL_RESULT:
            notes.append(f"The tool result at {_place(span)}: a model does not write results, its tools do.")
        case SpanKind.TOOL_DEFINITIONS:
            yield Words(span.range.of(found.text))
        case SpanKind.MARKUP:
            _look_at_markup(span, found.text, notes)


def _calls(found: Segmentation, at: int, notes: list[str]) -> Iterator[Piece]:
    calls = [call for call in found.calls if call.span == at]
    for call in calls:
        if call.valid:
            yield Calls((call,))
            continue
        codes = _codes(call, found.diagnostics)
        place = f"{call.range.start}..{call.range.end}"
        if call.recovered and call.name:
            notes.append(f"The call at {place} was malformed ({codes}) and was written from its repair.")
            yield Calls((call,))
        else:
            notes.append(f"The call at {place} could not be read ({codes}) and stays as its raw text.")
            raw = found.spans[at].range if len(calls) == 1 else call.range
            yield Words(raw.of(found.text))


def _codes(call: ToolCall, diagnostics: tuple[Diagnostic, ...]) -> str:
    inside = {one.rule.code for one in diagnostics if call.range.covers(one.range) and one.rule.code[0] in "JF"}
    return ", ".join(sorted(inside)) or "no call in it"


def _look_at_markup(span: Span, text: str, notes: list[str]) -> None:
    """Markup is the format's own and goes with it; only what stands there without need is told."""
    inner = span.inner.of(text)
    if span.label == "turn_header" and ROLE_HOMES.get(inner.partition("<")[0].strip().lower(), "text") != "text":
        raise ValueError(
            f"`text` holds a turn of `{inner.strip()[:40]}` at {span.range.start}: it must be one model output; give a "
            "conversation as `messages`"
        )
    if span.label == "marker":
        notes.append(f"The stray marker at {_place(span)}.")


def _place(span: Span) -> str:
    return f"{span.range.start}..{span.range.end}"


def sole_parameter(call: ToolCall, schemas: Mapping[str, object]) -> ToolCall | None:
    """The call of a tool with one parameter whose whole input is a text, that text under the parameter's name.

    `schemas` are the schemas of the tools by name. None where the tool has another number of parameters, or is unknown.
    """
    schema = schemas.get(call.name or "")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) != 1 or not isinstance(call.arguments, str):
        return None
    ((name, about),) = properties.items()
    if not isinstance(about, dict) or about.get("type", "string") != "string":
        return None
    return ToolCall(call.name, {name: call.arguments}, call.raw_arguments, valid=True, range=call.range, id=call.id)
