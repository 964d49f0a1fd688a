"""One stream that `weaklink log` records: its form is detected, it becomes an assistant turn, faults are reported."""

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum

from inspector.apis.providers import decoder_for
from inspector.capture.events import RecordEvent, Sink, TurnEnded
from inspector.capture.logged_turn import LoggedTurn
from inspector.capture.logger import TraceLogger
from inspector.capture.safeguards import now_s
from inspector.diagnostics import Diagnostic
from inspector.formats.detection import detect_format
from inspector.inspection import inspect_trace
from inspector.model import Json, ToolDefinition, Trace, Turn
from inspector.rules.rule import Severity
from inspector.segmentation import AUTO, Segmenter
from inspector.text import LineIndex, incremental_decoder
from inspector.wire.decoder import Decoder
from inspector.wire.events import PartGrew, WireEvent
from inspector.wire.provider_json import parse_json
from ui.cli.console import print_lines, screen_width
from ui.views.diagnostic import diagnostic_lines
from ui.views.styled_text import Line, Run
from ui.views.wording import counted

_EVENTS = (b"data:", b"event:", b"id:", b"retry:", b": ")
_LONGEST = max(map(len, _EVENTS))
_FIRST_LINE = 65_536
_KEYS = frozenset({"choices", "candidates", "promptFeedback", "usageMetadata", "done"})
_EVENT_TYPES = ("response.", "message_start", "ping", "error", "content_block_")
_OF_THE_TURN = frozenset("JSFCR")  # families of rules that one turn can break; the others judge a conversation
_FIRST_LOOK, _LAST_LOOK = 64, 65_536
_CERTAIN = 0.7
_MAX_REPORTED = 100  # each shows its line, for which the text so far is looked through


class Form(StrEnum):
    """How the input is read."""

    TEXT = "text"
    SSE = "sse"
    NDJSON = "ndjson"


FORM_CHOICES = ("auto", *(form.value for form in Form))


def detect_form(start: bytes, *, at_end: bool = False) -> Form | None:
    """What begins with these bytes; None where more must come first, which is at most one line.

    Lines of JSON are those whose first object has the keys of a provider's stream: models write JSON too.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if text.startswith(_EVENTS):
        return Form.SSE
    if any(one.startswith(text[:_LONGEST]) for one in _EVENTS):
        return Form.TEXT if at_end else None
    if not text.startswith(b"{"):
        return Form.TEXT
    line, newline, _ = text.partition(b"\n")
    if not newline and not at_end and len(text) < _FIRST_LINE:
        return None
    return Form.NDJSON if _is_provider_object(line) else Form.TEXT


def _is_provider_object(line: bytes) -> bool:
    try:
        found: Json = parse_json(line.decode("utf-8"))
    except ValueError:
        return False
    return isinstance(found, dict) and (
        bool(found.keys() & _KEYS) or str(found.get("type", "")).startswith(_EVENT_TYPES)
    )


_STREAM_TYPES = {Form.SSE: "text/event-stream", Form.NDJSON: "application/x-ndjson"}


class LastTurn:
    """A sink that passes everything on, and remembers the last turn that ended."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.last: Turn | None = None

    @property
    def dropped(self) -> int:
        """What the sink turned away."""
        return int(getattr(self.sink, "dropped", 0))

    def accept(self, event: RecordEvent) -> None:
        """Take one event."""
        self.sink.accept(event)
        if isinstance(event, TurnEnded):
            self.last = event.value

    def close(self) -> None:
        """Close the sink."""
        self.sink.close()


