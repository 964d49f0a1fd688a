"""`hunyuan`: `<tool_calls>[...]</tool_calls>`, an array of call objects (Tencent Hunyuan A13B).

Source: vllm:vllm/tool_parsers/hunyuan_a13b_tool_parser.py and its tests.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_array

HUNYUAN = json_format(
    name="hunyuan",
    summary="<tool_calls>[...]</tool_calls> after <think> and <answer>",
    aliases=(),
    models=("*hunyuan*",),
    markers=JsonMarkers((Enclosed("<tool_calls>", "</tool_calls>"),)),
    signs=Signs(calls={r"<tool_calls>\s*\[": 0.78}),
    reader=JsonCallReader(is_array=True),
    write_calls=lambda calls: f"<tool_calls>{call_array(calls)}</tool_calls>",
)
