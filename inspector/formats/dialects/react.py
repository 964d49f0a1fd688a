"""`react`: `Thought:`, `Action: name`, `Action Input: {...}`, `Observation:`, `Final Answer:` as plain text.

Sources: see `inspector.formats.react`. Every action of a reply is read as a call, whereas langchain reads only the
first and Qwen-Agent only the last. The answer's text is content, without its heading; a thought is reasoning.

A heading counts only at the start of a line, so each kind of text has three states: within a line, at the start of a
line that may have a heading (after spaces and asterisks), and within a code fence, where no heading counts. In the
model's turn, `Observation:` with nothing after it is the stop word that ended the generation; any other text after it
was invented. At the beginning of a user's or a tool's turn it is the result that the agent's loop sends back.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import ROLE_HOMES, markup_state
from weaklink.inspector.formats.dialect import Enclosed, Transitions, dialect_table, enclosed_state, table_parser
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.call_shape import is_finite, json_of
from weaklink.inspector.formats.react import FINAL_ANSWER, read_react_calls, read_react_words
from weaklink.inspector.formats.span_readers import reader_table
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules.markers import INVENTED_RESULT, MALFORMED_HEADER
from weaklink.inspector.segmenter.events import JSON
from weaklink.inspector.segmenter.table import HOME, Lookahead, MarkerSplit, Repeat, State, Table, Transition, unmarked

THOUGHT = "Thought:"
"""The heading at the end of prompts."""

_HEADINGS = ("Thought", "Action", "Observation", "Final Answer", "Answer")
_FENCE = "```"
_NUMBERED = Lookahead(Repeat(r"\d", 1, 3), ":")
_TEXT_FOLLOWS = Lookahead(Repeat(r"\s", 0, 16), Repeat(r"\S", 1, 1))
_BLOCKS = ("```json\n", "```\n", "```json ", "```JSON\n")
_IS_ACTION = Lookahead(Repeat(r"\s", 0, 16), "{", Repeat(r"\s", 0, 16), '"action"')

_IS_ANSWER = Lookahead(
    Repeat(r"\s"), ("```json\n", "```\n", ""), Repeat(r"\s"), "{", Repeat(r"\s", 0, 16), '"action"',
    Repeat(r"\s"), ":", Repeat(r"\s"), '"Final Answer"',
)  # fmt: skip

_KINDS = {
    "prose": (SpanKind.TEXT, ""),
    "thought": (SpanKind.REASONING, "thought"),
    "thought after call": (SpanKind.REASONING, "thought"),
    "call": (SpanKind.TOOL_CALL, "tool_call"),
    "observation": (SpanKind.TOOL_RESULT, "observation"),
    "answer": (SpanKind.TEXT, "answer"),
}

_THOUGHTS = ("thought", "thought after call")
_TWO_ACTIONS = {"rule": MALFORMED_HEADER, "expects": "`Observation:` between two actions"}
_NO_OBSERVATION = {"rule": MALFORMED_HEADER, "expects": "`Observation:` between an action and the answer"}
_NOT_EXPECTED: dict[tuple[str, str], dict[str, Any]] = {
    ("call", "call"): _TWO_ACTIONS,
    ("call", "thought"): {"target": "thought after call"},
    ("call", "answer"): _NO_OBSERVATION,
    ("thought after call", "call"): _TWO_ACTIONS,
    ("thought after call", "thought"): {"target": "thought after call"},
    ("thought after call", "answer"): _NO_OBSERVATION,
    ("answer", "call"): {"rule": MALFORMED_HEADER, "expects": "nothing after the final answer"},
}

_NAME = re.compile(r"[^\W\d][\w.\-/]*")
_PLAIN_TEXT = re.compile(r"(?!```|Action Input)[^\s{`][^\n\r]*")

_PATTERNS = DetectionPatterns(
    calls={
        r"(?m)^[ \t]*(?:\*\*)?Action(?: \d{1,3})?(?:\*\*)?:[^\n]*\n[ \t]*(?:\*\*)?Action Input\b": 0.9,
        r"(?m)^Action(?: \d{1,3})?:\s*(?:```(?:json)?\s*)?\{\s*\"action\"": 0.9,
    },
    hints={
        r"(?m)^Action(?: \d{1,3})?:[ \t]*\w+\[": 0.7,
        r"(?m)^Thought(?: \d{1,3})?:": 0.5,
        r"(?m)^Final Answer:": 0.5,
    },
)

_BEGINNINGS = tuple(f"{bold}{word}" for word in _HEADINGS for bold in ("", "**"))
_HEADING_FOLLOWS = Lookahead(Repeat(r"[ \t]"), _BEGINNINGS)


def _spellings(word: str) -> tuple[str, ...]:
    return f"{word}:", f"**{word}:**", f"**{word}**:"


def _bold(word: str, marker: str) -> dict[str, Any]:
    """The fault of an action whose heading is bold, which langchain's expression does not match; crewAI strips it."""
    is_fault = word == "Action" and marker.startswith("**")
    return {"rule": MALFORMED_HEADER, "expects": "`Action:` without bold signs"} if is_fault else {}


