"""`weaklink tail`: what is being recorded, live."""

import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence

import click

from inspector.diagnostics import Diagnostic, Location
from inspector.json_text import write_json
from inspector.model import Json, Span, ToolCall, Trace, Turn
from storage import NoDatabaseYetError, Store, TraceSummary, open_store, place_of
from ui.cli.filtering import FilterType, filter_of, filter_option
from ui.cli.options import color_option, database_option, json_option
from ui.cli.paint import put, screen_width
from ui.cli.tail_reading import TailReading, Tells
from ui.cli.upkeep import PATIENCE_S, end_broken_off, say
from ui.views import live_json, live_lines
from ui.views.run import Line

_EVERY_S = 0.25
_TIDY_S = 10.0


@click.command("tail")
@click.argument("words", metavar="[FILTER]...", nargs=-1, type=FilterType())
@filter_option
@click.option("--all", "from_start", is_flag=True, help="Begin with what running traces already hold.")
@json_option
@database_option
@color_option
def tail(
    words: tuple[str, ...], expression: str, where: str | None, *, from_start: bool, as_json: bool, color: str
) -> None:
    """Follow what is being recorded, by any process: spans as they close, faults as soon as they are known.

    Each line begins with the trace's number and the turn's, `12/3`. A turn's end says how it ended, a trace's end how
    it came out and where it broke. With a filter, as `list` takes it, a trace is told once it matches, and then from
    its beginning. Traces that are imported meanwhile are told whole. Where there is no database yet, it is waited for.
    Ctrl-C ends it.
    """
    expression = filter_of(words, expression)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tells: Tells = _Json() if as_json else _TailPrinter(color)
    try:
        while True:
            with _opened(where) as store:
                say(f"following {store.place}; Ctrl-C ends it")
                _follow(store, expression, tells, from_start=from_start)
            from_start = True  # another database has come into its place
    except KeyboardInterrupt:
        return


def _opened(where: str | None) -> Store:
    """The store, as soon as there is one."""
    is_told = False
    while True:
        try:
            return open_store(where, create=False, busy_timeout_s=PATIENCE_S)
        except NoDatabaseYetError:
            if not is_told:
                say(f"there is no database at {place_of(where)} yet; waiting until something is recorded into it")
            is_told = True
        time.sleep(_EVERY_S)


def _follow(store: Store, expression: str, tells: Tells, *, from_start: bool) -> None:
    """Tell what happens, until the database is no longer the one at its place."""
    end_broken_off(store)
    following = store.follow(expression, from_start=from_start)
    reading = TailReading(store, tells)
    tidied_at_s = time.monotonic()
    while True:
        events = following.poll()
        reading.take(events)
        sys.stdout.flush()
        if events:
            continue
        time.sleep(_EVERY_S)
        if time.monotonic() - tidied_at_s >= _TIDY_S:
            if store.is_gone():
                say("the database was moved away or deleted")
                return
            end_broken_off(store)
            tidied_at_s = time.monotonic()


class _TailPrinter:
    """Tells people."""

    def __init__(self, color: str) -> None:
        self._color = color

    def trace_began(self, id: str, trace: Trace) -> None:
        """See `Tells`."""
        self._put([live_lines.trace_began_line(id, trace, screen_width())])

    def span_closed(self, id: str, place: Location, span: Span, text: str, calls: Sequence[ToolCall]) -> None:
        """See `Tells`."""
        self._put(live_lines.span_lines(id, place.turn, span, text, calls, width=screen_width()))

    def fault_found(self, id: str, diagnostic: Diagnostic, text: Callable[[], str]) -> None:
        """See `Tells`."""
        self._put(live_lines.fault_lines(id, diagnostic, width=screen_width()))

    def turn_ended(self, id: str, number: int, turn: Turn, model: str) -> None:
        """See `Tells`."""
        self._put(live_lines.turn_lines(id, number, turn, width=screen_width(), model=model))

    def trace_ended(self, id: str, summary: TraceSummary | None) -> None:
        """See `Tells`."""
        self._put([live_lines.trace_ended_line(id, summary, screen_width())])

    def _put(self, lines: Iterable[Line]) -> None:
        put(lines, color=self._color)


class _Json:
    """Tells programs, an object a line."""

    def trace_began(self, id: str, trace: Trace) -> None:
        """See `Tells`."""
        self._put(live_json.trace_began_object(int(id), trace))

    def span_closed(self, id: str, place: Location, span: Span, text: str, calls: Sequence[ToolCall]) -> None:
        """See `Tells`."""
        self._put(live_json.span_closed_object(int(id), place, span, text, calls))

    def fault_found(self, id: str, diagnostic: Diagnostic, text: Callable[[], str]) -> None:
        """See `Tells`."""
        self._put(live_json.fault_found_object(int(id), diagnostic, text()))

    def turn_ended(self, id: str, number: int, turn: Turn, model: str) -> None:
        """See `Tells`."""
        self._put(live_json.turn_ended_object(int(id), number, turn))

    def trace_ended(self, id: str, summary: TraceSummary | None) -> None:
        """See `Tells`."""
        self._put(live_json.trace_ended_object(int(id), summary))

    def _put(self, value: Json) -> None:
        sys.stdout.write(write_json(value) + "\n")
