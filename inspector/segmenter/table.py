"""A format's markers as a table: states, transitions, and the lookahead after a marker. It validates itself.

A state contains text of one kind. A transition says which marker leaves it, where the span ends relative to that
marker, which state follows, and which rule that breaks, if any.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, partial
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.segmenter.events import Payload

_WORD = re.compile(r"\s*([A-Za-z_]+)")
_MAX_FAMILIES = 3  # first characters of markers that are searched one by one; more are one pattern
_MAX_ROLE_CHARS, _MAX_ROLES = 40, 100
_Match: TypeAlias = Callable[[str, int], re.Match[str] | None]
_Search: TypeAlias = Callable[[str, int, int], re.Match[str] | None]
HOME = "home"
"""As a target: the state that the current turn's role starts in."""

HERE = "here"
"""As a target: the state does not change."""

ROLE = "role"
"""As a target: the home state of the role named in the span's inner text."""

SECTION = "section"
"""The label of markup around calls; such markup does not end a turn."""


class Repeat(Struct, frozen=True):
    """From `least` to `most` characters of the class `of`, such as `[a-z]`."""

    of: str
    least: int = 0
    most: int = 8


class Unless(Struct, frozen=True):
    """No character of the class `of`, such as `[^=]`, may come next; the text may end. Must be the last piece."""

    of: str


@dataclass(frozen=True, slots=True, init=False)
class OneOf:
    """One of several sequences of pieces; must be the last piece."""

    alternatives: tuple[tuple["LookaheadPiece", ...], ...]

    def __init__(self, *alternatives: tuple["LookaheadPiece", ...]) -> None:
        object.__setattr__(self, "alternatives", alternatives)


LookaheadPiece: TypeAlias = str | Repeat | tuple[str, ...] | Unless | OneOf
"""Literal text, a run of characters, one of several literal texts, what may not follow, or alternatives of these."""


class Lookahead:
    """A lookahead after a marker: `pieces` must follow the marker, in this order.

    `counts` returns True or False, or None if the text ends before that is known. `longest` is the number of characters
    that it may need to see, which bounds how much a machine holds back for it. `whole` matches the pieces, and has a
    group for each that varies; `cut_short` matches any beginning of them at the end of the text.
    """

    def __init__(self, *pieces: LookaheadPiece) -> None:
        self._pieces = pieces
        self._may_be_undone = any(isinstance(piece, Unless | OneOf) for piece in pieces)
        self.longest = sum(map(_longest, pieces)) + self._may_be_undone

    @cached_property
    def expression(self) -> str:
        """The expression that matches the pieces, with a group for each that varies; not compiled."""
        return "".join(map(_whole, self._pieces))

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """The `expression`, compiled."""
        return re.compile(self.expression)

    @cached_property
    def cut_short(self) -> re.Pattern[str]:
        """Matches any beginning of the pieces at the end of the text."""
        return re.compile(_cut_short(self._pieces))

    def counts(self, text: str, pos: int, *, final: bool) -> bool | None:
        """Whether the pieces are in `text` at `pos`; `final` says that nothing follows `text`.

        None if that depends on the text that follows.
        """
        whole = self.whole.match(text, pos)
        if whole is not None and (final or not self._may_be_undone or whole.end() < len(text)):
            return True
        if final or len(text) - pos > self.longest:
            return False
        return None if self.cut_short.match(text, pos) is not None else False


def _whole(piece: LookaheadPiece) -> str:
    match piece:
        case str():
            return re.escape(piece)
        case Repeat():
            return f"({piece.of}{{{piece.least},{piece.most}}})"
        case tuple():
            return "(" + "|".join(map(re.escape, piece)) + ")"
        case Unless():
            return f"(?!{piece.of})"
        case OneOf():
            return "(?:" + "|".join("".join(map(_whole, sequence)) for sequence in piece.alternatives) + ")"


def _longest(piece: LookaheadPiece) -> int:
    match piece:
        case str():
            return len(piece)
        case Repeat():
            return piece.most
        case tuple():
            return max(map(len, piece))
        case Unless():
            return 1
        case OneOf():
            return max(sum(map(_longest, sequence)) for sequence in piece.alternatives)


