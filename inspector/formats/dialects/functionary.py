"""`functionary`: the recipient before the content, `>>>all` or `>>>f`, and the spellings of its versions.

Sources: MeetKai/functionary:tests/prompt_test_{v1,v2,v2.llama3,v3.llama3,v3-llama3.1}.txt and
functionary/prompt_template/*.py, llama.cpp:tests/test-chat.cpp (functionary v3.1 and v3.2). All versions share one
table, since their markers are distinct; the end of the prompt, or else the first characters, decide the first state.
"""

import re
from collections.abc import Iterator
from string import ascii_letters

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import (
    TOOL_TURN_HOMES,
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
    text_state,
    tool_turn,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_json_call, json_of
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader
from weaklink.inspector.formats.python.writing import is_python_code
from weaklink.inspector.formats.span_readers import HeadedResultReader, ReasoningReader, read_result
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import markers as rules
from weaklink.inspector.rules.json_syntax import NOT_A_CALL
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import (
    ROLE,
    Lookahead,
    LookaheadPiece,
    MarkerSplit,
    Repeat,
    State,
    Transition,
    unmarked,
)
from weaklink.inspector.text import Range

ARROWS, TOKEN, FUNCTION, V1_CALL = ">>>", "<|reserved_special_token_249|>", "<function=", "<|START_OF_FUNCTION_CALL|>"
FUNCTION_END, V1_CALL_END, V1_RESULT_END = "</function>", "<|END_OF_FUNCTION_CALL|>", "<|END_OF_FUNCTION_RESULT|>"
PYTHON_TAG, FROM, CONTENT = "<|python_tag|>", "<|from|>", "<|content|>"
_NO_CODE = f"What follows `{PYTHON_TAG}` is not valid Python code: an interpreter rejects it."
_RECIPIENT = "<|from|>assistant\n<|recipient|>"
_NAME_FUNCTIONARY_TABLE = (Repeat("[A-Za-z_]", 1, 1), Repeat(r"[A-Za-z0-9_.\-]", 0, 63))
_OTHERS = ("user", "system")
_ENDS_V1 = ("<|END_OF_SYSTEM|>", "<|END_OF_USER|>", "<|END_OF_ASSISTANT|>")

_CALL_HEADERS = (
    ("call", ("\n", CONTENT, f"\n{CONTENT}"), ""),
    ("function", (">",), FUNCTION_END),
    ("v1", (":",), V1_CALL_END),
)
"""Each kind of call: its prefix in state names, the markers that end its header, its closing marker."""

_ALL_OR_NAME = "`all` or a tool's name, and a line's end after it,"
_BARE_CODE = Transition("python\n", MarkerSplit.BEFORE, "code", width=0)
_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}"
_CODE_TOOL = "python"

_CALL = NamedCallReader(
    header=lazy_pattern(rf"(?P<name>{_NAME})(?:\n<\|content\|>|\n|>|:[ \n]?)"),
    expected="a tool's name, then its arguments",
    loose=(
        LooseHeader(
            lazy_pattern(rf"\s*(?P<name>{_NAME})(?:<\|content\|>|\s*(?=\{{))"),
            "it lacks the line's end after the name",
        ),
    ),
    code=frozenset({_CODE_TOOL}),
)

_HEADED_RESULT = HeadedResultReader(
    lazy_pattern(rf"(?:name=)?(?P<name>{_NAME})(?:\n<\|recipient\|>all\n<\|content\|>|:\n|\n)")
)

_ROLES_V1 = ("user:\n", "system:\n", "assistant:\n")
_HEADS_V1 = tuple(Transition(role, MarkerSplit.BEFORE, "v1 role", width=0) for role in _ROLES_V1)


def _named(marker: str, target: str, *after: LookaheadPiece) -> Transition:
    """The transition into a call by a marker that a tool's name and `after` must follow."""
    return Transition(marker, MarkerSplit.BEFORE, target, ahead=Lookahead(*_NAME_FUNCTIONARY_TABLE, *after))


