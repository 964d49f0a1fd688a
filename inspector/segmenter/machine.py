"""The state machine that runs a format's table over a text, fed in any chunks.

It follows payloads to their ends and decides which markers inside them are data.

Theory of operation. The machine is in one state of the table. While a chunk contains none of the characters that a
marker of the state begins with, it is only appended to a list. Otherwise, if the chunk contains a marker or a part of
one, the chunks since the last search are joined to a *window*, which is searched from a position with one pattern per
first character; what cannot be part of a marker is settled, and at most the longest marker less one character is held
back for the next search. So each character is joined a bounded number of times, and the work is linear.

A marker in a payload may be data: inside a JSON string. Quotes are counted up to it; if their number is odd, a strict
tracker reads the payload. If it agrees that a string is open, the marker is *ambiguous*, and nothing is reported until
the ambiguity is resolved. Either the payload's value completes (the marker was data), or a character comes that no JSON
can contain, or 64 Ki code points have passed, or the stream ends (the marker counts, and the text after it is read
again). Text read in an ambiguity resolved in one of the last three ways is not ambiguous again (`_certain_to`), hence
every character is read at most twice.

A state may have a transition for the end of its payload (`then`): such a payload is followed from its beginning, and
markers within its strings are ambiguous in the same way. Once the payload breaks, the next marker counts, wherever it
is.

Offsets named `..._at` and `..._to` are in the whole text; `_pos` and `pos` are in the window.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from weaklink.inspector.model import Span, SpanKind
from weaklink.inspector.rules.markers import MARKER_INSIDE_ARGUMENT, SPECIAL_TOKEN_LEAK, WRONG_OPENER
from weaklink.inspector.segmenter.events import (
    Ambiguity,
    Flagged,
    Follower,
    FormatParser,
    ParseEvent,
    SpanExtended,
    read_on,
)
from weaklink.inspector.segmenter.messages import marker_fault, opened_by_prompt, token_outside
from weaklink.inspector.segmenter.table import HERE, HOME, ROLE, MarkerSplit, State, Table, Transition
from weaklink.inspector.segmenter.window import OpenSpan, SearchWindow
from weaklink.inspector.text import Range


def feeder(
    parser: FormatParser, add: Callable[[list[ParseEvent]], list[Span]], fed: list[str]
) -> Callable[[str], list[Span]]:
    """A function that runs a parser's `feed`, then `add`; a live stream calls it for every delta, so it is short.

    It appends each text to `fed`.
    """
    if isinstance(parser, Machine):
        return parser.feeding(add, fed)

    def feed(text: str) -> list[Span]:
        fed.append(text)
        return add(parser.feed(text))

    return feed


class PayloadParser(OpenSpan, ABC):
    """Reads the payload of the state that the machine is in.

    `_pieces` are the chunks fed since the window was opened, with the `_held` code points that were held back; during
    an ambiguity they begin at its marker. `_follower` tracks the payload; None if nothing does.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(SearchWindow("", 0, table))
        self._table = table
        self._pieces: list[str] = []
        self._held = 0
        self._follower: Follower | None = None
        self._certain_to = 0
        self._ambiguity: Ambiguity | None = None

    @abstractmethod
    def _take(self, transition: Transition, pos: int) -> None:
        """Take `transition`, whose marker is at `pos`."""

    @property
    def _settled_to(self) -> int:
        """The position in the whole text up to which everything is settled."""
        return self._window.base + self._pos

    def _follow(self, follower: Follower, then: Transition, *, final: bool) -> bool:
        """Follow a payload to its end, to the character that breaks it, or to a marker outside its strings.

        Returns False if the window ended first.
        """
        assert self._state.payload is not None
        text = self._window.text
        pos, transition = self._window.next_transition(self._state, self._pos, final=final)
        if self._is_at_payload() and self._state.payload.whole_end is not None:
            end = self._state.payload.whole_end(text, self._pos)
            if 0 <= end <= pos:
                self._settle(end)
                return self._end_payload(then)
        self._settle(follower.feed(text, self._pos, pos))
        if follower.completed:
            return self._end_payload(then)
        if follower.broken:
            if self._state.broken_transition is not None:
                self._take(self._state.broken_transition, self._pos)
            return True
        if transition is None:
            return False
        if follower.in_string and self._window.base + pos >= self._certain_to:
            return self._begin_ambiguity(pos, final=final)
        self._take(transition, pos)
        return True

    def _end_payload(self, then: Transition) -> bool:
        self._take(then, self._pos)
        return True

    def _is_ambiguous(self, pos: int) -> bool:
        if self._window.base + pos < self._certain_to:
            return False
        payload = self._state.payload
        assert payload is not None
        if self._follower is None:
            text = self._payload_text(pos)
            read_whole = payload.read_whole
            self._call = read_whole(text, self._inner_at) if read_whole is not None else None
            return self._call is None and payload.ends_within(text)
        self._follow_to(self._follower, pos)
        return self._follower.in_string

    def _follow_to(self, follower: Follower, to: int) -> None:
        """Let `follower` read the window up to `to`, past the ends of complete values."""
        while self._pos < to and not follower.broken:
            self._settle(follower.feed(self._window.text, self._pos, to))
        self._settle(to)

    def _keep_following(self) -> None:
        """Start a follower after a marker that did not end the payload, so that its text is not read per marker."""
        if self._follower is None and self._state.payload is not None:
            self._follower = self._state.payload.follower()
            read_on(self._follower, self._payload_text(self._pos))

    def _begin_ambiguity(self, pos: int, *, final: bool) -> bool:
        """Begin the ambiguity of the marker at `pos`; returns True if the window resolved it."""
        assert self._state.payload is not None
        self._settle(pos)
        if self._follower is None:
            self._follower = self._state.payload.follower()
            read_on(self._follower, self._payload_text(pos))
        self._ambiguity = Ambiguity(self._settled_to, self._follower)
        is_data = self._ambiguity.read(self._window.text, pos, final=final)
        if is_data is None:
            self._pieces = [self._window.text[pos:]]
            self._held = len(self._pieces[0])
            return False
        self._resolve(self._ambiguity, is_data=is_data)
        return True

    def _continue_ambiguity(self, ambiguity: Ambiguity, text: str, *, final: bool) -> None:
        """Continue the ambiguity with `text`, the last of the pieces, which begin at the ambiguous marker."""
        is_data = ambiguity.read(text, 0, final=final)
        if is_data is None:
            self._held += len(text)
            return
        self._window = SearchWindow("".join(self._pieces), ambiguity.marker_at, self._table)
        self._pos = 0
        self._resolve(ambiguity, is_data=is_data)

    def _resolve(self, ambiguity: Ambiguity, *, is_data: bool) -> None:
        """Resolve the ambiguity of the marker, which is at `_pos`."""
        self._ambiguity = None
        if not is_data:
            self._certain_to = ambiguity.read_to
            assert self._follower is not None
            self._follower.broken, self._follower.in_string = True, False
            return
        to = ambiguity.read_to - self._window.base
        for match in self._window.markers(self._state, self._pos, to):
            marker_range = Range(*match.span()).moved(self._window.base)
            self._events.append(
                Flagged(marker_fault(MARKER_INSIDE_ARGUMENT, match[0], marker_range, self._state.closer))
            )
        self._kept.append(self._window.text[self._pos : to])
        self._pos = to
        if self._state.then is not None:
            self._end_payload(self._state.then)


