"""The markers of the Hermes dialect as a table.

Sources: NousResearch/Hermes-Function-Calling (prompt_assets/sys_prompt.yml), the Hermes 2 Pro and Hermes 3 chat
templates, vllm:vllm/tool_parsers/hermes_tool_parser.py. The bracket spelling stands in training sets.
"""

from inspector.formats.chat_turns import ROLE_HOMES, TURN_STATES, TURN_TRANSITIONS
from inspector.formats.json_call import read_whole_call
from inspector.formats.reasoning_tags import HERMES_TAGS, OTHER_TAGS, ReasoningTag
from inspector.model import SpanKind
from inspector.rules import markers as rules
from inspector.segmenter.table import HERE, HOME, Cut, State, Table, Transition

_ANGLE_CALL = ("<tool_call>", "</tool_call>")
_BRACKET_CALL = ("[tool_call]", "[/tool_call]")
_ANGLE_RESULT = ("<tool_response>", "</tool_response>")
_BRACKET_RESULT = ("[tool_response]", "[/tool_response]")

_LIST_INTROS = ("following tools", "following functions", "available tools", "available functions")
_LIST_BEGINNINGS = tuple(f"[{space}{{" for space in ("", " ", "\n", "\r\n", "\n ", "\n  ", "\n    ", "\n\t"))
_TOOLS_BEGINNINGS = tuple(
    f"<tools>{space}{first}" for space in ("", " ", "\n", "\n\n", "\r\n", "\n ", "\n  ", " \n") for first in "{["
)

_OPEN_REASONING = tuple(Transition(tag.opener, Cut.BEFORE, f"reasoning {tag.opener}") for tag in HERMES_TAGS)
_OPEN_CALL = tuple(Transition(opener, Cut.BEFORE, f"call {opener}") for opener, _ in (_ANGLE_CALL, _BRACKET_CALL))
_OPEN_RESULT = tuple(
    Transition(opener, Cut.BEFORE, f"result {opener}") for opener, _ in (_ANGLE_RESULT, _BRACKET_RESULT)
)
_INVENT_RESULT = tuple(Transition(way.marker, Cut.BEFORE, way.target, rules.INVENTED_RESULT) for way in _OPEN_RESULT)
_OPEN_TOOLS = tuple(Transition(marker, Cut.BEFORE, "tools", width=len("<tools>")) for marker in _TOOLS_BEGINNINGS)
_STRAY = tuple(
    Transition(closer, Cut.BEFORE, "marker", rules.STRAY_END_MARKER)
    for closer in dict.fromkeys(
        (
            *(tag.closer for tag in HERMES_TAGS),
            *(closer for _, closer in (_ANGLE_CALL, _BRACKET_CALL, _ANGLE_RESULT, _BRACKET_RESULT)),
        )
    )
)


def _reasoning(tag: ReasoningTag) -> State:
    other_spelling = _other_spelling(tag.closer)
    known = {known.closer for known in HERMES_TAGS}
    variant = (Transition(other_spelling, Cut.AFTER, HOME, rules.WRONG_BRACKET_VARIANT),)
    return State(
        f"reasoning {tag.opener}",
        SpanKind.REASONING,
        (
            Transition(tag.closer, Cut.AFTER, HOME),
            *(variant if other_spelling in known else ()),
            Transition(tag.opener, Cut.NOWHERE, HERE, rules.NESTED_SPAN),
            *(way for way in TURN_TRANSITIONS if not tag.closer.startswith(way.marker)),
        ),
        label=tag.label,
        opener=tag.opener,
        closer=tag.closer,
    )


def _call(opener: str, closer: str) -> State:
    return State(
        f"call {opener}",
        SpanKind.TOOL_CALL,
        (
            Transition(closer, Cut.AFTER, HOME),
            Transition(_other_spelling(closer), Cut.AFTER, HOME, rules.WRONG_BRACKET_VARIANT),
            *_OPEN_CALL,
            *_INVENT_RESULT,
            *_OPEN_REASONING,
            *TURN_TRANSITIONS,
        ),
        label="tool_call",
        opener=opener,
        closer=closer,
        payload=True,
        read_whole=read_whole_call,
    )


def _result(opener: str, closer: str) -> State:
    return State(
        f"result {opener}",
        SpanKind.TOOL_RESULT,
        (
            Transition(closer, Cut.AFTER, HOME),
            Transition(_other_spelling(closer), Cut.AFTER, HOME, rules.WRONG_BRACKET_VARIANT),
            *TURN_TRANSITIONS,
        ),
        label="tool_response",
        opener=opener,
        closer=closer,
    )


def _other_spelling(marker: str) -> str:
    return f"[{marker[1:-1]}]" if marker[0] == "<" else f"<{marker[1:-1]}>"


HERMES_TABLE = Table(
    (
        State("text", SpanKind.TEXT, (*_OPEN_REASONING, *_OPEN_CALL, *_INVENT_RESULT, *_STRAY, *TURN_TRANSITIONS)),
        State(
            "headless",
            SpanKind.TEXT,
            (Transition("{", Cut.BEFORE, "call <tool_call>", rules.SPECIAL_TOKEN_LEAK, width=0),),
            other=r"\S",
            other_goes=Transition("(anything else)", Cut.NOWHERE, "text", width=0),
        ),
        State(
            "system",
            SpanKind.TEXT,
            (
                *_OPEN_TOOLS,
                *(Transition(words, Cut.NOWHERE, "list_intro") for words in _LIST_INTROS),
                *TURN_TRANSITIONS,
            ),
        ),
        State(
            "list_intro",
            SpanKind.TEXT,
            tuple(Transition(marker, Cut.BEFORE, "tool_list", width=0) for marker in _LIST_BEGINNINGS),
            other=r"[^\s:]",
            other_goes=Transition("(anything else)", Cut.NOWHERE, "system", width=0),
        ),
        State("user", SpanKind.TEXT, (*_OPEN_RESULT, *_OPEN_TOOLS, *TURN_TRANSITIONS)),
        State(
            "tool",
            SpanKind.TEXT,
            (*_OPEN_RESULT, *TURN_TRANSITIONS),
            other=r"\S",
            other_goes=Transition("(anything else)", Cut.BEFORE, "bare_result", width=0),
        ),
        State("bare_result", SpanKind.TOOL_RESULT, (*_OPEN_RESULT, *TURN_TRANSITIONS), label="bare"),
        State(
            "tools",
            SpanKind.TOOL_DEFINITIONS,
            (Transition("</tools>", Cut.AFTER, HOME), *TURN_TRANSITIONS),
            label="tools",
            opener="<tools>",
            closer="</tools>",
        ),
        State("tool_list", SpanKind.TOOL_DEFINITIONS, (), label="tool_list", closer="]", json_end=True),
        *(_call(*markers) for markers in (_ANGLE_CALL, _BRACKET_CALL)),
        *(_result(*markers) for markers in (_ANGLE_RESULT, _BRACKET_RESULT)),
        *(_reasoning(tag) for tag in (*HERMES_TAGS, *OTHER_TAGS)),
        *TURN_STATES,
    ),
    homes=ROLE_HOMES,
    default_home="text",
    headless="headless",
)
"""The states `text`, `system`, `user` and `tool` are the homes of the roles; a call in a prompt's turn is no call."""
