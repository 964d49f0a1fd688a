"""`harmony`: channels of gpt-oss: analysis is reasoning, final the answer, a message with a recipient is a call.

Sources: openai/harmony (docs/format.md, tests/test_harmony.py, test-data),
llama.cpp:models/templates/openai-gpt-oss-120b.jinja. A tool named `functions.f` is the user's `f`; `browser.search`,
`python`, `container.exec` are built in and keep their names.
A message is `<|start|>ROLE to=RECIPIENT<|channel|>CHANNEL <|constrain|>TYPE<|message|>CONTENT<|end|>`; its recipient
may come after the channel. A header is markup up to its recipient; from there on it is a call.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import (
    TOOL_TURN_HOMES,
    Transitions,
    dialect_table,
    opening,
    table_parser,
    tool_turn,
)
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader
from weaklink.inspector.formats.span_readers import HeadedResultReader, ReasoningReader, read_result, reader_table
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import markers as rules
from weaklink.inspector.rules.markers import MALFORMED_HEADER
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import HERE, ROLE, Lookahead, MarkerSplit, Repeat, State, Transition, unmarked
from weaklink.inspector.text import Range

START, CHANNEL, MESSAGE, CONSTRAIN = "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"
END, CALL, RETURN = "<|end|>", "<|call|>", "<|return|>"
_STOPS = (END, CALL, RETURN)
_HEADER, _ASSISTANT = "`<|channel|>` and `<|message|>`", "`<|start|>assistant`"
_BEFORE = "`<|channel|>final<|message|>` before the text that ends"
_CHANNELS = {"analysis": "analysis", "commentary": "text", "final": "text"}
"""The state of each channel's content."""

_TYPES = ("json", "code", "text")
_NAMED = Lookahead(Repeat(r"[A-Za-z_]", 1, 1))

_UNKNOWN = Transition(
    START, MarkerSplit.BEFORE, "junk", rules.MALFORMED_HEADER, expects="a role after it, such as `assistant`,"
)

_NO_START = Transition(CHANNEL, MarkerSplit.BEFORE, "channel", rules.MALFORMED_HEADER, expects=_ASSISTANT)
_ON_COMMENTARY = "the channel `commentary` for a call of a user's tool"
_TO = r"\s?to=(?:functions\.)?(?P<name>[^\s<{]++)"
_TYPE = r"(?:\s?(?:<\|constrain\|>)?\s?(?:json|code|text))?"

_CALL = NamedCallReader(
    header=lazy_pattern(rf"{_TO}\s?(?:<\|channel\|>(?:analysis|commentary|final))?{_TYPE}\s?<\|message\|>"),
    expected="` to=functions.NAME`, the channel and `<|message|>`, then the arguments",
    loose=(
        LooseHeader(
            lazy_pattern(rf"{_TO}[^{{]{{0,300}}?<\|message\|>"), "it contains words that the format does not allow"
        ),
        LooseHeader(lazy_pattern(rf"{_TO}[^{{]{{0,300}}?(?=\{{)"), ""),
    ),
    code=frozenset({"python"}),
    code_header=lazy_pattern(r"[\s\S]*\bcode\s?<\|message\|>"),
)

_OTHER_BARS = lazy_pattern(
    r"<(?!\|channel\|>)[|｜‖¦│∣]{1,3}channel[|｜‖¦│∣]{1,3}>(?=(?:commentary|analysis|final) to=)"
)
_STRIPPED = lazy_pattern(
    r"(?:\A|assistant)(?:commentary|analysis)(?= to=functions\.[\w.\-]{1,128}\s?(?:json|code)?\s?\{)"
)
"""A header whose special tokens a server removed."""
_MISPLACED_CALL = lazy_pattern(r"\s?to=functions\.[^{]{0,300}?<\|channel\|>(?P<channel>analysis|final)")
_HEADED_RESULT = HeadedResultReader(
    lazy_pattern(r"(?:functions\.)?(?P<name>[^\s<]+)[^{]{0,300}?<\|message\|>"), keeps_ends=True
)
_BUILT_IN = lazy_pattern(r"python|(?:browser|container)\..+")
_NAME = lazy_pattern(r"(?!functions\.)[A-Za-z_][A-Za-z0-9_.\-]*")

