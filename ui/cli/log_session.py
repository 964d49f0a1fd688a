"""One stream that `weaklink log` records: its bytes into one assistant turn, and its faults onto stderr."""

import sys

from inspector.capture.clock import now_s
from inspector.capture.events import RecordEvent, Sink, TurnEnded
from inspector.capture.logged_turn import LoggedTurn
from inspector.capture.logger import TraceLogger
from inspector.diagnostics import Diagnostic
from inspector.inspection import inspect_trace
from inspector.model import ToolDefinition, Trace, Turn
from inspector.rules.rule import Severity
from inspector.text import incremental_decoder
from inspector.wire.decoder import Decoder
from inspector.wire.events import PartGrew, WireEvent
from inspector.wire.providers import decoder_for
from ui.cli.live_faults import LiveFaults
from ui.cli.log_form import Form, form_of
from ui.cli.paint import put, screen_width
from ui.views.run import Line, Run
from ui.views.wording import counted

_OF_THE_TURN = frozenset("JSFCR")  # families of rules that one turn can break; the others judge a conversation
_TYPES = {Form.SSE: "text/event-stream", Form.NDJSON: "application/x-ndjson"}


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
            self._form = form_of(self._start)
            raw, self._start = (self._start, b"") if self._form is not None else (b"", self._start)
        if raw:
            self._read(raw)

    def end(self, broke: str = "") -> None:
        """The input ended; `broke` says why where that was not its end."""
        if self._turn is None:
            return
        if self._form is None:
            self._form = form_of(self._start, at_end=True)
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
            self._decoder = decoder_for(content_type=_TYPES[self._form])
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
            put(lines, color=self._color, stream=sys.stderr)
            sys.stderr.flush()


def _count(found: list[Diagnostic], severity: Severity) -> int:
    return sum(one.rule.severity is severity for one in found)
