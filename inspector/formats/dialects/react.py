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
from weaklink.inspector.formats.dialect import (
    Enclosed,
    Transitions,
    call_state,
    closing,
    dialect_format,
    enclosed_state,
    inside,
    opening,
    text_state,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.call_shape import is_finite, value_text
from weaklink.inspector.formats.react import FINAL_ANSWER, read_react_calls, read_react_words
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules.markers import INVENTED_RESULT, MALFORMED_HEADER
from weaklink.inspector.segmenter.events import JSON
from weaklink.inspector.segmenter.table import HOME, Lookahead, MarkerSplit, Repeat, State, Transition, unmarked

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

_THOUGHT_WITHOUT_CODE = (
    r"(?m)^Thought(?: \d{1,3})?:"
    r"(?!(?:[^\n]*\n(?!(?:Thought|Action|Observation|Final Answer)\b)){1,60}?(?:<code>|Code:)[ \t]*$)"
)
"""A thought, but not one before a block of code, which smolagents' agents run (smolagents:prompts/code_agent.yaml)."""

_PATTERNS = DetectionPatterns(
    calls={
        r"(?m)^[ \t]*(?:\*\*)?Action(?: \d{1,3})?(?:\*\*)?:[^\n]*\n[ \t]*(?:\*\*)?Action Input\b": 0.9,
        r"(?m)^Action(?: \d{1,3})?:\s*(?:```(?:json)?\s*)?\{\s*\"action\"": 0.9,
    },
    hints={
        r"(?m)^Action(?: \d{1,3})?:[ \t]*\w+\[": 0.7,
        _THOUGHT_WITHOUT_CODE: 0.5,
        r"(?m)^Final Answer:": 0.5,
    },
)

_BEGINNINGS = tuple(f"{bold}{word}" for word in _HEADINGS for bold in ("", "**"))
_HEADING_FOLLOWS = Lookahead(Repeat(r"[ \t]"), _BEGINNINGS)


def _spellings(word: str) -> tuple[str, ...]:
    return f"{word}:", f"**{word}:**", f"**{word}**:"


def _headings(before: str) -> Iterator[Transition]:
    """The transitions of headings after a text of kind `before`, with a rule if readers do not expect them there.

    Readers run one action per reply, and refuse a reply that has an answer too
    (langchain:libs/langchain/agents/output_parsers). langchain's expression does not match a bold heading of an action;
    crewAI strips the signs.
    """
    bold = {"rule": MALFORMED_HEADER, "expects": "`Action:` without bold signs"}
    for transition in _all_headings():
        is_bold = transition.marker.startswith("**Action")
        not_expected = _NOT_EXPECTED.get((before, transition.target), {})
        yield replace(transition, **{**(bold if is_bold else {}), **not_expected})


def _all_headings() -> Iterator[Transition]:
    for word, state in (("Thought", "thought"), ("Action", "call")):
        yield from (opening(marker, state) for marker in _spellings(word))
        yield Transition(f"{word} ", MarkerSplit.BEFORE, state, width=len(word), ahead=_NUMBERED)
    for word in ("Final Answer", "Answer"):
        yield from (opening(marker, "answer") for marker in _spellings(word))
    yield Transition("Action:\n", MarkerSplit.BEFORE, "answer_block", ahead=_IS_ANSWER)
    for marker in _spellings("Observation"):
        yield Transition(marker, MarkerSplit.BEFORE, "observation", INVENTED_RESULT, ahead=_TEXT_FOLLOWS)
        yield Transition(marker[:-1], MarkerSplit.BEFORE, "stop_word", width=len(marker), ahead=Lookahead(marker[-1]))
    yield Transition("Observation ", MarkerSplit.BEFORE, "observation", INVENTED_RESULT, width=11, ahead=_NUMBERED)


def _call_states(transitions: Transitions) -> Iterator[State]:
    common = (*transitions.reasoning, *transitions.turns)
    for name, (kind, label) in _KINDS.items():
        is_prose = name == "prose"
        lines = (inside("\n", f"{name} line", ahead=_HEADING_FOLLOWS), inside(f"\n{_FENCE}", f"{name} fence"))
        block = _blocks("\n") if name in ("prose", *_THOUGHTS) else ()
        stray = transitions.stray if is_prose else ()
        opener = THOUGHT if name in _THOUGHTS else ""
        yield State(name, kind, (*lines, *block, *stray, *common), label, opener)
        inputs = (*_spellings("Action Input"), "Action Input ") if name == "call" else ()
        input_headings = (inside(marker, "call input") for marker in inputs)
        blocks = (*(_blocks("") if is_prose else ()), inside(_FENCE, f"{name} fence"))
        headings = (*_headings(name), *input_headings, *stray, *common, *blocks)
        begun, stops = unmarked(name, MarkerSplit.NONE), r"\S" if is_prose else r"[^ \t]"
        yield State(f"{name} line", kind, headings, label, other=stops, other_transition=begun)
        yield State(f"{name} fence", kind, (inside(_FENCE, name), *transitions.turns), label=label)
    into = (inside(_FENCE, "call fence"), inside("{", "call object", width=0))
    begun = unmarked("call", MarkerSplit.NONE)
    yield replace(call_state("call input", (*into, *common)), other=r"[^ \t]", other_transition=begun)
    # Within the strings of an object, a token of the template or a fence is data.
    line = inside("\n", "call line", ahead=_HEADING_FOLLOWS)
    yield call_state("call object", (line, *common), payload=JSON, then="call")
    yield markup_state("stop_word", "observation", HOME, r"\S")
    block_ends = unmarked("answer_end", MarkerSplit.NONE)
    yield State("answer_block", SpanKind.TEXT, common, label="answer_block", payload=JSON, then=block_ends)
    yield replace(text_state("answer_end", (closing(_FENCE),), unmarked(HOME)), label="answer_block")
    yield enclosed_state("block_call", SpanKind.TOOL_CALL, Enclosed(_FENCE, _FENCE), common, JSON)


def _observed_states(transitions: Transitions) -> Iterator[State]:
    """The homes of the turns in which an agent's loop sends a tool's result, usually as the user."""
    observations = tuple(opening(marker, "observed") for marker in _spellings("Observation"))
    for role in ("user", "tool"):
        begun = unmarked(role, MarkerSplit.NONE)
        yield text_state(f"{role} line", (*observations, *transitions.turns), begun, by_model=False)
    yield State("observed", SpanKind.TOOL_RESULT, transitions.turns, label="observation", by_model=False)


def _blocks(line_end: str) -> tuple[Transition, ...]:
    return tuple(
        Transition(f"{line_end}{fence}", MarkerSplit.BEFORE, "block_call", lead=len(line_end), ahead=_IS_ACTION)
        for fence in _BLOCKS
    )


_HOMES = {"text": "prose line", "user": "user line", "tool": "tool line"}


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"Action: {call.name}\nAction Input: {value_text(call.arguments)}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    """Whether the dialect can express the call: a name of one word, and a JSON object or a line of text as input."""
    if call.id is not None or not call.name or not _NAME.fullmatch(call.name):
        return False
    if isinstance(call.arguments, str):
        return bool(_PLAIN_TEXT.fullmatch(call.arguments)) and call.arguments == call.arguments.strip()
    return isinstance(call.arguments, dict) and is_finite(call.arguments)


REACT = dialect_format(
    read_react_calls,
    read_react_words,
    name="react",
    summary=f"Thought, Action, Action Input, Observation, {FINAL_ANSWER}: plain text, one heading per line",
    aliases=("langchain", "mrkl"),
    models=(),
    signs=_PATTERNS,
    call_states=lambda transitions: (*_call_states(transitions), *_observed_states(transitions)),
    homes={role: _HOMES.get(home, home) for role, home in ROLE_HOMES.items()},
    default_home="prose line",
    read_text=read_react_words,
    write_calls=_write_calls,
    expresses=_expresses,
)
