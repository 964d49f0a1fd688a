"""The markers of the Hermes dialect as a table.

Sources: NousResearch/Hermes-Function-Calling (prompt_assets/sys_prompt.yml), the Hermes 2 Pro and Hermes 3 chat
templates, vllm:vllm/tool_parsers/hermes_tool_parser.py. The bracket spelling stands in training sets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from inspector.formats.chat_turns import HEADER_END, TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, Ways, dialect_table, opening, other_spelling
from inspector.formats.reasoning_tags import HERMES_TAGS
from inspector.formats.strict_call import read_whole_call
from inspector.model import SpanKind
from inspector.rules import markers as rules
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Table, Transition

HERMES_PAYLOAD = replace(JSON, read_whole=read_whole_call)
"""A JSON object with `name` and `arguments`."""

_CALLS = (Enclosed("<tool_call>", "</tool_call>"), Enclosed("[tool_call]", "[/tool_call]"))
CALL_OPENERS = tuple(call.opener for call in _CALLS)
CALL_CLOSERS = tuple(call.closer for call in _CALLS)
"""The markers around a call."""
_RESULTS = (Enclosed("<tool_response>", "</tool_response>"), Enclosed("[tool_response]", "[/tool_response]"))


def _call_states(ways: Ways) -> Iterator[State]:
    yield State(
        "headless",
        SpanKind.TEXT,
        (Transition("{", Cut.BEFORE, "call <tool_call>", rules.SPECIAL_TOKEN_LEAK, width=0),),
        other=r"\S",
        other_goes=Transition("(anything else)", Cut.NOWHERE, "text", width=0),
    )
    for call in _CALLS:
        yield State(
            f"call {call.opener}",
            SpanKind.TOOL_CALL,
            (
                Transition(call.closer, Cut.AFTER, HOME),
                Transition(other_spelling(call.closer), Cut.AFTER, HOME, rules.WRONG_BRACKET_VARIANT),
                *ways.out_of_call,
            ),
            label="tool_call",
            opener=call.opener,
            closer=call.closer,
            payload=HERMES_PAYLOAD,
        )


def hermes_table(
    turns: tuple[Transition, ...] = (),
    turn_states: tuple[State, ...] = (),
    *,
    calls: tuple[Transition, ...] = (),
    call_states: Callable[[Ways], Iterable[State]] = lambda ways: (),
    tails: Mapping[str, str] = MappingProxyType({}),
    cut_openers: tuple[str, ...] = (),
) -> Table:
    """The table of the Hermes wire, with more turn tokens and more ways to call than its own."""
    return dialect_table(
        calls=(*(opening(call.opener, f"call {call.opener}") for call in _CALLS), *calls),
        call_states=lambda ways: (*_call_states(ways), *call_states(ways)),
        call_closers=CALL_CLOSERS,
        results=_RESULTS,
        reasoning=HERMES_TAGS,
        turns=(*TURN_TRANSITIONS, *turns),
        turn_states=(*TURN_STATES, *turn_states),
        special_tokens=("<|begin_of_text|>", HEADER_END),
        headless="headless",
        tails=tails,
        cut_openers=cut_openers,
    )


HERMES_TABLE = hermes_table()
"""The states `text`, `system`, `user` and `tool` are the homes of the roles; a call in a prompt's turn is no call."""
