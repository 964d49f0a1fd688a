r"""`weaklink record FILE`: record a model's output from standard input or a file as a trace, while it is written.

Bytes come in pieces: from a thread that reads standard input and copies it to standard output at once, whatever the
recording does, or from a file, which may grow, be truncated or be replaced (`Restarted`, a new trace). The first bytes
decide what they are (`detect_form`):

    Let me look.\n<tool_call>           -> text
    data: {"choices": [{"delta":       -> server-sent events of a provider
    {"model": "qwen3", "done": false   -> JSON lines of a provider; other JSON is a model's text

`LoggedSession` waits for that decision, at most one line, and then records text as it comes, or what the provider's
decoder makes of the events. `LiveFaults` reads the text in its format and prints a fault as soon as it is certain; if
no format was named, it waits until one is likely enough, and asks at 64, 128, 256 code points and so on, which keeps
the detection linear. Faults that only the whole turn shows follow at its end.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum, StrEnum, auto
from pathlib import Path, PurePath
from queue import Empty, SimpleQueue
from threading import Condition, Thread

import click
from click.core import ParameterSource
from msgspec import Struct

from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.capture.events import RecordEvent, Sink, TurnEnded
from weaklink.inspector.capture.logged_turn import LoggedTurn
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.capture.safeguards import now_s
from weaklink.inspector.capture.sinks import is_database, open_sink
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.formats.detection import SAMPLE_CHARS, detect_format, expected_format
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, ToolDefinition, Trace, Turn
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import AUTO, Segmenter
from weaklink.inspector.text import LineIndex, incremental_decoder
from weaklink.inspector.wire.decoder import Decoder
from weaklink.inspector.wire.events import PartGrew, WireEvent
from weaklink.inspector.wire.provider_json import parse_json
from weaklink.storage.live import StoreSink
from weaklink.ui.cli.console import interrupt_on_signals, print_lines, print_notice, screen_width
from weaklink.ui.cli.files import STDIN, read_tool_file
from weaklink.ui.cli.format_options import expected_format_name
from weaklink.ui.cli.redaction_options import redactor_of
from weaklink.ui.views.diagnostic import diagnostic_lines
from weaklink.ui.views.styled_text import Line, Run, counted

_EVENTS = (b"data:", b"event:", b"id:", b"retry:", b": ")
_MAX_EVENT_CHARS = max(map(len, _EVENTS))
_MAX_FIRST_LINE_CHARS = 65_536
_KEYS = frozenset({"choices", "candidates", "promptFeedback", "usageMetadata", "done"})
_EVENT_TYPES = ("response.", "message_start", "ping", "error", "content_block_")
_TURN_FAMILIES = frozenset("JSFCR")  # families of rules that one turn can break; the others judge a conversation
_FIRST_DETECTION_CHARS = 64
_MIN_CONFIDENCE = 0.7
_MAX_REPORTED = 100  # each shows its line, which requires a search of the text so far
_READ_BYTES = 65_536
_MAX_WAITING_BYTES = 64 << 20
_POLL_S = 0.1
_MISSING_S = 2.0  # log rotation moves a file away before it creates a new one


class Form(StrEnum):
    """How the input is read."""

    TEXT = "text"
    SSE = "sse"
    NDJSON = "ndjson"


FORM_CHOICES = (AUTO, *(form.value for form in Form))


def detect_form(start: bytes, *, at_end: bool = False) -> Form | None:
    """The form of an input that begins with these bytes; None if more bytes are needed, at most one line.

    An input counts as NDJSON only if its first object has the keys of a provider's stream: models write JSON too.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if text.startswith(_EVENTS):
        return Form.SSE
    if any(prefix.startswith(text[:_MAX_EVENT_CHARS]) for prefix in _EVENTS):
        return Form.TEXT if at_end else None
    if not text.startswith(b"{"):
        return Form.TEXT
    line, newline, _ = text.partition(b"\n")
    if not newline and not at_end and len(text) < _MAX_FIRST_LINE_CHARS:
        return None
    return Form.NDJSON if _is_provider_object(line) else Form.TEXT


def _is_provider_object(line: bytes) -> bool:
    try:
        value: Json = parse_json(line.decode("utf-8"))
    except ValueError:
        return False
    return isinstance(value, dict) and (
        bool(value.keys() & _KEYS) or str(value.get("type", "")).startswith(_EVENT_TYPES)
    )


_STREAM_TYPES = {Form.SSE: "text/event-stream", Form.NDJSON: "application/x-ndjson"}


