"""Builds formats whose calls are JSON, between markers or bare.

A dialect defines its markers, and whether it writes an array, consecutive objects or one object; the rest is common.

A call may begin anywhere in a reply, but not after a backtick or in a code fence, where prose quotes JSON; only a fence
with nothing before the value belongs to the call.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Unpack

from msgspec import Struct, field, structs

from weaklink.inspector.formats.dialect import (
    BARE_HOMES,
    DialectParts,
    Enclosed,
    Transitions,
    call_end,
    call_state,
    closing,
    dialect_format,
    enclosed_state,
    inside,
    opener_again,
    opening,
)
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.json.call_shape import call_array, is_json_call
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.span_readers import BareCall, ReasoningReader
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import JSON, SpanReader
from weaklink.inspector.segmenter.table import (
    Lookahead,
    LookaheadPiece,
    MarkerSplit,
    Repeat,
    State,
    Transition,
    unmarked,
)

_SPACE = Repeat(r"\s", 0, 24)
_QUOTE = Repeat(r"[\"']", 1, 1)

NAMED: tuple[LookaheadPiece, ...] = (
    *(_SPACE, _QUOTE, "name", _QUOTE, _SPACE, ":"),
    *(_SPACE, _QUOTE, Repeat(r"[^\"'\n]", 1, 128), _QUOTE, _SPACE, ","),
    *(_SPACE, _QUOTE, ("arguments", "parameters"), _QUOTE, _SPACE, ":"),
)
"""What follows the bracket of an object that names a tool and then has its arguments."""

NAMED_CALLS = {"{": Lookahead(*NAMED), "[": Lookahead(_SPACE, "{", *NAMED)}
"""By its bracket, for an object and for an array of such objects: what follows the bracket."""

CALL_END = call_end("call end")
"""The state after a call without a closing marker."""

TOOL_RESPONSE = Enclosed("<tool_response>", "</tool_response>")
"""The markers that models write around an invented result, whatever their family's own template uses."""

_CALL_KEYS = Lookahead(Repeat(r"\s"), ('"name"', '"arguments"'))

_FENCES = tuple(
    f"```{word}{space}" for word in ("json", "JSON", "") for space in ("\n", "\r\n", " ", "") if word or space
)


class BareJson(Struct, frozen=True):
    """Which JSON values of a text are calls.

    `beginnings` has for each first bracket what must follow it. `has_fences` says that the dialect itself writes a code
    fence around a call. `more` are further transitions out of a text, into states `more_states`.
    """

    beginnings: dict[str, Lookahead] = field(default_factory=lambda: NAMED_CALLS)
    has_fences: bool = False
    more: tuple[Transition, ...] = ()
    more_states: tuple[State, ...] = ()


def bare_calls(bare: BareJson) -> tuple[BareCall, ...]:
    """The same values as drafts in reasoning."""
    return tuple(
        BareCall(lazy_pattern(re.escape(first) + ahead.expression), JSON)
        for first, ahead in sorted(bare.beginnings.items())  # an array comes before the objects in it
    )


def bare_states(bare: BareJson, transitions: Transitions) -> Iterator[State]:
    """The states of bare calls and of the text around them, whose home is `start`."""
    openings = tuple(_openings(bare, "", "{["))
    others = (
        *(inside(f"`{first}", "quoted") for first in bare.beginnings),
        *(
            Transition(
                fence + first, MarkerSplit.BEFORE, "fenced call", width=len(fence) * bare.has_fences, ahead=ahead
            )
            for fence in _FENCES
            for first, ahead in bare.beginnings.items()
        ),
        inside("```", "fence"),
    )
    yield State("start", SpanKind.TEXT, (*transitions.out_of_text, *openings, *others, *bare.more))
    for name, ends in (("quoted", "`\n"), ("fence", ("```",))):
        unquoted = (inside(end, "start") for end in ends)
        yield State(name, SpanKind.TEXT, (*transitions.calls, *transitions.turns, *unquoted))
    yield from _calls(bare, transitions)
    yield from _fenced(transitions, is_own=bare.has_fences)
    yield from bare.more_states