def _headings(before: str) -> Iterator[Transition]:
    """The transitions of headings after a text of kind `before`, with a rule if readers do not expect them there.

    Readers run one action per reply, and refuse a reply that has an answer too
    (langchain:libs/langchain/agents/output_parsers).
    """
    for transition in _all_headings():
        yield replace(transition, **_NOT_EXPECTED.get((before, transition.target), {}))


def _all_headings() -> Iterator[Transition]:
    for word, state in (("Thought", "thought"), ("Action", "call")):
        yield from (Transition(marker, MarkerSplit.BEFORE, state, **_bold(word, marker)) for marker in _spellings(word))
        yield Transition(f"{word} ", MarkerSplit.BEFORE, state, width=len(word), ahead=_NUMBERED)
    for word in ("Final Answer", "Answer"):
        yield from (Transition(marker, MarkerSplit.BEFORE, "answer") for marker in _spellings(word))
    yield Transition("Action:\n", MarkerSplit.BEFORE, "answer_block", ahead=_IS_ANSWER)
    for marker in _spellings("Observation"):
        yield Transition(marker, MarkerSplit.BEFORE, "observation", INVENTED_RESULT, ahead=_TEXT_FOLLOWS)
        yield Transition(marker[:-1], MarkerSplit.BEFORE, "stop_word", width=len(marker), ahead=Lookahead(marker[-1]))
    yield Transition("Observation ", MarkerSplit.BEFORE, "observation", INVENTED_RESULT, width=11, ahead=_NUMBERED)


