"""Dialects with calls in Python's syntax between markers.

`lfm2`: `<|tool_call_start|>[f(a='x')]<|tool_call_end|>` in ChatML turns (Liquid AI's LFM2 and LFM2.5).

Sources: llama.cpp:models/templates/LFM2.5-8B-A1B.jinja and llama-cpp-lfm2.jinja, vllm:tests/tool_parsers/
test_lfm2_tool_parser.py. A prompt may request JSON between the same tokens. The template writes dicts as JSON and does
not escape strings; this module escapes them as Python does, so that every string can be read back.

`olmo3_pythonic`: `<function_calls>f(a="x")` and more calls, one per line, `</function_calls>` (Ai2's OLMo 3).

Sources: the OLMo 3 chat template (ChatML; results in turns of `environment`, tools between `<functions>` tags, each
argument as JSON), vllm:tests/tool_parsers/test_olmo3_tool_parser.py. The tags are markup and each call is a separate
span. Claude's older prompts use the same tags around `<invoke>`: that is not a call here.
"""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import ROLE_HOMES, markup_state
from weaklink.inspector.formats.dialect import (
    Enclosed,
    Transitions,
    call_end,
    call_state,
    dialect_format,
    enclosed_state,
    opening,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import json_of
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, json_in_dicts, write_call
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.markers import MALFORMED_HEADER
from weaklink.inspector.segmenter.table import (
    HERE,
    HOME,
    SECTION,
    Lookahead,
    MarkerSplit,
    Repeat,
    State,
    Transition,
    unmarked,
)

_LFM2_CALL = Enclosed("<|tool_call_start|>", "<|tool_call_end|>")
_write_lfm2_call = partial(write_call, write_value=json_in_dicts)
_OLMO_OPENER, _OLMO_CLOSER = "<function_calls>", "</function_calls>"
_CALL_BEGINS = Lookahead(Repeat(r"[^\W\d]", 1, 1), Repeat(r"[\w.]", 0, 127), "(")
_write_olmo_call = partial(write_call, write_value=json_of)
LFM2 = dialect_format(
    PythonCallReader(takes_json=True, is_list=True),
    ReasoningReader((_LFM2_CALL.opener,), (_LFM2_CALL.closer,)),
    name="lfm2",
    summary="<|tool_call_start|>[f(a=1)]<|tool_call_end|>: calls in Python's syntax, or JSON",
    aliases=("liquid",),
    models=("*lfm2*", "*lfm-2*"),
    signs=DetectionPatterns(
        calls={r"<\|tool_call_start\|>": 0.95}, hints={r"<\|tool_(?:call_end|list_start|response_start)\|>": 0.7}
    ),
    calls=(opening(_LFM2_CALL.opener, "call"),),
    call_states=lambda transitions: (
        enclosed_state("call", SpanKind.TOOL_CALL, _LFM2_CALL, transitions.out_of_call, PYTHON),
    ),
    call_closers=(_LFM2_CALL.closer,),
    results=(Enclosed("<|tool_response_start|>", "<|tool_response_end|>"),),
    definitions=(Enclosed("<|tool_list_start|>", "<|tool_list_end|>"),),
    write_calls=lambda calls: f"{_LFM2_CALL.opener}[{', '.join(map(_write_lfm2_call, calls))}]{_LFM2_CALL.closer}",
    expresses=is_python_call,
)


def _olmo_states(transitions: Transitions) -> Iterator[State]:
    ends_block = Transition(_OLMO_CLOSER, MarkerSplit.BEFORE, "block_end")
    again = Transition(_OLMO_OPENER, MarkerSplit.NONE, HERE, MALFORMED_HEADER, expects=f"`{_OLMO_OPENER}` once")
    others = (transition for transition in transitions.out_of_call if transition.marker != _OLMO_OPENER)
    # A block that closes before any call is read as an empty call.
    empty = Transition(_OLMO_CLOSER, MarkerSplit.BEFORE, "empty")
    block = markup_state("block", SECTION, "call", r"\S", (empty, again, *others))
    yield replace(block, opener=_OLMO_OPENER)
    yield markup_state("between", SECTION, "call", r"\S", (ends_block, *transitions.out_of_call))
    yield markup_state("block_end", SECTION, HOME)
    yield call_end("empty", stops=r"[\s\S]")
    ends = (
        Transition(_OLMO_CLOSER, MarkerSplit.AFTER, "between", width=0),
        Transition("\n", MarkerSplit.AFTER, "between", width=0, ahead=_CALL_BEGINS),
    )
    leaving = transitions.out_of_call
    yield call_state("call", (*ends, *leaving), closer=_OLMO_CLOSER, payload=PYTHON, then="call_end")
    end = call_state("call_end", leaving, closer=_OLMO_CLOSER)
    yield replace(end, other=r"[^\])}\s]", other_transition=unmarked("between", MarkerSplit.AFTER))


OLMO3_PYTHONIC = dialect_format(
    PythonCallReader(takes_json=True),
    ReasoningReader((_OLMO_OPENER,), (_OLMO_CLOSER,)),
    name="olmo3_pythonic",
    summary="<function_calls>f(a=1)</function_calls>: calls in Python's syntax, one per line",
    aliases=("olmo3", "olmo"),
    models=("*olmo-3*", "*olmo3*"),
    signs=DetectionPatterns(
        calls={r"<function_calls>\s*\[?\s*[^\W\d][\w.]*\(": 0.95},
        hints={r"</?function_calls>|<\|im_start\|>environment": 0.3},
    ),
    calls=(opening(_OLMO_OPENER, "block"),),
    call_states=_olmo_states,
    call_closers=(_OLMO_CLOSER,),
    definitions=(Enclosed("<functions>", "</functions>"),),
    homes={**ROLE_HOMES, "environment": "tool"},
    write_calls=lambda calls: _OLMO_OPENER + "\n".join(map(_write_olmo_call, calls)) + _OLMO_CLOSER,
    expresses=is_python_call,
)
