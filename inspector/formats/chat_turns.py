r"""Turn headers and end-of-turn tokens of chat templates, as states that any format's table can include.

ChatML: `<|im_start|>role\n ... <|im_end|>\n` (NousResearch Hermes 2 and 3, Qwen). Llama 3:
`<|start_header_id|>role<|end_header_id|>\n\n ... <|eot_id|>` (Meta's Llama 3 prompt format; Hermes 3 and 4 on Llama).
Gemma: `<start_of_turn>role\n ... <end_of_turn>\n`.
"""

from msgspec.structs import replace

from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.markers import SPECIAL_TOKEN_LEAK
from weaklink.inspector.segmenter.table import (
    HERE,
    HOME,
    ROLE,
    Lookahead,
    MarkerSplit,
    OneOf,
    Repeat,
    State,
    Transition,
    Unless,
    unmarked,
)

_LINE_HEADERS = ("<|im_start|>", "<start_of_turn>")
LLAMA_HEADER = "<|start_header_id|>"
"""The token that begins Llama's turn header."""

_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<end_of_turn>")
_BEGINNINGS = ("<|begin_of_text|>", "<s>", "<bos>")
_HEADER_FOLLOWS = Lookahead(Repeat(r"\s"), ("<|", "<start_of_turn>", "[INST]", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]"))
TURN_IS_OVER = Lookahead(OneOf((Repeat(r"\s"), ("<", "[")), (Repeat(r"\s"), Unless(r"[\s\S]"))))
"""What follows a token that really ends a turn: the end of the text, or another marker."""

_TURN_END = "turn_end"
HEADER_END = "<|end_header_id|>"
"""The token that ends Llama's turn header."""

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
"""The home state of each role of a turn header; every table uses these names for its homes."""


def header_end_in_text(*, is_own: bool, reads_headless: bool) -> Transition:
    """The transition for a token that ends a header although none is open: markup before a possible call, else text.

    `is_own` says that the token belongs to the model's own template, so that it is reported in a text too.
    `reads_headless` says that the format reads a bare object after a header without a role as a call, and then reports
    the header.
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
"""The transitions out of any state by a token of the chat template.

`<s>` and `</s>` are HTML too, and a text may mention any of these tokens. So one that begins a text counts only before
a header, and `</s>` only if the turn is over: at the text's end, or before another marker.
"""


def flagged(transitions: tuple[Transition, ...], tokens: tuple[str, ...]) -> tuple[Transition, ...]:
    """The same transitions, but one of `tokens` that does not count, because something else follows it, is reported.

    `tokens` are special tokens of the model's own template: text that spells one is that token.
    """
    return tuple(
        replace(transition, otherwise=_leaked(transition))
        if transition.marker in tokens and transition.ahead
        else transition
        for transition in transitions
    )


_TURN_IS_OVER_STATES = frozenset((_TURN_END, "sentence end", "stopped"))


def out_of_reasoning(transitions: tuple[Transition, ...]) -> tuple[Transition, ...]:
    """The transitions out of reasoning, in which a token that ends a turn counts only if the turn is over there."""
    return tuple(
        replace(transition, ahead=TURN_IS_OVER, otherwise=_leaked(transition))
        if transition.target in _TURN_IS_OVER_STATES and transition.ahead is None
        else transition
        for transition in transitions
    )


def _leaked(transition: Transition) -> Transition:
    return Transition(transition.marker, MarkerSplit.NONE, HERE, SPECIAL_TOKEN_LEAK)


def markup_state(
    name: str, label: str, target: str, stops: str = r"[\s\S]", transitions: tuple[Transition, ...] = ()
) -> State:
    """The state of markup up to a character of the class `stops`, which leads to `target`; mostly of one marker."""
    return State(name, SpanKind.MARKUP, transitions, label, other=stops, other_transition=unmarked(target))


_LINE_END = Transition("\n", MarkerSplit.AFTER, ROLE)
_INTO_HEADER_END = Transition(HEADER_END, MarkerSplit.NONE, "llama_header_end")
TURN_STATES = (
    markup_state("turn_header", "turn_header", ROLE, r"[^A-Za-z0-9_\-\n]", (_LINE_END,)),
    markup_state("llama_header", "turn_header", ROLE, r"[^A-Za-z0-9_\- ]", (_INTO_HEADER_END,)),
    markup_state("llama_header_end", "turn_header", ROLE, r"[^\n]"),
    markup_state(_TURN_END, "turn_end", HOME, r"[^\n]"),
    markup_state("marker", "marker", HOME),
)
"""The states of the template's own tokens; `marker` is that of a single stray marker."""


def role_tokens(opening: str, closing: str, *roles: str, after: str = "") -> tuple[tuple[Transition, ...], State]:
    """The transitions into turns by the tokens `opening` ROLE `closing`, and the state of such a token.

    `after` is a marker that the template may write right after it.
    """
    name = f"role {opening}"
    transitions = tuple(
        Transition(f"{opening}{role}{closing}", MarkerSplit.BEFORE, name, width=len(opening)) for role in roles
    )
    closers = dict.fromkeys((closing, closing + after))
    ends = tuple(Transition(closer, MarkerSplit.AFTER, ROLE) for closer in closers)
    return transitions, State(name, SpanKind.MARKUP, ends, label="turn_header")


def turn_ends(*tokens: str) -> tuple[Transition, ...]:
    """The transitions out of any state by tokens that end a turn, or begin a text."""
    return tuple(Transition(token, MarkerSplit.BEFORE, "turn_end") for token in tokens)


def last_words(*tokens: str) -> tuple[Transition, ...]:
    """The transitions out of any state by tokens that a text may mention, and that end a turn only if it is over."""
    return tuple(Transition(token, MarkerSplit.BEFORE, "turn_end", ahead=TURN_IS_OVER) for token in tokens)