def _cut_short(pieces: tuple[LookaheadPiece, ...]) -> str:
    """An expression for every beginning of the pieces that the text ends with."""
    if not pieces:
        return r"\Z"
    first, rest = pieces[0], pieces[1:]
    match first:
        case str():
            return _cut_literal(first, _cut_short(rest))
        case Repeat():
            return rf"{first.of}{{0,{first.most}}}(?:\Z|{_cut_short(rest)})"
        case tuple():
            return "(?:" + "|".join(_cut_literal(literal, _cut_short(rest)) for literal in first) + ")"
        case Unless():
            return r"\Z"
        case OneOf():
            return "(?:" + "|".join(_cut_short((*sequence, *rest)) for sequence in first.alternatives) + ")"


def _cut_literal(literal: str, rest: str) -> str:
    if not literal:
        return rest
    return rf"(?:\Z|{re.escape(literal[0])}{_cut_literal(literal[1:], rest)})"


class MarkerSplit(Enum):
    """Where a marker divides the text."""

    BEFORE = auto()
    """The open span ends before the marker, which opens the next one."""
    AFTER = auto()
    """The marker closes the open span and belongs to it."""
    NONE = auto()
    """The marker stays inside the open span."""


class Transition(Struct, frozen=True):
    """A transition out of a state.

    `marker` is literal text. Its first `lead` characters (a line end, say) belong to the text before it; of the rest,
    `width` characters are consumed (all of them by default, none for a mere lookahead); `taken` is their number.
    `ahead` must follow the marker; if it does not, `otherwise` is taken, and without `otherwise` this is no marker.
    `rule` is the rule that taking this transition breaks. `expects` is what belongs there instead, in words, if that is
    not the state's closer. `closes` is the reasoning state that a stray closing marker ends if only one text was before
    it: an unknown prompt opened that reasoning.
    """

    marker: str
    cut: MarkerSplit
    target: str
    rule: Rule | None = None
    width: int | None = None
    lead: int = 0
    ahead: Lookahead | None = None
    expects: str = ""
    closes: str = ""
    otherwise: "Transition | None" = None
    taken: int = 0

    def __post_init__(self) -> None:
        structs.force_setattr(self, "taken", len(self.marker) - self.lead if self.width is None else self.width)


def unmarked(target: str, cut: MarkerSplit = MarkerSplit.BEFORE) -> Transition:
    """The transition at a character that begins no marker, or at the end of a payload's value; it consumes nothing."""
    return Transition("(anything else)", cut, target, width=0)


