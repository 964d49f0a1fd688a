"""`granite_20b_fc`: `<function_call> {...}`, repeated, without a closing marker (IBM Granite 20B function calling).

Source: vllm:examples/tool_chat_template_granite_20b_fc.jinja, vllm:vllm/tool_parsers/granite_20b_fc_tool_parser.py.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_object
from inspector.segmenter.ahead import Ahead, Repeat

GRANITE_20B_FC = json_format(
    name="granite_20b_fc",
    summary="<function_call> before each JSON object",
    aliases=(),
    models=("*granite-20b-functioncalling*", "*granite-20b-fc*"),
    markers=JsonMarkers((Enclosed("<function_call>"),), ahead=Ahead(Repeat(r"\s"), ("{", "[", "```"))),
    signs=Signs(calls={r"<function_call>\s*\{": 0.95}),
    reader=JsonCallReader(between="<function_call> "),
    write_calls=lambda calls: "".join(f"<function_call> {call_object(call)}" for call in calls),
)
