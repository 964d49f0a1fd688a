"""`json_schema`: constrained output: the reply is JSON, an array of calls or one call, with nothing that marks it.

Servers make a model answer so where a call is required, or one tool is (vllm:tests/tool_use/
test_tool_choice_required.py, sglang:srt/function_call/json_array_parser.py); both spellings of the arguments' key are
at home there. A JSON value of another shape is an answer after a schema and stays text. A fence around it is a fault:
servers that parse the whole reply refuse it (llama.cpp strips it).
"""

from inspector.formats.bare_json import NAMED_CALLS, BareJson
from inspector.formats.call_shape import CallKeys
from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_array, call_object, is_json_call
from inspector.model import ToolCall

_BEFORE = r"\A\s*(?:<think>[\s\S]{0,20000}</think>\s*)?"
_CALL = r'\{\s*"name"\s*:\s*"[^"\n]{1,128}"\s*,\s*"(?:parameters|arguments)"\s*:'
BARE_SIGNS = {rf"{_BEFORE}\[\s*{_CALL}": 0.85}
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
    signs=Signs(
        calls=BARE_SIGNS,
        hints={rf"{_BEFORE}```(?:json)?\s*\[\s*{_CALL}": 0.7, rf"{_BEFORE}(?:```(?:json)?\s*)?{_CALL}": 0.5},
    ),
    reader=JsonCallReader(CallKeys(arguments="parameters", also=("arguments",)), is_array=True, is_row=True),
    write_calls=lambda calls: call_array(calls, key="parameters"),
    expresses=opens_a_call,
)
