"""The machine that drives a format's table over a text, fed in any pieces.

Theory of operation. The machine is in one state of the table. While a piece holds none of the characters that a marker
of the state begins with, it is only appended to a list. Otherwise the pieces since the last look are joined to a
*window*, which is searched from a position with one pattern per first character; what cannot be part of a marker is
settled, and at most the longest marker less one character is held back for the next look. So each character is joined
a bounded number of times, and the work is linear.

A marker in a payload may be data: inside a JSON string. Quotes are counted up to it (exact as long as the payload has
no fault); if their number is odd, a strict tracker reads the payload. If it agrees that a string is open, the marker is
*doubtful*, and nothing is told until the doubt is resolved: the payload's value completes (the marker was data), or a
character comes that no JSON can hold, or 64 Ki code points have passed, or the stream ends (the marker counts, and the
text behind it is read again). Text read in a doubt that was resolved so is not doubted again: `_certain_to`.

Offsets named `..._at` and `..._to` are in the whole text; `_pos` and plain `at` are in the window, which begins at
`_base`.
"""

import re

from inspector.json_scanner.tracker import JsonTracker
from inspector.model import Span, SpanKind
from inspector.rules.markers import MARKER_INSIDE_ARGUMENT, SPECIAL_TOKEN_LEAK
from inspector.segmenter.events import Flagged, ParseEvent, SpanClosed, SpanExtended, SpanOpened
from inspector.segmenter.payload import Payload
from inspector.segmenter.table import HERE, HOME, ROLE, Cut, State, Table, Transition
from inspector.segmenter.wording import marker_fault
from inspector.text import Range

DOUBT_LIMIT = 65_536
"""How many code points a doubtful marker may keep the machine waiting."""


