r"""Turn headers and end-of-turn tokens of chat templates, as states that any format's table can include.

ChatML: `<|im_start|>role\n ... <|im_end|>\n` (NousResearch Hermes 2 and 3, Qwen). Llama 3:
`<|start_header_id|>role<|end_header_id|>\n\n ... <|eot_id|>` (Meta's Llama 3 prompt format; Hermes 3 and 4 on Llama).
Gemma: `<start_of_turn>role\n ... <end_of_turn>\n`.
"""

from msgspec.structs import replace

from inspector.model import SpanKind
from inspector.rules.markers import SPECIAL_TOKEN_LEAK
from inspector.segmenter.table import HERE, HOME, ROLE, Lookahead, MarkerSplit, OneOf, Repeat, State, Transition, Unless

_LINE_HEADERS = ("<|im_start|>", "<start_of_turn>")
LLAMA_HEADER = "<|start_header_id|>"
"""The token that begins Llama's header of a turn."""

_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>")
_BEGINNINGS = ("<|begin_of_text|>", "<s>", "<bos>")
_HEADER_FOLLOWS = Lookahead(Repeat(r"\s"), ("<|", "<start_of_turn>", "[INST]", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]"))
TURN_IS_OVER = Lookahead(OneOf((Repeat(r"\s"), ("<", "[")), (Repeat(r"\s"), Unless(r"[\s\S]"))))
"""What follows the token that ends a turn: the end of the text, or another marker."""

_TURN_END = "turn_end"
HEADER_END = "<|end_header_id|>"
"""The token that ends Llama's header of a turn."""

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

_TO_ROLE = Transition("(anything else)", MarkerSplit.BEFORE, ROLE, width=0)
_TO_HOME = Transition("(anything else)", MarkerSplit.BEFORE, HOME, width=0)


def header_end_in_text(*, is_own: bool, reads_headless: bool) -> Transition:
    """The way of the token that ends a header where no header is open: markup before what may be a call, else text.

    `is_own` says that the token is one of the model's own template, so that it is reported in a text too.
    `reads_headless` says that the format reads a bare object behind a header without a role as a call, and reports the
    header then.
    """
    otherwise = _leaked(Transition(HEADER_END, MarkerSplit.BEFORE, _TURN_END)) if is_own else None
    if reads_headless:
        ahead = Lookahead(Repeat(r"\s"), "{")
        return Transition(HEADER_END, MarkerSplit.BEFORE, "llama_header_end", ahead=ahead, otherwise=otherwise)
    return Transition(
        HEADER_END,
        MarkerSplit.BEFORE,
        "marker",
        SPECIAL_TOKEN_LEAK,
        ahead=Lookahead(Repeat(r"\s"), ("{", "[", "<")),
        expects="a turn's header",
        otherwise=otherwise,
    )


TURN_TRANSITIONS = (
    *(Transition(marker, MarkerSplit.BEFORE, "turn_header") for marker in _LINE_HEADERS),
    Transition(LLAMA_HEADER, MarkerSplit.BEFORE, "llama_header"),
    *(Transition(marker, MarkerSplit.BEFORE, _TURN_END) for marker in _ENDS),
    Transition("</s>", MarkerSplit.BEFORE, _TURN_END, ahead=TURN_IS_OVER),
    *(Transition(marker, MarkerSplit.BEFORE, _TURN_END, ahead=_HEADER_FOLLOWS) for marker in _BEGINNINGS),
)
"""The ways out of any state by a token of the chat template.

`<s>` and `</s>` are HTML too, and a text may speak of any of these tokens, so one that begins a text counts only before
a header, and `</s>` only where the turn is over: at the text's end, or before another marker.
"""


def flagged(ways: tuple[Transition, ...], tokens: tuple[str, ...]) -> tuple[Transition, ...]:
    """The same ways; where one of `tokens` does not count, since something else follows it, that is reported.

    `tokens` are special tokens of that very model's template: their text is that of the token.
    """
    return tuple(replace(way, otherwise=_leaked(way)) if way.marker in tokens and way.ahead else way for way in ways)


_TURN_IS_OVER_STATES = frozenset((_TURN_END, "sentence end", "stopped"))


def out_of_reasoning(ways: tuple[Transition, ...]) -> tuple[Transition, ...]:
    """The ways out of reasoning, where the end of a turn counts only if the turn is over there."""
    return tuple(
        replace(way, ahead=TURN_IS_OVER, otherwise=_leaked(way))
        if way.target in _TURN_IS_OVER_STATES and way.ahead is None
        else way
        for way in ways
    )


def _leaked(way: Transition) -> Transition:
    return Transition(way.marker, MarkerSplit.NOWHERE, HERE, SPECIAL_TOKEN_LEAK)


TURN_STATES = (
    State(
        "turn_header",
        SpanKind.MARKUP,
        (Transition("\n", MarkerSplit.AFTER, ROLE),),
        label="turn_header",
        other=r"[^A-Za-z0-9_\-\n]",
        other_goes=_TO_ROLE,
    ),
    State(
        "llama_header",
        SpanKind.MARKUP,
        (Transition(HEADER_END, MarkerSplit.NOWHERE, "llama_header_end"),),
        label="turn_header",
        other=r"[^A-Za-z0-9_\- ]",
        other_goes=_TO_ROLE,
    ),
    State("llama_header_end", SpanKind.MARKUP, (), label="turn_header", other=r"[^\n]", other_goes=_TO_ROLE),
    State(_TURN_END, SpanKind.MARKUP, (), label="turn_end", other=r"[^\n]", other_goes=_TO_HOME),
    State("marker", SpanKind.MARKUP, (), label="marker", other=r"[\s\S]", other_goes=_TO_HOME),
)
"""The states of the template's own tokens; `marker` holds a stray marker that stands alone."""


def role_tokens(opening: str, closing: str, *roles: str, behind: str = "") -> tuple[tuple[Transition, ...], State]:
    """The ways into turns by the tokens `opening` ROLE `closing`, and the state of such a token.

    `behind` is a marker that the template may write right behind it.
    """
    name = f"role {opening}"
    ways = tuple(
        Transition(f"{opening}{role}{closing}", MarkerSplit.BEFORE, name, width=len(opening)) for role in roles
    )
    closers = dict.fromkeys((closing, closing + behind))
    ends = tuple(Transition(closer, MarkerSplit.AFTER, ROLE) for closer in closers)
    return ways, State(name, SpanKind.MARKUP, ends, label="turn_header")


def turn_ends(*tokens: str) -> tuple[Transition, ...]:
    """The ways out of any state by tokens that end a turn, or begin a text."""
    return tuple(Transition(token, MarkerSplit.BEFORE, "turn_end") for token in tokens)
