r"""The markers of all versions of functionary as one table.

Sources: MeetKai/functionary:tests/prompt_test_{v1,v2,v2.llama3,v3.llama3,v3-llama3.1}.txt and
functionary/prompt_template/*.py, llama.cpp:tests/test-chat.cpp (functionary v3.1 and v3.2). All versions share one
table, since their markers are distinct; what the prompt opened, or else the first characters, decide where it begins.
"""

from collections.abc import Iterator
from string import ascii_letters

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import TOOL_TURN_HOMES, Ways, dialect_table, opening, tool_turn
from inspector.model import SpanKind
from inspector.rules import markers as rules
from inspector.segmenter.ahead import Ahead, Piece, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import ROLE, Cut, State, Transition

ARROWS, TOKEN, FUNCTION, V1_CALL = ">>>", "<|reserved_special_token_249|>", "<function=", "<|START_OF_FUNCTION_CALL|>"
FUNCTION_END, V1_CALL_END, V1_RESULT_END = "</function>", "<|END_OF_FUNCTION_CALL|>", "<|END_OF_FUNCTION_RESULT|>"
PYTHON_TAG, FROM, CONTENT = "<|python_tag|>", "<|from|>", "<|content|>"
_RECIPIENT = "<|from|>assistant\n<|recipient|>"
_NAME = (Repeat("[A-Za-z_]", 1, 1), Repeat(r"[A-Za-z0-9_.\-]", 0, 63))
_OTHERS = ("user", "system")
_HEADS_V1 = tuple(Transition(role, Cut.BEFORE, "v1 role", width=0) for role in ("user:\n", "system:\n", "assistant:\n"))
_ENDS_V1 = ("<|END_OF_SYSTEM|>", "<|END_OF_USER|>", "<|END_OF_ASSISTANT|>")
_CALL_HEADERS = (
    ("call", ("\n", CONTENT, f"\n{CONTENT}"), ""),
    ("function", (">",), FUNCTION_END),
    ("v1", (":",), V1_CALL_END),
)
"""Each kind of call: its name in the states, the markers that end its header, its closing marker."""
_ALL_OR_NAME = "`all` or a tool's name, and a line's end behind it,"


def _named(marker: str, target: str, *behind: Piece) -> Transition:
    """The way into a call by a marker that a tool's name and `behind` must follow."""
    return Transition(marker, Cut.BEFORE, target, ahead=Ahead(*_NAME, *behind))


def _bare_names(target: str, *behind: Piece) -> Iterator[Transition]:
    """The ways into a call by the tool's name alone: one for each character that a name may begin with."""
    for first in (*ascii_letters, "_"):
        ahead = Ahead(Repeat(r"[A-Za-z0-9_.\-]", 0, 63), *behind)
        yield Transition(first, Cut.BEFORE, target, width=0, ahead=ahead)


_TURNS = (
    *TURN_TRANSITIONS,
    *(opening(f"{line}{_RECIPIENT}", "sent") for line in ("\n", "")),
    *(
        Transition(f"{line}{FROM}{role}\n", Cut.BEFORE, "sent by others", width=len(f"{line}{FROM}"))
        for role in _OTHERS
        for line in ("\n", "")
    ),
    opening("<|stop|>", "stopped"),
    *(opening(end, "stopped") for end in _ENDS_V1),
)
_BARE_CODE = Transition("python\n", Cut.BEFORE, "code", width=0)
_CALLS = (
    *(Transition(f"{marker}python\n", Cut.BEFORE, "code", width=len(marker)) for marker in (ARROWS, TOKEN)),
    opening(f"{ARROWS}all\n", "text"),
    _named(ARROWS, "call header", "\n"),
    opening(TOKEN, "call header"),
    _named(FUNCTION, "function header", ">"),
    opening(V1_CALL, "v1 header"),
    opening(PYTHON_TAG, "code"),
)
_RESULTS = (
    Transition(f"\n{FROM}", Cut.BEFORE, "result", lead=1, ahead=Ahead(*_NAME, "\n<|recipient|>all\n")),
    _named(FROM, "result", "\n<|recipient|>all\n"),
    Transition("\nfunction name=", Cut.BEFORE, "v1 result", lead=1, ahead=Ahead(*_NAME, ":\n")),
)
_INVENTED = tuple(
    Transition(way.marker, way.cut, way.target, rules.INVENTED_RESULT, lead=way.lead, ahead=way.ahead)
    for way in _RESULTS
)
_TO_TEXT = Transition("(anything else)", Cut.BEFORE, "text", width=0)


