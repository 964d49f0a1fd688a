"""`qwen` and `qwen3_coder`: the dialects of Alibaba's Qwen models.

`qwen` is the Hermes wire with its newlines (Qwen 2.5, QwQ, Qwen 3) and Qwen-Agent's older markers between flowers (✿);
`qwen3_coder` writes `<function=NAME>` and `<parameter=KEY>` tags in `<tool_call>`.

`qwen`: Results are in a user turn here. Sources: QwenLM/Qwen-Agent:qwen_agent/llm/fncall_prompts
(nous_fncall_prompt.py with its mode for code tools, qwen_fncall_prompt.py), the Qwen 2.5 and Qwen 3 chat templates,
sglang:srt/function_call/qwen25_detector.py.

`qwen3_coder`: Sources: the Qwen3-Coder chat template, vllm:tests/tool_parsers/test_qwen3_xml_coder_shared.py,
sglang:python/sglang/srt/function_call/qwen3_coder_detector.py.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.chat_turns import markup_state
from weaklink.inspector.formats.dialect import Transitions, call_state, inside, opening
from weaklink.inspector.formats.dialects.hermes import hermes_format
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.json.calls import JsonCallReader, strict_object
from weaklink.inspector.formats.json.named_calls import named_call, read_json_arguments
from weaklink.inspector.formats.span_readers import LabelledReader
from weaklink.inspector.formats.xml import tag_families
from weaklink.inspector.formats.xml.format import xml_format
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import EMPTY_CALL, INVENTED_RESULT
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed, SpanReader
from weaklink.inspector.segmenter.table import HERE, HOME, Lookahead, MarkerSplit, Repeat, State, Transition
from weaklink.inspector.text import Range

FUNCTION, ARGS, RESULT, RETURN = "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿"
_NAME = re.compile(r"[ \t]*:?[ \t]*(?P<name>[^\s✿:][^\n✿]*?)?[ \t]*(?=\n|✿|\Z)")
_COLON = re.compile(r"\s*:?\s*")
_TEXT_FOLLOWS = Lookahead(Repeat(r"[\s:]", 0, 16), Repeat(r"[^\s:]", 1, 1))
"""A result with nothing in it is the stop word that ended the generation."""
_SPACE = " \t\r\n"
_JSON_BEGINS = re.compile(r"[\s\u200b\u2060\ufeff]*[{\[\"]")
"""The beginning of arguments that are meant as JSON; others are free text."""
_BLOCK = re.compile(r"\s*<code>\n?(?P<code>[\s\S]*?)\n?</code>\s*\Z")
QWEN3_CODER = xml_format(
    tag_families.shared_function_tags(),
    name="qwen3_coder",
    summary="<function=NAME> with <parameter=KEY> tags, in <tool_call> tags",
    aliases=("qwen3_xml", "nemotron3", "nemotron_v3", "step5", "nanbeige", "mimo"),
    models=(
        *("*qwen3-coder*", "*qwen3.[5-9]*", "*nemotron-3*", "*mimo-v2*", "*step-5*", "*nanbeige4*", "*trinity-large*"),
        *("*granite-4.2*", "*minicpm-v-4[.-]6*", "*intern-s2*"),
    ),
    signs=DetectionPatterns(
        calls={
            r"<tool_call>\s*<function=[^<>\s]+>": 0.95,
            r"<function=[^<>\s]+[>\n]\s*(?:<parameter=|</function>)": 0.9,
        },
        hints={r"<parameter=[^<>\s]+>": 0.6},
    ),
)


def read_flower_calls(closed: SpanClosed) -> ParseResult:
    """See SpanReader: a call for each `✿ARGS✿`, or one call without arguments if there is none."""
    text, start = closed.inner_text, closed.span.inner.start
    header = _NAME.match(text)
    if header is None or not header["name"]:
        return _nameless(closed)
    name_range = Range(*header.span("name")).moved(start)
    calls, faults = list[ToolCall](), list[Fault]()
    for arguments in _arguments(text):
        read, wrong = _call(closed, header, arguments)
        calls += read
        faults += wrong
    if not calls:
        calls = [ToolCall(header["name"], "", "", valid=True, range=name_range, name_range=name_range)]
    named = (msgspec.structs.replace(call, name_range=name_range) for call in calls)
    return ParseResult(calls=tuple(named), faults=tuple(fault.moved(start) for fault in faults), complete=True)


def _arguments(text: str) -> Iterator[Range]:
    """The range of each call's arguments, without the white space around them; a marker within their JSON is data."""
    position = text.find(ARGS)
    while position >= 0:
        match = _COLON.match(text, position + len(ARGS))
        start = match.end() if match is not None else position + len(ARGS)
        end = text.find(ARGS, _value_end(text, start))
        stop = end if end >= 0 else len(text)
        content = text[start:stop].rstrip(_SPACE)
        yield Range(start, start + len(content))
        position = end


