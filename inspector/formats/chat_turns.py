r"""Turn headers and end-of-turn tokens of chat templates, as states that any format's table can take in.

ChatML: `<|im_start|>role\n ... <|im_end|>\n` (NousResearch Hermes 2 and 3, Qwen). Llama 3:
`<|start_header_id|>role<|end_header_id|>\n\n ... <|eot_id|>` (Meta's Llama 3 prompt format; Hermes 3 and 4 on Llama).
Gemma: `<start_of_turn>role\n ... <end_of_turn>\n`.
"""

from inspector.model import SpanKind
from inspector.segmenter.table import HOME, ROLE, Cut, State, Transition

_LINE_HEADERS = ("<|im_start|>", "<start_of_turn>")
_LLAMA_HEADER = "<|start_header_id|>"
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>", "</s>")
_BEGINNINGS = ("<|begin_of_text|>", "<s>", "<bos>")

ROLE_HOMES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "tool": "tool",
    "ipython": "tool",
    "observation": "tool",
    "assistant": "text",
    "model": "text",
    "gpt": "text",
}
"""Which home state a turn header's role begins; the names are those that every table uses for its homes."""

TURN_TRANSITIONS = (
    *(Transition(marker, Cut.BEFORE, "turn_header") for marker in _LINE_HEADERS),
    Transition(_LLAMA_HEADER, Cut.BEFORE, "llama_header"),
    *(Transition(marker, Cut.BEFORE, "turn_end") for marker in (*_ENDS, *_BEGINNINGS)),
)
"""The ways out of any state by a token of the chat template."""

_TO_ROLE = Transition("(anything else)", Cut.BEFORE, ROLE, width=0)
_TO_HOME = Transition("(anything else)", Cut.BEFORE, HOME, width=0)

TURN_STATES = (
    State(
        "turn_header",
        SpanKind.MARKUP,
        (Transition("\n", Cut.AFTER, ROLE),),
        label="turn_header",
        other=r"[^A-Za-z0-9_\-\n]",
        other_goes=_TO_ROLE,
    ),
    State(
        "llama_header",
        SpanKind.MARKUP,
        (Transition("<|end_header_id|>", Cut.NOWHERE, "llama_header_end"),),
        label="turn_header",
        other=r"[^A-Za-z0-9_\- ]",
        other_goes=_TO_ROLE,
    ),
    State("llama_header_end", SpanKind.MARKUP, (), label="turn_header", other=r"[^\n]", other_goes=_TO_ROLE),
    State("turn_end", SpanKind.MARKUP, (), label="turn_end", other=r"[^\n]", other_goes=_TO_HOME),
    State("marker", SpanKind.MARKUP, (), label="marker", other=r"[\s\S]", other_goes=_TO_HOME),
)
"""The states of the template's own tokens; `marker` holds a stray marker that stands alone."""
