"""Turns whose header is one token that names the role, as `<|user|>` and `<｜User｜>` do."""

from inspector.model import SpanKind
from inspector.segmenter.table import ROLE, Cut, State, Transition


def role_tokens(opening: str, closing: str, *roles: str, behind: str = "") -> tuple[tuple[Transition, ...], State]:
    """The ways into turns by the tokens `opening` ROLE `closing`, and the state of such a token.

    `behind` is a marker that the template may write right behind it.
    """
    name = f"role {opening}"
    ways = tuple(Transition(f"{opening}{role}{closing}", Cut.BEFORE, name, width=len(opening)) for role in roles)
    closers = dict.fromkeys((closing, closing + behind))
    ends = tuple(Transition(closer, Cut.AFTER, ROLE) for closer in closers)
    return ways, State(name, SpanKind.MARKUP, ends, label="turn_header")


def turn_ends(*tokens: str) -> tuple[Transition, ...]:
    """The ways out of any state by tokens that end a turn, or begin a text."""
    return tuple(Transition(token, Cut.BEFORE, "turn_end") for token in tokens)
