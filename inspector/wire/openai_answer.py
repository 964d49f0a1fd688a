"""The JSON objects of one chat completion, in the order they come, as wire events."""

import re

from inspector.model import BodyState, ErrorPhase, FinishReason, Json
from inspector.rules.recording import (
    ABORTED_STREAM,
    CUT_OFF_BY_LENGTH,
    ERROR_INSIDE_200,
    REUSED_CALL_INDEX,
    UNKNOWN_WIRE_EVENT,
    UPSTREAM_ERROR,
)
from inspector.wire.events import (
    ERROR_PART,
    REUSED_INDEX_PART,
    UNREAD_PART,
    FactsLearned,
    FaultSeen,
    GenerationFailed,
    PartGrew,
    WireEvent,
)
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import parse_json
from inspector.wire.openai_choice import ChoiceReader
from inspector.wire.openai_lenient import lenient_chunk
from inspector.wire.openai_shapes import ChatChunk, Choice, UsageShape, decode_chunk
from inspector.wire.provider_errors import error_in, read_error

_INDEX = re.compile(r"\[\d+\]")
_MAX_QUOTE = 60


class AnswerReader:
    """Reads the objects of one answer: many chunks, or one body that came whole. Never raises.

    `status` is the HTTP status, None where unknown; from 400 on, an error is the whole answer (C505), below it is one
    inside an answer that began well (C508). Where `whole` is True an error of unknown status is the whole answer too.
    What cannot be read is kept word for word in `wire:unread`, an error in `wire:error`; each kind of oddity is flagged
    once.
    """

    __slots__ = (
        "_choices",
        "_first",
        "_flagged",
        "_is_http_error",
        "_model",
        "_response_id",
        "_status",
        "_usage",
        "failed",
        "finish",
    )

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self._status = status
        self._is_http_error = whole if status is None else status >= 400
        self._first = ChoiceReader(0)
        self._choices = {0: self._first}
        self._response_id = ""
        self._model = ""
        self._usage: UsageShape | None = None
        self._flagged: set[str] = set()
        self.finish = ""  # the first choice's finish reason
        self.failed = False  # whether an error came

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        strange: list[str] = []
        try:
            chunk = decode_chunk(text)
        except (ValueError, RecursionError):
            try:
                chunk, strange = lenient_chunk(text)
            except ValueError:
                return self.read_error(text, raw, at_s, found)
        if chunk.choices is None and chunk.usage is None:
            return self.read_error(text, raw, at_s, found)
        strange += self._read_chunk(chunk, raw, at_s, found)
        if strange:
            self.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def read_error(
        self, text: str, raw: str, at_s: float | None, found: list[WireEvent], *, certain: bool = False
    ) -> bool:
        """Append what an error object says; False where `text` is none. `certain`: the wire called it an error."""
        try:
            document = parse_json(text)
        except ValueError:
            document = text if certain else None
        error = error_in(document) or (document if certain else None)
        if error is None:
            return False
        self.fail(error, raw, at_s, found)
        return True

    def fail(self, error: Json, raw: str, at_s: float | None, found: list[WireEvent]) -> None:
        """Append an error, what the wire held of it word for word, and the fault that it is."""
        phase = ErrorPhase.HTTP if self._is_http_error else ErrorPhase.IN_STREAM
        rule = UPSTREAM_ERROR if self._is_http_error else ERROR_INSIDE_200
        read = read_error(error, phase, status=self._status if self._is_http_error else None)
        words = f"`{_quoted(read.message)}`" if read.message else "an error without a message"
        if self._is_http_error:
            message = f"The server answered {f'with status {self._status}: ' if self._status else ''}{words}."
        else:
            message = f"The server broke off with {words}."
        self.failed = True
        if raw:
            found.append(PartGrew(ERROR_PART, raw, at_s))
        found += (GenerationFailed(read), FaultSeen(self._first.last_part, rule, message))

    def keep(self, raw: str, oddities: dict[str, str], at_s: float | None, found: list[WireEvent]) -> None:
        """Keep what the wire held, word for word; flag the kinds of oddity (kind: words to quote) that are new."""
        found.append(PartGrew(UNREAD_PART, raw, at_s))
        fresh = oddities.keys() - self._flagged
        self._flagged |= fresh
        if fresh:
            words = ", ".join(f"`{_quoted(oddities[kind])}`" for kind in sorted(fresh)[:5])
            message = f"This decoder does not know what {words} means here."
            found.append(FaultSeen(UNREAD_PART, UNKNOWN_WIRE_EVENT, message, covers=len(raw)))

    def end(self, found: list[WireEvent], *, aborted: str) -> None:
        """Append what is wrong with the end; `aborted` is a sentence if the body was cut off, else empty."""
        if self.failed:
            return
        part = self._first.last_part
        if aborted:
            found += (FactsLearned(body=BodyState.TRUNCATED), FaultSeen(part, ABORTED_STREAM, aborted))
        match finish_meaning(self.finish):
            case FinishReason.LENGTH:
                message = f"The answer was stopped here by the length limit (finish reason `{_quoted(self.finish)}`)."
                found.append(FaultSeen(part, CUT_OFF_BY_LENGTH, message))
            case FinishReason.ERROR:
                self.fail(f"finish reason {self.finish}", "", None, found)

    def _read_chunk(self, chunk: ChatChunk, raw: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        strange: list[str] = []
        if (chunk.id and not self._response_id) or (chunk.model and not self._model):
            self._response_id = self._response_id or chunk.id or ""
            self._model = self._model or chunk.model or ""
            found.append(FactsLearned(self._response_id or None, self._model or None))
        for choice in chunk.choices or ():
            strange += self._read_choice(choice, raw, at_s, found)
        if chunk.usage is not None and chunk.usage != self._usage:
            self._usage = chunk.usage
            found.append(FactsLearned(usage=chunk.usage.usage()))
        if chunk.error:
            self.fail(chunk.error, raw, at_s, found)
        return strange

    def _read_choice(self, choice: Choice, raw: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        reader = self._choices.get(choice.index)
        if reader is None:
            reader = self._choices.setdefault(choice.index, ChoiceReader(choice.index))
        if choice.message is not None and (choice.delta is not None or reader.grown):
            strange = [f"choices[{choice.index}].message"]  # the whole message once more, after its pieces
        else:
            strange = reader.read(choice, at_s, found)
            if reader.reused_index is not None:
                self._keep_reused(reader.reused_index, raw, at_s, found)
        if choice.finish_reason and not choice.index and choice.finish_reason != self.finish:
            self.finish = choice.finish_reason
            found.append(FactsLearned(finish_reason=self.finish, finish=finish_meaning(self.finish)))
        return strange

    def _keep_reused(self, index: int, raw: str, at_s: float | None, found: list[WireEvent]) -> None:
        found.append(PartGrew(REUSED_INDEX_PART, raw, at_s))
        if REUSED_INDEX_PART not in self._flagged:
            self._flagged.add(REUSED_INDEX_PART)
            message = f"A new call came under index `{index}`, which an earlier call has; expected an index of its own."
            found.append(FaultSeen(REUSED_INDEX_PART, REUSED_CALL_INDEX, message, covers=len(raw)))


def _quoted(text: str) -> str:
    return text if len(text) <= _MAX_QUOTE else text[: _MAX_QUOTE - 1] + "…"
