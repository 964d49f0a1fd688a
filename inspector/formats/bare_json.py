"""States of calls that no marker opens: a JSON value in the text is one where its first keys say so.

A call may begin anywhere in a reply, but not behind a backtick or in a code fence, where prose quotes JSON; only a
fence that holds nothing before the value is the call's own.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialect import Ways
from inspector.formats.drafts import BareCall
from inspector.model import SpanKind
from inspector.segmenter.ahead import Ahead, Piece, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Transition

_SPACE = Repeat(r"\s", 0, 24)
_QUOTE = Repeat(r"[\"']", 1, 1)
NAMED: tuple[Piece, ...] = (
    *(_SPACE, _QUOTE, "name", _QUOTE, _SPACE, ":"),
    *(_SPACE, _QUOTE, Repeat(r"[^\"'\n]", 1, 128), _QUOTE, _SPACE, ","),
    *(_SPACE, _QUOTE, ("arguments", "parameters"), _QUOTE, _SPACE, ":"),
)
"""What stands behind an object's bracket where it names a tool and then gives its arguments."""
NAMED_CALLS = {"{": Ahead(*NAMED), "[": Ahead(_SPACE, "{", *NAMED)}
"""The same behind the bracket of an object, and of an array of such objects."""

CALL_ENDS = Transition("(end of the value)", Cut.NOWHERE, "call end", width=0)
"""The end of a call that no marker closes."""
_ANY = Transition("(anything else)", Cut.BEFORE, HOME, width=0)
# A bracket too many still belongs to the call that it breaks.
CALL_END = State("call end", SpanKind.TOOL_CALL, (), label="tool_call", other=r"[^\]}]", other_goes=_ANY)
"""Behind a call that no marker closes."""

BARE_HOMES = {role: "start" if home == "text" else home for role, home in ROLE_HOMES.items()}
"""Homes of a dialect that has bare calls."""

_FENCES = tuple(f"```{language}{space}" for language in ("json", "JSON", "") for space in ("\n", "\r\n", " ", ""))


@dataclass(frozen=True, slots=True)
class BareJson:
    """Which JSON values of a text are calls.

    `beginnings` says for each first bracket what must follow it. `has_fences` says that a code fence around a call is
    the dialect's own way. `more` are further ways out of a text, into states `more_states`.
    """

    beginnings: dict[str, Ahead] = field(default_factory=lambda: NAMED_CALLS)
    has_fences: bool = False
    more: tuple[Transition, ...] = ()
    more_states: tuple[State, ...] = field(default=(), repr=False)


def bare_calls(bare: BareJson) -> tuple[BareCall, ...]:
    """How the same values begin where reasoning drafts them."""
    return tuple(
        BareCall(re.compile(re.escape(first) + ahead.whole.pattern), JSON)
        for first, ahead in sorted(bare.beginnings.items())  # an array comes before the objects in it
    )


def bare_states(bare: BareJson, ways: Ways) -> Iterator[State]:
    """The states of bare calls and of the text around them, whose home is `start`."""
    openings = tuple(_openings(bare, "", "{["))
    quoted = tuple(Transition(f"`{first}", Cut.NOWHERE, "quoted") for first in bare.beginnings)
    ticks = Transition("```", Cut.NOWHERE, "fence")
    yield State("start", SpanKind.TEXT, (*ways.out_of_text, *openings, *quoted, *_into_fences(bare), ticks, *bare.more))
    unquoted = tuple(Transition(end, Cut.NOWHERE, "start") for end in "`\n")
    yield State("quoted", SpanKind.TEXT, (*ways.calls, *ways.turns, *unquoted))
    ends = Transition("```", Cut.NOWHERE, "start")
    yield State("fence", SpanKind.TEXT, (*ways.calls, *ways.turns, ends))
    yield from _calls(bare, ways)
    yield from _fenced(ways, is_own=bare.has_fences)
    yield from bare.more_states


def _openings(bare: BareJson, before: str, brackets: str) -> Iterator[Transition]:
    """The ways into bare calls that begin with one of these brackets, behind the text `before`."""
    for first, ahead in bare.beginnings.items():
        if first in brackets:
            yield Transition(before + first, Cut.BEFORE, f"bare call {first}", width=0, lead=len(before), ahead=ahead)


def _calls(bare: BareJson, ways: Ways) -> Iterator[State]:
    """The states of bare calls. Once one is broken, the next may begin at a line's start.

    Not so an object in a broken array: it may be the array's next item.
    """
    for first, brackets in (("{", "{["), ("[", "[")):
        name = f"bare call {first}"
        breaks = Transition("(anything else)", Cut.NOWHERE, f"broken {name}", width=0)
        yield State(
            name, SpanKind.TOOL_CALL, ways.out_of_call, "tool_call", payload=JSON, then=CALL_ENDS, broken_goes=breaks
        )
        next_calls = _openings(bare, "\n", brackets)
        yield State(f"broken {name}", SpanKind.TOOL_CALL, (*ways.out_of_call, *next_calls), "tool_call")


def _into_fences(bare: BareJson) -> Iterable[Transition]:
    """The ways into a fence whose first characters are a call's."""
    for fence in _FENCES:
        if fence == "```":
            continue
        for first, ahead in bare.beginnings.items():
            width = len(fence) if bare.has_fences else 0
            yield Transition(fence + first, Cut.BEFORE, "fenced call", width=width, ahead=ahead)


def _fenced(ways: Ways, *, is_own: bool) -> Iterator[State]:
    """The states of a call in a fence: the fence is the call's marker, or it stands within the call as a fault."""
    if is_own:
        ends = (Transition("```", Cut.AFTER, HOME), *ways.out_of_call)
        yield State("fenced call", SpanKind.TOOL_CALL, ends, "tool_call", closer="```", payload=JSON)
        return
    into = (Transition(first, Cut.NOWHERE, "fenced value", width=0) for first in "[{")
    then = Transition("(end of the value)", Cut.NOWHERE, "fence end", width=0)
    yield State("fenced call", SpanKind.TOOL_CALL, (*into, *ways.out_of_call), label="tool_call")
    yield State("fenced value", SpanKind.TOOL_CALL, ways.out_of_call, label="tool_call", payload=JSON, then=then)
    yield State(
        "fence end",
        SpanKind.TOOL_CALL,
        (Transition("```", Cut.NOWHERE, "call end"),),
        label="tool_call",
        other=r"[^\]}\s]",
        other_goes=_ANY,
    )
