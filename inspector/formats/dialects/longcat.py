"""`longcat`: a JSON object in `<longcat_tool_call>` tags, `<longcat_think>` before it (Meituan LongCat).

Source: vllm:vllm/tool_parsers/longcat_tool_parser.py.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.formats.writing import call_object

LONGCAT = json_format(
    name="longcat",
    summary="JSON object in <longcat_tool_call> tags",
    aliases=(),
    models=("*longcat*",),
    markers=JsonMarkers(
        (Enclosed("<longcat_tool_call>", "</longcat_tool_call>"),),
        reasoning=(ReasoningTag("think", "<longcat_think>", "</longcat_think>"), *THINK_TAGS),
    ),
    signs=Signs(calls={r"<longcat_tool_call>\s*\{": 0.95}),
    reader=JsonCallReader(between="</longcat_tool_call>\n<longcat_tool_call>"),
    write_calls=lambda calls: "\n".join(
        f"<longcat_tool_call>{call_object(call)}</longcat_tool_call>" for call in calls
    ),
)