class Machine(PayloadParser):
    """A FormatParser over a table.

    `role` is the role of the turn that the text begins in; `prompt` is the text before it, whose end decides the first
    state.
    """

    def __init__(self, table: Table, *, role: str = "assistant", prompt: str = "") -> None:
        super().__init__(table)
        self._home = table.home(role)
        self._opener = ("", Range(0, 0))
        self._knows_prompt = bool(prompt)
        self._has_no_marker = False
        self._marker_char = self._other_marker_char = ""
        self._enter(self._state_after(prompt, role) if prompt else self._home)

    @property
    def table(self) -> Table:
        """The table that the machine runs."""
        return self._table

    @property
    def state(self) -> State:
        """The state that the machine is in."""
        return self._state

    @property
    def home(self) -> State:
        """The state that the current turn's role starts in."""
        return self._home

    @property
    def certain_to(self) -> int:
        """The position up to which the spans of the text are certain; the open span reaches at least there."""
        return self._settled_to + sum(map(len, self._pieces)) - self._held

    @property
    def held(self) -> int:
        """How many code points at the end of the fed text are held back: part of a marker, or of an ambiguity."""
        return self._held

    @property
    def is_ambiguous(self) -> bool:
        """Whether a marker is ambiguous; only then `held` exceeds `longest_marker`."""
        return self._ambiguity is not None

    @property
    def longest_marker(self) -> int:
        """The length of the table's longest marker."""
        return max(state.longest for state in self._table.states)

    @property
    def markers(self) -> frozenset[str]:
        """Every marker of the table."""
        return frozenset(transition.marker for state in self._table.states for transition in state.transitions)

    @property
    def home_transitions(self) -> tuple[Transition, ...]:
        """The transitions of the state that a turn begins in."""
        return self._home.transitions

    @property
    def call_openers(self) -> frozenset[str]:
        """The markers that open calls, or a block of calls."""
        kinds = (SpanKind.TOOL_CALL, SpanKind.MARKUP)
        return frozenset(state.opener for state in self._table.states if state.kind in kinds) - {""}

    @property
    def wrappers(self) -> dict[str, str]:
        """The markers that open a wrapper around calls, each with the marker that closes it."""
        return self._table.wrappers

    def feed(self, text: str) -> list[ParseEvent]:
        """See FormatParser."""
        self._pieces.append(text)
        if self._marker_char not in text and self._other_marker_char not in text:
            return []
        return self._search_pieces(text)

    def feeding(self, add: Callable[[list[ParseEvent]], list[Span]], fed: list[str]) -> Callable[[str], list[Span]]:
        """`feed` followed by `add`, in one call that appends the text to `fed`."""

        def feed(text: str) -> list[Span]:
            fed.append(text)
            self._pieces.append(text)
            if self._marker_char not in text and self._other_marker_char not in text:
                return []
            events = self._search_pieces(text)
            return add(events) if events else []

        return feed

    def close(self) -> list[ParseEvent]:
        """See FormatParser."""
        if self._ambiguity is None:
            self._open_window()
        else:
            self._continue_ambiguity(self._ambiguity, "", final=True)
        self._work(final=True)
        if self._is_open:
            self._close(len(self._window.text), 0, wanted=self._state.closer or self._state.unfinished)
        return self._take_events()

    def _search_pieces(self, text: str) -> list[ParseEvent]:
        """Search the pieces, of which `text` is the last, for markers."""
        was_held = self._held
        if not self._has_no_marker and self._ambiguity is None and self._is_held_back():
            return []
        if self._ambiguity is not None:
            self._continue_ambiguity(self._ambiguity, text, final=False)
        elif self._has_no_marker and not self._state.hint.search(text):
            return []
        else:
            self._open_window()
        if self._ambiguity is None:
            self._work(final=False)
        if was_held and not self._events and self._held < was_held + len(text):
            return [SpanExtended(self._settled_to)]
        return self._take_events()

    def _is_held_back(self) -> bool:
        """Whether all text that is not settled yet is the beginning of a marker, so that it stays held back."""
        held = self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces)
        if held not in self._state.beginnings:
            return False
        self._pieces = [held]
        self._held = len(held)
        return True

    def _take_events(self) -> list[ParseEvent]:
        events, self._events = self._events, []
        return events

    def _open_window(self) -> None:
        self._window = SearchWindow(
            self._pieces[0] if len(self._pieces) == 1 else "".join(self._pieces), self._settled_to, self._table
        )
        self._pos = 0

    def _work(self, *, final: bool) -> None:
        """Process the window as far as it is certain; the rest is held back."""
        size = len(self._window.text)
        while self._pos < size and self._step(final=final):
            pass
        self._marker_char = self._other_marker_char = ""
        self._has_no_marker = False
        if self._ambiguity is not None:
            return
        state = self._state
        if self._pos < size:
            rest = self._window.text[self._pos :]
            self._held, self._pieces = len(rest), [rest]
            return
        self._held, self._pieces = 0, []
        self._has_no_marker = self._is_open and state.other_pattern is None
        if self._has_no_marker and 0 < len(state.marker_chars) <= 2:
            self._marker_char, self._other_marker_char = state.marker_chars[0], state.marker_chars[-1]

    def _step(self, *, final: bool) -> bool:
        """Take one transition; False if the window has no further one that is certain."""
        if self._state.then is not None and self._follower is not None and not self._follower.broken:
            return self._follow(self._follower, self._state.then, final=final)
        pos, transition = self._window.next_transition(self._state, self._pos, final=final)
        if transition is None:
            if final and (cut := self._cut_opener()):
                self._take(Transition(cut, MarkerSplit.BEFORE, "marker"), len(self._window.text) - len(cut))
                return True
            if self._follower is not None:
                self._follow_to(self._follower, pos)
            self._settle(pos)
            return False
        if self._state.payload is not None and self._is_ambiguous(pos):
            return self._begin_ambiguity(pos, final=final)
        self._take(transition, pos)
        return True

    def _cut_opener(self) -> str:
        """The beginning of a marker that the end of a text cuts short, if the dialect's readers drop such ends."""
        if self._state.kind is not SpanKind.TEXT:
            return ""
        rest = self._window.text[self._pos :]
        return next(filter(rest.endswith, self._table.cut_beginnings), "")

    def _take(self, transition: Transition, pos: int) -> None:
        """Take `transition`, whose marker is at `pos`."""
        taken, cut = transition.taken, transition.cut
        if pos > self._pos and not self._is_open:
            self._open(self._pos, 0)
        if transition.closes and self._may_close_prompt(pos):
            self._events.append(Flagged(opened_by_prompt(transition.marker, self._window.base + pos)))
            self._state = self._table.by_name[transition.closes]
            if not self._is_open:
                self._open(pos, 0)
            self._close(pos, taken)
            self._enter(self._home)
            return
        if transition.rule is not None:
            self._flag(transition, pos)
        if cut is MarkerSplit.NONE:
            self._settle(pos + taken)
            if transition.target == HERE:
                self._keep_following()
            else:
                self._enter(self._target(transition, ""))
            return
        if cut is MarkerSplit.AFTER:
            if not self._is_open:
                self._open(self._pos, 0)
            inner = self._close(pos, taken)
            self._enter(self._target(transition, inner))
            return
        inner = self._close(pos, 0, wanted=self._state.closer, by=transition) if self._is_open else ""
        self._enter(self._target(transition, inner))
        if taken or self._state.kind is not SpanKind.TEXT:
            self._open(pos, taken)
            self._opener = (transition.marker[:taken], Range(self._open_at, self._inner_at))

    def _may_close_prompt(self, pos: int) -> bool:
        """Whether a stray closing marker may end reasoning that an unknown prompt opened: at most text is before it."""
        is_first = (self._is_open and not self._open_at and not self._inner_at) or not self._window.base + pos
        return is_first and not self._knows_prompt

    def _flag(self, transition: Transition, pos: int) -> None:
        assert transition.rule is not None
        start = self._window.base + pos
        marker = transition.marker[transition.lead :]
        seen = 1 if transition in (self._state.other_transition, self._state.otherwise) else len(marker)
        fault_range = Range(start, start + (transition.taken or seen))
        expected = transition.expects or self._state.closer
        if transition.rule is WRONG_OPENER:
            expected = transition.expects or self._target(transition, "").opener
        if transition.rule is SPECIAL_TOKEN_LEAK and transition.cut is MarkerSplit.NONE:
            expected = ""
        elif transition.rule is SPECIAL_TOKEN_LEAK and transition.expects:
            self._events.append(Flagged(token_outside(marker, fault_range, transition.expects)))
            return
        elif transition.rule is SPECIAL_TOKEN_LEAK:
            marker, fault_range = self._opener
            expected = self._target(transition, "").opener
        self._events.append(Flagged(marker_fault(transition.rule, marker, fault_range, expected)))

    def _target(self, transition: Transition, inner: str) -> State:
        target = transition.target
        if target == HERE:
            return self._state
        if target == ROLE:
            self._home = self._table.home(inner)
        return self._home if target in (HOME, ROLE) else self._table.by_name[target]

    def _enter(self, state: State) -> None:
        self._state = state
        self._payload_at = len(self._kept)
        self._follower = state.payload.follower() if state.then is not None and state.payload is not None else None

    def _state_after(self, prompt: str, role: str) -> State:
        """The state after a prompt."""
        reader = Machine(self._table, role=role)
        reader.feed(prompt)
        if reader.state.kind is SpanKind.MARKUP:
            reader.feed("\x00")
        self._home = reader._home
        tail = prompt.rstrip()
        for ending, name in self._table.tails.items():
            if tail.endswith(ending):
                return self._table.by_name[name]
        opened = (state for state in self._table.states if state.opener and tail.endswith(state.opener))
        return next((state for state in opened if state.kind is SpanKind.REASONING), reader.state)
