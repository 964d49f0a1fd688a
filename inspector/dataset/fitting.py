"""Makes calls fit a format: ids that it can hold, inputs that are objects; says what it cannot hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from inspector.dataset.rereading import sole_parameter
from inspector.formats.completion import Calls, Piece, Words
from inspector.formats.format import Format
from inspector.model import ToolCall, ToolDefinition
from inspector.segmentation import segment
from inspector.text import Range

_NEW_IDS = {"openai": "call_{}", "claude": "toolu_{}", "mistral": "call{:05}"}
_NOWHERE = Range(0, 0)


@dataclass(slots=True)
class Fitting:
    """Fits the calls of one row, in order, to `target`; `tools` are those on offer.

    `ids` has the id that a call bears now, by the one that it bore; `fitted` the calls of the last `fit`, as they were
    before, each with the id that it bears now.
    """

    target: Format
    tools: tuple[ToolDefinition, ...]
    ids: dict[str, str | None] = field(default_factory=dict)
    fitted: list[tuple[ToolCall, str | None]] = field(default_factory=list)
    _made: int = 0

    def fit(self, pieces: Sequence[Piece], text: str, notes: list[str]) -> tuple[Piece, ...]:
        """The pieces with calls that the target holds; a call that it cannot hold stays as its raw text."""
        lost: list[str] = []
        self.fitted.clear()
        fitted = tuple(
            one
            for piece in pieces
            for one in (self._calls(piece, text, notes, lost) if isinstance(piece, Calls) else (piece,))
        )
        if lost:
            ids = ", ".join(f"`{one}`" for one in lost[:4]) + (f" and {len(lost) - 4} more" if len(lost) > 4 else "")
            what = "the ids" if len(lost) > 1 else "the id"
            notes.append(f"{what.capitalize()} {ids}: {self._why_no_id()}.")
        return fitted

    def _calls(self, piece: Calls, text: str, notes: list[str], lost: list[str]) -> tuple[Piece, ...]:
        fitted: list[Piece] = []
        for call in piece.calls:
            own = self._with_object(call)
            named = self._with_id(own, call, lost)
            why = self._why_not(named, notes)
            if not why:
                fitted.append(Calls((named,)))
                continue
            notes.append(f"The call of `{call.name}` at {call.range.start}..{call.range.end} as a call: {why}.")
            fitted.append(Words(call.range.of(text) or f"{call.name} {call.raw_arguments}"))
        return tuple(fitted)

    def _with_object(self, call: ToolCall) -> ToolCall:
        if isinstance(call.arguments, dict) or self.target.expresses(call):
            return call
        return sole_parameter(call, {tool.name: tool.parameters for tool in self.tools}) or call

    def _with_id(self, call: ToolCall, original: ToolCall, lost: list[str]) -> ToolCall:
        kept = call.id if call.id is not None and self._holds_id(call.id) else None
        if kept is None and self.target.ids and self.target.name in _NEW_IDS:
            kept = _NEW_IDS[self.target.name].format(self._made)
            self._made += 1
        if call.id is not None:
            self.ids[call.id] = kept
            if kept != call.id:
                lost.append(call.id)
        self.fitted.append((original, kept))
        return call if kept == call.id else msgspec.structs.replace(call, id=kept)

    def _holds_id(self, call_id: str) -> bool:
        probe = ToolCall("f", {"a": "b"}, "", valid=True, range=_NOWHERE, id=call_id)
        return self.target.ids and self.target.expresses(probe)

    def _why_no_id(self) -> str:
        if self.target.ids:
            return f"`{self.target.name}` has ids of another form, so new ones stand there"
        return f"`{self.target.name}` has none on the wire"

    def _why_not(self, call: ToolCall, notes: list[str]) -> str:
        """Why the target cannot hold the call; "" where it can, if need be with the tool's schema to read it by."""
        name = self.target.name
        if self.target.expresses(call):
            return ""
        if not isinstance(call.arguments, dict):
            return f"its input is a text, and `{name}` takes an object of arguments"
        read = segment(self.target.write_calls((call,)), name, tools=self.tools).calls
        if len(read) != 1 or read[0].name != call.name:
            return f"`{name}` cannot write it so that it reads as this call"
        if read[0].arguments != call.arguments:
            notes.append(
                f"The exact arguments of the call of `{call.name}` at {call.range.start}..{call.range.end}: `{name}` "
                "gives them back changed, as it does not write the types of values."
            )
        return ""
