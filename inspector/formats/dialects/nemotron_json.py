"""`nemotron_json`: `<TOOLCALL>[...]</TOOLCALL>`, an array of call objects (Nemotron Nano, v1 and v2).

Results stand in `<TOOL_RESPONSE>[...]</TOOL_RESPONSE>`, tools in `<AVAILABLE_TOOLS>[...]</AVAILABLE_TOOLS>`.
Source: the model cards and chat templates of nvidia/NVIDIA-Nemotron-Nano-9B-v2 and Llama-3.1-Nemotron-Nano-8B-v1.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_array

NEMOTRON_JSON = json_format(
    name="nemotron_json",
    summary="<TOOLCALL>[...]</TOOLCALL>: an array of JSON objects",
    aliases=(),
    models=("*nemotron*", "*llama-3.1-nemotron*", "*llama-3.3-nemotron*"),
    markers=JsonMarkers(
        (Enclosed("<TOOLCALL>", "</TOOLCALL>"),),
        results=(Enclosed("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),),
        definitions=(Enclosed("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),),
    ),
    signs=Signs(calls={r"<TOOLCALL>\s*\[": 0.95}),
    reader=JsonCallReader(is_array=True),
    write_calls=lambda calls: f"<TOOLCALL>{call_array(calls)}</TOOLCALL>",
)