def _call_states(ways: Ways) -> Iterator[State]:
    yield from _first_states(ways)
    cuts = (*ways.calls, *ways.turns)
    for name, ends, closer in _CALL_HEADERS:
        into = (Transition(end, Cut.NOWHERE, f"{name} arguments") for end in ends)
        bare = Transition("{", Cut.NOWHERE, f"{name} arguments", width=0)
        close = (Transition(closer, Cut.AFTER, "text"),) if closer else ()
        yield State(
            f"{name} header", SpanKind.TOOL_CALL, (*into, bare, *close, *cuts), label="tool_call", closer=closer
        )
    yield State(
        "call arguments",
        SpanKind.TOOL_CALL,
        cuts,
        label="tool_call",
        payload=JSON,
        then=Transition("(end of the object)", Cut.NOWHERE, "call end", width=0),
    )
    # White space, a bracket too many and a second object still belong to the call.
    yield State(
        "call end",
        SpanKind.TOOL_CALL,
        (*cuts, Transition("{", Cut.NOWHERE, "call arguments", width=0)),
        label="tool_call",
        other=r"[^\s\]}]",
        other_goes=_TO_TEXT,
    )
    for name, closer in (("function arguments", FUNCTION_END), ("v1 arguments", V1_CALL_END)):
        yield State(
            name,
            SpanKind.TOOL_CALL,
            (Transition(closer, Cut.AFTER, "v1 called" if closer == V1_CALL_END else "text"), *cuts),
            label="tool_call",
            closer=closer,
            payload=JSON,
        )
    yield State("code", SpanKind.TOOL_CALL, cuts, label="code")
    yield from _result_states(ways)


def _first_states(ways: Ways) -> Iterator[State]:
    """The states of a reply's beginning: with nothing known, behind `>>>`, behind `<|recipient|>`."""
    alls = (opening(f"all\n{CONTENT}", "text"), opening("all\n", "text"))
    named = (*_bare_names("call header", ("\n{", "\n<|content|>")), _BARE_CODE)
    missing = Transition("(anything else)", Cut.NOWHERE, "text", rules.MALFORMED_HEADER, width=0, expects=_ALL_OR_NAME)
    yield State(
        "start",
        SpanKind.TEXT,
        (*alls, *named, *_HEADS_V1, *ways.out_of_text),
        other=r"\S",
        other_goes=Transition("(anything else)", Cut.NOWHERE, "text", width=0),
    )
    named = (*_bare_names("call header", "\n"), _BARE_CODE)
    yield State("recipient", SpanKind.TEXT, (*alls, *named, *ways.out_of_text), other=r"\S", other_goes=missing)
    named = (*_bare_names("call header", ("\n", "<|content|>")), _BARE_CODE)
    sent = Transition("(anything else)", Cut.BEFORE, "text", rules.MALFORMED_HEADER, width=0, expects=_ALL_OR_NAME)
    yield State(
        "sent",
        SpanKind.MARKUP,
        (*alls, *named, *ways.turns),
        label="turn_header",
        other=r"[\s\S]",
        other_goes=sent,
    )


def _result_states(ways: Ways) -> Iterator[State]:
    bare = Transition("function name=", Cut.BEFORE, "v1 result", ahead=Ahead(*_NAME, ":\n"))
    yield tool_turn((*_RESULTS[:2], bare), ways.turns)
    turns = (*_RESULTS, *ways.turns)
    yield State("result", SpanKind.TOOL_RESULT, turns, label="tool_response", opener=FROM)
    yield State(
        "v1 result",
        SpanKind.TOOL_RESULT,
        (Transition(V1_RESULT_END, Cut.AFTER, "v1 called"), *ways.turns),
        label="tool_response",
        opener="function name=",
        closer=V1_RESULT_END,
    )
    yield State("v1 role", SpanKind.MARKUP, (Transition(":\n", Cut.AFTER, ROLE),), label="turn_header")
    result = Transition("function name=", Cut.BEFORE, "v1 result", ahead=Ahead(*_NAME, ":\n"))
    yield State(
        "v1 called",
        SpanKind.MARKUP,
        (result, *_HEADS_V1, *ways.turns),
        label="turn_end",
        other=r"\S",
        other_goes=_TO_TEXT,
    )
    yield State(
        "stopped",
        SpanKind.MARKUP,
        (*_RESULTS[:2], result, *_HEADS_V1, *ways.turns),
        label="turn_end",
        other=r"\S",
        other_goes=_TO_TEXT,
    )
    yield State("sent by others", SpanKind.MARKUP, (Transition(CONTENT, Cut.AFTER, ROLE), *ways.turns), "turn_header")


FUNCTIONARY_TABLE = dialect_table(
    calls=(*_CALLS, *_INVENTED),
    call_states=_call_states,
    call_closers=(FUNCTION_END, V1_CALL_END, V1_RESULT_END),
    turns=_TURNS,
    turn_states=TURN_STATES,
    homes={**TOOL_TURN_HOMES, "assistant": "start", "model": "start"},
    tails={ARROWS: "recipient", "<|recipient|>": "sent", "\nassistant:": "text"},
)