class LastTurn:
    """A sink that forwards all events, and keeps the last turn that ended."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.last: Turn | None = None

    @property
    def dropped(self) -> int:
        """The number of events that the sink dropped."""
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
    """A trace of one turn that begins with the first byte; without input there is no trace."""

    def __init__(
        self, logger: TraceLogger, sink: LastTurn, faults: "LiveFaults", form: Form | None, color: str
    ) -> None:
        self._logger, self._sink, self._faults = logger, sink, faults
        self._form, self._color = form, color
        self._turn: LoggedTurn | None = None
        self._start = b""
        self._text = incremental_decoder()
        self._decoder: Decoder | None = None

    def feed(self, raw: bytes) -> None:
        """Record a piece of the input."""
        if self._turn is None:
            self._turn = self._logger.assistant(prompt=self._faults.prompt, tools=self._faults.tools)
        if self._form is None:
            self._start += raw
            self._form = detect_form(self._start)
            raw, self._start = (self._start, b"") if self._form is not None else (b"", self._start)
        if raw:
            self._read(raw)

    def end(self, broke: str = "") -> None:
        """End the turn; `broke` is the reason if the input broke off."""
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
        self._print(self._faults.close())
        self._print(self._turn_faults())
        self._logger.close()
        self._print([self._summary()])

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
                self._print(self._faults.feed(event.text))

    def _turn_faults(self) -> list[Line]:
        """Faults that only the whole turn shows: those of the recording, and of calls in separate fields."""
        turn = self._sink.last
        if turn is None:
            return []
        diagnostics = inspect_trace(Trace((turn,), format=self._faults.format)).diagnostics
        of_turn = [diagnostic for diagnostic in diagnostics if diagnostic.rule.code[0] in _TURN_FAMILIES]
        return self._faults.also(of_turn, {part.name: part.text for part in turn.parts})

    def _summary(self) -> Line:
        faults = self._faults
        severities = Counter(diagnostic.rule.severity for diagnostic in faults.diagnostics)
        facts = [counted(faults.calls, "call")]
        facts += [counted(severities[severity], severity.value) for severity in (Severity.ERROR, Severity.WARNING)]
        lost = self._logger.mistakes.count
        text = f"weaklink: recorded one turn as {faults.format}: {', '.join(facts)}"
        text += f"; {counted(self._sink.dropped, 'event')} dropped" if self._sink.dropped else ""
        text += f"; not recorded: {self._logger.mistakes.last}" if lost else ""
        return (Run(text),)

    def _print(self, lines: list[Line]) -> None:
        if lines:
            print_lines(lines, color=self._color, stream=sys.stderr)
            sys.stderr.flush()


class LiveFaults:
    """Finds the faults of one text piece by piece; without a given format, it begins once the format is detected.

    Detection runs at 64 code points, 128, 256 and so on; at 65,536, or at the end, the likeliest format is used.
    """

    def __init__(
        self,
        *,
        format: str = AUTO,
        model: str = "",
        prompt: str = "",
        tools: tuple[ToolDefinition, ...] = (),
        name: str = "",
        width: int = 80,
    ) -> None:
        self.prompt, self.tools, self._model = prompt, tools, model
        self._name, self._width = name, width
        self._pieces: list[str] = []
        self._length, self._detect_at = 0, _FIRST_DETECTION_CHARS
        self._segmenter = None if format == AUTO else Segmenter(format, prompt=prompt, tools=tools)
        self.spans = self.calls = 0
        self.diagnostics: list[Diagnostic] = []

    @property
    def format(self) -> str:
        """The format's name; `""` while it is unknown."""
        return "" if self._segmenter is None else self._segmenter.format.name

    def feed(self, text: str) -> list[Line]:
        """The report lines of the faults that this piece revealed."""
        self._pieces.append(text)
        self._length += len(text)
        if self._segmenter is not None:
            return self._fed(self._segmenter, text)
        return self._decide(at_end=False) if self._length >= self._detect_at else []

    def close(self) -> list[Line]:
        """The report lines of the faults that the end revealed."""
        lines = self._decide(at_end=True) if self._segmenter is None else []
        assert self._segmenter is not None  # `_decide` sets it at the end
        self.spans += len(self._segmenter.close())
        return lines + self._taken(self._segmenter)

    def also(self, diagnostics: Sequence[Diagnostic], texts: dict[str, str]) -> list[Line]:
        """The report lines of other faults that were not reported yet; `texts` are those of their parts."""
        reported = {(diagnostic.rule.code, diagnostic.location) for diagnostic in self.diagnostics}
        new = [diagnostic for diagnostic in diagnostics if (diagnostic.rule.code, diagnostic.location) not in reported]
        return [
            line
            for diagnostic in new
            for line in self._lines(diagnostic, LineIndex(texts.get(diagnostic.location.part, "")))
        ]

    def _decide(self, *, at_end: bool) -> list[Line]:
        text = "".join(self._pieces)
        detection = detect_format(text[:SAMPLE_CHARS], self._model)
        self._detect_at *= 2
        if detection.confidence < _MIN_CONFIDENCE and self._length < SAMPLE_CHARS and not at_end:
            return []
        self._segmenter = Segmenter(detection.format, prompt=self.prompt, tools=self.tools)
        return self._fed(self._segmenter, text)

    def _fed(self, segmenter: Segmenter, text: str) -> list[Line]:
        self.spans += len(segmenter.feed(text))
        return self._taken(segmenter)

    def _taken(self, segmenter: Segmenter) -> list[Line]:
        calls, diagnostics = segmenter.take()
        self.calls += len(calls)
        if not diagnostics:
            return []
        index = LineIndex("".join(self._pieces)) if len(self.diagnostics) < _MAX_REPORTED else None
        return [line for diagnostic in diagnostics for line in self._lines(diagnostic, index)]

    def _lines(self, diagnostic: Diagnostic, index: LineIndex | None) -> Iterator[Line]:
        self.diagnostics.append(diagnostic)
        if index is not None and len(self.diagnostics) <= _MAX_REPORTED:
            yield from diagnostic_lines(diagnostic, index.text, width=self._width, file=self._name, lines=index)
            yield ()
        elif len(self.diagnostics) == _MAX_REPORTED + 1:
            yield (Run(f"There are more than {_MAX_REPORTED} faults; `weaklink show` shows the others."),)