class State(Struct, frozen=True, dict=True):
    """One kind of text and the transitions out of it.

    `opener` is the marker that usually begins a span of this state, `closer` the one expected at its end; "" if there
    is none. `unfinished` is the marker without which no whole text ends in this state, although others leave it too; ""
    if one may. `by_model` is False if the text is not the model's. `payload` is the kind of payload of the text, from
    where the state is entered; its strings hide markers. `then` is the transition at the end of the payload's value;
    without it only a marker ends the state. `broken_transition` is the transition (consuming nothing) at the character
    that breaks such a payload; without it, the state continues to the next marker. `other` is a character class and
    `other_transition` the transition (consuming nothing) for the first character in it that begins no marker; it may
    have a lookahead too, from the character on, and if this fails, `otherwise` is taken. Of two markers at one position
    the longer counts, unless its lookahead fails.

    The properties are computed from the transitions on first use: there are many dialects, and a run reads only one.
    """

    name: str
    kind: SpanKind
    transitions: tuple[Transition, ...]
    label: str = ""
    opener: str = ""
    closer: str = ""
    payload: Payload | None = None
    by_model: bool = True
    then: Transition | None = None
    broken_transition: Transition | None = None
    other: str = ""
    other_transition: Transition | None = None
    otherwise: Transition | None = None
    unfinished: str = ""

    def __post_init__(self) -> None:
        markers = [transition.marker for transition in self.transitions]
        if len(set(markers)) != len(markers) or "" in markers:
            raise ValueError(f"state {self.name}: a marker appears twice, or is empty")
        if bool(self.other) != (self.other_transition is not None) or (self.other and self.then):
            raise ValueError(f"state {self.name}: `other` goes with `other_transition`, and not with `then`")
        if bool(self.otherwise) != bool(self.other_transition and self.other_transition.ahead):
            raise ValueError(f"state {self.name}: `otherwise` goes with an `other_transition` that looks ahead")
        if self.then is not None and self.payload is None:
            raise ValueError(f"state {self.name}: `then` needs a payload")

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """The markers of all transitions."""
        return tuple(transition.marker for transition in self.transitions)

    @cached_property
    def other_pattern(self) -> re.Pattern[str] | None:
        """Matches a character of `other`; None if there is no such class."""
        return re.compile(self.other) if self.other else None

    @cached_property
    def by_marker(self) -> dict[str, Transition]:
        """The transition of each marker."""
        return {transition.marker: transition for transition in self.transitions}

    @cached_property
    def shorter(self) -> dict[str, tuple[Transition, ...]]:
        """By the marker of a transition with a lookahead: the transitions that count if the lookahead fails."""
        alternatives = {
            transition.marker: _shorter(transition, self.transitions)
            for transition in self.transitions
            if transition.ahead
        }
        if self.otherwise is not None and self.other_transition is not None:
            alternatives[self.other_transition.marker] = (self.otherwise,)
        return alternatives

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """By first character: an expression for the markers that begin with it."""
        return _patterns(self.markers)

    @cached_property
    def families(self) -> tuple[tuple[str, _Search], ...]:
        """For a state with few families of markers: the name of each in the table, and its search function."""
        if self.other or not 0 < len(self.patterns) <= _MAX_FAMILIES:
            return ()
        return tuple((f"{first}{self.name}", pattern.search) for first, pattern in self.patterns.items())

    @cached_property
    def any_marker(self) -> _Search:
        """Searches a text for a marker, without lookahead."""
        return re.compile("|".join(pattern.pattern for pattern in self.patterns.values()) or r"(?!)").search

    @cached_property
    def search(self) -> _Match:
        """Searches a text for a marker, without lookahead, or in group 1 for a character of `other`."""
        patterns = [pattern.pattern for pattern in self.patterns.values()] + [f"({self.other})"] * bool(self.other)
        return re.compile("|".join(patterns) or r"(?!)").search

    @cached_property
    def first_characters(self) -> tuple[str, ...]:
        """The first characters of the markers, sorted."""
        return tuple(sorted({marker[0] for marker in self.markers}))

    @cached_property
    def marker_chars(self) -> tuple[str, ...]:
        """The characters that trigger a search: the markers' first, and those that a payload may end with."""
        return tuple(sorted({*self.first_characters, *self._ends}))

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """Every proper prefix of a marker."""
        return frozenset(marker[:end] for marker in self.markers for end in range(1, len(marker)))

    @cached_property
    def hint(self) -> re.Pattern[str]:
        """Finds a whole marker, or the beginning of one at the end of the text."""
        looked_for = [*self.markers, *(end for end in self._ends if end not in self.markers)]
        return re.compile(_whole_or_cut_short(looked_for) if looked_for else r"(?!)")

    @cached_property
    def longest(self) -> int:
        """The length of the longest marker with its lookahead."""
        others = (
            (self.other_transition.ahead.longest + 1,)
            if self.other_transition is not None and self.other_transition.ahead
            else ()
        )
        return max((*map(_reach, self.transitions), *others), default=0)

    @property
    def _ends(self) -> str:
        return self.payload.ends if self.payload is not None and self.then is not None else ""


