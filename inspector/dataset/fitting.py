"""Parses raw model output into format-neutral pieces, and fits calls to what a target format can express."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.chat_turns import ROLE_HOMES
from weaklink.inspector.formats.completion import (
    CompletionCalls,
    CompletionPiece,
    CompletionReasoning,
    CompletionText,
    calls_of,
)
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import is_finite
from weaklink.inspector.model import Span, SpanKind, ToolCall, ToolDefinition
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.inspector.text import Range

_NEW_IDS = {
    "openai": "call_{}",
    "claude": "toolu_{}",
    "mistral": "call{:05}",
    "kimi_k2": "functions.{name}:{}",  # counted through the conversation: Kimi-K2-Instruct, docs/tool_call_guidance.md
}
_NO_PLACE = Range(0, 0)
NOT_FINITE = "a number is infinite or not a number, which JSON cannot express, and is written as a text."
"""Why a call's arguments change, in `dropped`."""


class CallFitter(Struct):
    """Fits the calls of one row, in order, to `target`; `tools` are the offered tools.

    `ids` maps each call's original id to its new one, which no other call has. `fitted` has the original calls of the
    last `fit`, each with its new id.
    """

    target: Format
    tools: tuple[ToolDefinition, ...]
    ids: dict[str, str | None] = field(default_factory=dict)
    fitted: list[tuple[ToolCall, str | None]] = field(default_factory=list)
    _id_count: int = 0
    _kept_ids: set[str] = field(default_factory=set)
    _new_ids: set[str] = field(default_factory=set)

    def fit(self, pieces: Sequence[CompletionPiece], text: str, notes: list[str]) -> tuple[CompletionPiece, ...]:
        """The pieces with calls that the target can express; a call that it cannot express stays as its raw text."""
        lost: list[str] = []
        self.fitted.clear()
        calls = [call for call in calls_of(pieces) if call.id is not None and call.id not in self._new_ids]
        self._kept_ids |= {call.id for call in calls if call.id is not None and self._holds_id(call)}
        fitted = tuple(
            call
            for piece in pieces
            for call in (self._calls(piece, text, notes, lost) if isinstance(piece, CompletionCalls) else (piece,))
        )
        if lost:
            ids = ", ".join(f"`{call_id}`" for call_id in lost[:4]) + (
                f" and {len(lost) - 4} more" if len(lost) > 4 else ""
            )
            what = "the ids" if len(lost) > 1 else "the id"
            notes.append(f"{what.capitalize()} {ids}: {self._why_no_id()}.")
        return fitted

    def _calls(
        self, piece: CompletionCalls, text: str, notes: list[str], lost: list[str]
    ) -> tuple[CompletionPiece, ...]:
        fitted: list[CompletionPiece] = []
        for call in piece.calls:
            adapted = self._with_object(call)
            named = self._with_id(adapted, call, lost)
            why = self._why_not(named, notes)
            if not why:
                fitted.append(CompletionCalls((named,)))
                continue
            notes.append(f"The call of `{call.name}` at {call.range.start}..{call.range.end} as a call: {why}.")
            fitted.append(CompletionText(call.range.of(text) or f"{call.name} {call.raw_arguments}"))
        return tuple(fitted)

    def _with_object(self, call: ToolCall) -> ToolCall:
        if isinstance(call.arguments, dict) or self.target.expresses(call):
            return call
        return sole_parameter(call, {tool.name: tool.parameters for tool in self.tools}) or call

    def _with_id(self, call: ToolCall, original: ToolCall, lost: list[str]) -> ToolCall:
        kept = call.id if call.id in self._kept_ids else None
        if kept is None and self.target.ids and self.target.name in _NEW_IDS:
            kept = self._new_id(_NEW_IDS[self.target.name], call.name)
        if call.id is not None:
            self.ids[call.id] = kept
            if kept != call.id:
                lost.append(call.id)
        self.fitted.append((original, kept))
        return call if kept == call.id else msgspec.structs.replace(call, id=kept)

    def _new_id(self, pattern: str, name: str | None) -> str:
        while (new := pattern.format(self._id_count, name=name)) in self._kept_ids:
            self._id_count += 1
        self._id_count += 1
        self._new_ids.add(new)
        return new

    def _holds_id(self, call: ToolCall) -> bool:
        probe = ToolCall(call.name, {"a": "b"}, "", valid=True, range=_NO_PLACE, id=call.id)
        return self.target.ids and self.target.expresses(probe)

    def _why_no_id(self) -> str:
        if self.target.ids:
            return f"`{self.target.name}` uses ids of another form, so new ones are written"
        return f"`{self.target.name}` has no ids"

    def _why_not(self, call: ToolCall, notes: list[str]) -> str:
        """Why the target cannot express the call; "" if it can, perhaps only with the tool's schema to parse it."""
        name = self.target.name
        if self.target.expresses(call):
            return ""
        if not isinstance(call.arguments, dict):
            return f"its input is a string, but `{name}` takes an object of arguments"
        read = segment(self.target.write_calls((call,)), name, tools=self.tools).calls
        if len(read) != 1 or read[0].name != call.name:
            return f"written as `{name}`, it is not parsed back as the same call"
        if read[0].arguments != call.arguments:
            why = f"`{name}` does not write the types of values, so they change when parsed back."
            if not is_finite(call.arguments):
                why = NOT_FINITE
            written_range = f"{call.range.start}..{call.range.end}"
            notes.append(f"The exact arguments of the call of `{call.name}` at {written_range}: {why}")
        return ""