_STARTS = (
    *(opening(f"{START}{space}assistant", "assistant") for space in ("", " ")),  # the space is LLM-jp's
    *(
        Transition(f"{START}{role}", MarkerSplit.BEFORE, "others", width=len(START))
        for role in ("user", "system", "developer")
    ),
)

_TOOLS = ("functions.", "browser", "container", "python", "tool")
_RESULTS = tuple(Transition(f"{START}{tool}", MarkerSplit.BEFORE, "result", width=len(START)) for tool in _TOOLS)
_INVENTED = tuple(replace(transition, rule=rules.INVENTED_RESULT) for transition in _RESULTS)

_TURNS = (
    *_STARTS,
    _UNKNOWN,
    *(opening(stop, "between") for stop in _STOPS),
    opening("<|endoftext|>", "between"),
)

_RECIPIENTS = tuple(Transition(to, MarkerSplit.BEFORE, "call", width=0, ahead=_NAMED) for to in (" to=", "to="))

_IN_CONTENT = Transition(
    " to=functions.",
    MarkerSplit.BEFORE,
    "call",
    rules.MALFORMED_HEADER,
    width=0,
    ahead=Lookahead(Repeat(r"[\w.\-]", 1, 64), Repeat(" ", 0, 1), (CHANNEL, CONSTRAIN, MESSAGE)),
    expects=_ASSISTANT,
)
"""A recipient whose message begins within the content of another: its header has lost the tokens before it."""

_MISPLACED = tuple(
    Transition(to, MarkerSplit.BEFORE, "call", rules.MALFORMED_HEADER, width=0, expects=_ON_COMMENTARY)
    for to in (" to=functions.", "to=functions.")
)


_TOOL = "` to=` and the called tool"


def _malformed(cut: MarkerSplit, target: str, expects: str) -> Transition:
    return replace(unmarked(target, cut), rule=rules.MALFORMED_HEADER, expects=expects)


def _states(transitions: Transitions) -> Iterator[State]:
    yield from _beginnings()
    yield from _headers()
    yield tool_turn(_RESULTS, transitions.turns)
    leaving = (*_INVENTED, *_TURNS, _NO_START, _IN_CONTENT)
    yield State("analysis", SpanKind.REASONING, _closed_by(END, leaving), label="analysis", closer=END)
    second = Transition(CHANNEL, MarkerSplit.NONE, HERE, rules.MALFORMED_HEADER, expects="no second channel")
    for name, channel in (("call", Transition(CHANNEL, MarkerSplit.NONE, HERE)), ("call on channel", second)):
        yield State(
            name,
            SpanKind.TOOL_CALL,
            (
                Transition(MESSAGE, MarkerSplit.NONE, "arguments"),
                Transition("{", MarkerSplit.NONE, "arguments", rules.MALFORMED_HEADER, width=0, expects=f"`{MESSAGE}`"),
                channel,
                *_closed_by(CALL, (*_INVENTED, *_TURNS)),
            ),
            label="tool_call",
        )
    yield State(
        "arguments", SpanKind.TOOL_CALL, _closed_by(CALL, (*_INVENTED, *_TURNS, _NO_START)), "tool_call", payload=JSON
    )
    results = (
        Transition(END, MarkerSplit.AFTER, "between"),
        *_RESULTS,
        *(transition for transition in _TURNS if transition.marker != END),
    )
    yield State("result", SpanKind.TOOL_RESULT, results, "tool_response", START)


