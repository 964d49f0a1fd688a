"""The part of a machine that reads payloads: follows them to their ends, and finds out which markers in them are data.

See the theory of operation at the head of `inspector.segmenter.machine`.
"""

from abc import ABC, abstractmethod

from inspector.rules.markers import MARKER_INSIDE_ARGUMENT
from inspector.segmenter.doubt import Doubt
from inspector.segmenter.events import Flagged
from inspector.segmenter.open_span import OpenSpan
from inspector.segmenter.payload import Follower, read_on
from inspector.segmenter.table import Table, Transition
from inspector.segmenter.window import Window
from inspector.segmenter.wording import marker_fault
from inspector.text import Range


class PayloadReading(OpenSpan, ABC):
    """Reads the payload of the state that the machine is in.

    `_pieces` are what was fed since the window was opened, with the `_held` code points that were held back; while
    there is a doubt they begin at its marker. The follower is that of the payload, None where nothing follows it.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(Window("", 0, table))
        self._table = table
        self._pieces: list[str] = []
        self._held = 0
        self._follower: Follower | None = None
        self._certain_to = 0
        self._doubt: Doubt | None = None

    @abstractmethod
    def _take(self, transition: Transition, at: int) -> None:
        """Go through `transition`, whose marker stands at `at`."""

    @property
    def _at(self) -> int:
        """The place in the whole text up to which everything is settled."""
        return self._window.base + self._pos

    def _follow(self, follower: Follower, then: Transition, *, final: bool) -> bool:
        """Follow a payload to its end, to what breaks it, or to a marker outside its strings."""
        assert self._state.payload is not None
        text = self._window.text
        at, transition = self._window.next_transition(self._state, self._pos, final=final)
        if self._is_at_payload() and self._state.payload.whole_end is not None:
            end = self._state.payload.whole_end(text, self._pos)
            if 0 <= end <= at:
                self._settle(end)
                return self._end_payload(then)
        self._settle(follower.feed(text, self._pos, at))
        if follower.completed:
            return self._end_payload(then)
        if follower.broken:
            if self._state.broken_goes is not None:
                self._take(self._state.broken_goes, self._pos)
            return True
        if transition is None:
            return False
        if follower.in_string and self._window.base + at >= self._certain_to:
            return self._begin_doubt(at, final=final)
        self._take(transition, at)
        return True

    def _end_payload(self, then: Transition) -> bool:
        self._take(then, self._pos)
        return True

    def _is_doubtful(self, at: int) -> bool:
        if self._window.base + at < self._certain_to:
            return False
        payload = self._state.payload
        assert payload is not None
        if self._follower is None:
            text = self._payload_text(at)
            read_whole = payload.read_whole
            self._call = read_whole(text, self._inner_at) if read_whole is not None else None
            return self._call is None and payload.ends_within(text)
        self._follow_to(self._follower, at)
        return self._follower.in_string

    def _follow_to(self, follower: Follower, to: int) -> None:
        """Let `follower` read the window up to `to`, over the ends of complete values."""
        while self._pos < to and not follower.broken:
            self._settle(follower.feed(self._window.text, self._pos, to))
        self._settle(to)

    def _keep_following(self) -> None:
        """A marker within the payload was no end: from here on its text is read once, not again for each marker."""
        if self._follower is None and self._state.payload is not None:
            self._follower = self._state.payload.follower()
            read_on(self._follower, self._payload_text(self._pos))

    def _begin_doubt(self, at: int, *, final: bool) -> bool:
        """The marker at `at` may be data; True where that was resolved within the window."""
        assert self._state.payload is not None
        self._settle(at)
        if self._follower is None:
            self._follower = self._state.payload.follower()
            read_on(self._follower, self._payload_text(at))
        self._doubt = Doubt(self._at, self._follower)
        is_data = self._doubt.read(self._window.text, at, final=final)
        if is_data is None:
            self._pieces = [self._window.text[at:]]
            self._held = len(self._pieces[0])
            return False
        self._resolve(self._doubt, is_data=is_data)
        return True

    def _go_on_in_doubt(self, doubt: Doubt, text: str, *, final: bool) -> None:
        """`text` is the last of the pieces, which begin at the doubtful marker."""
        is_data = doubt.read(text, 0, final=final)
        if is_data is None:
            self._held += len(text)
            return
        self._window = Window("".join(self._pieces), doubt.at, self._table)
        self._pos = 0
        self._resolve(doubt, is_data=is_data)

    def _resolve(self, doubt: Doubt, *, is_data: bool) -> None:
        """The doubtful marker stands at `_pos`."""
        self._doubt = None
        if not is_data:
            self._certain_to = doubt.read_to
            assert self._follower is not None
            self._follower.broken, self._follower.in_string = True, False
            return
        to = doubt.read_to - self._window.base
        for match in self._window.markers(self._state, self._pos, to):
            place = Range(*match.span()).moved(self._window.base)
            self._events.append(Flagged(marker_fault(MARKER_INSIDE_ARGUMENT, match[0], place, self._state.closer)))
        self._kept.append(self._window.text[self._pos : to])
        self._pos = to
        if self._state.then is not None:
            self._end_payload(self._state.then)
