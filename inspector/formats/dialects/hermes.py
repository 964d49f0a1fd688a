"""`hermes` and `ernie45`: `<tool_call>` around a JSON object, `<think>` or `<scratch_pad>` before it.

In ChatML or Llama 3 turns; ERNIE 4.5 puts the answer in `<response>` tags. The bracket spelling is in training sets.

Sources: NousResearch/Hermes-Function-Calling (prompt_assets/sys_prompt.yml), the Hermes 2 Pro, Hermes 3 and Hermes 4
chat templates, vllm:vllm/tool_parsers/hermes_tool_parser.py and ernie45_tool_parser.py,
vllm:vllm/reasoning/ernie45_reasoning_parser.py.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Unpack

from msgspec.structs import replace

from weaklink.inspector.formats.chat_turns import HEADER_END, turn_ends
from weaklink.inspector.formats.dialect import (
    HERMES_TAGS,
    DialectParts,
    Enclosed,
    Transitions,
    dialect_format,
    enclosed_state,
    opening,
    other_closer,
    text_state,
)
from weaklink.inspector.formats.format import DetectionPatterns, Format
from weaklink.inspector.formats.json.call_shape import call_object, is_call_without_id
from weaklink.inspector.formats.json.calls import JsonCallReader, read_whole_call
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.formats.xml.tag_families import SharedOpenerReader
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import markers as rules
from weaklink.inspector.segmenter.events import JSON, SpanReader
from weaklink.inspector.segmenter.table import MarkerSplit, State, Transition, unmarked

HERMES_PAYLOAD = replace(JSON, read_whole=read_whole_call)
"""A payload that is a JSON object with `name` and `arguments`."""

_CALLS = (Enclosed("<tool_call>", "</tool_call>"), Enclosed("[tool_call]", "[/tool_call]"))
_RESULTS = (Enclosed("<tool_response>", "</tool_response>"), Enclosed("[tool_response]", "[/tool_response]"))
_OPENER, _CLOSER = "<tool_call>\n", "\n</tool_call>"

PATTERNS = DetectionPatterns(
    calls={r'<tool_call>\s*\{\s*["\']': 0.9, r"\[tool_call\]\s*\{": 0.9},
    hints={
        r"<tool_response>|<scratch_pad>|\[inner_monologue\]": 0.6,
        r"<tool_call>|</tool_call>": 0.5,
        r"<think>|<\|im_start\|>": 0.3,
    },
)
"""What shows the Hermes wire."""

_CALL_OPENERS, _CALL_CLOSERS = tuple(call.opener for call in _CALLS), tuple(call.closer for call in _CALLS)


def _call_states(transitions: Transitions) -> Iterator[State]:
    leaked = Transition("{", MarkerSplit.BEFORE, "call <tool_call>", rules.SPECIAL_TOKEN_LEAK, width=0)
    yield text_state("headless", (leaked,), unmarked("text", MarkerSplit.NONE))
    for call in _CALLS:
        others = (other_closer(call.closer), *transitions.out_of_call)
        yield enclosed_state(f"call {call.opener}", SpanKind.TOOL_CALL, call, others, HERMES_PAYLOAD)


def write_calls(calls: Sequence[ToolCall]) -> str:
    """The exact text that a Hermes model emits for these calls, each in a separate tag."""
    return "\n".join(f"{_OPENER}{call_object(call)}{_CLOSER}" for call in calls)


_JSON_CALL = SharedOpenerReader(
    JsonCallReader(between="\n</tool_call>\n<tool_call>\n"), "a JSON object with a name and arguments"
)


def hermes_format(
    reader: SpanReader = _JSON_CALL,
    *,
    calls: tuple[Transition, ...] = (),
    call_states: Callable[[Transitions], Iterable[State]] = lambda transitions: (),
    drafted: tuple[str, ...] = (),
    **parts: Unpack[DialectParts],
) -> Format:
    """A Format of the Hermes wire, with additional ways to begin a call, of which `drafted` are searched in reasoning.

    The states `text`, `system`, `user` and `tool` are the homes of the roles; calls in a prompt's turn do not count.
    """
    special_tokens = ("<|begin_of_text|>", HEADER_END)
    parts.update({"results": _RESULTS, "reasoning": HERMES_TAGS, "special_tokens": special_tokens})
    return dialect_format(
        reader,
        ReasoningReader((*_CALL_OPENERS, *drafted), _CALL_CLOSERS),
        calls=(*(opening(call.opener, f"call {call.opener}") for call in _CALLS), *calls),
        call_states=lambda transitions: (*_call_states(transitions), *call_states(transitions)),
        call_closers=_CALL_CLOSERS,
        headless="headless",
        write_calls=write_calls,
        expresses=is_call_without_id,
        **parts,
    )


HERMES = hermes_format(
    name="hermes",
    summary="JSON object in <tool_call> tags, ChatML or Llama 3 turns",
    aliases=("nous", "chatml"),
    models=("*hermes*", "*nous*", "*smollm*", "*trinity-mini*", "*trinity-nano*", "*mellum2*", "*holo2*"),
    signs=PATTERNS,
)
ERNIE45 = hermes_format(
    name="ernie45",
    summary="the Hermes syntax, answers in <response> tags",
    aliases=("ernie",),
    models=("*ernie*",),
    signs=PATTERNS,
    turns=(*(opening(tag, "marker") for tag in ("<response>", "</response>")), *turn_ends("<|end_of_sentence|>")),
)
