"""`pythonic`: `[f(a=1, b='x'), g()]`, calls in Python's syntax, as the whole reply or in Llama 4's tokens.

Sources: the Llama 3.2 and 4 prompt formats (meta-llama:llama-models), sglang:srt/function_call/pythonic_detector.py,
vllm:examples/tool_chat_template_llama4_pythonic.jinja, vllm:tests/tool_parsers/test_pythonic_tool_parser.py,
gorilla:bfcl_eval/constants/default_prompts.py.

A call has no opening marker, so the text decides where one begins. At the start of a reply, and after reasoning, a call
or a turn's header, these count: `[name(` before an argument's beginning, a bare `name(` before `argument=`, and
`name()` with nothing after it on its line. `print(x)`, `f(x) = x^2` and `[see](http://x)` do not. Later in a text only
`[name(` at the start of a line counts, before `argument=` or `)`, and nothing in a code fence, where prose quotes code.
A code fence at the reply's start that contains only such a list is a call in a fence, which servers do not read.
"""

import re
from collections.abc import Iterator, Sequence

from weaklink.inspector.formats.chat_turns import ROLE_HOMES, TURN_STATES, TURN_TRANSITIONS, last_words, markup_state
from weaklink.inspector.formats.dialect import (
    Enclosed,
    Transitions,
    call_end,
    dialect_table,
    enclosed_state,
    opening,
    table_parser,
)
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, write_call
from weaklink.inspector.formats.span_readers import BareCall, ReasoningReader, reader_table
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.segmenter.table import (
    ROLE,
    Lookahead,
    LookaheadPiece,
    MarkerSplit,
    OneOf,
    Repeat,
    State,
    Transition,
    Unless,
    unmarked,
)

_OPENER, _CLOSER = "<|python_start|>", "<|python_end|>"
_TAG = "<|python_tag|>"
_LETTER, _WORD = r"[^\W\d]", r"[\w.]"
_GAP = Repeat(r"[ \t\n]", 0, 40)
_NAME: tuple[LookaheadPiece, ...] = (Repeat(_LETTER, 1, 1), Repeat(_WORD, 0, 127))
_KEYWORD: tuple[LookaheadPiece, ...] = (
    Repeat(_LETTER, 1, 1),
    Repeat(r"\w", 0, 63),
    Repeat(" "),
    "=",
    Unless("="),
)
_EMPTY: tuple[LookaheadPiece, ...] = (")",)
_VALUE: tuple[LookaheadPiece, ...] = (Repeat(r"[\"'\d{\[-]", 1, 1),)
_LONGEST_NAME = 128
_LIST_PIECES: tuple[LookaheadPiece, ...] = (_GAP, *_NAME, "(", _GAP, OneOf(_KEYWORD, _EMPTY, _VALUE))
_LIST = Lookahead(*_LIST_PIECES)
_LIST_IN_FENCE = Lookahead("[", *_LIST_PIECES)
_LIST_IN_TEXT = Lookahead(_GAP, *_NAME, "(", _GAP, OneOf(_KEYWORD, _EMPTY))
_ALONE: tuple[LookaheadPiece, ...] = (")", Repeat("[ \t]"), Unless(r"[^\n,;<]"))
_BARE = Lookahead(*_NAME, "(", _GAP, OneOf(_KEYWORD, _ALONE))
_ANOTHER = Lookahead(_GAP, *_NAME, "(", _GAP, OneOf(_KEYWORD, _ALONE))
_FENCES = ("```python\n", "```py\n", "```tool_code\n", "```\n")
_BARE_CALLS = (BareCall(re.compile(r"(?<![\w\])])\[" + _LIST_IN_TEXT.expression), PYTHON),)
_ENDS = unmarked("call_end", MarkerSplit.NONE)

_TURNS = (
    *TURN_TRANSITIONS,
    *last_words("<eos>"),
    Transition("<|header_start|>", MarkerSplit.BEFORE, "llama4_header"),
    *(Transition(marker, MarkerSplit.BEFORE, "turn_end") for marker in ("<|eot|>", "<|eom|>")),
)
_TURN_STATES = (
    *TURN_STATES,
    markup_state(
        "llama4_header",
        "turn_header",
        ROLE,
        r"[^A-Za-z0-9_\- ]",
        (Transition("<|header_end|>", MarkerSplit.NONE, "llama_header_end"),),
    ),
)
_HOMES = {role: "start" if home == "text" else home for role, home in ROLE_HOMES.items()}

