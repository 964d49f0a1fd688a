"""`jamba`: `<tool_calls>[...]</tool_calls>`, an array of call objects (AI21 Jamba).

Source: vllm:vllm/tool_parsers/jamba_tool_parser.py and its tests.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_array

JAMBA = json_format(
    name="jamba",
    summary="<tool_calls>[...]</tool_calls>: an array of JSON objects",
    aliases=(),
    models=("*jamba*",),
    markers=JsonMarkers((Enclosed("<tool_calls>", "</tool_calls>"),)),
    signs=Signs(calls={r"<tool_calls>\s*\[": 0.8}),
    reader=JsonCallReader(is_array=True),
    write_calls=lambda calls: f"<tool_calls>{call_array(calls)}</tool_calls>",
)