def _value_end(text: str, start: int) -> int:
    """The end of the JSON object at `start`; `start` if there is none."""
    if text[start : start + 1] != "{":
        return start
    reading = read_json(text, Range(start, len(text)))
    return reading.nodes[0].range.end if reading.nodes else start


def _call(
    closed: SpanClosed, header: re.Match[str], arguments_range: Range
) -> tuple[tuple[ToolCall, ...], Sequence[Fault]]:
    """The call of the arguments at `arguments_range`: JSON, or free text."""
    raw = arguments_range.of(closed.inner_text)
    value = strict_object(raw) if raw.startswith("{") else None
    if value is not None or _JSON_BEGINS.match(raw) is None:
        return (named_call(closed, header, arguments_range, raw if value is None else value, valid=True),), ()
    return read_json_arguments(closed, header, arguments_range)


def _nameless(closed: SpanClosed) -> ParseResult:
    span, content = closed.span, closed.inner_text.strip()
    call_range = span.inner if len(span.inner) else span.range
    where = Range(span.range.start, span.inner.start)
    faults = [Fault(rules.TRUNCATED_JSON, where, f"No tool name after `{FUNCTION}`: expected `: ` and the name.")]
    if not content.strip(":").strip():
        faults.append(Fault(EMPTY_CALL, span.range, "The call span is empty: the model opened a call and wrote none."))
    return ParseResult(calls=(ToolCall(None, content, content, valid=False, range=call_range),), faults=tuple(faults))


class CodeBlockReader(Struct, frozen=True):
    """A SpanReader that puts the text of a trailing `<code>` block into the call's empty `code` argument."""

    call: SpanReader

    def __call__(self, closed: SpanClosed) -> ParseResult:
        """See SpanReader."""
        text = closed.inner_text
        last = text.rfind("<code>") if text.rstrip().endswith("</code>") else -1
        first = text.find("<code>") if last >= 0 else -1
        block = _BLOCK.match(text, len(text[:first].rstrip())) if first >= 0 else None
        if block is None:
            return self.call(closed)
        reading = self.call(msgspec.structs.replace(closed, inner_text=text[: block.start()], call=None))
        calls = reading.calls
        if len(calls) != 1 or not isinstance(calls[0].arguments, dict) or calls[0].arguments.get("code") != "":
            return self.call(closed)
        filled = msgspec.structs.replace(calls[0], arguments={**calls[0].arguments, "code": block["code"]})
        return ParseResult(calls=(filled,), faults=reading.faults, complete=reading.complete)


_JSON_CALL = tag_families.SharedOpenerReader(
    CodeBlockReader(JsonCallReader(between="\n</tool_call>\n<tool_call>\n")), "a JSON object with a name and arguments"
)


def _flower_states(transitions: Transitions) -> Iterator[State]:
    invented = Transition(RESULT, MarkerSplit.BEFORE, "flower result", INVENTED_RESULT, ahead=_TEXT_FOLLOWS)
    stop_word = Transition(RESULT[:-1], MarkerSplit.BEFORE, "marker", width=len(RESULT), ahead=Lookahead(RESULT[-1]))
    leaving = (invented, stop_word, *transitions.out_of_call)
    into_arguments = inside(ARGS, "flower arguments")
    yield call_state("flower call", (into_arguments, *leaving), FUNCTION, label="flower_call")
    yield call_state("flower arguments", (inside(ARGS, HERE), *leaving), label="flower_call", payload=JSON)
    results = (*transitions.out_of_call, opening(RESULT, "flower result"))
    yield State("flower result", SpanKind.TOOL_RESULT, results, "flower_result")
    yield markup_state("flower return", "marker", HOME, r"[^: ]")


QWEN = hermes_format(
    LabelledReader({"flower_call": read_flower_calls, "tool_call": _JSON_CALL}),
    name="qwen",
    summary="JSON object in <tool_call> tags with newlines; ✿FUNCTION✿ before Qwen 2.5",
    aliases=("qwen2.5", "qwen25", "qwen3", "qwen_agent"),
    models=("*qwen*", "*qwq*", "*qvq*", "*mimo*"),
    signs=DetectionPatterns(
        calls={rf"{FUNCTION}\s*:": 0.95, r'<tool_call>\n\{"name": ': 0.85},
        hints={r"<tool_call>\s*\{": 0.85, r"✿(?:ARGS|RESULT|RETURN)✿": 0.8, r"<tool_response>": 0.5, r"<think>": 0.25},
    ),
    calls=(opening(FUNCTION, "flower call"), opening(RETURN, "flower return")),
    call_states=_flower_states,
    drafted=(FUNCTION,),
    tails={FUNCTION: "flower call", RETURN: "flower return"},
    cut_openers=(FUNCTION,),
)
