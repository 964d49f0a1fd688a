"""`phi4` and `firefunction`: `functools[...]`, an array of call objects without a closing marker.

`phi4`: Only `functools` before a bracket and an object is a call: the word is in many an answer about Python. Source:
vllm:examples/tool_chat_template_phi4_mini.jinja, vllm:vllm/tool_parsers/phi4mini_tool_parser.py.

`firefunction`: Source: llama.cpp:tests/test-chat.cpp and its template of fireworks-ai-llama-3-firefunction-v2.
"""

from msgspec.structs import replace

from inspector.formats.dialect import Enclosed
from inspector.formats.format import DetectionPatterns
from inspector.formats.json.calls import JsonCallReader
from inspector.formats.json.format import JsonMarkers, json_format
from inspector.formats.json.writing import call_array
from inspector.scanning import lazy_pattern
from inspector.segmenter.table import Lookahead, Repeat

_BEGINNINGS = ("{", "```", *(f"[{space}{{" for space in ("", " ", "\n", "\n ", "\n  ", "\n    ")))

PHI4 = json_format(
    name="phi4",
    summary="functools[...]: an array of JSON objects",
    aliases=("phi4_mini", "phi"),
    models=("*phi-4*", "*phi4*"),
    markers=JsonMarkers((Enclosed("functools"),), ahead=Lookahead(Repeat(r"\s"), _BEGINNINGS)),
    signs=DetectionPatterns(calls={r"functools\s*\[\s*\{": 0.9}),
    reader=JsonCallReader(is_array=True),
    near_calls=((lazy_pattern(r"\b[Ff]unc\w{0,12}[ :=(]{0,2}\[\s{0,8}\{(?=\s{0,8}[\"'])"), "functools[{"),),
    write_calls=lambda calls: f"functools{call_array(calls)}",
)

FIREFUNCTION = replace(
    PHI4,
    name="firefunction",
    summary="functools[...] after a blank: an array of JSON objects",
    aliases=("firefunction_v2",),
    models=("*firefunction*",),
    confidence=DetectionPatterns(calls={}, hints={r"functools\s*\[\s*\{": 0.85}),
    write_calls=lambda calls: f" functools{call_array(calls)}",
)
