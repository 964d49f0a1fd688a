"""`minimax_m1`: `<tool_calls>` around JSON objects, one a line (MiniMax M1); calls within `<think>` are drafts.

Source: vllm:vllm/tool_parsers/minimax_tool_parser.py and its tests (vLLM 0.17).
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_object

MINIMAX_M1 = json_format(
    name="minimax_m1",
    summary="<tool_calls> around JSON objects, one a line",
    aliases=(),
    models=("*minimax-m1*", "*minimax-text*"),
    markers=JsonMarkers((Enclosed("<tool_calls>", "</tool_calls>"),)),
    signs=Signs(calls={r"<tool_calls>\s*\{": 0.85}),
    reader=JsonCallReader(is_row=True),
    write_calls=lambda calls: "<tool_calls>\n" + "".join(f"{call_object(call)}\n" for call in calls) + "</tool_calls>",
)