def _bare_names(target: str, *after: LookaheadPiece) -> Iterator[Transition]:
    """The transitions into a call by the tool's name alone: one for each character that a name may begin with."""
    for first in (*ascii_letters, "_"):
        ahead = Lookahead(Repeat(r"[A-Za-z0-9_.\-]", 0, 63), *after)
        yield Transition(first, MarkerSplit.BEFORE, target, width=0, ahead=ahead)


_TURNS = (
    *(opening(f"{line}{_RECIPIENT}", "sent") for line in ("\n", "")),
    *(
        Transition(f"{line}{FROM}{role}\n", MarkerSplit.BEFORE, "sent by others", width=len(f"{line}{FROM}"))
        for role in _OTHERS
        for line in ("\n", "")
    ),
    opening("<|stop|>", "stopped"),
    *(opening(end, "stopped") for end in _ENDS_V1),
)

_RECIPIENT_AGAIN = opener_again(ARROWS, *_NAME_FUNCTIONARY_TABLE, expects="a line's end after the tool's name")
_CALLS = (
    *(Transition(f"{marker}python\n", MarkerSplit.BEFORE, "code", width=len(marker)) for marker in (ARROWS, TOKEN)),
    opening(f"{ARROWS}all\n", "text"),
    replace(_named(ARROWS, "call header", "\n"), otherwise=_RECIPIENT_AGAIN),
    opening(TOKEN, "call header"),
    _named(FUNCTION, "function header", ">"),
    opening(V1_CALL, "v1 header"),
    opening(PYTHON_TAG, "code"),
)

_RESULTS = (
    replace(_named(f"\n{FROM}", "result", "\n<|recipient|>all\n"), lead=1),
    _named(FROM, "result", "\n<|recipient|>all\n"),
    replace(_named("\nfunction name=", "v1 result", ":\n"), lead=1),
)
_INVENTED = tuple(replace(transition, rule=rules.INVENTED_RESULT) for transition in _RESULTS)


def _call_states(transitions: Transitions) -> Iterator[State]:
    yield from _first_states(transitions)
    cuts = (*transitions.calls, *transitions.turns)
    for name, ends, closer in _CALL_HEADERS:
        into = (inside(end, f"{name} arguments") for end in ends)
        bare = inside("{", f"{name} arguments", width=0)
        close = (closing(closer, "text"),) if closer else ()
        yield call_state(f"{name} header", (*into, bare, *close, *cuts), closer=closer)
    yield call_state("call arguments", cuts, payload=JSON, then="call end")
    # White space and a second object belong to the call too.
    yield call_end("call end", "text", r"[^\s\]}]", (*cuts, inside("{", "call arguments", width=0)))
    for name, closer in (("function arguments", FUNCTION_END), ("v1 arguments", V1_CALL_END)):
        end = closing(closer, "v1 called" if closer == V1_CALL_END else "text")
        yield call_state(name, (end, *cuts), closer=closer, payload=JSON)
    yield call_state("code", cuts, label="code")
    yield from _result_states(transitions)


def _first_states(transitions: Transitions) -> Iterator[State]:
    """The states at a reply's beginning: with an unknown prompt, after `>>>`, after `<|recipient|>`."""
    alls = (opening(f"all\n{CONTENT}", "text"), opening("all\n", "text"))
    named = (*_bare_names("call header", ("\n{", "\n<|content|>")), _BARE_CODE)
    missing = replace(unmarked("text"), rule=rules.MALFORMED_HEADER, expects=_ALL_OR_NAME)
    leaving = (*alls, *named, *_HEADS_V1, *transitions.out_of_text)
    yield text_state("start", leaving, unmarked("text", MarkerSplit.NONE))
    leaving = (*alls, *_bare_names("call header", "\n"), _BARE_CODE, *transitions.out_of_text)
    yield text_state("recipient", leaving, replace(missing, cut=MarkerSplit.NONE))
    named = (*_bare_names("call header", ("\n", "<|content|>")), _BARE_CODE)
    yield replace(
        markup_state("sent", "turn_header", "text", transitions=(*alls, *named, *transitions.turns)),
        other_transition=missing,
        unfinished=CONTENT,
    )


