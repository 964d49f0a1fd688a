"""Gemini's `generateContent`, streamed or whole: its JSON objects, in the order they come, as wire events.

A stream is an event stream (`alt=sse`) or one JSON array that arrives element by element; there is no end sign but the
finish reason. Code Assist wraps each object in `{"response": ...}`.
"""

import re

from inspector.model import FinishReason, Json
from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.events import FactsLearned, PartGrew, WireEvent
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.gemini_candidate import MESSAGE_PART, CandidateReader
from inspector.wire.gemini_shapes import Candidate, GeminiUsageShape, GenerateResponse, PromptFeedback, read_response
from inspector.wire.shapes import raw_text

API = "generate_content"
"""The name of this kind of endpoint in a generation's facts."""

_INDEX = re.compile(r"\[\d+\]")


class GeminiReader:
    """Reads the objects of one answer: many chunks, or one body that came whole; see `inspector.wire.reader`."""

    __slots__ = ("_candidates", "_first", "_model", "_response_id", "_usage", "faults", "finish")

    api = API
    unended = "The stream ended without a finish reason."

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""
        self._first = CandidateReader(0)
        self._candidates = {0: self._first}
        self._response_id = ""
        self._model = ""
        self._usage: GeminiUsageShape | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the first candidate has its finish reason, or the prompt was blocked."""
        return bool(self.finish)

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        try:
            response, strange = read_response(text)
            if inner := raw_text(response.response):
                response, more = read_response(inner)
                strange = [*strange, *(f"response.{path}" for path in more)]
        except ValueError:
            return self.faults.read_error(text, raw, at_s, found)
        is_answer = response.candidates or response.prompt_feedback or response.usage_metadata
        if raw_text(response.error) or not (is_answer or response.model_version):
            return self.faults.read_error(text, raw, at_s, found)
        strange += self._read_response(response, raw, at_s, found)
        if strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def _read_response(
        self, response: GenerateResponse, raw: str, at_s: float | None, found: list[WireEvent]
    ) -> list[str]:
        strange = []
        if (response.response_id and not self._response_id) or (response.model_version and not self._model):
            self._response_id = self._response_id or response.response_id or ""
            self._model = self._model or response.model_version or ""
            found.append(FactsLearned(self._response_id or None, self._model or None))
        if response.usage_metadata is not None and response.usage_metadata != self._usage:
            self._usage = response.usage_metadata
            found.append(FactsLearned(usage=self._usage.usage()))
        for candidate in response.candidates or ():
            reader = self._candidates.setdefault(candidate.index, CandidateReader(candidate.index))
            strange += reader.read(candidate, at_s, found)
        self.faults.last_part = self._first.last_part
        for candidate in response.candidates or ():
            if candidate.finish_reason and not candidate.index:
                self._learn_end(candidate, raw, at_s, found)
        if response.prompt_feedback is not None and response.prompt_feedback.block_reason:
            self._learn_block(response.prompt_feedback, at_s, found)
        return strange

    def _learn_end(self, candidate: Candidate, raw: str, at_s: float | None, found: list[WireEvent]) -> None:
        self.finish = candidate.finish_reason or ""
        meaning = finish_meaning(self.finish)
        found.append(FactsLearned(finish_reason=self.finish, finish=meaning))
        if meaning is FinishReason.ERROR:
            words = candidate.finish_message or f"finish reason {self.finish}"
            error: Json = {"message": words, "code": self.finish}
            self.faults.fail(error, raw, at_s, found, in_answer=True)

    def _learn_block(self, feedback: PromptFeedback, at_s: float | None, found: list[WireEvent]) -> None:
        if feedback.block_reason_message:
            found.append(PartGrew(MESSAGE_PART, feedback.block_reason_message, at_s))
        self.finish = feedback.block_reason or ""
        found.append(FactsLearned(finish_reason=self.finish, finish=FinishReason.FILTER))
