"""One choice of a chat completion: its pieces of text, reasoning and calls as wire events."""

from inspector.wire.events import CallNamed, PartGrew, WireEvent
from inspector.wire.json_text import compact_json
from inspector.wire.openai_calls import LEGACY_INDEX, CallParts
from inspector.wire.openai_shapes import ChoiceShape, Delta, FunctionPiece, Logprobs, TokenLogprob, ToolCallDelta

DETAILS_PART = "wire:reasoning_details"
"""The part that keeps, as JSON texts, reasoning details that hold more than words: signatures, encrypted blocks."""


class ChoiceReader:
    """Turns the pieces of one choice into events.

    Choice 0 is the turn. Any other is kept apart, in parts that begin with `choice1:`; its calls are not announced,
    for nobody ran them: their names, ids and the finish reason are parts too (`choice1:call:0:name`).
    """

    __slots__ = ("_calls", "_prefix", "grown", "last_part", "reused_index")

    def __init__(self, index: int) -> None:
        self._prefix = f"choice{index}:" if index else ""
        self._calls = CallParts(self._prefix)
        self.last_part = f"{self._prefix}text"  # which part grew last
        self.grown = False  # whether any did
        self.reused_index: int | None = None  # under which the piece opened a call although another has it

    def read(self, choice: ChoiceShape, at_s: float | None, found: list[WireEvent]) -> list[str]:
        """Append the events of a piece; the paths of what contradicts earlier pieces come back."""
        first = len(found)
        strange: list[str] = []
        self.reused_index = None
        delta = choice.delta or choice.message
        if delta is not None:
            self._read_texts(delta, at_s, found)
            strange = self._read_calls(delta, at_s, found, whole=choice.delta is None)
        if choice.token_ids or choice.logprobs:
            self._add_tokens(choice, first, at_s, found)
        if self._prefix and choice.finish_reason:
            found.append(PartGrew(f"{self._prefix}finish_reason", choice.finish_reason, at_s))
        return strange

    def _read_texts(self, delta: Delta, at_s: float | None, found: list[WireEvent]) -> None:
        if delta.content and not (delta.reasoning_content or delta.reasoning or delta.reasoning_details):
            self._grow("text", delta.content, at_s, found)  # nearly every piece
        else:
            for words in _reasoning(delta):
                self._grow("reasoning", words, at_s, found)
            if delta.reasoning_details and _more_than_words(delta.reasoning_details):
                found.append(PartGrew(self._prefix + DETAILS_PART, compact_json(delta.reasoning_details), at_s))
            if delta.content:
                self._grow("text", delta.content, at_s, found)
        if delta.refusal:
            self._grow("refusal", delta.refusal, at_s, found)

    def _read_calls(self, delta: Delta, at_s: float | None, found: list[WireEvent], *, whole: bool) -> list[str]:
        pieces = delta.tool_calls or []
        if delta.function_call:
            pieces = [*pieces, ToolCallDelta(index=LEGACY_INDEX, function=delta.function_call)]
        contradicting = []
        for at, piece in enumerate(pieces):
            function = piece.function or _custom(piece)
            call = self._calls.place(piece, function, whole=whole)
            if self._calls.reused_index is not None:
                self.reused_index = self._calls.reused_index
            if call.learn(piece, function):
                custom = piece.function is None and piece.custom is not None
                self._announce(CallNamed(call.part, function.name or None, piece.id or None, custom), at_s, found)
            elif call.contradicts(piece, function):
                contradicting.append(f"tool_calls[{at}]")
            if function.arguments:
                self._grow(call.part.removeprefix(self._prefix), function.arguments, at_s, found)
        return contradicting

    def _announce(self, call: CallNamed, at_s: float | None, found: list[WireEvent]) -> None:
        if not self._prefix:
            found.append(call)
            self.last_part = call.part
            self.grown = True
            return
        told = (("name", call.name), ("id", call.id))
        found += [PartGrew(f"{call.part}:{what}", word, at_s) for what, word in told if word]

    def _grow(self, part: str, text: str, at_s: float | None, found: list[WireEvent]) -> None:
        name = self._prefix + part if self._prefix else part
        self.last_part = name
        self.grown = True
        found.append(PartGrew(name, text, at_s))

    def _add_tokens(self, choice: ChoiceShape, first: int, at_s: float | None, found: list[WireEvent]) -> None:
        """Give tokens to the first text that came with them, or to an empty text where the server held that back."""
        token_ids = tuple(choice.token_ids or _written_ids(choice.logprobs)) or None
        logprobs = tuple(token.logprob for token in _tokens(choice.logprobs) if token.logprob is not None) or None
        if token_ids is None and logprobs is None:
            return
        at = next((n for n in range(first, len(found)) if isinstance(found[n], PartGrew)), None)
        if at is None:
            found.append(PartGrew(self.last_part, "", at_s, token_ids, logprobs))
            return
        grew = found[at]
        assert isinstance(grew, PartGrew)
        found[at] = PartGrew(grew.part, grew.text, grew.at_s, token_ids, logprobs)


def _reasoning(delta: Delta) -> list[str]:
    plain = [words for words in (delta.reasoning_content, delta.reasoning) if words]
    if plain:
        return plain[:1] if len(set(plain)) == 1 else plain  # some servers send the same words under both names
    details = delta.reasoning_details if isinstance(delta.reasoning_details, list) else []
    found = []
    for detail in details:
        match detail:
            case {"text": str(words)} | {"summary": str(words)}:
                found.append(words)
    return [words for words in found if words]


def _more_than_words(details: object) -> bool:
    if not isinstance(details, list):
        return True
    return any(not isinstance(detail, dict) or detail.get("signature") or detail.get("data") for detail in details)


def _custom(piece: ToolCallDelta) -> FunctionPiece:
    return FunctionPiece(piece.custom.name, piece.custom.input) if piece.custom else FunctionPiece()


def _tokens(logprobs: Logprobs | None) -> list[TokenLogprob]:
    return [*(logprobs.content or []), *(logprobs.refusal or [])] if logprobs else []


def _written_ids(logprobs: Logprobs | None) -> list[int]:
    """Token ids that vLLM writes as words (`return_tokens_as_token_ids`)."""
    words = [
        token.token.removeprefix("token_id:") for token in _tokens(logprobs) if token.token.startswith("token_id:")
    ]
    return [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 19]