_PATTERNS = DetectionPatterns(
    calls={
        r"<\|python_start\|>": 0.95,
        r"\A\s*(?:<think>[\s\S]{0,20000}</think>\s*)?\[\s*[^\W\d][\w.]*\(\s*(?:\)|[^\W\d]\w*\s*=(?!=))": 0.85,
    },
    hints={
        r"\A\s*[^\W\d][\w.]*\(\s*[^\W\d]\w*\s*=(?!=)": 0.5,
        r"(?m)^\[[^\W\d][\w.]*\(\s*(?:\)|[^\W\d]\w*\s*=(?!=))": 0.4,
    },
)


def _call_states(transitions: Transitions) -> Iterator[State]:
    into_lists = {transition.marker for transition in transitions.calls if transition.target == "call"}
    marked = tuple(transition for transition in transitions.out_of_text if transition.marker not in into_lists)
    cut_off = tuple(transition for transition in transitions.out_of_call if transition.marker not in into_lists)
    in_fence = tuple(
        transition for transition in (*transitions.calls, *transitions.turns) if transition.marker not in into_lists
    )
    yield State(
        "start",
        SpanKind.TEXT,
        (
            *marked,
            Transition("[", MarkerSplit.BEFORE, "call", width=0, ahead=_LIST),
            *(Transition(fence, MarkerSplit.BEFORE, "fenced_call", width=0, ahead=_LIST_IN_FENCE) for fence in _FENCES),
            Transition("```", MarkerSplit.NONE, "fence"),
        ),
        other=r"\S",
        other_transition=Transition("(a bare call)", MarkerSplit.BEFORE, "call", width=0, ahead=_BARE),
        otherwise=unmarked("prose", MarkerSplit.NONE),
    )
    yield State("prose", SpanKind.TEXT, (*transitions.out_of_text, Transition("\n```", MarkerSplit.NONE, "fence")))
    yield State("fence", SpanKind.TEXT, (*in_fence, Transition("\n```", MarkerSplit.NONE, "prose")))
    yield State("call", SpanKind.TOOL_CALL, transitions.out_of_call, label="tool_call", payload=PYTHON, then=_ENDS)
    # Bare calls may follow each other.
    again = tuple(Transition(comma, MarkerSplit.BEFORE, "call", ahead=_ANOTHER) for comma in ",;")
    yield call_end("call_end", stops=r"[^\])}]", transitions=again)
    fence_ends = unmarked("fence_end", MarkerSplit.NONE)
    yield State("fenced_call", SpanKind.TOOL_CALL, cut_off, "fenced_call", payload=PYTHON, then=fence_ends)
    fence = Transition("```", MarkerSplit.NONE, "call_end")
    yield call_end("fence_end", stops=r"[^\])}\s]", transitions=(fence,), label="fenced_call")
    marks = Enclosed(_OPENER, _CLOSER)
    yield enclosed_state("tagged_call", SpanKind.TOOL_CALL, marks, cut_off, PYTHON)
    leaving = transitions.out_of_call
    yield State("python_tag", SpanKind.TOOL_CALL, leaving, "tool_call", _TAG, payload=PYTHON, then=_ENDS)


_TABLE = dialect_table(
    calls=(
        opening(_OPENER, "tagged_call"),
        opening(_TAG, "python_tag"),
        Transition("\n[", MarkerSplit.BEFORE, "call", lead=1, width=0, ahead=_LIST_IN_TEXT),
    ),
    call_states=_call_states,
    call_closers=(_CLOSER,),
    turns=_TURNS,
    turn_states=_TURN_STATES,
    homes=_HOMES,
    default_home="start",
)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(map(write_call, calls))}]"


def _expresses(call: ToolCall) -> bool:
    return is_python_call(call) and len(call.name or "") <= _LONGEST_NAME


PYTHONIC = Format(
    name="pythonic",
    summary="[f(a=1, b='x')]: calls in Python's syntax, bare or in Llama 4's tokens",
    aliases=("llama4_pythonic", "bfcl", "toolace"),
    models=(
        "*llama-4*",
        "*llama4*",
        "*llama-3.2-1b*",
        "*llama-3.2-3b*",
        "*toolace*",
        "*watt-tool*",
        "*gemma-3*",
        "*gemma3*",
    ),
    confidence=_PATTERNS,
    new_parser=table_parser(_TABLE),
    readers=reader_table(PythonCallReader(), ReasoningReader((_OPENER, _TAG), (_CLOSER,), bare=_BARE_CALLS)),
    write_calls=_write_calls,
    expresses=_expresses,
    calls_only=True,  # vllm:vllm/tool_parsers/pythonic_tool_parser.py matches its expression against the whole reply
)
