"""`weaklink tail`: follow running traces, and print spans as they close and faults as they appear.

The database returns what other processes record as the events of a recording: a trace began, chunks arrived, a turn
ended. `TailReader` reads the chunks of an answer in its format, as the recorder did, and makes `LiveEvent`s of what it
finds: a span that closed, a fault. When a turn ends, the recorded inspection of the whole trace is read, and reported
are the faults that no single answer shows (a result without a call, a repeated call), each once; those that judge the
end (an error that nothing recovered) only when the trace ends, since until then the agent may still recover.
"""

import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias, assert_never

import click
from msgspec import Struct, field

from weaklink.inspector.capture.events import (
    ChunksArrived,
    ExchangeFacts,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.capture.live_parser import FormatChoice, LiveParser
from weaklink.inspector.chain.layers import PartTexts
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.diagnostics import Diagnostic, Location
from weaklink.inspector.errors import StoreError
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import known_format
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Chunk, Role, Span, ToolCall, Trace, Turn
from weaklink.inspector.rules.conversation import NO_FINAL_ANSWER, UNRECOVERED_ERROR
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range
from weaklink.storage.engine import location_of
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import interrupt_on_signals, print_lines, print_notice, screen_width
from weaklink.ui.cli.store_options import LOCK_TIMEOUT_S, filter_of, recover_traces
from weaklink.ui.views import live
from weaklink.ui.views.trace import model_of

_RULES_AT_END = (UNRECOVERED_ERROR, NO_FINAL_ANSWER)
"""Rules that can be checked only when a trace has ended: until then the agent may still answer."""

_POLL_S = 0.25
_CLEANUP_S = 10.0


TailOutput: TypeAlias = Callable[[str, live.LiveEvent], object]


class _GrowingText:
    """The text of a part so far, in the pieces in which it arrived."""

    def __init__(self, text: str = "") -> None:
        self._pieces, self._ends = [text], [len(text)]

    def grow(self, text: str) -> None:
        self._pieces.append(text)
        self._ends.append(self._ends[-1] + len(text))

    def cut(self, range_: Range) -> str:
        """The text of a range; the cost depends on its length, not on that of the text before it."""
        first = bisect_right(self._ends, range_.start)
        last = bisect_left(self._ends, range_.end, first)
        start = self._ends[first - 1] if first else 0
        return range_.moved(-start).of("".join(self._pieces[first : last + 1]))

    def whole(self) -> str:
        return "".join(self._pieces)


class _TailedTurn(Struct):
    reading: LiveParser
    texts: dict[str, _GrowingText] = field(default_factory=dict)


class _TailedTrace(Struct):
    """A trace that is followed; `ended` are its turns that ended, `reported` its faults that were reported."""

    trace: Trace
    spoken: Format | None = None
    open: dict[int, _TailedTurn] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    reported: set[tuple[object, ...]] = field(default_factory=set)
    texts: dict[tuple[int, str], str] = field(default_factory=dict)


class TailReader:
    """Reads the answers in record events as they grow; reads `store` for faults that only a whole trace shows.

    `put` is called with the id of a trace and each of its events.
    """

    def __init__(self, store: Store, put: TailOutput) -> None:
        self._store, self._put = store, put
        self._traces: dict[str, _TailedTrace] = {}

    def consume(self, events: Sequence[RecordEvent]) -> None:
        """Report what these events show. Raises StoreError if the store cannot be read."""
        grown: dict[str, None] = {}
        for event in events:
            self._take(event)
            if isinstance(event, TurnEnded):
                grown[event.key] = None
        for key in grown:
            if key in self._traces and not self._traces[key].open:
                self._report_rest(key, self._traces[key], but=_RULES_AT_END)

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        """See `Watch`."""
        location = Location(turn, part, span.range)
        self._put(key, live.SpanReported(location, span, self._text(key, location).cut(span.inner), calls))

    def fault_found(self, key: str, turn: int, diagnostic: Diagnostic) -> None:
        """See `Watch`."""
        trace, location = self._traces[key], diagnostic.location
        mark = (diagnostic.rule.code, location)
        if mark not in trace.reported:
            trace.reported.add(mark)
            self._put(key, live.FaultReported(diagnostic, lambda: self._text(key, location).whole()))

    def exchange_ended(self, facts: ExchangeFacts) -> None:
        """See `Watch`; a reading never calls it."""

    def trouble(self, message: str) -> None:
        """See `Watch`; a reading never calls it."""

    def _take(self, event: RecordEvent) -> None:
        match event:
            case TraceStarted(key, trace):
                self._traces[key] = _TailedTrace(trace)
                self._put(key, live.TraceReported(trace))
            case TurnStarted(key, number, role, generation):
                if role is Role.ASSISTANT:
                    tools = generation.tools if generation is not None else ()
                    named = generation.requested_model if generation is not None else ""
                    self._traces[key].open[number] = self._begin(key, number, named, OfferedTools(tools))
            case ChunksArrived(key, number, chunks):
                self._grow(self._traces[key].open.get(number), chunks)
            case TurnEnded(key, number, turn):
                self._end(key, number, turn)
            case TraceEnded(key, _):
                self._end_trace(key, self._traces[key])
                del self._traces[key]
            case _:
                assert_never(event)

    def _begin(self, key: str, number: int, model: str, tools: OfferedTools) -> _TailedTurn:
        trace = self._traces[key]
        choice = FormatChoice(
            model or trace.trace.model,
            trace.spoken,
            named=known_format(trace.trace.format),
            offers_tools=bool(tools.definitions),
        )
        return _TailedTurn(LiveParser(self, key, number, choice=choice, tools=tools))

    def _grow(self, opened: _TailedTurn | None, chunks: Sequence[Chunk]) -> None:
        if opened is None:
            return
        for chunk in chunks:
            opened.texts.setdefault(chunk.part, _GrowingText()).grow(chunk.text)
        opened.reading.feed(chunks)

    def _end(self, key: str, number: int, turn: Turn) -> None:
        trace = self._traces[key]
        opened = trace.open.get(number)
        if opened is not None:
            opened.texts = {part.name: _GrowingText(part.text) for part in turn.parts}
            opened.reading.begin_calls(turn.calls)
            opened.reading.end(turn)
            trace.spoken = opened.reading.spoken or trace.spoken
            del trace.open[number]
        trace.ended.add(number)
        self._put(key, live.TurnReported(number, turn, model_of(trace.trace)))

    def _end_trace(self, key: str, trace: _TailedTrace) -> None:
        try:
            summary = self._store.summary(int(key))
        except StoreError:
            summary = None
        if summary is not None:
            self._report_rest(key, trace)
        self._put(key, live.EndReported(summary))

    def _report_rest(self, key: str, trace: _TailedTrace, but: Collection[Rule] = ()) -> None:
        """Report the faults that only the whole trace shows, in turns that ended, except those of some rules."""
        whole = self._inspected(key)
        if whole is None:
            return
        kept, inspection = whole
        texts = PartTexts(kept)
        for diagnostic in inspection.diagnostics:
            if (
                diagnostic.rule not in but
                and diagnostic.location.turn in trace.ended
                and diagnostic.location.turn <= len(kept.turns)
            ):
                trace.texts[diagnostic.location.turn, diagnostic.location.part] = texts.at(diagnostic.location)
                self.fault_found(key, diagnostic.location.turn, diagnostic)
        trace.texts.clear()

    def _inspected(self, key: str) -> tuple[Trace, Inspection] | None:
        try:
            return self._store.inspected(int(key))
        except StoreError:
            return None

    def _text(self, key: str, location: Location) -> _GrowingText:
        trace = self._traces[key]
        opened = trace.open.get(location.turn)
        if opened is not None and location.part in opened.texts:
            return opened.texts[location.part]
        return _GrowingText(trace.texts.get((location.turn, location.part), ""))


@declaring.command("tail")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=declaring.FilterType())
@declaring.filter_option
@click.option("--all", "from_start", is_flag=True, help="Start with what running traces already contain.")
@declaring.json_option
@declaring.database_option
@declaring.color_option
def tail(
    words: tuple[str, ...], expression: str, where: str | None, *, from_start: bool, as_json: bool, color: str
) -> None:
    """Follow what any process records: spans as they close, faults as soon as they are found.

    Each line begins with the trace's number and the turn's, `12/3`. The end of a turn shows how it ended; the end of a
    trace shows its status and where it broke. With a filter, as in `list`, a trace is printed from its beginning once
    it matches. Traces that are imported meanwhile are printed whole. Waits for the database to appear if there is none.
    Press Ctrl-C to stop.
    """
    expression = filter_of(words, expression)

    def put_lines(id: str, event: live.LiveEvent) -> None:
        print_lines(live.event_lines(id, event, width=screen_width()), color=color)

    put = put_object if as_json else put_lines
    try:
        interrupt_on_signals()
        while True:
            with _opened(where) as store:
                print_notice(f"following {store.location}; Ctrl-C ends it")
                _follow(store, expression, put, from_start=from_start)
            from_start = True  # another database has replaced it
    except KeyboardInterrupt:
        return


