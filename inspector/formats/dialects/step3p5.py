"""`step3p5`: `<function=NAME>` with `<parameter=KEY>` tags, in `<tool_call>` tags with nothing between (Step 3.5, 3.7).

Sources: llama.cpp:models/templates/StepFun3.7-Flash.jinja, vllm:tests/tool_parsers/test_step3p5_tool_parser.py.
"""

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Signs
from inspector.formats.function_tags import FunctionTags
from inspector.formats.shared_opener import ARG_KEY_BODY, SharedOpenerReader
from inspector.formats.xml_format import xml_format

_TAGS = FunctionTags("<tool_call>", "</tool_call>", between="")
_CALLS = _TAGS.calls

STEP3P5 = xml_format(
    name="step3p5",
    summary="as qwen3_coder, with nothing between the calls",
    aliases=("step3.5", "step3.7"),
    models=("*step-3.5*", "*step-3.7*", "*step3p5*"),
    signs=Signs(calls={r"</function>\s*</tool_call><tool_call>": 0.9}, hints={r"<\|im_start\|>tool_response": 0.8}),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
        homes={**ROLE_HOMES, "tool_response": "tool"},
    ),
    reader=SharedOpenerReader(_TAGS.reader, "`<function=NAME>`", (ARG_KEY_BODY,)),
    write_calls=_TAGS.writer,
)
