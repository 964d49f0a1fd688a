"""The headings of ReAct text as a table: `Thought:`, `Action:`, `Action Input:`, `Observation:`, `Final Answer:`.

A heading counts only at a line's start, so each kind of text has three states: within a line, at a line's start that a
heading may follow (spaces and asterisks before it are allowed), and within a code fence, where nothing counts.
`Observation:` with nothing behind it is the stop word that ended the generation; anything else behind it was invented.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inspector.formats.chat_turns import ROLE_HOMES
from inspector.formats.dialect import Ways, dialect_table
from inspector.model import SpanKind
from inspector.rules.markers import INVENTED_RESULT, MALFORMED_HEADER
from inspector.segmenter.ahead import Ahead, Repeat
from inspector.segmenter.payload import JSON
from inspector.segmenter.table import HOME, Cut, State, Table, Transition

THOUGHT = "Thought:"
"""The heading that prompts end in."""
_HEADINGS = ("Thought", "Action", "Observation", "Final Answer", "Answer")
_BEGINNINGS = tuple(f"{bold}{word}" for word in _HEADINGS for bold in ("", "**"))
_HEADING_FOLLOWS = Ahead(Repeat(r"[ \t]"), _BEGINNINGS)
_FENCE = "```"
_NUMBERED = Ahead(Repeat(r"\d", 1, 3), ":")
_SAYS_SOMETHING = Ahead(Repeat(r"\s", 0, 16), Repeat(r"\S", 1, 1))
_BLOCKS = ("```json\n", "```\n", "```json ", "```JSON\n")
_IS_ACTION = Ahead(Repeat(r"\s", 0, 16), "{", Repeat(r"\s", 0, 16), '"action"')
_IS_ANSWER = Ahead(
    Repeat(r"\s"), ("```json\n", "```\n", ""), Repeat(r"\s"), "{", Repeat(r"\s", 0, 16), '"action"',
    Repeat(r"\s"), ":", Repeat(r"\s"), '"Final Answer"',
)  # fmt: skip
_KINDS = {
    "prose": (SpanKind.TEXT, ""),
    "thought": (SpanKind.REASONING, "thought"),
    "call": (SpanKind.TOOL_CALL, "tool_call"),
    "observation": (SpanKind.TOOL_RESULT, "observation"),
    "answer": (SpanKind.TEXT, "answer"),
}


_NOT_EXPECTED: dict[tuple[str, str], dict[str, Any]] = {
    ("call", "call"): {"rule": MALFORMED_HEADER, "expects": "`Observation:` between two actions"},
    ("call", "answer"): {"rule": MALFORMED_HEADER, "expects": "`Observation:` between an action and the answer"},
    ("answer", "call"): {"rule": MALFORMED_HEADER, "expects": "nothing behind the final answer"},
}


def _spellings(word: str) -> tuple[str, ...]:
    return f"{word}:", f"**{word}:**", f"**{word}**:"


def _headings(behind: str) -> Iterator[Transition]:
    """The ways that headings open behind a text of kind `behind`, where readers expect them or not.

    Readers run one action a reply and refuse one with an answer too (langchain:libs/langchain/agents/output_parsers).
    """
    for way in _all_headings():
        yield replace(way, **_NOT_EXPECTED.get((behind, way.target), {}))


def _all_headings() -> Iterator[Transition]:
    for word, state in (("Thought", "thought"), ("Action", "call")):
        yield from (Transition(marker, Cut.BEFORE, state) for marker in _spellings(word))
        yield Transition(f"{word} ", Cut.BEFORE, state, width=len(word), ahead=_NUMBERED)
    for word in ("Final Answer", "Answer"):
        yield from (Transition(marker, Cut.BEFORE, "answer") for marker in _spellings(word))
    yield Transition("Action:\n", Cut.BEFORE, "answer_block", ahead=_IS_ANSWER)
    for marker in _spellings("Observation"):
        yield Transition(marker, Cut.BEFORE, "observation", INVENTED_RESULT, ahead=_SAYS_SOMETHING)
        yield Transition(marker[:-1], Cut.BEFORE, "stop_word", width=len(marker), ahead=Ahead(marker[-1]))
    yield Transition("Observation ", Cut.BEFORE, "observation", INVENTED_RESULT, width=11, ahead=_NUMBERED)


def _call_states(ways: Ways) -> Iterator[State]:
    common = (*ways.reasoning, *ways.turns)
    for name, (kind, label) in _KINDS.items():
        to_fence = Transition(f"\n{_FENCE}", Cut.NOWHERE, f"{name} fence")
        at_line = Transition("\n", Cut.NOWHERE, f"{name} line", ahead=_HEADING_FOLLOWS)
        block = _blocks("\n") if name in ("prose", "thought") else ()
        stray = ways.stray if name == "prose" else ()
        yield State(
            name,
            kind,
            (at_line, to_fence, *block, *stray, *common),
            label=label,
            opener=THOUGHT if name == "thought" else "",
        )
        inputs = (*_spellings("Action Input"), "Action Input ") if name == "call" else ()
        own = tuple(Transition(marker, Cut.NOWHERE, "call input") for marker in inputs)
        yield State(
            f"{name} line",
            kind,
            (
                *_headings(name),
                *own,
                *stray,
                *common,
                *(_blocks("") if name == "prose" else ()),
                Transition(_FENCE, Cut.NOWHERE, f"{name} fence"),
            ),
            label=label,
            other=r"[^ \t]" if name != "prose" else r"\S",
            other_goes=Transition("(anything else)", Cut.NOWHERE, name, width=0),
        )
        yield State(f"{name} fence", kind, (Transition(_FENCE, Cut.NOWHERE, name), *ways.turns), label=label)
    yield State(
        "call input",
        SpanKind.TOOL_CALL,
        (
            Transition(_FENCE, Cut.NOWHERE, "call fence"),
            Transition("{", Cut.NOWHERE, "call object", width=0),
            *common,
        ),
        label="tool_call",
        other=r"[^ \t]",
        other_goes=Transition("(anything else)", Cut.NOWHERE, "call", width=0),
    )
    # Within the strings of an object, a token of the template or a fence is data.
    yield State(
        "call object",
        SpanKind.TOOL_CALL,
        (Transition("\n", Cut.NOWHERE, "call line", ahead=_HEADING_FOLLOWS), *common),
        label="tool_call",
        payload=JSON,
        then=Transition("(end of the object)", Cut.NOWHERE, "call", width=0),
    )
    to_home = Transition("(anything else)", Cut.BEFORE, HOME, width=0)
    yield State("stop_word", SpanKind.MARKUP, (), label="observation", other=r"\S", other_goes=to_home)
    yield State(
        "answer_block",
        SpanKind.TEXT,
        common,
        label="answer_block",
        payload=JSON,
        then=Transition("(end of the answer)", Cut.NOWHERE, "answer_end", width=0),
    )
    yield State(
        "answer_end",
        SpanKind.TEXT,
        (Transition(_FENCE, Cut.AFTER, HOME),),
        label="answer_block",
        other=r"\S",
        other_goes=to_home,
    )
    yield State(
        "block_call",
        SpanKind.TOOL_CALL,
        (Transition(_FENCE, Cut.AFTER, HOME), *common),
        label="tool_call",
        opener=_FENCE,
        closer=_FENCE,
        payload=JSON,
    )


def _blocks(line_end: str) -> tuple[Transition, ...]:
    return tuple(
        Transition(f"{line_end}{fence}", Cut.BEFORE, "block_call", lead=len(line_end), ahead=_IS_ACTION)
        for fence in _BLOCKS
    )


def react_table() -> Table:
    """The table of ReAct text."""
    return dialect_table(
        calls=(),
        call_states=_call_states,
        homes={role: "prose line" if home == "text" else home for role, home in ROLE_HOMES.items()},
        default_home="prose line",
    )
