"""`internlm2`: `<|action_start|><|plugin|>` around a JSON object whose arguments stand under `parameters`.

InternLM 2 and 2.5.

Tool results stand in turns of the role `environment`. Source: vllm:examples/tool_chat_template_internlm2_tool.jinja,
vllm:vllm/tool_parsers/internlm2_tool_parser.py.
"""

from inspector.formats.call_shape import CallKeys
from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_object

INTERNLM2 = json_format(
    name="internlm2",
    summary="<|action_start|><|plugin|>{...}<|action_end|>, arguments under `parameters`",
    aliases=(),
    models=("*internlm*",),
    markers=JsonMarkers(
        (
            Enclosed("<|action_start|><|plugin|>", "<|action_end|>"),
            Enclosed("<|action_start|> <|plugin|>", "<|action_end|>"),
        )
    ),
    signs=Signs(calls={r"<\|action_start\|>\s*<\|plugin\|>": 0.95}),
    reader=JsonCallReader(CallKeys(arguments="parameters"), between="<|action_end|><|action_start|><|plugin|>\n"),
    write_calls=lambda calls: "".join(
        f"<|action_start|><|plugin|>\n{call_object(call, key='parameters')}\n<|action_end|>" for call in calls
    ),
)
