"""The JSON objects of one chat completion, in the order they come, as wire events."""

import re

from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.events import PROMPT_TOKENS_PART, FactsLearned, PartGrew, WireEvent
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import compact_json
from inspector.wire.openai_choice import ChoiceReader
from inspector.wire.openai_lenient import lenient_chunk
from inspector.wire.openai_shapes import ChatChunk, ChoiceShape, OpenAIUsageShape, decode_chunk

API = "chat.completions"
"""The name of this kind of endpoint in a generation's facts."""

_INDEX = re.compile(r"\[\d+\]")


class ChatReader:
    """Reads the objects of one answer: many chunks, or one body that came whole; see `inspector.wire.reader`."""

    __slots__ = ("_choices", "_first", "_model", "_response_id", "_usage", "faults", "finish")

    api = API
    unended = "The stream ended with neither a finish reason nor `[DONE]`."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""  # the first choice's finish reason
        self._first = ChoiceReader(0)
        self._choices = {0: self._first}
        self._response_id = ""
        self._model = ""
        self._usage: OpenAIUsageShape | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the first choice has its finish reason."""
        return bool(self.finish)

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        strange: list[str] = []
        try:
            chunk = decode_chunk(text)
        except (ValueError, RecursionError):
            try:
                chunk, strange = lenient_chunk(text)
            except ValueError:
                return self.faults.read_error(text, raw, at_s, found)
        if chunk.choices is None and chunk.usage is None:
            return self.faults.read_error(text, raw, at_s, found)
        strange += self._read_chunk(chunk, raw, at_s, found)
        if strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def _read_chunk(self, chunk: ChatChunk, raw: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        strange: list[str] = []
        if (chunk.id and not self._response_id) or (chunk.model and not self._model):
            self._response_id = self._response_id or chunk.id or ""
            self._model = self._model or chunk.model or ""
            found.append(FactsLearned(self._response_id or None, self._model or None))
        if chunk.prompt_token_ids is not None:
            found.append(PartGrew(PROMPT_TOKENS_PART, compact_json(chunk.prompt_token_ids), at_s))
        for choice in chunk.choices or ():
            strange += self._read_choice(choice, raw, at_s, found)
        if chunk.usage is not None and chunk.usage != self._usage:
            self._usage = chunk.usage
            found.append(FactsLearned(usage=chunk.usage.usage()))
        self.faults.last_part = self._first.last_part
        if chunk.error:
            self.faults.fail(chunk.error, raw, at_s, found)
        return strange

    def _read_choice(self, choice: ChoiceShape, raw: str, at_s: float | None, found: list[WireEvent]) -> list[str]:
        reader = self._choices.get(choice.index)
        if reader is None:
            reader = self._choices.setdefault(choice.index, ChoiceReader(choice.index))
        if choice.message is not None and (choice.delta is not None or reader.grown):
            strange = [f"choices[{choice.index}].message"]  # the whole message once more, after its pieces
        else:
            strange = reader.read(choice, at_s, found)
            if reader.reused_index is not None:
                self.faults.keep_reused(reader.reused_index, raw, at_s, found)
        if choice.finish_reason and not choice.index and choice.finish_reason != self.finish:
            self.finish = choice.finish_reason
            found.append(FactsLearned(finish_reason=self.finish, finish=finish_meaning(self.finish)))
        return strange
