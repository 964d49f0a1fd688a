"""`ernie45`: the Hermes wire, with the answer in `<response>` tags (Baidu ERNIE 4.5).

Source: vllm:vllm/tool_parsers/ernie45_tool_parser.py, vllm:vllm/reasoning/ernie45_reasoning_parser.py.
"""

from dataclasses import replace

from inspector.formats.dialects.hermes import HERMES
from inspector.formats.dialects.hermes_table import hermes_table
from inspector.model import Role
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine
from inspector.segmenter.table import Cut, Transition

_TABLE = hermes_table(
    turns=tuple(Transition(tag, Cut.BEFORE, "marker") for tag in ("<response>", "</response>")), turn_states=()
)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


ERNIE45 = replace(
    HERMES,
    name="ernie45",
    summary="the Hermes wire, answers in <response> tags",
    aliases=("ernie",),
    models=("*ernie*",),
    new_parser=_new_parser,
)
