"""Builds a format whose calls have parameters in tags: its table, its Format, and which calls it can express.

A wrapper's tags, and white space between its calls, are markup in state `calls`; anything else in it is text. Its
opening tag counts only before another tag or at the end of a line, so that one quoted in a text stays text.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Self, Unpack

from msgspec import Struct, structs

from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import (
    DialectParts,
    Enclosed,
    Transitions,
    call_end,
    call_state,
    closing,
    dialect_format,
    inside,
    opening,
)
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of, value_text
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.follower import xml_payload
from weaklink.inspector.formats.xml.syntax import EMPTY_ENDS, QUOTED_NAME, XmlSyntax
from weaklink.inspector.json_text import object_of
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import markers as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import JSON, FormatParser, SpanClosed, SpanReader
from weaklink.inspector.segmenter.table import HERE, HOME, SECTION, Lookahead, MarkerSplit, State, Transition, unmarked

_CALL_END = "call_end"
_STRAY_END = "stray end in calls"
_EMPTY = Lookahead(QUOTED_NAME, EMPTY_ENDS)
_PLAIN_NAME, _MAY_BE_MARKER = lazy_pattern(r"[\w.-]{1,128}"), lazy_pattern(r"[<\[\]\n]")


class XmlCall(Struct, frozen=True):
    """One way to begin a call: `opener` is its marker, `label` the label of its spans.

    `rule` is the rule that the opener breaks in a text, `ahead` what must follow it there. `tail` is a tag that belongs
    to the call if it directly follows the closer. `is_drafted` says that reasoning is searched for such calls;
    `other_closers` close the call as well. `unquoted` is what follows an `opener` that lacks its double quote.
    `is_header` says that the opener is part of a message's header: within a call nothing opens without a new message.
    """

    opener: str
    closer: str
    syntax: XmlSyntax
    label: str = "tool_call"
    rule: Rule | None = None
    ahead: Lookahead | None = None
    tail: str = ""
    is_drafted: bool = True
    other_closers: tuple[str, ...] = ()
    unquoted: Lookahead | None = None
    is_header: bool = False

    @property
    def is_attribute(self) -> bool:
        """Whether the tool's name is an attribute of the opening tag, which may close itself then: `<f name="g"/>`."""
        return self.opener.endswith('"')


