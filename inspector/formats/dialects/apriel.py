"""`apriel`: `<tool_calls>[...]</tool_calls>`, an array of call objects; reasoning ends at `[BEGIN FINAL RESPONSE]`.

The template opens the reasoning with the words `Here are my reasoning steps:`.
Source: llama.cpp:models/templates (Apriel 1.6), vllm:vllm/reasoning and its tests.
"""

from inspector.formats.dialect import Enclosed
from inspector.formats.format import Signs
from inspector.formats.json_call import JsonCallReader
from inspector.formats.json_dialects import JsonMarkers, json_format
from inspector.formats.reasoning_tags import ReasoningTag
from inspector.formats.writing import call_array

APRIEL = json_format(
    name="apriel",
    summary="<tool_calls>[...]</tool_calls> behind a prose of reasoning steps",
    aliases=(),
    models=("*apriel*",),
    markers=JsonMarkers(
        (Enclosed("<tool_calls>", "</tool_calls>"),),
        reasoning=(ReasoningTag("think", "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),),
    ),
    signs=Signs(calls={r"<tool_calls>\s*\[": 0.78}),
    reader=JsonCallReader(is_array=True),
    write_calls=lambda calls: f"<tool_calls>{call_array(calls)}</tool_calls>",
)
