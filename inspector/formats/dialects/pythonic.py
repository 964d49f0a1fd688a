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
from collections.abc import Iterator

from weaklink.inspector.formats.chat_turns import last_words, markup_state, turn_ends
from weaklink.inspector.formats.dialect import (
    BARE_HOMES,
    Enclosed,
    Transitions,
    call_end,
    call_state,
    dialect_format,
    enclosed_state,
    inside,
    opening,
    text_state,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, write_call
from weaklink.inspector.formats.span_readers import BareCall, ReasoningReader
from weaklink.inspector.model import SpanKind
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
_KEYWORD: tuple[LookaheadPiece, ...] = (Repeat(_LETTER, 1, 1), Repeat(r"\w", 0, 63), Repeat(" "), "=", Unless("="))
_EMPTY: tuple[LookaheadPiece, ...] = (")",)
_VALUE: tuple[LookaheadPiece, ...] = (Repeat(r"[\"'\d{\[-]", 1, 1),)
_MAX_NAME_CHARS = 128
_LIST_PIECES: tuple[LookaheadPiece, ...] = (_GAP, *_NAME, "(", _GAP, OneOf(_KEYWORD, _EMPTY, _VALUE))
_LIST = Lookahead(*_LIST_PIECES)
_LIST_IN_FENCE = Lookahead("[", *_LIST_PIECES)
_LIST_IN_TEXT = Lookahead(_GAP, *_NAME, "(", _GAP, OneOf(_KEYWORD, _EMPTY))
_ALONE: tuple[LookaheadPiece, ...] = (")", Repeat("[ \t]"), Unless(r"[^\n,;<]"))
_BARE: tuple[LookaheadPiece, ...] = (*_NAME, "(", _GAP, OneOf(_KEYWORD, _ALONE))
_FENCES = ("```python\n", "```py\n", "```tool_code\n", "```\n")
_BARE_CALLS = (BareCall(re.compile(r"(?<![\w\])])\[" + _LIST_IN_TEXT.expression), PYTHON),)
_HEADER = opening("<|header_start|>", "llama4_header")
_HEADER_END = inside("<|header_end|>", "llama_header_end")
_HEADER_STATE = markup_state("llama4_header", "turn_header", ROLE, r"[^A-Za-z0-9_\- ]", (_HEADER_END,))

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
    fences = (Transition(fence, MarkerSplit.BEFORE, "fenced_call", width=0, ahead=_LIST_IN_FENCE) for fence in _FENCES)
    a_list = Transition("[", MarkerSplit.BEFORE, "call", width=0, ahead=_LIST)
    bare = Transition("(a bare call)", MarkerSplit.BEFORE, "call", width=0, ahead=Lookahead(*_BARE))
    leaving, prose = (*marked, a_list, *fences, inside("```", "fence")), unmarked("prose", MarkerSplit.NONE)
    yield text_state("start", leaving, bare, otherwise=prose)
    yield State("prose", SpanKind.TEXT, (*transitions.out_of_text, inside("\n```", "fence")))
    yield State("fence", SpanKind.TEXT, (*in_fence, inside("\n```", "prose")))
    yield call_state("call", transitions.out_of_call, payload=PYTHON, then="call_end")
    # Bare calls may follow each other.
    another = Lookahead(_GAP, *_BARE)
    again = tuple(Transition(comma, MarkerSplit.BEFORE, "call", ahead=another) for comma in ",;")
    yield call_end("call_end", stops=r"[^\])}]", transitions=again)
    yield call_state("fenced_call", cut_off, label="fenced_call", payload=PYTHON, then="fence_end")
    fence = inside("```", "call_end")
    yield call_end("fence_end", stops=r"[^\])}\s]", transitions=(fence,), label="fenced_call")
    yield enclosed_state("tagged_call", SpanKind.TOOL_CALL, Enclosed(_OPENER, _CLOSER), cut_off, PYTHON)
    yield call_state("python_tag", transitions.out_of_call, _TAG, payload=PYTHON, then="call_end")


PYTHONIC = dialect_format(
    PythonCallReader(),
    ReasoningReader((_OPENER, _TAG), (_CLOSER,), bare=_BARE_CALLS),
    name="pythonic",
    summary="[f(a=1, b='x')]: calls in Python's syntax, bare or in Llama 4's tokens",
    aliases=("llama4_pythonic", "bfcl", "toolace"),
    models=(
        *("*llama-4*", "*llama4*", "*llama-3.2-1b*", "*llama-3.2-3b*", "*toolace*", "*watt-tool*", "*gemma-3*"),
        "*gemma3*",
    ),
    signs=_PATTERNS,
    calls=(
        opening(_OPENER, "tagged_call"),
        opening(_TAG, "python_tag"),
        Transition("\n[", MarkerSplit.BEFORE, "call", lead=1, width=0, ahead=_LIST_IN_TEXT),
    ),
    call_states=_call_states,
    call_closers=(_CLOSER,),
    turns=(*last_words("<eos>"), _HEADER, *turn_ends("<|eot|>", "<|eom|>")),
    turn_states=(_HEADER_STATE,),
    homes=BARE_HOMES,
    default_home="start",
    write_calls=lambda calls: f"[{', '.join(map(write_call, calls))}]",
    expresses=lambda call: is_python_call(call) and len(call.name or "") <= _MAX_NAME_CHARS,
    calls_only=True,  # vllm:vllm/tool_parsers/pythonic_tool_parser.py matches its expression against the whole reply
)