class Table:
    """All states of a format.

    `states` are the states, or a function that builds them when the table is first used: there are many formats, and a
    run reads few. `homes` maps a role's word in a turn header to the state that its turn starts in; `default_home` is
    used for any other word, `headless` (if set) for a header without a word. `tails` maps the end of a prompt, white
    space aside, to the state that it opens, if the prompt's own markers do not (a header that the prompt begins). If
    the end of a text cuts one of `cut_openers` short, its beginning is markup, not text.

    Raises ValueError if a transition, home or tail names an unknown state: when the table is created, or when it is
    first used if a function builds its states.
    """

    def __init__(
        self,
        states: tuple[State, ...] | Callable[[], tuple[State, ...]],
        homes: Mapping[str, str],
        default_home: str,
        *,
        headless: str = "",
        tails: Mapping[str, str] = MappingProxyType({}),
        cut_openers: tuple[str, ...] = (),
    ) -> None:
        self._states = states
        self._homes = homes
        self.default_home = default_home
        self._headless = headless
        self.tails = tails
        self.cut_openers = cut_openers
        self._home_of: dict[str, State] = {}
        if not callable(states):
            self._check(states)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """All states; built and checked on first use if they come from a function."""
        if not callable(self._states):
            return self._states
        states = self._states()
        self._check(states)
        return states

    @cached_property
    def by_name(self) -> dict[str, State]:
        """The states by name."""
        return {state.name: state for state in self.states}

    def _check(self, states: tuple[State, ...]) -> None:
        names = {state.name for state in states}
        known = {HOME, HERE, ROLE, *names}
        for state in states:
            transitions = (
                *state.transitions,
                state.other_transition,
                state.otherwise,
                state.then,
                state.broken_transition,
            )
            for unknown in {transition.target for transition in transitions if transition is not None} - known:
                raise ValueError(f"state {state.name}: its target {unknown} is not a state")
        entries = {*self._homes.values(), self.default_home, self._headless or self.default_home, *self.tails.values()}
        if entries - names:
            raise ValueError("the home of a role, or a prompt's tail, is not a state")

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """Finds any marker of any state without `other`, by each first character of the default home's markers."""
        usual = self.by_name[self.default_home].first_characters
        markers = (transition.marker for state in self.states for transition in state.transitions if not state.other)
        return _patterns(marker for marker in markers if marker[0] in usual)

    @cached_property
    def cut_beginnings(self) -> tuple[str, ...]:
        """Every prefix of the `cut_openers` from two characters on, the longest of each first."""
        return tuple(opener[:length] for opener in self.cut_openers for length in range(len(opener) - 1, 1, -1))

    @cached_property
    def wrappers(self) -> dict[str, str]:
        """The markers that open a wrapper around calls, each with the most similar closing marker."""
        within = [state for state in self.states if state.kind is SpanKind.MARKUP and state.label == SECTION]
        names = {state.name for state in within}
        closers = sorted(
            {
                transition.marker
                for state in within
                for transition in state.transitions
                if transition.cut is MarkerSplit.AFTER
            }
        )
        transitions = (
            transition
            for state in self.states
            for transition in state.transitions
            if transition.target in names and transition.taken
        )
        openers = {transition.marker for transition in transitions if transition.cut is MarkerSplit.BEFORE} - set(
            closers
        )
        closers.sort(key=len)
        return {opener: max(closers, key=partial(_likeness, opener)) for opener in sorted(openers)} if closers else {}

    def home(self, role: str) -> State:
        """The state that a turn of this role starts in."""
        state = self._home_of.get(role)
        if state is None:
            state = self._find_home(role)
            if len(role) <= _MAX_ROLE_CHARS and len(self._home_of) < _MAX_ROLES:
                self._home_of[role] = state
        return state

    def _find_home(self, role: str) -> State:
        word = _WORD.match(role)
        if word is None:
            return self.by_name[self._headless or self.default_home]
        return self.by_name[self._homes.get(word[1].lower(), self.default_home)]


def _likeness(marker: str, closer: str) -> int:
    """How many characters two markers share at their beginning and at their end."""
    return _common(marker, closer) + _common(marker[::-1], closer[::-1])


def _common(marker: str, other: str) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(marker, other, strict=False)) if a != b), min(len(marker), len(other))
    )


def _shorter(transition: Transition, transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """The transitions to try if the lookahead of `transition` fails: `otherwise`, then those of shorter markers."""
    shorter = (other for other in transitions if other is not transition and transition.marker.startswith(other.marker))
    return (
        *((transition.otherwise,) if transition.otherwise else ()),
        *sorted(shorter, key=lambda other: -len(other.marker)),
    )


def _reach(transition: Transition) -> int:
    """The length of the marker with its lookahead, or that of what is taken otherwise."""
    length = len(transition.marker) + (transition.ahead.longest if transition.ahead is not None else 0)
    return length if transition.otherwise is None else max(length, _reach(transition.otherwise))


def _patterns(markers: Iterable[str]) -> dict[str, re.Pattern[str]]:
    """One alternation per first character, longest marker first; a fixed first character lets `re` skip like memchr."""
    families: dict[str, list[str]] = {}
    for marker in sorted(set(markers), key=lambda marker: (-len(marker), marker)):
        families.setdefault(marker[0], []).append(marker)
    return {
        first: re.compile(re.escape(first) + "(?:" + "|".join(re.escape(marker[1:]) for marker in family) + ")")
        for first, family in sorted(families.items())
    }


def _whole_or_cut_short(markers: list[str]) -> str:
    """An expression for each of the markers, whole or cut short by the end of the text, built as a trie."""
    by_first: dict[str, list[str]] = {}
    for marker in markers:
        by_first.setdefault(marker[0], []).append(marker[1:])
    return "(?:" + "|".join(re.escape(first) + _rest(rests) for first, rests in sorted(by_first.items())) + ")"


def _rest(rests: list[str]) -> str:
    return "" if "" in rests else rf"(?:\Z|{_whole_or_cut_short(rests)})"
