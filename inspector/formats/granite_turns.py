"""Granite's turn headers as states: `<|start_of_role|>role<|end_of_role|>text<|end_of_text|>`.

Source: vllm:examples/tool_chat_template_granite.jinja.
"""

from inspector.model import SpanKind
from inspector.segmenter.table import ROLE, Cut, State, Transition

_TO_ROLE = Transition("(anything else)", Cut.BEFORE, ROLE, width=0)

GRANITE_TURNS = (Transition("<|start_of_role|>", Cut.BEFORE, "role_header"),)
"""The way out of any state into a turn header."""

GRANITE_STATES = (
    State(
        "role_header",
        SpanKind.MARKUP,
        (Transition("<|end_of_role|>", Cut.AFTER, ROLE),),
        label="turn_header",
        other=r"[^A-Za-z0-9_\- ]",
        other_goes=_TO_ROLE,
    ),
)
"""The states of a turn header."""