def _call_states(transitions: Transitions) -> Iterator[State]:
    common = (*transitions.reasoning, *transitions.turns)
    for name, (kind, label) in _KINDS.items():
        to_fence = Transition(f"\n{_FENCE}", MarkerSplit.NONE, f"{name} fence")
        at_line = Transition("\n", MarkerSplit.NONE, f"{name} line", ahead=_HEADING_FOLLOWS)
        block = _blocks("\n") if name in ("prose", *_THOUGHTS) else ()
        stray = transitions.stray if name == "prose" else ()
        yield State(
            name,
            kind,
            (at_line, to_fence, *block, *stray, *common),
            label=label,
            opener=THOUGHT if name in _THOUGHTS else "",
        )
        inputs = (*_spellings("Action Input"), "Action Input ") if name == "call" else ()
        input_headings = tuple(Transition(marker, MarkerSplit.NONE, "call input") for marker in inputs)
        yield State(
            f"{name} line",
            kind,
            (
                *_headings(name),
                *input_headings,
                *stray,
                *common,
                *(_blocks("") if name == "prose" else ()),
                Transition(_FENCE, MarkerSplit.NONE, f"{name} fence"),
            ),
            label=label,
            other=r"[^ \t]" if name != "prose" else r"\S",
            other_transition=unmarked(name, MarkerSplit.NONE),
        )
        yield State(
            f"{name} fence", kind, (Transition(_FENCE, MarkerSplit.NONE, name), *transitions.turns), label=label
        )
    yield State(
        "call input",
        SpanKind.TOOL_CALL,
        (
            Transition(_FENCE, MarkerSplit.NONE, "call fence"),
            Transition("{", MarkerSplit.NONE, "call object", width=0),
            *common,
        ),
        label="tool_call",
        other=r"[^ \t]",
        other_transition=unmarked("call", MarkerSplit.NONE),
    )
    # Within the strings of an object, a token of the template or a fence is data.
    yield State(
        "call object",
        SpanKind.TOOL_CALL,
        (Transition("\n", MarkerSplit.NONE, "call line", ahead=_HEADING_FOLLOWS), *common),
        label="tool_call",
        payload=JSON,
        then=unmarked("call", MarkerSplit.NONE),
    )
    yield markup_state("stop_word", "observation", HOME, r"\S")
    yield State(
        "answer_block",
        SpanKind.TEXT,
        common,
        label="answer_block",
        payload=JSON,
        then=unmarked("answer_end", MarkerSplit.NONE),
    )
    yield State(
        "answer_end",
        SpanKind.TEXT,
        (Transition(_FENCE, MarkerSplit.AFTER, HOME),),
        label="answer_block",
        other=r"\S",
        other_transition=unmarked(HOME),
    )
    fences = Enclosed(_FENCE, _FENCE)
    yield enclosed_state("block_call", SpanKind.TOOL_CALL, fences, common, JSON)


def _observed_states(transitions: Transitions) -> Iterator[State]:
    """The homes of the turns in which an agent's loop sends a tool's result, usually as the user."""
    for role in ("user", "tool"):
        yield State(
            f"{role} line",
            SpanKind.TEXT,
            (
                *(Transition(marker, MarkerSplit.BEFORE, "observed") for marker in _spellings("Observation")),
                *transitions.turns,
            ),
            other=r"\S",
            other_transition=unmarked(role, MarkerSplit.NONE),
            by_model=False,
        )
    yield State("observed", SpanKind.TOOL_RESULT, transitions.turns, label="observation", by_model=False)


def _blocks(line_end: str) -> tuple[Transition, ...]:
    return tuple(
        Transition(f"{line_end}{fence}", MarkerSplit.BEFORE, "block_call", lead=len(line_end), ahead=_IS_ACTION)
        for fence in _BLOCKS
    )


def react_table() -> Table:
    """The table of ReAct text."""
    homes = {"text": "prose line", "user": "user line", "tool": "tool line"}
    return dialect_table(
        calls=(),
        call_states=lambda transitions: (*_call_states(transitions), *_observed_states(transitions)),
        homes={role: homes.get(home, home) for role, home in ROLE_HOMES.items()},
        default_home="prose line",
    )


_TABLE = react_table()


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"Action: {call.name}\nAction Input: {_input(call)}" for call in calls)


def _input(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json_of(call.arguments)


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: a name of one word, and a JSON object or a line of text as input."""
    if call.id is not None or not call.name or not _NAME.fullmatch(call.name):
        return False
    if isinstance(call.arguments, str):
        return bool(_PLAIN_TEXT.fullmatch(call.arguments)) and call.arguments == call.arguments.strip()
    return isinstance(call.arguments, dict) and is_finite(call.arguments)


REACT = Format(
    name="react",
    summary=f"Thought, Action, Action Input, Observation, {FINAL_ANSWER}: plain text, one heading per line",
    aliases=("langchain", "mrkl"),
    models=(),
    confidence=_PATTERNS,
    new_parser=table_parser(_TABLE),
    readers=reader_table(read_react_calls, read_react_words, text=read_react_words),
    write_calls=_write_calls,
    expresses=_expresses,
)
