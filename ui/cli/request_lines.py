"""What a recording says on the console: a line for each request, its troubles, and what it kept and lost."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from threading import Lock

from inspector.capture.events import ExchangeFacts
from inspector.capture.outbox_sink import OutboxSink
from inspector.capture.recorder import Recorder
from inspector.diagnostics import Diagnostic
from inspector.model import Span, ToolCall
from inspector.rules.catalogue import find_rule
from inspector.sessions.exchange import ExchangeEnd
from storage import StoreSink
from ui.views.styled_text import GLYPHS, Line, Run, Style, style_of, visible_line
from ui.views.wording import counted

SUMMED = 16
"""Blocks of traces that a recording sums up at its end; a tenth of a second each."""

_ENDS = {
    ExchangeEnd.UPSTREAM_DROPPED: "the upstream dropped it",
    ExchangeEnd.CLIENT_LEFT: "the client left",
    ExchangeEnd.NOT_CONNECTED: "the upstream was not reached",
    ExchangeEnd.TIMED_OUT: "timed out",
    ExchangeEnd.NOT_STORED: "the recording stopped",
}


class RequestLines:
    """Puts a line per request to a model; the other requests are only counted."""

    def __init__(self, put: Callable[[Line], object], *, is_quiet: bool) -> None:
        self._put, self._is_quiet = put, is_quiet
        self._lock = Lock()
        self._is_storing = True
        self.requests = self.others = 0

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """Nothing to say: `weaklink tail` shows spans."""

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """Nothing to say yet: the request's line counts them."""

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """Say it."""
        if not facts.key:
            self.others += 1
            return
        self.requests += 1
        if not self._is_quiet:
            with self._lock:
                self._put(request_line(facts, datetime.now().astimezone().strftime("%H:%M:%S")))

    def trouble(self, message: str) -> None:
        """Say what keeps the recorder from its work."""
        self._say(message)

    def storing(self, trouble: Exception | None, backlog: int, *, taker: str, where: str) -> None:
        """Say, when it changes, that the taker refuses what is recorded, or takes it again."""
        if trouble is not None and backlog and self._is_storing:
            self._is_storing = False
            self._say(f"{trouble}. The traffic goes on; what is recorded waits {where}.")
        elif not backlog and not self._is_storing:
            self._is_storing = True
            self._say(f"The {taker} takes the record again; nothing waits.")

    def _say(self, message: str) -> None:
        with self._lock:
            sys.stderr.write(f"weaklink: {visible_line(message)}\n")
            sys.stderr.flush()


def request_line(facts: ExchangeFacts, time: str) -> Line:
    """One request: time, method, path, model, how it ended, how long it took, and what is wrong with the answer."""
    runs = [
        Run(f"{time} ", Style.DIM),
        Run(f"{facts.method} {visible_line(facts.target.partition('?')[0])} "),
        *((Run(f"{visible_line(facts.model)} ", Style.STRONG),) if facts.model else ()),
        _status(facts),
    ]
    runs += [Run(f", {said}") for said in _times(facts)]
    if facts.end in _ENDS and not _is_done(facts):
        runs += (Run(", "), Run(_ENDS[facts.end], Style.ERROR))
    runs += _faults(facts.faults)
    return tuple(runs)


def farewell(requests: int, others: int, redacted: int, *, lost: Sequence[str]) -> Iterator[Line]:
    """What a recording has kept when it ends, and what it lost."""
    said = f"weaklink: recorded {counted(requests, 'request')}"
    said += f", {others:,} others passed through" if others else ""
    said += f"; {counted(redacted, 'secret')} replaced" if redacted else ""
    yield (Run(f"{said}."),)
    for sentence in lost:
        yield (Run(f"{GLYPHS['warning']} {sentence}", Style.WARNING),)


def lost_messages(recorder: Recorder, sink: StoreSink | OutboxSink) -> Iterator[str]:
    """What a recording lost or nearly lost, a sentence each."""
    if recorder.dropped_bytes:
        yield f"{recorder.dropped_bytes:,} bytes came faster than they could be recorded; their turns say so."
    if recorder.refused_events:
        yield f"{counted(recorder.refused_events, 'event')} could not be handed to the database."
    if isinstance(sink, OutboxSink):
        if sink.backlog:
            waits = f"{counted(sink.backlog, 'batch', 'batches')} of events wait in {sink.place}"
            yield f"{waits}; the next `weaklink record --to` sends them."
        if sink.dropped:
            yield f"{counted(sink.dropped, 'event')} found no room, or were refused."
    elif sink.trouble is not None:
        yield f"The database refused what was written for a time: {visible_line(str(sink.trouble))}."


def _status(facts: ExchangeFacts) -> Run:
    if facts.status is None:
        return Run("no answer", Style.ERROR)
    return Run(str(facts.status), Style.OK if facts.status < 400 else Style.ERROR)


def _times(facts: ExchangeFacts) -> Iterator[str]:
    if facts.first_token_s is not None:
        yield f"first token {_seconds(facts.first_token_s)}"
    if facts.output_tokens is not None:
        yield counted(facts.output_tokens, "token")
    elif facts.chunks:
        yield counted(facts.chunks, "chunk")
    if facts.duration_s is not None:
        yield _seconds(facts.duration_s)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _is_done(facts: ExchangeFacts) -> bool:
    """Whether the answer was whole although the client closed first, as openai's SDK does."""
    return facts.end is ExchangeEnd.CLIENT_LEFT and "C504" not in facts.faults


def _faults(faults: Mapping[str, int]) -> Iterator[Run]:
    for code, number in sorted(faults.items()):
        rule = find_rule(code)
        times = f" x{number}" if number > 1 else ""
        yield Run(f"  {GLYPHS[rule.severity.value]} {code} {rule.name}{times}", style_of(rule.severity))