class XmlCalls(Struct, frozen=True):
    """All ways to begin a call, and the wrappers around calls, the format's own first.

    `between` are markers that may be between the calls in a wrapper. `takes_json` says that a wrapper may also contain
    a call as a JSON object; its spans are labelled `json_call`.
    """

    calls: tuple[XmlCall, ...]
    wrappers: tuple[Enclosed, ...] = ()
    between: tuple[str, ...] = ()
    takes_json: bool = False

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The transitions from a text into calls."""
        return (*self._into_wrappers, *(self._into(call, "bare") for call in self.calls), *self._into_unquoted("bare"))

    @property
    def closers(self) -> tuple[str, ...]:
        """The closing markers, which are stray in a text."""
        return tuple(dict.fromkeys((*(call.closer for call in self.calls), *self._wrapper_ends)))

    def states(self, transitions: Transitions) -> Iterator[State]:
        """The states of calls and wrappers."""
        for call in self.calls:
            yield self._call_state(call, "bare", HOME, transitions)
            if self.wrappers:
                yield self._call_state(call, "call", "calls", transitions)
                if call.is_attribute:  # a tag that closes itself: the tool's name alone
                    empty = Transition("", MarkerSplit.AFTER, "calls", rules.WRONG_BRACKET_VARIANT)
                    ends = (
                        structs.replace(empty, marker=end, taken=len(end), expects=f'">{call.closer}')
                        for end in EMPTY_ENDS
                    )
                    yield call_state(f"empty {call.opener}", ends, closer=call.closer, label=call.label)
            if call.tail:
                tails = (closing(call.tail), closing(f"\n{call.tail}"))
                yield call_end(f"{_CALL_END} {call.opener}", HOME, r"[\s\S]", tails, call.label)
        if self.wrappers:
            yield from self._wrapper_states(transitions)
        if self.takes_json:
            ends = (Transition(end, MarkerSplit.BEFORE, "calls", width=0) for end in self._wrapper_ends)
            json_call = call_state("json call", (*ends, *transitions.turns), label="json_call", payload=JSON)
            yield structs.replace(json_call, then=unmarked("calls", MarkerSplit.AFTER))

    @property
    def _call_ends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.closer for call in self.calls))

    @property
    def _wrapper_ends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(wrapper.closer for wrapper in self.wrappers))

    @property
    def _into_wrappers(self) -> tuple[Transition, ...]:
        # A wrapper of the format's own name, apart from a prefix or a suffix, is no fault.
        words = [set(wrapper.opener.strip("<>").split(":")) for wrapper in self.wrappers]
        return tuple(
            Transition(
                wrapper.opener,
                MarkerSplit.BEFORE,
                "opened",
                None if words[0] & own_words else rules.WRONG_OPENER,
                ahead=Lookahead(("\n", "\r\n", self.calls[0].syntax.first, *("{" * self.takes_json))),
            )
            for wrapper, own_words in zip(self.wrappers, words, strict=True)
        )

    @staticmethod
    def _into(call: XmlCall, kind: str) -> Transition:
        return Transition(call.opener, MarkerSplit.BEFORE, f"{kind} {call.opener}", call.rule, ahead=call.ahead)

    def _into_unquoted(self, kind: str) -> Iterator[Transition]:
        for call in self.calls:
            if call.unquoted:
                into = self._into(call, kind)
                yield structs.replace(into, marker=into.marker[:-1], taken=into.taken - 1, ahead=call.unquoted)

    def _call_state(self, call: XmlCall, kind: str, then: str, transitions: Transitions) -> State:
        others = (end for end in self._call_ends if end not in (call.closer, call.syntax.call_end))
        tag_ends = f"{_CALL_END} {call.opener}"
        # The opener of another call may be a tag within the text of this one.
        openers = (
            structs.replace(self._into(other, kind), rule=None)
            for other in self.calls
            if not other.is_header and (call.syntax.lead or other is call or other.opener != call.syntax.call_begins)
        )
        by_marker = _by_marker(
            *(Transition(end, MarkerSplit.BEFORE, "calls", width=0) for end in self._wrapper_ends),
            *(Transition(end, MarkerSplit.AFTER, then, rules.WRONG_BRACKET_VARIANT) for end in others),
            inside(call.closer, tag_ends) if call.tail else closing(call.closer, then),
            *(closing(end, then) for end in call.other_closers),
            *((closing(call.tail),) if call.tail else ()),
            *self._into_wrappers,
            *openers,
            *transitions.invented,
            *(() if call.is_header else transitions.reasoning),
            *(turn for turn in transitions.turns if turn.marker not in (call.closer, *call.other_closers)),
        )
        opener = self.wrappers[0].opener if self.wrappers else call.syntax.opener
        payload = xml_payload(call.syntax)
        return call_state(f"{kind} {call.opener}", by_marker, opener, call.closer, label=call.label, payload=payload)

    def _wrapper_states(self, transitions: Transitions) -> Iterator[State]:
        """The states of a wrapper's tags and white space, before the first call and after a call; and of text in it."""
        calls = [structs.replace(into, rule=None) for into in self._into_unquoted("call")]
        for call in self.calls:
            opens = opening(call.opener, f"call {call.opener}")
            empty = structs.replace(opens, target=f"empty {call.opener}", ahead=_EMPTY, otherwise=opens)
            calls.append(empty if call.is_attribute else opens)
        between = tuple(inside(marker, HERE) for marker in self.between)
        json = (Transition("{", MarkerSplit.BEFORE, "json call", width=0),) if self.takes_json else ()
        stray = tuple(
            Transition(end, MarkerSplit.BEFORE, _STRAY_END, rules.STRAY_END_MARKER)
            for end in self._call_ends
            if end not in self._wrapper_ends and end not in self.between
        )
        into = (*self._into_wrappers, *calls, *transitions.invented, *stray, *transitions.turns)
        for name, rule in (("opened", rules.EMPTY_CALL), ("calls", None)):
            ends = tuple(Transition(end, MarkerSplit.AFTER, HOME, rule) for end in self._wrapper_ends)
            wrapper = markup_state(name, SECTION, "text in calls", r"\S", _by_marker(*between, *ends, *into, *json))
            yield structs.replace(wrapper, opener=self.wrappers[0].opener)
        ends = tuple(Transition(end, MarkerSplit.BEFORE, "calls", width=0) for end in self._wrapper_ends)
        yield State("text in calls", SpanKind.TEXT, _by_marker(*ends, *into, *transitions.reasoning))
        yield markup_state(_STRAY_END, "marker", "calls")


