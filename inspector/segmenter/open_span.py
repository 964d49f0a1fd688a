"""The span that a machine has open: where it began, the text it holds so far, and the events of its life."""

from inspector.model import Span, ToolCall
from inspector.segmenter.events import ParseEvent, SpanClosed, SpanOpened
from inspector.segmenter.table import State, Transition
from inspector.segmenter.window import Window
from inspector.text import Range


class OpenSpan:
    """The part of a machine that keeps the open span; offsets named `..._at` are in the whole text.

    `_window` is the stretch of text being read, `_pos` the place in it up to which everything is settled.
    """

    _state: State

    def __init__(self, window: Window) -> None:
        self._window = window
        self._pos = 0
        self._events: list[ParseEvent] = []
        self._is_open = False
        self._open_at = 0
        self._inner_at = 0
        self._kept: list[str] = []
        self._payload_at = 0
        self._call: ToolCall | None = None

    def _open(self, at: int, marker: int) -> None:
        """Open a span at `at`, whose first `marker` characters are its marker."""
        self._is_open = True
        self._open_at = self._window.base + at
        self._inner_at = self._open_at + marker
        self._pos = at + marker
        self._kept = []
        self._payload_at = 0
        self._events.append(SpanOpened(self._state.kind, self._open_at, self._inner_at, self._state.label))

    def _settle(self, to: int) -> None:
        """The window up to `to` belongs to the open span."""
        if to > self._pos:
            if not self._is_open:
                self._open(self._pos, 0)
            self._kept.append(self._window.text[self._pos : to])
            self._pos = to

    def _inner_text(self, to: int) -> str:
        """The inner text of the open span, if it ended at `to`."""
        rest = self._window.text[self._pos : to]
        return "".join([*self._kept, rest]) if self._kept else rest

    def _payload_text(self, to: int) -> str:
        """The text of the open span's payload up to `to`: from where the state was entered on."""
        rest = self._window.text[self._pos : to]
        return "".join([*self._kept[self._payload_at :], rest]) if self._kept else rest

    def _is_at_payload(self) -> bool:
        """Whether nothing of the payload was read yet."""
        return len(self._kept) == self._payload_at

    def _close(self, at: int, marker: int, *, wanted: str = "", by: Transition | None = None) -> str:
        """Close the open span, whose inner text ends at `at` and which ends `marker` characters later."""
        state, inner_end = self._state, self._window.base + at
        inner = self._inner_text(at)
        self._pos = at + marker
        self._is_open = False
        self._kept = []
        self._payload_at = 0
        outer, inside = Range(self._open_at, inner_end + marker), Range(self._inner_at, inner_end)
        span = Span(state.kind, outer, inside, not wanted, state.label)
        call, self._call = self._call, None
        if wanted:
            place = Range(inner_end, inner_end + max(by.taken, 1)) if by else None
            ended_by = by.marker if by else ""
            self._events.append(SpanClosed(span, inner, wanted, ended_by, place, call, state.by_model))
        else:
            self._events.append(SpanClosed(span, inner, call=call, by_model=state.by_model))
        return inner