def _closed_by(closer: str, leaving: tuple[Transition, ...]) -> tuple[Transition, ...]:
    """`leaving`, but every token that ends a message closes the span and belongs to it, not only `closer`."""
    kept = (transition for transition in leaving if transition.marker not in _STOPS)
    stops = (closer, *(stop for stop in _STOPS if stop != closer))
    return (*(Transition(stop, MarkerSplit.AFTER, "between") for stop in stops), *kept)


def _beginnings() -> Iterator[State]:
    """The states at a reply's beginning and between two messages."""
    strays = tuple(Transition(stop, MarkerSplit.BEFORE, "between", rules.STRAY_END_MARKER) for stop in _STOPS)
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
        other_transition=unmarked("headless", MarkerSplit.NONE),
    )
    # A reply whose tokens the server removed is plain text; only a token shows that a header is missing.
    unopened = (
        Transition(stop, MarkerSplit.BEFORE, "between", rules.MALFORMED_HEADER, expects=_BEFORE) for stop in _STOPS
    )
    stop = opening("<|endoftext|>", "between")
    yield State("headless", SpanKind.TEXT, (*_INVENTED, *_STARTS, _UNKNOWN, *unopened, stop, _NO_START, _IN_CONTENT))
    text = _malformed(MarkerSplit.BEFORE, "text", _ASSISTANT)
    between = (*_RESULTS, *_STARTS, _UNKNOWN, *strays, _NO_START)
    yield State("between", SpanKind.MARKUP, between, label="turn_end", other=r"\S", other_transition=text)


def _headers() -> Iterator[State]:
    """The states within a header: after the role, in the channel's name, and after the name of each channel."""
    leaving = (*_INVENTED, *_TURNS)
    yield State(
        "assistant",
        SpanKind.MARKUP,
        (
            Transition(CHANNEL, MarkerSplit.NONE, "channel"),
            Transition(MESSAGE, MarkerSplit.AFTER, "text"),
            *_RECIPIENTS,
            *(Transition(dash, MarkerSplit.NONE, "junk", rules.MALFORMED_HEADER, expects=_HEADER) for dash in "–—"),
            *leaving,
        ),
        label="turn_header",
        unfinished=MESSAGE,
        other=r"\S",
        other_transition=_malformed(MarkerSplit.BEFORE, "text", _HEADER),
    )
    yield State(
        "junk",
        SpanKind.MARKUP,
        (
            Transition(CHANNEL, MarkerSplit.NONE, "channel"),
            Transition(MESSAGE, MarkerSplit.AFTER, "text"),
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
            *(Transition(name, MarkerSplit.NONE, f"{name} header") for name in _CHANNELS),
            Transition(MESSAGE, MarkerSplit.AFTER, "text"),
            *leaving,
        ),
        label="turn_header",
        unfinished=MESSAGE,
        other=r"\S",
        other_transition=_malformed(
            MarkerSplit.NONE, "commentary junk", "a channel's name, `analysis`, `commentary` or `final`,"
        ),
    )
    for name, target in _CHANNELS.items():
        message = Transition(MESSAGE, MarkerSplit.AFTER, target)
        typed = f"{name} type" if name == "final" else f"{name} constrained"  # only a call or an answer is JSON
        constrain = Transition(CONSTRAIN, MarkerSplit.NONE, typed)
        space = Transition(" ", MarkerSplit.NONE, f"{name} type")
        recipients = tuple(
            replace(transition, target="call on channel")
            for transition in (*_RECIPIENTS, *(_MISPLACED if name != "commentary" else ()))
        )
        transitions = (message, constrain, *recipients, *leaving)
        no_message = _malformed(MarkerSplit.BEFORE, target, f"`{MESSAGE}`")
        into_junk = _malformed(MarkerSplit.NONE, f"{name} junk", f"`{MESSAGE}`")
        yield State(
            f"{name} header",
            SpanKind.MARKUP,
            (*transitions, space),
            "turn_header",
            unfinished=MESSAGE,
            other=r"\S",
            other_transition=into_junk,
        )
        yield State(f"{name} junk", SpanKind.MARKUP, (*transitions, space), "turn_header")
        unaddressed = replace(message, rule=rules.MALFORMED_HEADER, expects=_TOOL)
        for state, ends in ((f"{name} type", message), (f"{name} constrained", unaddressed)):
            yield State(
                state,
                SpanKind.MARKUP,
                (ends, *transitions[1:], *(Transition(word, MarkerSplit.NONE, state) for word in _TYPES)),
                "turn_header",
                unfinished=MESSAGE,
                other=r"\S",
                other_transition=replace(into_junk, ahead=Lookahead(Repeat(r"\w", 0, 32), MESSAGE)),
                otherwise=no_message,
            )
    yield State("others", SpanKind.MARKUP, (Transition(MESSAGE, MarkerSplit.AFTER, ROLE), *leaving), "turn_header")
    yield markup_state("marker", "turn_header", "text")