def _result_states(transitions: Transitions) -> Iterator[State]:
    result = _named("function name=", "v1 result", ":\n")
    yield tool_turn((*_RESULTS[:2], result), transitions.turns)
    turns = (*_RESULTS, *transitions.turns)
    yield State("result", SpanKind.TOOL_RESULT, turns, label="tool_response", opener=FROM)
    marks = Enclosed("function name=", V1_RESULT_END)
    yield enclosed_state("v1 result", SpanKind.TOOL_RESULT, marks, transitions.turns, target="v1 called")
    yield State("v1 role", SpanKind.MARKUP, (closing(":\n", ROLE),), label="turn_header")
    leaving = (result, *_HEADS_V1, *transitions.turns)
    yield markup_state("v1 called", "turn_end", "text", r"\S", leaving)
    yield markup_state("stopped", "turn_end", "text", r"\S", (*_RESULTS[:2], *leaving))
    yield State("sent by others", SpanKind.MARKUP, (closing(CONTENT, ROLE), *transitions.turns), "turn_header")


def _read_call(closed: SpanClosed) -> ParseResult:
    """See SpanReader. After `<|python_tag|>` there is no header, only code."""
    text, span = closed.inner_text, closed.span
    is_headed = _CALL.header.match(text) and text.startswith(f"{_CODE_TOOL}\n")
    if span.label != "code" or is_headed or not text.strip():
        return _CALL(closed)
    is_code = is_python_code(text.strip())
    call = ToolCall(_CODE_TOOL, text, text, valid=is_code, range=span.inner, arguments_range=span.inner)
    no_code = Fault(NOT_A_CALL, Range(0, len(text)).stripped(text).moved(span.inner.start), _NO_CODE)
    return ParseResult(calls=(call,), faults=() if is_code else (no_code,), complete=is_code)


def _read_result(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A result's header has the name of the tool."""
    is_headed = closed.span.label != "bare" or closed.inner_text.lstrip().startswith("name=")
    return (_HEADED_RESULT if is_headed else read_result)(closed)


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: its name must be valid in the header, and not `all`."""
    named = re.fullmatch(_NAME, call.name or "") is not None and call.name != "all"
    return named and call.id is None and is_json_call(call)


FUNCTIONARY = dialect_format(
    _read_call,
    ReasoningReader((">>>", "<function=", "<|reserved_special_token_249|>"), ("</function>",)),
    name="functionary",
    summary=">>>recipient before the content (v3); v1, v2, v2.llama3 and v3.1 too",
    aliases=("functionary_v1", "functionary_v2", "functionary_v3", "functionary_v3.1", "functionary_v3.2"),
    models=("*functionary*",),
    signs=DetectionPatterns(
        calls={
            rf">>>(?:all|{_NAME}\n\s*\{{)": 0.85,
            rf"(?:<\|recipient\|>|\A){_NAME}\n<\|content\|>": 0.95,
            r"<\|reserved_special_token_249\|>": 0.95,
            r"<\|START_OF_FUNCTION_CALL\|>": 0.95,
            rf"<function={_NAME}>\s*\{{": 0.8,
        },
        hints={r"\A(?:all\n|[A-Za-z_]\w{0,63}\n\{)": 0.4},
    ),
    calls=(*_CALLS, *_INVENTED),
    call_states=_call_states,
    call_closers=(FUNCTION_END, V1_CALL_END, V1_RESULT_END),
    turns=_TURNS,
    homes={**TOOL_TURN_HOMES, "assistant": "start", "model": "start"},
    tails={ARROWS: "recipient", "<|recipient|>": "sent", "\nassistant:": "text"},
    read_results=_read_result,
    write_calls=lambda calls: "".join(f"{ARROWS}{call.name}\n{json_of(call.arguments)}" for call in calls),
    near_calls=(
        (lazy_pattern(r"(?:>>[ \t]?>?|>[ \t]>>?)(?:[A-Za-z_][\w.-]{0,63})(?=\n\{)"), ">>>NAME"),
        (lazy_pattern(r"</?functions?[ :_=\"'][^<>\n]{0,64}>(?=\{)"), "<function=NAME>"),
    ),
    expresses=_expresses,
    builtin_tools=frozenset({_CODE_TOOL}),
)
