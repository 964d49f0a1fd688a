"""`minimax_m2`: `<invoke name="NAME">` with `<parameter name="KEY">` tags, in `<minimax:tool_call>` tags.

Sources: llama.cpp:models/templates/unsloth-MiniMax-M2.jinja, vllm:tests/tool_parsers/test_minimax_m2_tool_parser.py.
"""

from inspector.formats.chat_turns import TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, dialect_table, opening
from inspector.formats.format import Signs
from inspector.formats.invoke_tags import InvokeTags
from inspector.formats.role_tokens import turn_ends
from inspector.formats.xml_format import xml_format
from inspector.formats.xml_table import XmlCalls

_WRAPPER = Enclosed("<minimax:tool_call>", "</minimax:tool_call>")
_TAGS = InvokeTags(_WRAPPER)
_CALLS = XmlCalls((_TAGS.call,), (_WRAPPER,))

MINIMAX_M2 = xml_format(
    name="minimax_m2",
    summary="<invoke name=NAME> with <parameter name=KEY> tags, in <minimax:tool_call> tags",
    aliases=("minimax",),
    models=("*minimax-m2*",),
    signs=Signs(calls={r"<minimax:tool_call>\s*<invoke": 0.95}, hints={r"</?minimax:tool_call>": 0.8, r"\]~b\]": 0.5}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<response>", "</response>"),),
        turns=(opening("]~b]", "turn_header"), *turn_ends("]~!b[", "[e~["), *TURN_TRANSITIONS),
        turn_states=TURN_STATES,
    ),
    reader=_TAGS.reader,
    write_calls=_TAGS.writer,
)