def _opened(where: str | None) -> Store:
    """Open the store as soon as it exists."""
    is_announced = False
    while True:
        try:
            return open_store(where, create=False, busy_timeout_s=LOCK_TIMEOUT_S)
        except NoDatabaseYetError:
            if not is_announced:
                print_notice(
                    f"there is no database at {location_of(where)} yet; waiting until something is recorded into it"
                )
            is_announced = True
        time.sleep(_POLL_S)


def _follow(store: Store, expression: str, put: TailOutput, *, from_start: bool) -> None:
    """Report what happens, until the database is moved away or deleted."""
    recover_traces(store)
    following = store.follow(expression, from_start=from_start)
    reading = TailReader(store, put)
    recovered_at_s = time.monotonic()
    while True:
        events = following.poll()
        reading.consume(events)
        sys.stdout.flush()
        if events:
            continue
        time.sleep(_POLL_S)
        if time.monotonic() - recovered_at_s >= _CLEANUP_S:
            if store.is_gone():
                print_notice("the database was moved or deleted")
                return
            recover_traces(store)
            recovered_at_s = time.monotonic()


def put_object(id: str, event: live.LiveEvent) -> None:
    """Print an event of a trace as a JSON line, for programs."""
    sys.stdout.write(write_json(live.event_object(int(id), event)) + "\n")