def _by_marker(*transitions: Transition) -> tuple[Transition, ...]:
    """The transitions, each marker once; the last one counts."""
    return tuple({transition.marker: transition for transition in transitions}.values())


class CallTemplate(Struct, frozen=True):
    """Writes calls as text: `call` has the fields `name` and `parameters`, `parameter` the fields `name` and `value`.

    `parameter` may have the field `is_text`, which says whether the value is a text. `wrapper` is around all calls, and
    `between` between everything in it; `empty` is in place of parameters if there are none.
    """

    call: str
    parameter: str
    between: str = "\n"
    wrapper: Enclosed | None = None
    empty: str = ""

    def __call__(self, calls: Sequence[ToolCall]) -> str:
        """The text of the calls."""
        written = [self.call.format(name=call.name, parameters=self._parameters(call)) for call in calls]
        around = (self.wrapper.opener, self.wrapper.closer) if self.wrapper is not None else ()
        return self.between.join((*around[:1], *written, *around[1:]))

    def _parameters(self, call: ToolCall) -> str:
        written = (
            self.parameter.format(name=name, value=value_text(value), is_text=json_of(isinstance(value, str)))
            for name, value in object_of(call.arguments).items()
        )
        return "".join(written) or self.empty


class XmlTags(Struct, frozen=True):
    """The tags of a format: the ways to begin a call, the reader of such spans, and what the template writes."""

    calls: XmlCalls
    reader: SpanReader
    writer: Callable[[Sequence[ToolCall]], str]

    @classmethod
    def of(cls, call: XmlCall, wrapper: Enclosed | None, writer: Callable[[Sequence[ToolCall]], str]) -> Self:
        """The tags of a format that begins a call in one way."""
        return cls(XmlCalls((call,), (wrapper,) if wrapper is not None else ()), XmlCallReader(call.syntax), writer)

    @property
    def call(self) -> XmlCall:
        """The first way to begin a call."""
        return self.calls.calls[0]


def xml_format(tags: XmlTags, *, is_typed: bool = False, **parts: Unpack[DialectParts]) -> Format:
    """A Format of calls in `tags`; the other `parts` are as in `dialect_format`.

    `is_typed` says that the wire has the types of values, so that they need not be texts. Results are usually in
    `<tool_response>` tags.
    """
    calls, reader, write_calls = tags.calls, tags.reader, tags.writer

    def expresses(call: ToolCall) -> bool:
        if call.id is not None or not is_json_call(call) or not isinstance(call.arguments, dict):
            return False
        texts = [value for value in call.arguments.values() if isinstance(value, str)]
        are_texts, names = len(texts) == len(call.arguments), (call.name or "", *call.arguments)
        if are_texts and all(map(_PLAIN_NAME.fullmatch, names)) and not _MAY_BE_MARKER.search("".join(texts)):
            return True
        return (are_texts or is_typed) and _reads_back(call, write_calls, made.new_parser, reader)

    drafted = [call for call in calls.calls if call.is_drafted]
    parts.setdefault("results", (Enclosed("<tool_response>", "</tool_response>"),))
    made = dialect_format(
        reader,
        ReasoningReader([call.opener for call in drafted], [call.closer for call in drafted]),
        calls=calls.transitions,
        call_states=calls.states,
        call_closers=calls.closers,
        write_calls=write_calls,
        expresses=expresses,
        **parts,
    )
    return made


def _reads_back(
    call: ToolCall,
    write_calls: Callable[[Sequence[ToolCall]], str],
    new_parser: Callable[[], FormatParser],
    reader: SpanReader,
) -> bool:
    """Whether two such calls in a row can be written and read back unchanged."""
    parser = new_parser()
    events = (*parser.feed(write_calls([call, call])), *parser.close())
    closed = (event for event in events if isinstance(event, SpanClosed) and event.span.kind is SpanKind.TOOL_CALL)
    read = [parsed for event in closed for parsed in reader(event).calls]
    return [(parsed.name, parsed.arguments, parsed.valid) for parsed in read] == [(call.name, call.arguments, True)] * 2
