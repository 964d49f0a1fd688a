"""`phi4`: `functools[...]`, an array of call objects without a closing marker (Phi-4-mini).

Only `functools` before a bracket and an object is a call: the word stands in many an answer about Python.
Source: vllm:examples/tool_chat_template_phi4_mini.jinja, vllm:vllm/tool_parsers/phi4mini_tool_parser.py.
"""

import re

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.writing import call_array
from inspector.segmenter.ahead import Ahead, Repeat

_BEGINNINGS = ("{", "```", *(f"[{space}{{" for space in ("", " ", "\n", "\n ", "\n  ", "\n    ")))

PHI4 = json_format(
    name="phi4",
    summary="functools[...]: an array of JSON objects",
    aliases=("phi4_mini", "phi"),
    models=("*phi-4*", "*phi4*"),
    markers=JsonMarkers((Enclosed("functools"),), ahead=Ahead(Repeat(r"\s"), _BEGINNINGS)),
    signs=Signs(calls={r"functools\s*\[\s*\{": 0.9}),
    reader=JsonCallReader(is_array=True),
    near_calls=((re.compile(r"\b[Ff]unc\w{0,12}[ :=(]{0,2}\[\s{0,8}\{\s{0,8}[\"']"), "functools[{"),),
    write_calls=lambda calls: f"functools{call_array(calls)}",
)
