"""The markers of harmony, the dialect of gpt-oss, as a table.

Sources: openai/harmony (docs/format.md, tests/test_harmony.py), llama.cpp:models/templates/openai-gpt-oss-120b.jinja.
A message is `<|start|>ROLE to=RECIPIENT<|channel|>CHANNEL <|constrain|>TYPE<|message|>CONTENT<|end|>`; its recipient
may stand behind the channel. A header is markup up to a recipient, if it has one: from there on it is a call.
"""

from collections.abc import Iterator
from dataclasses import replace

from inspector.formats.dialect import TOOL_TURN_HOMES, Ways, dialect_table, opening, tool_turn
from inspector.model import SpanKind
from inspector.rules import markers as rules
from inspector.segmenter.ahead import Ahead, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HERE, ROLE, Cut, State, Transition

START, CHANNEL, MESSAGE, CONSTRAIN = "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"
END, CALL, RETURN = "<|end|>", "<|call|>", "<|return|>"
_STOPS = (END, CALL, RETURN)
_HEADER, _ASSISTANT = "`<|channel|>` and `<|message|>`", "`<|start|>assistant`"
_BEFORE = "`<|channel|>final<|message|>` before the text that ends"
_CHANNELS = {"analysis": "analysis", "commentary": "text", "final": "text"}
_TYPES = ("json", "code", "text")
_NAMED = Ahead(Repeat(r"[A-Za-z_]", 1, 1))
_TO_TEXT = Transition("(anything else)", Cut.BEFORE, "text", width=0)

_STARTS = (
    opening(f"{START}assistant", "assistant"),
    *(Transition(f"{START}{role}", Cut.BEFORE, "others", width=len(START)) for role in ("user", "system", "developer")),
)
_TOOLS = ("functions.", "browser", "container", "python", "tool")
_RESULTS = tuple(Transition(f"{START}{tool}", Cut.BEFORE, "result", width=len(START)) for tool in _TOOLS)
_INVENTED = tuple(replace(way, rule=rules.INVENTED_RESULT) for way in _RESULTS)
_UNKNOWN = Transition(
    START, Cut.BEFORE, "junk", rules.MALFORMED_HEADER, expects="a role behind it, such as `assistant`,"
)
_TURNS = (
    *_STARTS,
    _UNKNOWN,
    *(opening(stop, "between") for stop in _STOPS),
    opening("<|endoftext|>", "between"),
)
_NO_START = Transition(CHANNEL, Cut.BEFORE, "channel", rules.MALFORMED_HEADER, expects=_ASSISTANT)
_RECIPIENTS = tuple(Transition(to, Cut.BEFORE, "call", width=0, ahead=_NAMED) for to in (" to=", "to="))

_ON_COMMENTARY = "the channel `commentary` for a call of a user's tool"
_MISPLACED = tuple(
    Transition(to, Cut.BEFORE, "call", rules.MALFORMED_HEADER, width=0, expects=_ON_COMMENTARY)
    for to in (" to=functions.", "to=functions.")
)


def _malformed(cut: Cut, target: str, expects: str) -> Transition:
    return Transition("(anything else)", cut, target, rules.MALFORMED_HEADER, width=0, expects=expects)


def _states(ways: Ways) -> Iterator[State]:
    yield from _beginnings()
    yield from _headers()
    yield tool_turn(_RESULTS, ways.turns)
    leaving = (*_INVENTED, *_TURNS, _NO_START)
    yield State("analysis", SpanKind.REASONING, _closed_by(END, leaving), label="analysis", closer=END)
    yield State(
        "call",
        SpanKind.TOOL_CALL,
        (
            Transition(MESSAGE, Cut.NOWHERE, "arguments"),
            Transition("{", Cut.NOWHERE, "arguments", rules.MALFORMED_HEADER, width=0, expects=f"`{MESSAGE}`"),
            Transition(CHANNEL, Cut.NOWHERE, HERE),
            *_closed_by(CALL, (*_INVENTED, *_TURNS)),
        ),
        label="tool_call",
    )
    yield State(
        "arguments", SpanKind.TOOL_CALL, _closed_by(CALL, (*_INVENTED, *_TURNS, _NO_START)), "tool_call", payload=JSON
    )
    results = (Transition(END, Cut.AFTER, "between"), *_RESULTS, *(way for way in _TURNS if way.marker != END))
    yield State("result", SpanKind.TOOL_RESULT, results, "tool_response", START)


def _closed_by(closer: str, leaving: tuple[Transition, ...]) -> tuple[Transition, ...]:
    """`leaving`, but any token that ends a message belongs to the span, `closer` or not."""
    kept = (way for way in leaving if way.marker not in _STOPS)
    stops = (closer, *(stop for stop in _STOPS if stop != closer))
    return (*(Transition(stop, Cut.AFTER, "between") for stop in stops), *kept)


