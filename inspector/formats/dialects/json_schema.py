"""`json_schema` and `xlam`: the reply is JSON, an array of calls or one call, with nothing that marks it.

xLAM (Salesforce) also writes it fenced, after `[TOOL_CALLS]` or in `<tool_call>` tags.

`json_schema`: Servers make a model answer so where a call is required, or one tool is (vllm:tests/tool_use/
test_tool_choice_required.py, sglang:srt/function_call/json_array_parser.py); both spellings of the arguments' key are
at home there. A JSON value of another shape is an answer after a schema and stays text. A fence around it is a fault:
servers that parse the whole reply refuse it (llama.cpp strips it).

`xlam`: All of these are the family's own ways, the bare array the usual one; reasoning may come before it. Source:
vllm:tests/tool_parsers/test_xlam_tool_parser.py.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.call_shape import CALLS_WITHOUT_NAME, CallKeys
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.json.format import NAMED_CALLS, BareJson, JsonMarkers, json_format
from inspector.formats.json.writing import call_array, call_object, is_json_call
from inspector.formats.xml.tag_families import SharedOpenerReader
from inspector.model import ToolCall
from inspector.segmenter.table import Lookahead, Repeat

_BEFORE = r"\A\s*(?:<think>[\s\S]{0,20000}</think>\s*)?"
_CALL = r'\{\s*"name"\s*:\s*"[^"\n]{1,128}"\s*,\s*"(?:parameters|arguments)"\s*:'
BARE_PATTERNS = {rf"{_BEFORE}\[\s*{_CALL}": 0.85}
"""A reply that is an array of calls."""


def opens_a_call(call: ToolCall) -> bool:
    """Whether JSON can hold the call, and its name lets the text be known as one."""
    return is_json_call(call) and NAMED_CALLS["{"].counts(call_object(call), 1, final=True) is True


JSON_SCHEMA = json_format(
    name="json_schema",
    summary='[{"name": ..., "parameters": {...}}]: the reply is JSON, as constrained output makes it',
    aliases=("constrained", "tool_choice_required"),
    models=(),
    markers=JsonMarkers(bare=BareJson(), results=(Enclosed("<tool_response>", "</tool_response>"),)),
    signs=DetectionPatterns(
        calls=BARE_PATTERNS,
        hints={rf"{_BEFORE}```(?:json)?\s*\[\s*{_CALL}": 0.7, rf"{_BEFORE}(?:```(?:json)?\s*)?{_CALL}": 0.5},
    ),
    reader=JsonCallReader(CallKeys(arguments="parameters", also=("arguments",)), is_array=True, is_row=True),
    write_calls=lambda calls: call_array(calls, key="parameters"),
    expresses=opens_a_call,
    near_calls=CALLS_WITHOUT_NAME,
    calls_only=True,  # both servers decode the whole reply
)

XLAM = json_format(
    name="xlam",
    summary="[...]: an array of JSON objects, bare, fenced or tagged",
    models=(
        "*llama-xlam*",
        "*xlam*",
    ),
    markers=JsonMarkers(
        (Enclosed("[TOOL_CALLS]"), Enclosed("<tool_call>", "</tool_call>")),
        ahead=Lookahead(Repeat(r"\s"), ("[", "{")),
        bare=BareJson(has_fences=True),
        results=(Enclosed("<tool_response>", "</tool_response>"),),
    ),
    signs=DetectionPatterns(
        calls={**BARE_PATTERNS, r"<tool_call>\s*\[\s*\{": 0.7, r"\[TOOL_CALLS\]\s*\[\s*\{": 0.6},
        hints={r"```(?:json)?\s*\[\s*\{\s*\"name\"": 0.7},
    ),
    reader=SharedOpenerReader(JsonCallReader(is_array=True), "an array of JSON objects"),
    write_calls=call_array,
    expresses=opens_a_call,
    near_calls=CALLS_WITHOUT_NAME,
    calls_only=True,  # vllm:vllm/tool_parsers/xlam_tool_parser.py decodes a reply with a bare array as a whole
)
