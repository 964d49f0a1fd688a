"""`harmony`: channels of gpt-oss: analysis is reasoning, final the answer, a message with a recipient is a call.

Sources: openai/harmony (docs/format.md, tests/test_harmony.py, test-data),
llama.cpp:models/templates/openai-gpt-oss-120b.jinja. A tool named `functions.f` is the user's `f`; `browser.search`,
`python`, `container.exec` are built in and keep their names.
A message is `<|start|>ROLE to=RECIPIENT<|channel|>CHANNEL <|constrain|>TYPE<|message|>CONTENT<|end|>`; its recipient
may come after the channel. A header is markup up to its recipient; from there on it is a call.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import (
    TOOL_TURN_HOMES,
    Transitions,
    call_state,
    closing,
    dialect_format,
    inside,
    opening,
    text_state,
    tool_turn,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader
from weaklink.inspector.formats.span_readers import HeadedResultReader, LabelledReader, ReasoningReader, read_result
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
    r"""
    < (?! \|channel\|> )                                    # not the token itself
    [|｜‖¦│∣]{1,3} channel [|｜‖¦│∣]{1,3} >
    (?= (?:commentary|analysis|final)[ ]to= )
    """,
    re.VERBOSE,
)
_STRIPPED = lazy_pattern(
    r"""
    (?: \A | assistant )
    (?: commentary | analysis )
    (?= [ ]to=functions\.[\w.\-]{1,128} \s? (?:json|code)? \s? \{ )     # a call follows
    """,
    re.VERBOSE,
)
"""A header whose special tokens a server removed."""
_MISPLACED_CALL = lazy_pattern(r"\s?to=functions\.[^{]{0,300}?<\|channel\|>(?P<channel>analysis|final)")
_RESULT = HeadedResultReader(
    lazy_pattern(r"(?:functions\.)?(?P<name>[^\s<]+)[^{]{0,300}?<\|message\|>"), keeps_ends=True
)
_READ_RESULT = LabelledReader({"bare": read_result, "tool_response": _RESULT})
"""The author in a result's header is the tool."""
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

_TURNS = (*_STARTS, _UNKNOWN, *(opening(stop, "between") for stop in (*_STOPS, "<|endoftext|>")))

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
    bare = Transition("{", MarkerSplit.NONE, "arguments", rules.MALFORMED_HEADER, width=0, expects=f"`{MESSAGE}`")
    cuts = _closed_by(CALL, (*_INVENTED, *_TURNS))
    for name, channel in (("call", inside(CHANNEL, HERE)), ("call on channel", second)):
        yield call_state(name, (inside(MESSAGE, "arguments"), bare, channel, *cuts))
    yield call_state("arguments", (*cuts, _NO_START), payload=JSON)
    others = (transition for transition in _TURNS if transition.marker != END)
    results = (closing(END, "between"), *_RESULTS, *others)
    yield State("result", SpanKind.TOOL_RESULT, results, "tool_response", START)


def _closed_by(closer: str, leaving: tuple[Transition, ...]) -> tuple[Transition, ...]:
    """`leaving`, but every token that ends a message closes the span and belongs to it, not only `closer`."""
    kept = (transition for transition in leaving if transition.marker not in _STOPS)
    stops = (closer, *(stop for stop in _STOPS if stop != closer))
    return (*(closing(stop, "between") for stop in stops), *kept)


def _beginnings() -> Iterator[State]:
    """The states at a reply's beginning and between two messages."""
    strays = tuple(Transition(stop, MarkerSplit.BEFORE, "between", rules.STRAY_END_MARKER) for stop in _STOPS)
    tokens = (*strays, opening(CHANNEL, "channel"), opening(MESSAGE, "marker"))
    leaving = (*_INVENTED, *_STARTS, _UNKNOWN, *tokens, *_RECIPIENTS)
    yield text_state("start", leaving, unmarked("headless", MarkerSplit.NONE))
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
    into_text = (inside(CHANNEL, "channel"), closing(MESSAGE, "text"))
    dashes = (Transition(dash, MarkerSplit.NONE, "junk", rules.MALFORMED_HEADER, expects=_HEADER) for dash in "–—")
    no_header = _malformed(MarkerSplit.BEFORE, "text", _HEADER)
    yield _header("assistant", (*into_text, *_RECIPIENTS, *dashes, *leaving), no_header)
    yield _header("junk", (*into_text, opening(" to=assistant", "result"), *_RECIPIENTS, *leaving))
    names = (inside(name, f"{name} header") for name in _CHANNELS)
    no_channel = "a channel's name, `analysis`, `commentary` or `final`,"
    into_junk = _malformed(MarkerSplit.NONE, "commentary junk", no_channel)
    yield _header("channel", (*names, closing(MESSAGE, "text"), *leaving), into_junk)
    for name, target in _CHANNELS.items():
        recipients = (*_RECIPIENTS, *(_MISPLACED if name != "commentary" else ()))
        calls = (replace(transition, target="call on channel") for transition in recipients)
        message, typed = closing(MESSAGE, target), f"{name} type"
        as_json = typed if name == "final" else f"{name} constrained"  # only a call or an answer is JSON
        transitions = (message, inside(CONSTRAIN, as_json), *calls, *leaving)
        spaced = (*transitions, inside(" ", typed))
        no_message = _malformed(MarkerSplit.BEFORE, target, f"`{MESSAGE}`")
        into_junk = _malformed(MarkerSplit.NONE, f"{name} junk", f"`{MESSAGE}`")
        yield _header(f"{name} header", spaced, into_junk)
        yield _header(f"{name} junk", spaced)
        into_junk = replace(into_junk, ahead=Lookahead(Repeat(r"\w", 0, 32), MESSAGE))
        unaddressed = replace(message, rule=rules.MALFORMED_HEADER, expects=_TOOL)
        for state, end in ((typed, message), (f"{name} constrained", unaddressed)):
            words = (inside(word, state) for word in _TYPES)
            yield _header(state, (end, *transitions[1:], *words), into_junk, no_message)
    yield _header("others", (closing(MESSAGE, ROLE), *leaving))
    yield markup_state("marker", "turn_header", "text")


def _header(
    name: str, transitions: tuple[Transition, ...], other: Transition | None = None, otherwise: Transition | None = None
) -> State:
    """The state of a part of a header; `other` is the transition at what does not belong there, if that is known."""
    state = State(name, SpanKind.MARKUP, transitions, "turn_header")
    if other is None:
        return state
    return replace(state, unfinished=MESSAGE, other=r"\S", other_transition=other, otherwise=otherwise)


def _read_call(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A call of a user's tool belongs on the channel `commentary`."""
    reading = _CALL(closed)
    misplaced = _MISPLACED_CALL.match(closed.inner_text)
    if misplaced is None:
        return reading
    fault_range = Range(*misplaced.span("channel")).moved(closed.span.inner.start)
    message = f"A user's tool is called on the channel `{misplaced['channel']}`; such calls belong to `commentary`."
    hint = "Read calls on every channel: a server that reads only `commentary` loses this one."
    return replace(reading, faults=(Fault(MALFORMED_HEADER, fault_range, message, hint), *reading.faults))


def _write_calls(calls: Sequence[ToolCall]) -> str:
    """The text of a model after `<|start|>assistant`, with which its prompt ends; each call is a message."""
    return "<|start|>assistant".join(
        f"<|channel|>commentary to={'' if _BUILT_IN.fullmatch(call.name or '') else 'functions.'}{call.name} "
        f"<|constrain|>json<|message|>{json_of(call.arguments)}<|call|>"
        for call in calls
    )


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: its name must be valid in the header."""
    return call.id is None and _NAME.fullmatch(call.name or "") is not None and is_json_call(call)


HARMONY = dialect_format(
    _read_call,
    ReasoningReader(("to=functions.",)),
    name="harmony",
    summary="gpt-oss: channels, the recipient in a message's header",
    aliases=("gpt-oss", "gpt_oss", "openai-harmony"),
    models=("*gpt-oss*", "*gptoss*", "*llm-jp-4.1*"),
    signs=DetectionPatterns(
        calls={
            r"\bto=(?:functions\.)?[\w.\-]{1,80}[^{\n]{0,60}<\|message\|>": 0.97,
            r"<\|channel\|>(?:commentary|analysis) to=": 0.97,
            r"(?:\A|assistant)(?:commentary|analysis) to=functions\.": 0.9,
        },
        hints={r"<\|channel\|>(?:analysis|commentary|final)": 0.95, r"<\|start\|>(?:assistant|user|system)": 0.8},
    ),
    calls=(*_INVENTED, _NO_START, _IN_CONTENT),
    call_states=_states,
    reasoning=(),
    has_common_turns=False,
    turns=_TURNS,
    homes={**TOOL_TURN_HOMES, "assistant": "start", "model": "start"},
    tails={f"{START}assistant": "assistant", CHANNEL: "channel", f"{CHANNEL}analysis{MESSAGE}": "analysis"},
    read_results=_READ_RESULT,
    write_calls=_write_calls,
    expresses=_expresses,
    near_calls=((_OTHER_BARS, CHANNEL), (_STRIPPED, f"{START}assistant{CHANNEL}commentary")),
    builtin_tools=frozenset({"python", "browser.search", "browser.open", "browser.find", "container.exec"}),
)