HARMONY_TABLE = dialect_table(
    calls=(*_INVENTED, _NO_START, _IN_CONTENT),
    call_states=_states,
    reasoning=(),
    turns=_TURNS,
    turn_states=(),
    homes={**TOOL_TURN_HOMES, "assistant": "start", "model": "start"},
    tails={f"{START}assistant": "assistant", CHANNEL: "channel", f"{CHANNEL}analysis{MESSAGE}": "analysis"},
)


def _read_call(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A call of a user's tool belongs on the channel `commentary`."""
    reading = _CALL(closed)
    misplaced = _MISPLACED_CALL.match(closed.inner_text)
    if misplaced is None:
        return reading
    place = Range(*misplaced.span("channel")).moved(closed.span.inner.start)
    message = f"A user's tool is called on the channel `{misplaced['channel']}`; such calls belong to `commentary`."
    hint = "Read calls on every channel: a server that reads only `commentary` loses this one."
    faults = (Fault(MALFORMED_HEADER, place, message, hint), *reading.faults)
    return ParseResult(calls=reading.calls, faults=faults, complete=reading.complete)


def _read_result(closed: SpanClosed) -> ParseResult:
    """See SpanReader. The author in a result's header is the tool."""
    return (read_result if closed.span.label == "bare" else _HEADED_RESULT)(closed)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    """The text of a model after `<|start|>assistant`, with which its prompt ends; each call is a message."""
    return "<|start|>assistant".join(
        f"<|channel|>commentary to={_recipient(call.name or '')} <|constrain|>json<|message|>"
        f"{json_of(call.arguments)}<|call|>"
        for call in calls
    )


def _recipient(name: str) -> str:
    return name if _BUILT_IN.fullmatch(name) else f"functions.{name}"


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: its name must be valid in the header."""
    return call.id is None and _NAME.fullmatch(call.name or "") is not None and is_json_call(call)


HARMONY = Format(
    name="harmony",
    summary="gpt-oss: channels, the recipient in a message's header",
    aliases=("gpt-oss", "gpt_oss", "openai-harmony"),
    models=("*gpt-oss*", "*gptoss*", "*llm-jp-4.1*"),
    confidence=DetectionPatterns(
        calls={
            r"\bto=(?:functions\.)?[\w.\-]{1,80}[^{\n]{0,60}<\|message\|>": 0.97,
            r"<\|channel\|>(?:commentary|analysis) to=": 0.97,
            r"(?:\A|assistant)(?:commentary|analysis) to=functions\.": 0.9,
        },
        hints={r"<\|channel\|>(?:analysis|commentary|final)": 0.95, r"<\|start\|>(?:assistant|user|system)": 0.8},
    ),
    new_parser=table_parser(HARMONY_TABLE),
    readers=reader_table(_read_call, ReasoningReader(("to=functions.",)), results=_read_result),
    write_calls=_write_calls,
    expresses=_expresses,
    near_calls=((_OTHER_BARS, CHANNEL), (_STRIPPED, f"{START}assistant{CHANNEL}commentary")),
    builtin_tools=frozenset({"python", "browser.search", "browser.open", "browser.find", "container.exec"}),
)
