"""`llama3`: the whole reply is a JSON object with `name` and `parameters` (Llama 3.1, 3.2, 3.3).

A call is bare JSON, so it is recognized by its first keys. `<|python_tag|>` may come before it, before a built-in call
such as `brave_search.call(query="...")`, or before code for the interpreter; several calls are joined by `;`. Results
are in turns of the role `ipython`.
Sources: Meta's prompt format for Llama 3.1 and 3.2, llama.cpp:models/templates/meta-llama-Llama-3.1-8B-Instruct.jinja,
vllm:tests/tool_parsers/test_llama3_json_tool_parser.py, MeetKai/functionary:tests/prompt_test_v3-llama3.1.txt.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import HEADER_END, markup_state
from weaklink.inspector.formats.dialect import (
    Transitions,
    call_end,
    call_state,
    closing,
    dialect_format,
    inside,
    opening,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import CALLS_WITHOUT_NAME, CallKeys, call_object, is_json_call
from weaklink.inspector.formats.json.calls import JsonCallReader
from weaklink.inspector.formats.json.named_calls import LooseHeader, NamedCallReader
from weaklink.inspector.formats.python.calls import read_calls
from weaklink.inspector.formats.python.follower import PythonTracker
from weaklink.inspector.formats.python.writing import is_python_code
from weaklink.inspector.formats.span_readers import BareCall, ReasoningReader
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules.json_syntax import NOT_A_CALL, TRUNCATED_JSON
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import (
    HOME,
    SECTION,
    Lookahead,
    MarkerSplit,
    OneOf,
    Repeat,
    State,
    Transition,
    unmarked,
)
from weaklink.inspector.text import Range

TAG = "<|python_tag|>"
FUNCTION = "<function="
FUNCTION_CLOSER = "</function>"
_SPACE = Repeat(r"\s", 0, 16)
_KEYS = ("parameters", "arguments")
_COLON = (_SPACE, ":", _SPACE)
_COMMA = (_SPACE, ",", _SPACE)
_JSON = JsonCallReader(CallKeys(arguments="parameters"))

_FUNCTION = NamedCallReader(
    header=re.compile(r"(?P<name>[A-Za-z0-9_.\-]++)>"),
    expected="`<function=NAME>`, then the arguments",
    loose=(LooseHeader(re.compile(r"(?P<name>[A-Za-z0-9_.\-]++)(?=\{)"), "it lacks `>`"),),
)

_BUILT_IN = re.compile(r"\s*(?P<name>[A-Za-z_]\w{0,63})\.call\(\s*(?P<key>[A-Za-z_]\w{0,63})\s*=\s*")
_BUILT_IN_BEGINS = re.compile(r"[A-Za-z_]\w{0,63}\.call\(")
_BUILT_IN_TOOLS = ("brave_search", "wolfram_alpha")

# A built-in call that the end of the text cuts off before its first value.
_CUT_HEADER = re.compile(
    rf"""
      (?P<name> {"|".join(_BUILT_IN_TOOLS)} ) (?: \. (?: c (?: a (?: ll? )? )? )? )?    # brave_search.ca
    | (?P<other> [A-Za-z_]\w{{0,63}} ) \.call\( \s* (?: [A-Za-z_]\w{{0,63}} \s* )?      # brave_search.call(que
    """,
    re.VERBOSE,
)

_SUFFIX = ".call"

# An object, or an array of objects; a list comprehension is code.
_HOLDS_JSON = re.compile(r"\[?\s{0,16}\{")

_NO_CODE = (
    f"What follows `{TAG}` is neither a call nor valid Python code: an interpreter rejects it, and a server reads it "
    "as one of the two."
)

CODE_TOOL = "code_interpreter"
"""The tool name that is reported for code for the interpreter: the wire has none."""

_QUOTED, _APOSTROPHES = tuple(f'"{key}"' for key in _KEYS), tuple(f"'{key}'" for key in _KEYS)

_FIRST_KEYS = (
    _SPACE,
    OneOf(
        ('"name"', *_COLON, '"', Repeat(r'[^"\\\n]', 1, 96), '"', *_COMMA, _QUOTED),
        ("'name'", *_COLON, "'", Repeat(r"[^'\\\n]", 1, 96), "'", *_COMMA, _APOSTROPHES),
        ('"type"', *_COLON, '"function"', *_COMMA, ('"name"', '"function"')),
        (_QUOTED, *_COLON, "{"),
    ),
)

CALL_BEGINS = Lookahead(*_FIRST_KEYS)
"""What follows the brace of a call; `{"name": "Alice"}` alone is text."""


def _states(transitions: Transitions) -> Iterator[State]:
    # Calls joined by `;` are separate spans, with the separator between them as markup.
    others = tuple(transition for transition in transitions.out_of_call if transition.marker != "{")
    next_call = replace(opening(";", "separator"), ahead=Lookahead(_SPACE, "{", *_FIRST_KEYS))
    yield call_state("call", (next_call, *others), payload=JSON, then="call end")
    yield call_end("call end", transitions=(opening(";", "separator"),))
    yield markup_state("separator", SECTION, HOME, r"[^;\s]")
    tagged = inside("{", "call", width=0, ahead=CALL_BEGINS)
    after_tag = (transition for transition in others if transition.marker != FUNCTION)
    tag = call_state("tag", (tagged, *after_tag), TAG)
    yield replace(tag, other=r"\S", other_transition=unmarked("code", MarkerSplit.NONE))
    yield call_state("code", transitions.turns, TAG, label="code")
    marks, leaving = (FUNCTION, FUNCTION_CLOSER), (closing(FUNCTION_CLOSER), *others)
    yield call_state("function", (inside("{", "function arguments", width=0), *leaving), *marks, label="function")
    yield call_state("function arguments", leaving, *marks, label="function", payload=JSON)


_BARE = (BareCall(re.compile(r"\{" + CALL_BEGINS.expression), JSON),)


def _read_calls(closed: SpanClosed) -> ParseResult:
    """See SpanReader."""
    match closed.span.label:
        case "function":
            return _FUNCTION(closed)
        case "code":
            return _code(closed)
    return _JSON(closed)


def _code(closed: SpanClosed) -> ParseResult:
    """Read a built-in call with one argument, or code, which is kept as it is and never run.

    A call that the text's end cuts off is not code: a JSON call before its second key, a built-in one before its
    closing bracket.
    """
    text, start = closed.inner_text, closed.span.inner.start
    content = text.strip()
    if _HOLDS_JSON.match(content):
        return _JSON(closed)
    first = text.index(content)
    whole = Range(first, first + len(content)).moved(start)
    name_range = _name_of_cut(text, first)
    if name_range is not None:
        name = name_range.of(text)
        call = ToolCall(name, content, content, valid=False, range=whole, name_range=name_range.moved(start))
        message = f"The call of `{name}` ends before it is complete; `)` is missing at the end."
        fault = Fault(TRUNCATED_JSON, Range(whole.end - 1, whole.end), message)
        return ParseResult(calls=(call,), faults=(fault,))
    if _BUILT_IN_BEGINS.match(content) and content.endswith(")"):
        result = read_calls(content, whole.start)
        return replace(result, calls=tuple(map(_without_suffix, result.calls)), open_ended=False)
    is_code = is_python_code(content)
    call = ToolCall(CODE_TOOL, content, content, valid=is_code, range=whole, arguments_range=whole)
    return ParseResult(calls=(call,), faults=() if is_code else (Fault(NOT_A_CALL, whole, _NO_CODE),), complete=is_code)


def _name_of_cut(text: str, first: int) -> Range | None:
    """The tool's name in a built-in call without its closing bracket; None if the text is anything else."""
    header = _CUT_HEADER.fullmatch(text.rstrip(), first)
    if header is not None:
        return Range(*header.span("name" if header["name"] else "other"))
    built_in = _BUILT_IN.match(text)
    if built_in is None:
        return None
    tracker = PythonTracker()
    tracker.feed(text, text.index("(", built_in.end("name")))
    return None if tracker.completed or tracker.broken else Range(*built_in.span("name"))


def _without_suffix(call: ToolCall) -> ToolCall:
    """A built-in call, named by the tool's name without `.call`."""
    name, name_range = call.name, call.name_range
    if name is None or name_range is None or not name.endswith(_SUFFIX):
        return call
    name_range = Range(name_range.start, name_range.end - len(_SUFFIX))
    return replace(call, name=name.removesuffix(_SUFFIX), name_range=name_range)


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: the lookahead for a call limits the length of its name."""
    name = call.name or ""
    return call.id is None and is_json_call(call) and len(name) <= 96 and not re.search(r'["\\\x00-\x1f]', name)


LLAMA3 = dialect_format(
    _read_calls,
    ReasoningReader((TAG, FUNCTION), bare=_BARE),
    name="llama3",
    summary='bare JSON {"name", "parameters"}, <|python_tag|> for built-in tools',
    aliases=("llama", "llama3_json", "llama3.1", "llama31"),
    models=("*llama-3*", "*llama3*", "*llama-guard*", "*llama*"),
    signs=DetectionPatterns(
        calls={
            r"<\|python_tag\|>": 0.9,
            r'\{\s*"name"\s*:\s*"[^"\\\n]{1,96}"\s*,\s*"parameters"\s*:\s*\{': 0.7,
        },
        hints={r"<\|eom_id\|>": 0.7, r"<\|start_header_id\|>": 0.4, r"<\|eot_id\|>": 0.4},
    ),
    calls=(
        Transition("{", MarkerSplit.BEFORE, "call", width=0, ahead=CALL_BEGINS),
        opening(TAG, "tag"),
        Transition(
            FUNCTION, MarkerSplit.BEFORE, "function", ahead=Lookahead(Repeat(r"[A-Za-z0-9_.\-]", 1, 64), (">", "{"))
        ),
    ),
    call_states=_states,
    call_closers=(FUNCTION_CLOSER,),
    special_tokens=("<|begin_of_text|>", HEADER_END),
    write_calls=lambda calls: "; ".join(call_object(call, key="parameters") for call in calls),
    near_calls=CALLS_WITHOUT_NAME,
    expresses=_expresses,
    builtin_tools=frozenset({CODE_TOOL, *_BUILT_IN_TOOLS}),
    calls_only=True,
)