def _openings(bare: BareJson, before: str, brackets: str) -> Iterator[Transition]:
    """The transitions into bare calls that begin with one of these brackets, after the text `before`."""
    for first, ahead in bare.beginnings.items():
        if first in brackets:
            yield Transition(
                before + first, MarkerSplit.BEFORE, f"bare call {first}", width=0, lead=len(before), ahead=ahead
            )


def _calls(bare: BareJson, transitions: Transitions) -> Iterator[State]:
    """The states of bare calls. After a broken call, the next may begin at the start of a line.

    After a broken array an object may not: it may be the array's next item.
    """
    for first, brackets in (("{", "{["), ("[", "[")):
        name = f"bare call {first}"
        call = call_state(name, transitions.out_of_call, payload=JSON, then="call end")
        yield structs.replace(call, broken_transition=unmarked(f"broken {name}", MarkerSplit.NONE))
        yield call_state(f"broken {name}", (*transitions.out_of_call, *_openings(bare, "\n", brackets)))


def _fenced(transitions: Transitions, *, is_own: bool) -> Iterator[State]:
    """The states of a call in a fence: the fence is the call's marker, or it is a fault within the call."""
    if is_own:
        yield call_state("fenced call", (closing("```"), *transitions.out_of_call), closer="```", payload=JSON)
        return
    into = (inside(first, "fenced value", width=0) for first in "[{")
    yield call_state("fenced call", (*into, *transitions.out_of_call))
    yield call_state("fenced value", transitions.out_of_call, payload=JSON, then="fence end")
    yield call_end("fence end", stops=r"[^\]}\s]", transitions=(inside("```", "call end"),))


def json_format(
    *,
    reader: SpanReader = JsonCallReader(is_array=True),  # noqa: B008  # frozen
    calls: tuple[Enclosed, ...] = (),
    bare: BareJson | None = None,
    ahead: Lookahead | None = None,
    write_calls: Callable[[Sequence[ToolCall]], str] | None = None,
    expresses: Callable[[ToolCall], bool] = is_json_call,
    **parts: Unpack[DialectParts],
) -> Format:
    """A format whose calls `reader` reads and `write_calls` writes: without them, an array in the first of the markers.

    `calls` are the markers around a call; a call without a closer ends with its JSON value, and `ahead` must follow its
    opener. `bare` are calls without an opening marker. `expresses` decides which calls it can express, ids aside. The
    other `parts` are as in `dialect_format`; `results` are usually in `<tool_response>` tags.
    """
    closers = [call.closer for call in calls if call.closer]

    def states(transitions: Transitions) -> Iterator[State]:
        for call in calls:
            yield from _call(call, transitions)
        yield CALL_END
        if bare is not None:
            yield from bare_states(bare, transitions)

    def into(call: Enclosed) -> Transition:
        """The transition into a call. An opener that only another one follows opens nothing."""
        follows = None if call.closer else ahead
        again = opener_again(call.opener, Repeat(r"\s")) if follows is not None else None
        return structs.replace(opening(call.opener, f"call {call.opener}"), ahead=follows, otherwise=again)

    parts.setdefault("results", (TOOL_RESPONSE,))
    if bare is not None:
        parts.update({"homes": BARE_HOMES, "default_home": "start"})
    return dialect_format(
        reader,
        ReasoningReader([call.opener for call in calls], closers, bare=bare_calls(bare) if bare else ()),
        calls=map(into, calls),
        call_states=states,
        call_closers=closers,
        write_calls=write_calls or (lambda group: f"{calls[0].opener}{call_array(group)}{calls[0].closer}"),
        expresses=lambda call: (parts.get("ids", False) or call.id is None) and expresses(call),
        **parts,
    )


def _call(call: Enclosed, transitions: Transitions) -> Iterator[State]:
    name = f"call {call.opener}"
    if call.closer:
        yield enclosed_state(name, SpanKind.TOOL_CALL, call, transitions.out_of_call, JSON)
        return
    yield call_state(name, transitions.out_of_call, call.opener, payload=JSON, then=f"{name} end")
    # A second object or array after the first belongs to the same call: it has no separate marker.
    again = (f"{space}{bracket}" for space in ("", "\n", " ") for bracket in ("{", "[{"))
    yield call_end(
        f"{name} end", transitions=tuple(inside(begins, name, width=0, ahead=_CALL_KEYS) for begins in again)
    )