class Restarted(Struct, frozen=True):
    """The file was truncated or replaced: the following bytes are a new input."""


class StandardInput:
    """Standard input; a thread reads it, and copies it to standard output without waiting until a piece is recorded.

    Iteration yields the pieces. At most `_MAX_WAITING_BYTES` wait to be recorded; only then does the thread read no
    further. After all earlier pieces it raises KeyboardInterrupt if a signal came, and OSError if a stream failed:
    BrokenPipeError if nobody reads standard output any more.
    """

    def __init__(self, *, passes_on: bool) -> None:
        self._passes_on = passes_on
        self._pieces: SimpleQueue[bytes | OSError | KeyboardInterrupt] = SimpleQueue()
        self._room = Condition()
        self._waiting_bytes = 0
        self._is_interrupted = False

    def __iter__(self) -> Iterator[bytes]:
        Thread(target=self._read, name="weaklink-log-input", daemon=True).start()
        while piece := self._next_piece():
            if not isinstance(piece, bytes):
                raise piece
            yield piece
            with self._room:
                self._waiting_bytes -= len(piece)
                self._room.notify()

    def _next_piece(self) -> bytes | OSError | KeyboardInterrupt:
        while True:
            # A signal that comes right before the wait, or that the other thread gets, does not end it: look again.
            with suppress(Empty):
                return self._pieces.get(timeout=_POLL_S)

    def interrupt(self) -> None:
        """End the input after what was read: for a signal's handler. The second time it raises KeyboardInterrupt."""
        if self._is_interrupted:
            raise KeyboardInterrupt
        self._is_interrupted = True
        self._pieces.put(KeyboardInterrupt())

    def _read(self) -> None:
        file = sys.stdin.fileno()
        if os.isatty(file):
            sys.stderr.write("weaklink: reading from the terminal; end with Ctrl-D\n")
        try:
            while raw := os.read(file, _READ_BYTES):
                with self._room:
                    self._room.wait_for(lambda: self._waiting_bytes < _MAX_WAITING_BYTES)
                    self._waiting_bytes += len(raw)
                self._pieces.put(raw)
                if self._is_interrupted:
                    return
                if self._passes_on:
                    _write(raw)
        except OSError as error:
            self._pieces.put(error)
        else:
            self._pieces.put(b"")


def from_file(path: str) -> Iterator[bytes]:
    """A file to its end; a named pipe until its writers have closed it. Raises UnreadableFileError."""
    file = _open(path)
    try:
        while raw := _read(path, file):
            yield raw
    finally:
        os.close(file)


