"""States of calls that stand in a section between special tokens, each with its own header: DeepSeek, Kimi."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.formats.dialect import Ways, opening
from inspector.model import SpanKind
from inspector.rules.markers import MALFORMED_HEADER, STRAY_END_MARKER
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import Cut, State, Transition

_TO_TEXT = Transition("(anything else)", Cut.BEFORE, "text", width=0)


@dataclass(frozen=True, slots=True)
class Section:
    """The tokens around a section of calls, in all spellings, and those around each call.

    The section's tokens, and the white space between its calls, are markup: each call is a span of its own.
    """

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    call_opener: str
    call_closer: str

    @property
    def calls(self) -> tuple[Transition, ...]:
        """The ways out of a text into the section and its calls, and past a token that ends no section."""
        ends = (Transition(closer, Cut.BEFORE, "marker", STRAY_END_MARKER) for closer in self.closers)
        expects = f"`{self.openers[0]}` before the call"
        alone = Transition(self.call_opener, Cut.BEFORE, "call", MALFORMED_HEADER, expects=expects)
        return (*(opening(one, "section") for one in self.openers), alone, *ends)

    @property
    def tails(self) -> dict[str, str]:
        """The state behind a prompt that ends with the section's opener."""
        return dict.fromkeys(self.openers, "section")

    def states(self, ways: Ways) -> Iterator[State]:
        """The states of the section: between calls, in a call's header, in its arguments."""
        call = opening(self.call_opener, "call")
        yield State(
            "section",
            SpanKind.MARKUP,
            (*(Transition(closer, Cut.AFTER, "text") for closer in self.closers), call, *ways.turns),
            label="section",
            other=r"\S",
            other_goes=_TO_TEXT,
        )
        yield State("section end", SpanKind.MARKUP, (), label="section", other=r"[\s\S]", other_goes=_TO_TEXT)
        own = {*self.openers, *self.closers, self.call_opener}
        leaving = (
            Transition(self.call_closer, Cut.AFTER, "section"),
            call,
            *(opening(one, "section") for one in self.openers),
            *(opening(one, "section end") for one in self.closers),
            *(way for way in ways.out_of_call if way.marker not in own),
        )
        arguments = Transition("{", Cut.NOWHERE, "arguments", width=0)
        opener, closer = self.call_opener, self.call_closer
        yield State("call", SpanKind.TOOL_CALL, (arguments, *leaving), "tool_call", opener, closer)
        yield State("arguments", SpanKind.TOOL_CALL, leaving, "tool_call", opener, closer, payload=JSON)