class ParsedOutput(Struct, frozen=True):
    """The pieces of an output; `notes` has a sentence for each item that was repaired, kept as raw text or left out."""

    pieces: tuple[CompletionPiece, ...]
    notes: tuple[str, ...] = ()


def parse_output(segmentation: Segmentation) -> ParsedOutput:
    """The pieces of one model output.

    A malformed call that could be repaired is written from its repair; one that could not be read stays as raw text.
    The notes name each of them. Raises ValueError if the text contains turns of roles other than the model.
    """
    notes: list[str] = []
    pieces = tuple(piece for index in range(len(segmentation.spans)) for piece in _pieces(segmentation, index, notes))
    return ParsedOutput(pieces, tuple(notes))


def _pieces(segmentation: Segmentation, index: int, notes: list[str]) -> Iterator[CompletionPiece]:
    span = segmentation.spans[index]
    text = segmentation.decoded.get(index, span.inner.of(segmentation.text))
    match span.kind:
        case SpanKind.TEXT:
            yield CompletionText(text)
        case SpanKind.REASONING:
            yield CompletionReasoning(text)
        case SpanKind.TOOL_CALL:
            yield from _calls(segmentation, index, notes)
        case SpanKind.TOOL_RESULT:
            notes.append(f"The tool result at {_range_words(span)}: a model does not write results, its tools do.")
        case SpanKind.TOOL_DEFINITIONS:
            yield CompletionText(span.range.of(segmentation.text))
        case SpanKind.MARKUP:
            _look_at_markup(span, segmentation.text, notes)


def _calls(segmentation: Segmentation, index: int, notes: list[str]) -> Iterator[CompletionPiece]:
    calls = [call for call in segmentation.calls if call.span == index]
    for call in calls:
        if call.valid:
            yield CompletionCalls((call,))
            continue
        codes = _codes(call, segmentation.diagnostics)
        characters = f"{call.range.start}..{call.range.end}"
        if call.recovered and call.name:
            notes.append(f"The call at {characters} was malformed ({codes}) and was repaired.")
            yield CompletionCalls((call,))
        else:
            notes.append(f"The call at {characters} could not be parsed ({codes}) and was kept as raw text.")
            raw = segmentation.spans[index].range if len(calls) == 1 else call.range
            yield CompletionText(raw.of(segmentation.text))


def _codes(call: ToolCall, diagnostics: tuple[Diagnostic, ...]) -> str:
    inside = {
        diagnostic.rule.code
        for diagnostic in diagnostics
        if call.range.covers(diagnostic.range) and diagnostic.rule.code[0] in "JF"
    }
    return ", ".join(sorted(inside)) or "no call in it"


def _look_at_markup(span: Span, text: str, notes: list[str]) -> None:
    """Markup belongs to the format and is dropped with it; only stray markers are noted."""
    inner = span.inner.of(text)
    if span.label == "turn_header" and ROLE_HOMES.get(inner.partition("<")[0].strip().lower(), "text") != "text":
        raise ValueError(
            f"`text` contains a turn of `{inner.strip()[:40]}` at {span.range.start}: it must be one model output; "
            "give a conversation as `messages`"
        )
    if span.label == "marker":
        notes.append(f"The stray marker at {_range_words(span)}.")


def _range_words(span: Span) -> str:
    return f"{span.range.start}..{span.range.end}"


def sole_parameter(call: ToolCall, schemas: Mapping[str, object]) -> ToolCall | None:
    """For a tool with one parameter: the call with its text input as the value of that parameter.

    `schemas` are the schemas of the tools by name. None if the tool is unknown, has another number of parameters, or
    its parameter is not a string.
    """
    schema = schemas.get(call.name or "")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) != 1 or not isinstance(call.arguments, str):
        return None
    ((name, about),) = properties.items()
    if not isinstance(about, dict) or about.get("type", "string") != "string":
        return None
    return ToolCall(call.name, {name: call.arguments}, call.raw_arguments, valid=True, range=call.range, id=call.id)