def follow_file(path: str) -> Iterator[bytes | Restarted]:
    """A file from its beginning, and what is appended to it, until it is deleted; a named pipe to its end.

    Polls ten times a second. If a new file replaces it within two seconds, or if it becomes shorter than what was read,
    it is read from the beginning after a Restarted. Raises UnreadableFileError.
    """
    if not Path(path).is_file():
        yield from from_file(path)
        return
    file, gone_at_s = _open(path), None
    try:
        while True:
            while raw := _read(path, file):
                yield raw
            there = _stat(path)
            if there is None:
                now_s = time.monotonic()
                gone_at_s = gone_at_s or now_s
                if now_s - gone_at_s >= _MISSING_S:
                    return
            elif not os.path.samestat(there, os.fstat(file)):
                # First the rest of the old file.
                while raw := _read(path, file):
                    yield raw
                new = _open(path)
                os.close(file)
                file, gone_at_s = new, None
                yield Restarted()
                continue
            elif there.st_size < os.lseek(file, 0, os.SEEK_CUR):
                os.lseek(file, 0, os.SEEK_SET)
                yield Restarted()
                continue
            time.sleep(_POLL_S)
    finally:
        os.close(file)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _read(path: str, file: int) -> bytes:
    try:
        return os.read(file, _READ_BYTES)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


def log(
    ctx: click.Context,
    file: str,
    *,
    format: str,
    server_parser: str,
    chat_template: str | None,
    model: str,
    name: str,
    prompt: str,
    tool_file: str | None,
    form: str,
    to: str | None,
    where: str | None,
    follow: bool,
    quiet: bool,
    patterns: tuple[str, ...],
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """Record FILE or standard input as one turn, as `weaklink record` describes."""
    if follow and file == STDIN:
        raise click.UsageError("--follow requires a FILE; standard input is followed anyway.")
    if to is not None and ctx.get_parameter_source("where") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--db and --to exclude each other.")
    redacts = redactor_of(patterns, no_redact=no_redact, no_content=no_content)
    by_model = expected_format(model)
    format = expected_format_name(format, server_parser, chat_template) or (
        by_model.name if by_model is not None else AUTO
    )
    tools = read_tool_file(tool_file) if tool_file else ()
    target = where if to is None else to
    sink = LastTurn(StoreSink(target) if target is None or is_database(target) else open_sink(target))
    shown = name or ("" if file == STDIN else PurePath(file).name)

    def begin() -> LoggedSession:
        logger = TraceLogger(sink, name=shown, model=model, format="" if format == AUTO else format, redactor=redacts)
        label = "<stdin>" if file == STDIN else file
        faults = LiveFaults(format=format, model=model, prompt=prompt, tools=tools, name=label, width=screen_width())
        return LoggedSession(logger, sink, faults, None if form == AUTO else Form(form), color)

    try:
        ended = _record(begin, _pieces(file, follow=follow, quiet=quiet), goes_on=follow)
    finally:
        sink.close()
    if sink.last is None:
        print_notice(f"{'standard input' if file == STDIN else file} is empty; nothing was recorded")
    if ended is _End.INTERRUPTED:
        raise KeyboardInterrupt


class _End(Enum):
    """Why the recording ended."""

    INPUT_ENDED = auto()
    INTERRUPTED = auto()
    READER_LEFT = auto()


def _record(begin: Callable[[], LoggedSession], pieces: Iterable[bytes | Restarted], *, goes_on: bool) -> _End:
    """Record pieces until they end. With `goes_on` they are endless, so Ctrl-C is a normal end."""
    session = begin()
    try:
        for piece in pieces:
            if isinstance(piece, Restarted):
                session.end()
                session = begin()
                continue
            session.feed(piece)
    except KeyboardInterrupt:
        session.end("" if goes_on else "Interrupted.")
        return _End.INPUT_ENDED if goes_on else _End.INTERRUPTED
    except BrokenPipeError:
        session.end("Standard output was closed.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _End.READER_LEFT
    except OSError as error:
        session.end(f"Standard output or input failed: {error.strerror or error}.")
        raise
    except UnreadableFileError as error:
        session.end(str(error))
        raise
    session.end()
    return _End.INPUT_ENDED


def _pieces(file: str, *, follow: bool, quiet: bool) -> Iterable[bytes | Restarted]:
    if file != STDIN:
        interrupt_on_signals()
        return follow_file(file) if follow else from_file(file)
    pieces = StandardInput(passes_on=not quiet)
    interrupt_on_signals(pieces.interrupt)
    return pieces


def _write(raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]
