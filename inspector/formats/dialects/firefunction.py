"""`firefunction`: ` functools[...]`, as Phi-4-mini writes it (Fireworks FireFunction v2).

Source: llama.cpp:tests/test-chat.cpp and its template of fireworks-ai-llama-3-firefunction-v2.
"""

from dataclasses import replace

from inspector.formats.dialects.phi4 import PHI4
from inspector.formats.format import Signs
from inspector.formats.writing import call_array

FIREFUNCTION = replace(
    PHI4,
    name="firefunction",
    summary="functools[...] behind a blank: an array of JSON objects",
    aliases=("firefunction_v2",),
    models=("*firefunction*",),
    confidence=Signs(calls={}, hints={r"functools\s*\[\s*\{": 0.85}),
    write_calls=lambda calls: f" functools{call_array(calls)}",
)
