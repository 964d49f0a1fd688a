"""`xlam`: a JSON array of calls, bare, fenced, behind `[TOOL_CALLS]` or in `<tool_call>` tags (Salesforce xLAM).

All of these are the family's own ways, the bare array the usual one; reasoning may stand before it.
Source: vllm:tests/tool_parsers/test_xlam_tool_parser.py.
"""

from inspector.formats.bare_json import BareJson
from inspector.formats.dialect import Enclosed
from inspector.formats.dialects.json_schema import BARE_SIGNS, opens_a_call
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.shared_opener import SharedOpenerReader
from inspector.formats.writing import call_array
from inspector.segmenter.ahead import Ahead, Repeat

XLAM = json_format(
    name="xlam",
    summary="[...]: an array of JSON objects, bare, fenced or tagged",
    models=(
        "*llama-xlam*",
        "*xlam*",
    ),
    markers=JsonMarkers(
        (Enclosed("[TOOL_CALLS]"), Enclosed("<tool_call>", "</tool_call>")),
        ahead=Ahead(Repeat(r"\s"), ("[", "{")),
        bare=BareJson(has_fences=True),
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    signs=Signs(
        calls={**BARE_SIGNS, r"<tool_call>\s*\[\s*\{": 0.7, r"\[TOOL_CALLS\]\s*\[\s*\{": 0.6},
        hints={r"```(?:json)?\s*\[\s*\{\s*\"name\"": 0.7},
    ),
    reader=SharedOpenerReader(JsonCallReader(is_array=True), "an array of JSON objects"),
    write_calls=call_array,
    expresses=opens_a_call,
)