class Machine:
    """A FormatParser over a table.

    `role` names whose turn the text begins in; `prompt` is the text before it, whose end decides the first state.
    """

    def __init__(self, table: Table, *, role: str = "assistant", prompt: str = "") -> None:
        self._table = table
        self._home = table.home(role)
        self._events: list[ParseEvent] = []
        self._pieces: list[str] = []
        self._window = ""
        self._pos = 0
        self._base = 0
        self._held = 0
        self._is_open = False
        self._open_at = 0
        self._inner_at = 0
        self._kept = Payload()
        self._json = JsonTracker()
        self._opener = ("", Range(0, 0))
        self._certain_to = 0
        self._doubt_at: int | None = None
        self._doubt_read_to = 0
        self._matches: dict[int, re.Match[str] | None] = {}
        self._enter(self._state_behind(prompt, role) if prompt else self._home)
        self._quiet = False

    @property
    def state(self) -> State:
        """The state that the machine is in."""
        return self._state

    @property
    def held(self) -> int:
        """How many code points at the end of what was fed are held back: part of a marker, or of a doubt."""
        return self._held

    def feed(self, text: str) -> list[ParseEvent]:
        """See FormatParser."""
        self._pieces.append(text)
        if self._quiet and self._alarm not in text and self._other_alarm not in text:
            return []
        return self._look(text, final=False)

    def close(self) -> list[ParseEvent]:
        """See FormatParser."""
        self._look("", final=True)
        if self._is_open:
            self._close(self._base + self._pos, self._base + self._pos, wanted=self._state.closer)
        return self._told()

    def _look(self, text: str, *, final: bool) -> list[ParseEvent]:
        was_held = self._held
        if self._doubt_at is None:
            self._base += self._pos
            self._window = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
            self._pos = 0
            self._work(final=final)
        else:
            self._go_on_in_doubt(text, final=final)
            if self._doubt_at is None:
                self._work(final=final)
        if was_held and not self._events and self._held < was_held + len(text):
            self._events.append(SpanExtended(self._base + self._pos))
        return [] if final else self._told()

    def _told(self) -> list[ParseEvent]:
        events, self._events = self._events, []
        return events

    def _work(self, *, final: bool) -> None:
        self._matches = {}
        while self._step(final=final):
            pass
        if self._doubt_at is None:
            rest = self._window[self._pos :]
            self._held = len(rest)
            self._pieces = [rest] if rest else []
            self._quiet = self._is_calm and self._is_open and not rest

    def _step(self, *, final: bool) -> bool:
        """Take one transition; False where the window holds no further one that is certain."""
        if self._state.json_end:
            return self._follow_json()
        at, transition = self._next_transition(final=final)
        if transition is None or at > self._pos:
            self._settle(at)
        if transition is None:
            return False
        if self._state.payload and self._base + at >= self._certain_to and self._kept.string_is_open():
            return self._begin_doubt(final=final)
        self._take(transition)
        return True

    # where the next marker is

    def _next_transition(self, *, final: bool) -> tuple[int, Transition | None]:
        """The next marker's place, or how far the window is certain to hold none."""
        state, window = self._state, self._window
        best: re.Match[str] | None = None
        for pattern in state.patterns:
            match = self._match(pattern)
            if match is not None and (best is None or match.start() < best.start()):
                best = match
        at = best.start() if best else len(window)
        transition = state.by_marker[best[0]] if best else None
        if state.other_pattern is not None:
            other = state.other_pattern.search(window, self._pos, at)
            if other is not None:
                at, transition = other.start(), state.other_goes
        if not final:
            cut = self._cut_short(at)
            if cut is not None:
                return cut, None
        return at, transition

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        key = id(pattern)
        if key in self._matches:
            match = self._matches[key]
            if match is None or match.start() >= self._pos:
                return match
        match = self._matches[key] = pattern.search(self._window, self._pos)
        return match

    def _cut_short(self, limit: int) -> int | None:
        """Where, at `limit` or before, a marker begins that the window's end cuts short."""
        window, state = self._window, self._state
        first = max(self._pos, len(window) - state.longest + 1)
        if limit < first:
            return None
        cuts = []
        for character in state.first_characters:
            at = window.find(character, first)
            while 0 <= at <= limit:
                if window[at:] in state.beginnings:
                    cuts.append(at)
                    break
                at = window.find(character, at + 1)
        return min(cuts, default=None)

    # spans

    def _take(self, transition: Transition) -> None:
        """Go through `transition`, whose marker stands at `_pos`."""
        start = self._base + self._pos
        end = start + transition.taken
        marker, place = transition.marker, Range(start, start + len(transition.marker))
        if transition.rule is SPECIAL_TOKEN_LEAK:
            marker, place = self._opener
        if transition.rule is not None:
            self._events.append(Flagged(marker_fault(transition.rule, marker, place, self._state.closer)))
        match transition.cut:
            case Cut.NOWHERE:
                self._settle(self._pos + transition.taken)
                self._enter(self._target(transition, ""))
            case Cut.AFTER:
                self._open_if_closed(start)
                inner = self._close(start, end)
                self._pos += transition.taken
                self._enter(self._target(transition, inner))
            case Cut.BEFORE:
                inner = self._close(start, start, wanted=self._state.closer, by=marker, at=place) if self._is_open else ""
                self._enter(self._target(transition, inner))
                if transition.taken or self._state.kind is not SpanKind.TEXT:
                    self._open(start, end)
                    self._opener = (marker[: transition.taken], Range(start, end))
                self._pos += transition.taken

    def _target(self, transition: Transition, inner: str) -> State:
        if transition.target == HERE:
            return self._state
        if transition.target == ROLE:
            self._home = self._table.home(inner)
        return self._home if transition.target in (HOME, ROLE) else self._table.by_name[transition.target]

    def _enter(self, state: State) -> None:
        self._state = state
        first = state.first_characters
        self._is_calm = 0 < len(first) <= 2 and state.other_pattern is None
        self._alarm, self._other_alarm = (first[0], first[-1]) if first else ("", "")
        if state.json_end:
            self._json = JsonTracker()

    def _open(self, start: int, inner: int) -> None:
        self._is_open = True
        self._open_at, self._inner_at = start, inner
        self._kept = Payload()
        self._events.append(SpanOpened(self._state.kind, start, inner, self._state.label))

    def _open_if_closed(self, start: int) -> None:
        if not self._is_open:
            self._open(start, start)

    def _settle(self, to: int) -> None:
        """The window up to `to` belongs to the open span."""
        if to > self._pos:
            if not self._is_open:
                self._open(self._base + self._pos, self._base + self._pos)
            self._kept.append(self._window[self._pos : to])
            self._pos = to

    def _close(self, inner_end: int, end: int, *, wanted: str = "", by: str = "", at: Range | None = None) -> str:
        """Close the open span; its inner text."""
        state = self._state
        span = Span(
            state.kind, Range(self._open_at, end), Range(self._inner_at, inner_end), closed=not wanted, label=state.label
        )
        inner = self._kept.text()
        self._is_open = False
        self._events.append(SpanClosed(span, inner, wanted, by, at) if wanted else SpanClosed(span, inner))
        return inner

    def _follow_json(self) -> bool:
        read = self._json.feed(self._window, self._pos)
        self._settle(read)
        if not self._json.broken and not self._json.completed:
            return False
        end = self._base + read
        if self._json.broken:
            culprit = self._window[read]
            self._open_if_closed(end)
            self._close(end, end, wanted=self._state.closer, by=culprit, at=Range(end, end + 1))
        else:
            self._close(end, end)
        self._enter(self._home)
        return True

    # doubtful markers

    def _begin_doubt(self, *, final: bool) -> bool:
        """The marker at `_pos` may be data; True where that was resolved within the window."""
        self._doubt_at = self._doubt_read_to = self._base + self._pos
        is_data = self._read_in_doubt(self._window, self._pos, final=final)
        if is_data is None:
            self._pieces = [self._window[self._pos :]]
            self._held = len(self._pieces[0])
            self._quiet = False
            return False
        self._resolve(is_data=is_data)
        return True

    def _go_on_in_doubt(self, text: str, *, final: bool) -> None:
        """`text` was appended to the pieces, which begin at the doubtful marker."""
        assert self._doubt_at is not None
        is_data = self._read_in_doubt(text, 0, final=final)
        if is_data is None:
            self._held += len(text)
            return
        self._window = "".join(self._pieces)
        self._base, self._pos = self._doubt_at, 0
        self._matches = {}
        self._resolve(is_data=is_data)

    def _read_in_doubt(self, text: str, start: int, *, final: bool) -> bool | None:
        """Read on; whether the doubtful marker is data, or None while that is not known."""
        assert self._doubt_at is not None
        tracker = self._kept.tracker()
        limit = start + self._doubt_at + DOUBT_LIMIT - self._doubt_read_to
        read = tracker.feed(text, start, min(len(text), limit))
        self._doubt_read_to += read - start
        if tracker.completed:
            return True
        return False if tracker.broken or read == limit or final else None

    def _resolve(self, *, is_data: bool) -> None:
        """The doubtful marker stands at `_pos`."""
        self._doubt_at = None
        if not is_data:
            self._certain_to = self._doubt_read_to
            return
        to = self._doubt_read_to - self._base
        for match in self._markers_before(to):
            place = Range(*match.span()).moved(self._base)
            self._events.append(Flagged(marker_fault(MARKER_INSIDE_ARGUMENT, match[0], place, self._state.closer)))
        self._kept.append_tracked(self._window[self._pos : to])
        self._pos = to

    def _markers_before(self, to: int) -> list[re.Match[str]]:
        found = [match for pattern in self._state.patterns for match in pattern.finditer(self._window, self._pos, to)]
        return sorted(found, key=re.Match.start)

    def _state_behind(self, prompt: str, role: str) -> State:
        """The state that a prompt leaves its reader in."""
        reader = Machine(self._table, role=role)
        reader.feed(prompt)
        if reader.state.kind is SpanKind.MARKUP:
            reader.feed("\x00")
        self._home = reader._home
        tail = prompt.rstrip()
        opened = (state for state in self._table.states if state.opener and tail.endswith(state.opener))
        return next((state for state in opened if state.kind is SpanKind.REASONING), reader.state)
