"""The markers of Mistral's dialects as a table: one opener, no closer, and tokens around everything else.

Sources: mistral-common (tokens/tokenizers/base.py, tokens/tokenizers/instruct.py), the templates of Mistral Nemo,
Small 3.2, Devstral and Ministral 3 (llama.cpp:models/templates), vllm:tests/parser/mistral.
"""

from collections.abc import Iterator

from inspector.formats.chat_turns import TURN_IS_OVER, TURN_STATES, TURN_TRANSITIONS
from inspector.formats.dialect import Enclosed, Ways, dialect_table, opening
from inspector.formats.reasoning_tags import THINK_TAGS, ReasoningTag
from inspector.model import SpanKind
from inspector.rules.markers import WRONG_OPENER
from inspector.segmenter.ahead import Ahead, OneOf, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HERE, Cut, State, Transition

OPENER = "[TOOL_CALLS]"
_RESULT = Enclosed("[TOOL_RESULTS]", "[/TOOL_RESULTS]")
_TOOLS = Enclosed("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]")
_END = "</s>"
_TURNS = (
    *(way for way in TURN_TRANSITIONS if way.marker != _END),
    Transition(_END, Cut.BEFORE, "turn over", ahead=TURN_IS_OVER),
    opening("[INST]", "user begins"),
    opening("[/INST]", "user ends"),
    opening("[SYSTEM_PROMPT]", "system begins"),
    opening("[/SYSTEM_PROMPT]", "user ends"),
    opening(_TOOLS.opener, "tools offered"),
)
_SPACE = Repeat(r"\s")
_NAME = Repeat(r"[A-Za-z0-9_.\-]", 1, 64)
_LOST_MARKER = Ahead(
    OneOf(
        ("[", _SPACE, "{", _SPACE, ('"name"', '"arguments"', '"id"', '"function"')),
        (_NAME, ("[ARGS]", "[CALL_ID]", f"{OPENER}{{", f"{OPENER} {{")),
    )
)
_VALUE_ENDS = Transition("(end of the value)", Cut.NOWHERE, "call end", width=0)


def _states(ways: Ways) -> Iterator[State]:
    leaving = ways.out_of_call
    yield State(
        "start",
        SpanKind.TEXT,
        ways.out_of_text,
        other=r"\S",
        other_goes=Transition(
            "(a call)", Cut.BEFORE, "lost marker", WRONG_OPENER, width=0, ahead=_LOST_MARKER, expects=OPENER
        ),
        otherwise=Transition("(anything else)", Cut.NOWHERE, "text", width=0),
    )
    ahead = (
        Transition("[", Cut.NOWHERE, "array", width=0, ahead=Ahead(_SPACE, ("{", "]"))),
        Transition("[ARGS]", Cut.NOWHERE, "arguments"),
        Transition("[CALL_ID]", Cut.NOWHERE, HERE),
        Transition("{", Cut.NOWHERE, "arguments", width=0),
    )
    named = tuple(way for way in leaving if way.marker != OPENER)
    yield State("call", SpanKind.TOOL_CALL, (*ahead, *leaving), "tool_call", OPENER)
    yield State(
        "lost marker", SpanKind.TOOL_CALL, (*ahead, Transition(OPENER, Cut.NOWHERE, "call"), *named), "tool_call"
    )
    for name in ("array", "arguments"):
        yield State(name, SpanKind.TOOL_CALL, leaving, "tool_call", payload=JSON, then=_VALUE_ENDS)
    # A bracket too many still belongs to the call that it breaks.
    text = Transition("(anything else)", Cut.BEFORE, "start", width=0)
    yield State("call end", SpanKind.TOOL_CALL, (), "tool_call", other=r"[^\]}]", other_goes=text)
    yield from _turn_states(ways)


def _turn_states(ways: Ways) -> Iterator[State]:
    def markup(name: str, target: str) -> State:
        goes = Transition("(anything else)", Cut.BEFORE, target, width=0)
        return State(name, SpanKind.MARKUP, (), "turn_header", other=r"[\s\S]", other_goes=goes)

    into_text = Transition("(anything else)", Cut.NOWHERE, "start", width=0)
    yield markup("turn over", "between turns")
    yield markup("user begins", "user words")
    yield markup("user ends", "start")
    yield markup("system begins", "user words")
    yield State(
        "between turns", SpanKind.TEXT, (*ways.calls, *ways.reasoning, *ways.results, *ways.turns), other=r"\S",
        other_goes=into_text,
    )  # fmt: skip
    yield State("user words", SpanKind.TEXT, ways.turns, by_model=False)
    yield State(
        "tools offered",
        SpanKind.TOOL_DEFINITIONS,
        (
            Transition(_TOOLS.closer, Cut.AFTER, "between turns"),
            *(way for way in ways.turns if way.marker[1] != "A"),
        ),
        label="tools",
        opener=_TOOLS.opener,
        closer=_TOOLS.closer,
    )


MISTRAL_TABLE = dialect_table(
    calls=(opening(OPENER, "call"),),
    call_states=_states,
    results=(_RESULT,),
    reasoning=(ReasoningTag("think", "[THINK]", "[/THINK]"), *THINK_TAGS),
    turns=_TURNS,
    special_tokens=("<s>", _END),
    turn_states=TURN_STATES,
    homes={
        "system": "system", "developer": "system", "user": "user", "human": "user", "tool": "tool", "ipython": "tool",
        "observation": "tool", "assistant": "start", "model": "start", "gpt": "start",
    },
    default_home="start",
)  # fmt: skip
"""Where the marker was lost a call is known only at the beginning of the answer; elsewhere such text is text."""
