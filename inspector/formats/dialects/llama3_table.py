"""The markers of the Llama 3 dialect as a table: a call is bare JSON, so it is known by its first keys.

Sources: llama.cpp:models/templates/meta-llama-Llama-3.1-8B-Instruct.jinja, Meta's prompt format for Llama 3.1 and 3.2,
vllm:tests/tool_parsers/test_llama3_json_tool_parser.py.
"""

from collections.abc import Iterator

from inspector.formats.chat_turns import HEADER_END
from inspector.formats.dialect import Ways, dialect_table, opening
from inspector.model import SpanKind
from inspector.segmenter.ahead import Ahead, OneOf, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Transition

TAG = "<|python_tag|>"
FUNCTION = "<function="
FUNCTION_CLOSER = "</function>"
_SPACE = Repeat(r"\s", 0, 16)
_KEYS = ("parameters", "arguments")
_QUOTED, _APOSTROPHES = tuple(f'"{key}"' for key in _KEYS), tuple(f"'{key}'" for key in _KEYS)
_COLON = (_SPACE, ":", _SPACE)
_COMMA = (_SPACE, ",", _SPACE)
_FIRST_KEYS = (
    _SPACE,
    OneOf(
        ('"name"', *_COLON, '"', Repeat(r'[^"\\\n]', 1, 96), '"', *_COMMA, _QUOTED),
        ("'name'", *_COLON, "'", Repeat(r"[^'\\\n]", 1, 96), "'", *_COMMA, _APOSTROPHES),
        ('"type"', *_COLON, '"function"', *_COMMA, ('"name"', '"function"')),
        (_QUOTED, *_COLON, "{"),
    ),
)
CALL_BEGINS = Ahead(*_FIRST_KEYS)
"""What follows the brace of a call; `{"name": "Alice"}` alone is text."""


def _states(ways: Ways) -> Iterator[State]:
    leaving = ways.out_of_call
    value_ends = Transition("(end of the value)", Cut.NOWHERE, "call end", width=0)
    home = Transition("(anything else)", Cut.BEFORE, HOME, width=0)
    others = tuple(way for way in leaving if way.marker != "{")
    next_call = Transition(";", Cut.BEFORE, "separator", ahead=Ahead(_SPACE, "{", *_FIRST_KEYS))
    yield State("call", SpanKind.TOOL_CALL, (next_call, *others), "tool_call", payload=JSON, then=value_ends)
    # A bracket too many still belongs to the call that it breaks.
    yield State(
        "call end",
        SpanKind.TOOL_CALL,
        (Transition(";", Cut.BEFORE, "separator"),),
        "tool_call",
        other=r"[^\]}]",
        other_goes=home,
    )
    yield State("separator", SpanKind.MARKUP, (), "section", other=r"[^;\s]", other_goes=home)
    tagged = Transition("{", Cut.NOWHERE, "call", width=0, ahead=CALL_BEGINS)
    after_tag = tuple(way for way in leaving if way.marker not in ("{", FUNCTION))
    yield State(
        "tag",
        SpanKind.TOOL_CALL,
        (tagged, *after_tag),
        "tool_call",
        TAG,
        other=r"\S",
        other_goes=Transition("(code)", Cut.NOWHERE, "code", width=0),
    )
    yield State("code", SpanKind.TOOL_CALL, ways.turns, "code", TAG)
    closer = Transition(FUNCTION_CLOSER, Cut.AFTER, HOME)
    arguments = Transition("{", Cut.NOWHERE, "function arguments", width=0)
    others = tuple(way for way in leaving if way.marker != "{")
    yield State("function", SpanKind.TOOL_CALL, (closer, arguments, *others), "function", FUNCTION, FUNCTION_CLOSER)
    yield State(
        "function arguments",
        SpanKind.TOOL_CALL,
        (closer, *others),
        "function",
        FUNCTION,
        FUNCTION_CLOSER,
        payload=JSON,
    )


LLAMA3_TABLE = dialect_table(
    calls=(
        Transition("{", Cut.BEFORE, "call", width=0, ahead=CALL_BEGINS),
        opening(TAG, "tag"),
        Transition(FUNCTION, Cut.BEFORE, "function", ahead=Ahead(Repeat(r"[A-Za-z0-9_.\-]", 1, 64), (">", "{"))),
    ),
    call_states=_states,
    call_closers=(FUNCTION_CLOSER,),
    special_tokens=("<|begin_of_text|>", HEADER_END),
)
"""Calls joined by `;` are spans of their own, with the separator between them as markup."""
