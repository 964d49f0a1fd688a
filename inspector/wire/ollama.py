"""Ollama's chat and generate, streamed or whole: their JSON objects, in the order they come, as wire events.

A stream is lines; the last is `done` and tells counts and durations. A call comes whole, its arguments as an object.
Each line bears the server's time, which counts where nobody else noted when it came.
Sources: ollama:docs/api.md and the types of ollama-python:ollama/_types.py.
"""

import re

from inspector.model import Instant, InstantSource
from inspector.wire.answer_faults import AnswerFaults
from inspector.wire.events import CallNamed, FactsLearned, PartGrew, WireEvent
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.ollama_shapes import Call, OllamaLineShape, read_line
from inspector.wire.shapes import raw_text

CHAT = "ollama.chat"
GENERATE = "ollama.generate"
"""The names of these kinds of endpoint in a generation's facts."""

TIMES_PART = "wire:durations"
"""The part that keeps what the server says of its times, as one JSON object: durations in nanoseconds."""

CONTEXT_PART = "wire:context"
"""The part that keeps, as JSON text, the token ids of prompt and answer together (`context`)."""

_INDEX = re.compile(r"\[\d+\]")


class OllamaReader:
    """Reads the lines of one answer, or a body that came whole; see `inspector.wire.reader`."""

    __slots__ = ("_calls", "_is_timed", "_model", "api", "faults", "finish", "has_ended")

    unended = "The stream ended without a line that is `done`."

    def __init__(self, api: str, *, status: int | None = None, whole: bool = False) -> None:
        self.api = api
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""
        self.has_ended = False
        self._calls = 0
        self._is_timed = False  # whether the pieces bear the server's times, as nobody gave others
        self._model = ""

    def read(self, text: str, raw: str, at_s: float | None, found: list[WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is what the wire held. False where it is no answer at all."""
        try:
            line, strange = read_line(text)
        except ValueError:
            return self.faults.read_error(text, raw, at_s, found)
        if line.error or (line.message is None and line.response is None and line.done is None):
            return self.faults.read_error(text, raw, at_s, found)
        if at_s is None:
            at_s = self._time_of(line, found)
        if line.model and line.model != self._model:
            self._model = line.model
            found.append(FactsLearned(model=line.model))
        self._read_texts(line, at_s, found)
        if line.done:
            self._read_end(line, at_s, found)
        if strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, found)
        return True

    def _time_of(self, line: OllamaLineShape, found: list[WireEvent]) -> float | None:
        """The time that the line bears; the first one counts as the start until the last line tells it."""
        created_s = line.created_s()
        if created_s is not None and not self._is_timed:
            self._is_timed = True
            found.append(FactsLearned(clock_start_s=created_s))
        return created_s

    def _read_texts(self, line: OllamaLineShape, at_s: float | None, found: list[WireEvent]) -> None:
        message = line.message
        thinking = (message.thinking if message else None) or line.thinking
        words = (message.content if message else None) or line.response
        first = len(found)
        for part, text in (("reasoning", thinking), ("text", words)):
            if text:
                self.faults.last_part = part
                found.append(PartGrew(part, text, at_s))
        logprobs = tuple(token.logprob for token in line.logprobs or () if token.logprob is not None)
        if logprobs:
            grew = found[first] if len(found) > first else PartGrew(self.faults.last_part, "", at_s)
            assert isinstance(grew, PartGrew)
            found[first : first + 1] = [PartGrew(grew.part, grew.text, at_s, None, logprobs)]
        for call in (message.tool_calls if message else None) or ():
            self._read_call(call, at_s, found)

    def _read_call(self, call: Call, at_s: float | None, found: list[WireEvent]) -> None:
        part = f"call:{self._calls}"
        self._calls += 1
        self.faults.last_part = part
        function = call.function
        found.append(CallNamed(part, (function.name if function else None) or None, call.id or None))
        if function and (arguments := raw_text(function.arguments)):
            found.append(PartGrew(part, arguments, at_s))

    def _read_end(self, line: OllamaLineShape, at_s: float | None, found: list[WireEvent]) -> None:
        self.has_ended = True
        self.finish = line.done_reason or ""
        usage = line.usage()
        meaning = finish_meaning(self.finish) if self.finish else None
        found.append(FactsLearned(usage=usage, finish_reason=self.finish or None, finish=meaning))
        created_s, took_s = line.created_s(), line.took_s()
        if created_s is not None and took_s is not None:
            start_s = created_s - took_s
            started, ended = Instant(start_s, InstantSource.DERIVED), Instant(created_s)
            clock_start_s = start_s if self._is_timed else None
            found.append(FactsLearned(started=started, ended=ended, clock_start_s=clock_start_s))
        if times := line.times():
            found.append(PartGrew(TIMES_PART, times, at_s))
        if context := raw_text(line.context):
            found.append(PartGrew(CONTEXT_PART, context, at_s))


def new_chat_reader(*, status: int | None = None, whole: bool = False) -> OllamaReader:
    """A reader for one answer of `/api/chat`."""
    return OllamaReader(CHAT, status=status, whole=whole)


def new_generate_reader(*, status: int | None = None, whole: bool = False) -> OllamaReader:
    """A reader for one answer of `/api/generate`."""
    return OllamaReader(GENERATE, status=status, whole=whole)