def _beginnings() -> Iterator[State]:
    """The states of a reply's beginning and of the place between two messages."""
    strays = tuple(Transition(stop, Cut.BEFORE, "between", rules.STRAY_END_MARKER) for stop in _STOPS)
    yield State(
        "start",
        SpanKind.TEXT,
        (
            *_INVENTED,
            *_STARTS,
            _UNKNOWN,
            *strays,
            opening(CHANNEL, "channel"),
            opening(MESSAGE, "marker"),
            *_RECIPIENTS,
        ),
        other=r"\S",
        other_goes=Transition("(anything else)", Cut.NOWHERE, "headless", width=0),
    )
    # A reply of which the server took the tokens away is plain text; only a token shows that a header is missing.
    unopened = (Transition(stop, Cut.BEFORE, "between", rules.MALFORMED_HEADER, expects=_BEFORE) for stop in _STOPS)
    yield State("headless", SpanKind.TEXT, (*_INVENTED, *_STARTS, _UNKNOWN, *unopened, _NO_START))
    text = _malformed(Cut.BEFORE, "text", _ASSISTANT)
    between = (*_RESULTS, *_STARTS, _UNKNOWN, *strays, _NO_START)
    yield State("between", SpanKind.MARKUP, between, label="turn_end", other=r"\S", other_goes=text)


def _headers() -> Iterator[State]:
    """The states within a header: behind the role, in the channel's name, and behind that of each channel."""
    leaving = (*_INVENTED, *_TURNS)
    yield State(
        "assistant",
        SpanKind.MARKUP,
        (
            Transition(CHANNEL, Cut.NOWHERE, "channel"),
            Transition(MESSAGE, Cut.AFTER, "text"),
            *_RECIPIENTS,
            *(Transition(dash, Cut.NOWHERE, "junk", rules.MALFORMED_HEADER, expects=_HEADER) for dash in "–—"),
            *leaving,
        ),
        label="turn_header",
        other=r"\S",
        other_goes=_malformed(Cut.BEFORE, "text", _HEADER),
    )
    yield State(
        "junk",
        SpanKind.MARKUP,
        (
            Transition(CHANNEL, Cut.NOWHERE, "channel"),
            Transition(MESSAGE, Cut.AFTER, "text"),
            opening(" to=assistant", "result"),
            *_RECIPIENTS,
            *leaving,
        ),
        label="turn_header",
    )
    yield State(
        "channel",
        SpanKind.MARKUP,
        (
            *(Transition(name, Cut.NOWHERE, f"{target} header") for name, target in _CHANNELS.items()),
            Transition(MESSAGE, Cut.AFTER, "text"),
            *leaving,
        ),
        label="turn_header",
        other=r"\S",
        other_goes=_malformed(Cut.NOWHERE, "text junk", "a channel's name, `analysis`, `commentary` or `final`,"),
    )
    for target in sorted(set(_CHANNELS.values())):
        message = Transition(MESSAGE, Cut.AFTER, target)
        constrain = Transition(CONSTRAIN, Cut.NOWHERE, f"{target} type")
        types = (Transition(word, Cut.NOWHERE, f"{target} type") for word in _TYPES)
        space = Transition(" ", Cut.NOWHERE, f"{target} type")
        recipients = (*_RECIPIENTS, *_MISPLACED) if target == "analysis" else _RECIPIENTS
        ways = (message, constrain, *recipients, *leaving)
        no_message = _malformed(Cut.BEFORE, target, f"`{MESSAGE}`")
        into_junk = _malformed(Cut.NOWHERE, f"{target} junk", f"`{MESSAGE}`")
        yield State(
            f"{target} header", SpanKind.MARKUP, (*ways, space), "turn_header", other=r"\S", other_goes=into_junk
        )
        yield State(f"{target} junk", SpanKind.MARKUP, (*ways, space), "turn_header")
        yield State(
            f"{target} type", SpanKind.MARKUP, (*ways, *types), "turn_header", other=r"\S", other_goes=no_message
        )
    yield State("others", SpanKind.MARKUP, (Transition(MESSAGE, Cut.AFTER, ROLE), *leaving), "turn_header")
    yield State(
        "marker",
        SpanKind.MARKUP,
        (),
        label="turn_header",
        other=r"[\s\S]",
        other_goes=_TO_TEXT,
    )


HARMONY_TABLE = dialect_table(
    calls=(*_INVENTED, _NO_START),
    call_states=_states,
    reasoning=(),
    turns=_TURNS,
    turn_states=(),
    homes={**TOOL_TURN_HOMES, "assistant": "start", "model": "start"},
    tails={f"{START}assistant": "assistant", CHANNEL: "channel", f"{CHANNEL}analysis{MESSAGE}": "analysis"},
)
