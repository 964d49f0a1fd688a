"""Builds the table of a dialect whose calls hold parameters in tags: each call a span, a wrapper around them markup.

A wrapper's tags, and white space between its calls, are markup in state `calls`; anything else in it is text again. Its
opening tag counts only before another tag or at the end of a line, so that one quoted in a text stays text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.formats.dialect import Enclosed, Ways
from inspector.formats.xml_payload import xml_payload
from inspector.formats.xml_syntax import XmlSyntax
from inspector.model import SpanKind
from inspector.rules import markers as rules
from inspector.rules.rule import Rule
from inspector.segmenter.ahead import Ahead
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HERE, HOME, SECTION, Cut, State, Transition

_BEHIND = "call_end"


@dataclass(frozen=True, slots=True)
class XmlCall:
    """One way to begin a call: `opener` is its marker, `label` that of its spans.

    `rule` is what it breaks where it stands in a text, `ahead` what must follow it there. `tail` is a tag that belongs
    to the call if it follows its closer at once. `is_drafted` says that reasoning is searched for it.
    """

    opener: str
    closer: str
    syntax: XmlSyntax
    label: str = "tool_call"
    rule: Rule | None = None
    ahead: Ahead | None = None
    tail: str = ""
    is_drafted: bool = True


@dataclass(frozen=True, slots=True)
class XmlCalls:
    """All ways to begin a call, and the wrappers around calls, the format's own first.

    `between` are markers that may stand between the calls in a wrapper. `takes_json` says that a wrapper may hold a
    call as a JSON object as well; its spans are labelled `json_call`.
    """

    calls: tuple[XmlCall, ...]
    wrappers: tuple[Enclosed, ...] = ()
    between: tuple[str, ...] = ()
    takes_json: bool = False

    @property
    def ways(self) -> tuple[Transition, ...]:
        """The ways from a text into calls."""
        return (*self._into_wrappers, *(self._into(call, "bare") for call in self.calls))

    @property
    def closers(self) -> tuple[str, ...]:
        """The closing markers, which are stray in a text."""
        return tuple(dict.fromkeys((*(call.closer for call in self.calls), *self._wrapper_ends)))

    def states(self, ways: Ways) -> Iterator[State]:
        """The states of calls and wrappers."""
        for call in self.calls:
            yield self._call_state(call, "bare", HOME, ways)
            if self.wrappers:
                yield self._call_state(call, "call", "calls", ways)
            if call.tail:
                yield self._end_state(call)
        if self.wrappers:
            yield from self._wrapper_states(ways)
        if self.takes_json:
            yield self._json_state(ways)

    @property
    def _call_ends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.closer for call in self.calls))

    @property
    def _wrapper_ends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(wrapper.closer for wrapper in self.wrappers))

    @property
    def _into_wrappers(self) -> tuple[Transition, ...]:
        return tuple(
            Transition(
                wrapper.opener,
                Cut.BEFORE,
                "opened",
                None if _is_twin(wrapper, self.wrappers[0]) else rules.WRONG_OPENER,
                ahead=Ahead(("\n", "\r\n", self.calls[0].syntax.first, *("{" * self.takes_json))),
            )
            for wrapper in self.wrappers
        )

    @staticmethod
    def _into(call: XmlCall, kind: str) -> Transition:
        return Transition(call.opener, Cut.BEFORE, f"{kind} {call.opener}", call.rule, ahead=call.ahead)

    def _call_state(self, call: XmlCall, kind: str, then: str, ways: Ways) -> State:
        others = (end for end in self._call_ends if end not in (call.closer, call.syntax.call_end))
        target = f"{_BEHIND} {call.opener}" if call.tail else then
        closes = Transition(call.closer, Cut.NOWHERE if call.tail else Cut.AFTER, target)
        found = _by_marker(
            *(Transition(end, Cut.BEFORE, "calls", width=0) for end in self._wrapper_ends),
            *(Transition(end, Cut.AFTER, then, rules.WRONG_BRACKET_VARIANT) for end in others),
            closes,
            *((Transition(call.tail, Cut.AFTER, HOME),) if call.tail else ()),
            *self._into_wrappers,
            *(self._into_plain(other, kind) for other in self.calls if not self._is_within(other, call)),
            *ways.invented,
            *ways.reasoning,
            *ways.turns,
        )
        return State(
            f"{kind} {call.opener}",
            SpanKind.TOOL_CALL,
            found,
            label=call.label,
            opener=self.wrappers[0].opener if self.wrappers else call.syntax.opener,
            closer=call.closer,
            payload=xml_payload(call.syntax),
        )

    @staticmethod
    def _is_within(other: XmlCall, call: XmlCall) -> bool:
        """Whether the other's opener is a tag within the call's own text."""
        return not call.syntax.lead and other is not call and other.opener == call.syntax.call_begins

    def _into_plain(self, call: XmlCall, kind: str) -> Transition:
        return Transition(call.opener, Cut.BEFORE, f"{kind} {call.opener}", ahead=call.ahead)

    @staticmethod
    def _end_state(call: XmlCall) -> State:
        tails = (call.tail, f"\n{call.tail}")
        return State(
            f"{_BEHIND} {call.opener}",
            SpanKind.TOOL_CALL,
            tuple(Transition(tail, Cut.AFTER, HOME) for tail in tails),
            label=call.label,
            other=r"[\s\S]",
            other_goes=Transition("(anything else)", Cut.BEFORE, HOME, width=0),
        )

    def _wrapper_states(self, ways: Ways) -> Iterator[State]:
        """The tags of a wrapper and the white space in it, before the first call and behind a call; text in it."""
        calls = tuple(Transition(call.opener, Cut.BEFORE, f"call {call.opener}") for call in self.calls)
        between = tuple(Transition(marker, Cut.NOWHERE, HERE) for marker in self.between)
        json = (Transition("{", Cut.BEFORE, "json call", width=0),) if self.takes_json else ()
        into = (*self._into_wrappers, *calls, *ways.invented, *ways.turns)
        for name, rule in (("opened", rules.EMPTY_CALL), ("calls", None)):
            ends = tuple(Transition(end, Cut.AFTER, HOME, rule) for end in self._wrapper_ends)
            yield State(
                name,
                SpanKind.MARKUP,
                _by_marker(*between, *ends, *into, *json),
                label=SECTION,
                opener=self.wrappers[0].opener,
                other=r"\S",
                other_goes=Transition("(anything else)", Cut.BEFORE, "text in calls", width=0),
            )
        ends = tuple(Transition(end, Cut.BEFORE, "calls", width=0) for end in self._wrapper_ends)
        yield State("text in calls", SpanKind.TEXT, _by_marker(*ends, *into, *ways.reasoning))

    def _json_state(self, ways: Ways) -> State:
        ends = (Transition(end, Cut.BEFORE, "calls", width=0) for end in self._wrapper_ends)
        return State(
            "json call",
            SpanKind.TOOL_CALL,
            (*ends, *ways.turns),
            label="json_call",
            payload=JSON,
            then=Transition("(end of the object)", Cut.AFTER, "calls", width=0),
        )


def _by_marker(*ways: Transition) -> tuple[Transition, ...]:
    """The ways, each marker once; the last one counts."""
    return tuple({way.marker: way for way in ways}.values())


def _is_twin(wrapper: Enclosed, own: Enclosed) -> bool:
    """Whether a wrapper is the format's own but for a prefix of its name."""
    one, other = (each.opener.strip("<>").rpartition(":")[2] for each in (wrapper, own))
    return one == other