class LoggedSession:
    """One trace of one turn, which begins with the first byte; without any there is no trace."""

    def __init__(
        self,
        logger: TraceLogger,
        sink: LastTurn,
        *,
        form: Form | None,
        format: str,
        model: str,
        prompt: str,
        tools: tuple[ToolDefinition, ...],
        name: str,
        color: str,
    ) -> None:
        self._logger, self._sink = logger, sink
        self._form, self._prompt, self._color = form, prompt, color
        self._tools = tools
        self._faults = LiveFaults(
            format=format, model=model, prompt=prompt, tools=tools, name=name, width=screen_width()
        )
        self._turn: LoggedTurn | None = None
        self._start = b""
        self._text = incremental_decoder()
        self._decoder: Decoder | None = None

    def feed(self, raw: bytes) -> None:
        """Record what came."""
        if self._turn is None:
            self._turn = self._logger.assistant(prompt=self._prompt, tools=self._tools)
        if self._form is None:
            self._start += raw
            self._form = detect_form(self._start)
            raw, self._start = (self._start, b"") if self._form is not None else (b"", self._start)
        if raw:
            self._read(raw)

    def end(self, broke: str = "") -> None:
        """The input ended; `broke` says why where that was not its end."""
        if self._turn is None:
            return
        if self._form is None:
            self._form = detect_form(self._start, at_end=True)
            self._read(self._start)
        self._take([PartGrew("text", rest, now_s())] if (rest := self._text.decode(b"", final=True)) else [])
        if self._decoder is not None:
            self._take(self._decoder.close())
        if broke:
            self._turn.abort(broke)
        else:
            self._turn.finish()
        self._say(self._faults.close())
        self._say(self._of_the_whole())
        self._logger.close()
        self._say([self._summary()])

    def _read(self, raw: bytes) -> None:
        if self._form is Form.TEXT or self._form is None:
            text = self._text.decode(raw)
            self._take([PartGrew("text", text, now_s())] if text else [])
            return
        if self._decoder is None:
            self._decoder = decoder_for(content_type=_STREAM_TYPES[self._form])
        self._take(self._decoder.feed(raw, now_s()))

    def _take(self, events: list[WireEvent]) -> None:
        if not events or self._turn is None:
            return
        self._turn.extend(events, api=self._decoder.api if self._decoder is not None else "")
        for event in events:
            if isinstance(event, PartGrew) and event.part == "text":
                self._say(self._faults.feed(event.text))

    def _of_the_whole(self) -> list[Line]:
        """What only the whole turn tells: the faults of the recording, and those of calls in fields of their own."""
        turn = self._sink.last
        if turn is None:
            return []
        found = inspect_trace(Trace((turn,), format=self._faults.format)).diagnostics
        of_turn = [one for one in found if one.rule.code[0] in _OF_THE_TURN]
        return self._faults.also(of_turn, {part.name: part.text for part in turn.parts})

    def _summary(self) -> Line:
        faults = self._faults
        errors, warnings = _count(faults.found, Severity.ERROR), _count(faults.found, Severity.WARNING)
        facts = [counted(faults.calls, "call"), counted(errors, "error"), counted(warnings, "warning")]
        lost = self._logger.mistakes.count
        said = f"weaklink: recorded one turn as {faults.format}: {', '.join(facts)}"
        said += f"; {counted(self._sink.dropped, 'event')} dropped" if self._sink.dropped else ""
        said += f"; not recorded: {self._logger.mistakes.last}" if lost else ""
        return (Run(said),)

    def _say(self, lines: list[Line]) -> None:
        if lines:
            print_lines(lines, color=self._color, stream=sys.stderr)
            sys.stderr.flush()


def _count(found: list[Diagnostic], severity: Severity) -> int:
    return sum(one.rule.severity is severity for one in found)


class LiveFaults:
    """Reads one text piece by piece; where no format was named, from the moment that the text shows one.

    It looks for that at 64 code points, 128, 256 and so on; at 65,536, or at the end, it takes what is likeliest.
    """

    def __init__(
        self,
        *,
        format: str = AUTO,
        model: str = "",
        prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        name: str = "",
        width: int = 80,
    ) -> None:
        self._model, self._prompt, self._tools = model, prompt, tools
        self._name, self._width = name, width
        self._pieces: list[str] = []
        self._length, self._look_at = 0, _FIRST_LOOK
        self._segmenter = None if format == AUTO else Segmenter(format, prompt=prompt, tools=tools)
        self.spans = self.calls = 0
        self.found: list[Diagnostic] = []

    @property
    def format(self) -> str:
        """The format's name; `""` while it is not known."""
        return "" if self._segmenter is None else self._segmenter.format.name

    def feed(self, text: str) -> list[Line]:
        """The lines that tell of the faults which this piece made known."""
        self._pieces.append(text)
        self._length += len(text)
        if self._segmenter is not None:
            return self._told(self._segmenter, text)
        return self._decide(at_end=False) if self._length >= self._look_at else []

    def close(self) -> list[Line]:
        """The lines that tell of the faults which the end made known."""
        lines = self._decide(at_end=True) if self._segmenter is None else []
        assert self._segmenter is not None  # it was decided
        self.spans += len(self._segmenter.close())
        return lines + self._taken(self._segmenter)

    def also(self, found: Sequence[Diagnostic], texts: dict[str, str]) -> list[Line]:
        """The lines of faults that others found, in parts whose texts these are, and that were not told yet."""
        told = {(one.rule.code, one.location) for one in self.found}
        new = [one for one in found if (one.rule.code, one.location) not in told]
        return [line for one in new for line in self._lines(one, LineIndex(texts.get(one.location.part, "")))]

    def _decide(self, *, at_end: bool) -> list[Line]:
        text = "".join(self._pieces)
        detection = detect_format(text[:_LAST_LOOK], self._model)
        self._look_at *= 2
        if detection.confidence < _CERTAIN and self._length < _LAST_LOOK and not at_end:
            return []
        self._segmenter = Segmenter(detection.format, prompt=self._prompt, tools=self._tools)
        return self._told(self._segmenter, text)

    def _told(self, segmenter: Segmenter, text: str) -> list[Line]:
        self.spans += len(segmenter.feed(text))
        return self._taken(segmenter)

    def _taken(self, segmenter: Segmenter) -> list[Line]:
        calls, found = segmenter.take()
        self.calls += len(calls)
        if not found:
            return []
        index = LineIndex("".join(self._pieces)) if len(self.found) < _MAX_REPORTED else None
        return [line for one in found for line in self._lines(one, index)]

    def _lines(self, one: Diagnostic, index: LineIndex | None) -> Iterator[Line]:
        self.found.append(one)
        if index is not None and len(self.found) <= _MAX_REPORTED:
            yield from diagnostic_lines(one, index.text, width=self._width, file=self._name, lines=index)
            yield ()
        elif len(self.found) == _MAX_REPORTED + 1:
            yield (Run(f"There are more than {_MAX_REPORTED} faults; `weaklink show` shows the others."),)
