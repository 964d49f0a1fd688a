"""`qwen3_coder`: `<tool_call>` around `<function=NAME>` and `<parameter=KEY>` tags (Qwen3-Coder, Qwen3.5, Nemotron 3).

Sources: the Qwen3-Coder chat template, vllm:tests/tool_parsers/test_qwen3_xml_coder_shared.py,
sglang:python/sglang/srt/function_call/qwen3_coder_detector.py.
"""

from inspector.formats.dialect import Enclosed, dialect_table
from inspector.formats.format import Signs
from inspector.formats.function_tags import FunctionTags
from inspector.formats.shared_opener import ARG_KEY_BODY, SharedOpenerReader
from inspector.formats.xml_format import xml_format

_TAGS = FunctionTags("<tool_call>", "</tool_call>")
_CALLS = _TAGS.calls

QWEN3_CODER = xml_format(
    name="qwen3_coder",
    summary="<function=NAME> with <parameter=KEY> tags, in <tool_call> tags",
    aliases=("qwen3_xml", "nemotron3"),
    models=("*qwen3-coder*", "*qwen3.5*", "*nemotron-3*", "*mimo-v2*"),
    signs=Signs(
        calls={r"<tool_call>\s*<function=[^<>\s]+>": 0.95, r"<function=[^<>\s]+>\s*<parameter=": 0.9},
        hints={r"<parameter=[^<>\s]+>": 0.6},
    ),
    calls=_CALLS,
    table=dialect_table(
        calls=_CALLS.ways,
        call_states=_CALLS.states,
        call_closers=_CALLS.closers,
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    reader=SharedOpenerReader(_TAGS.reader, "`<function=NAME>`", (ARG_KEY_BODY,)),
    write_calls=_TAGS.writer,
)
