"""`granite4`: the Hermes wire in Granite's turns (IBM Granite 4).

Source: llama.cpp:models/templates (Granite 4.0), vllm:docs/features/tool_calling.md.
"""

from dataclasses import replace

from inspector.formats.dialects.hermes import HERMES
from inspector.formats.dialects.hermes_table import hermes_table
from inspector.formats.granite_turns import GRANITE_STATES, GRANITE_TURNS
from inspector.model import Role
from inspector.segmenter.events import FormatParser
from inspector.segmenter.machine import Machine

_TABLE = hermes_table(turns=GRANITE_TURNS, turn_states=GRANITE_STATES)


def _new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
    return Machine(_TABLE, role=role.value, prompt=prompt)


GRANITE4 = replace(
    HERMES,
    name="granite4",
    summary="the Hermes wire in Granite's turns",
    aliases=(),
    models=("*granite-4*", "*granite4*"),
    new_parser=_new_parser,
)
