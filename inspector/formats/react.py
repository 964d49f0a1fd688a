"""Reads the calls and answers of ReAct text: `Action: name` and `Action Input: ...`, `name[...]`, or a JSON block.

Sources: langchain's mrkl and structured chat agents (output parsers and their tests), QwenLM/Qwen-Agent:
qwen_agent/agents/react_chat.py, crewAI:tests/agents/test_crew_agent_parser.py, the ReAct paper's prompts (`f[args]`).
"""

import re
from collections.abc import Iterator

import msgspec

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.edited_text import doubled_markers, read_slip
from weaklink.inspector.formats.json.call_shape import ARGUMENT_KEYS, decoded_arguments
from weaklink.inspector.formats.json.calls import strict_object
from weaklink.inspector.formats.span_readers import BareCall, ReasoningReader, empty_call
from weaklink.inspector.json_scanner import JsonKind, JsonNode, JsonResult, read_json
from weaklink.inspector.json_scanner.messages import FaultMessage
from weaklink.inspector.model import Json, SpanKind, ToolCall
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.markers import MALFORMED_HEADER, NEAR_MARKER, UNTERMINATED_SPAN
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import JSON, ParseResult, SpanClosed
from weaklink.inspector.text import Range, shown

_INPUT_REACT_HEADINGS = lazy_pattern(r"^[ \t]*(?:\*\*)?(Action Input(?: \d{1,3})?(?:\*\*)?:)", re.MULTILINE)
_DRAFT = r"^[ \t]*(?P<heading>Action:)[ \t]*[^\n]{1,128}\n[ \t]*Action Input:[ \t]*"
FINAL_ANSWER = "Final Answer"
_NUMBER = lazy_pattern(r"[ \t]*\d{1,3}[ \t]*:")
_INPUT = lazy_pattern(r"^[ \t]*(?:\*\*)?Action Input(?:[ \t]\d{1,3})?(?:\*\*)?:(?:\*\*)?", re.MULTILINE)
_INPUT_AGAIN = lazy_pattern(r"(Action Input:)(\s{0,8}\1)")
_BRACKETS = lazy_pattern(r"([^\W\d][\w.-]*(?:[ \t][\w.-]+)*)\[([\s\S]*)\]")
_FENCE = lazy_pattern(r"```\w*[ \t]*\n?")
_LOOKS_LIKE_JSON = lazy_pattern(r"(?:```(?:json)?\s*)?\{\s*(?:[\"'}“]|\w+\s*:|\Z)")
_HEADING = "Action Input:"
_DECORATION = "`\"'*"
_DECORATED_OBJECT = lazy_pattern(
    r"""
    (?: (?P<sign> `{1,2} | \*{1,2} | ["'] )
      | (?P<tag> <(?P<word>[A-Za-z_]{1,32})> ) )
    \s* (?P<object> \{[\s\S]*\} ) \s*
    (?(sign) (?P=sign) | </(?P=word)> )             # closed by what opened it
    """,
    re.VERBOSE,
)
"""An object in quotes, backticks, asterisks or a tag: `` `{...}` ``, `<json>{...}</json>`."""
_DRAFTS = (
    BareCall(lazy_pattern(_DRAFT + r"(?=\{)", re.MULTILINE), JSON),
    BareCall(lazy_pattern(_DRAFT + r"(?![ \t{])", re.MULTILINE)),
)
_read_reasoning = ReasoningReader((), bare=_DRAFTS)


def read_react_words(closed: SpanClosed) -> ParseResult:
    """A SpanReader for reasoning and text."""
    reading = (_read_reasoning if closed.span.kind is SpanKind.REASONING else read_react_answer)(closed)
    if reading.children or closed.span.label == "answer_block":
        return reading
    orphan = _orphan(closed)
    return reading if orphan is None else msgspec.structs.replace(reading, faults=(*reading.faults, orphan))


def _orphan(closed: SpanClosed) -> Fault | None:
    """The fault of `Action Input:` without an action: the heading before it is missing or misspelt."""
    match = _INPUT_REACT_HEADINGS.search(closed.inner_text)
    if match is None or closed.inner_text.count("```", 0, match.start()) % 2:
        return None
    return Fault(
        NEAR_MARKER,
        Range(*match.span(1)).moved(closed.span.inner.start),
        f"`{match[1]}` has no `Action:` before it, so no parser reads this as a call.",
        "If you meant a call, write `Action:` and the tool's name on the line before.",
    )


def read_react_calls(closed: SpanClosed) -> ParseResult:
    """A SpanReader for call spans: the text after `Action:`, or a code fence of JSON."""
    text = closed.inner_text
    slip = doubled_markers(text, MALFORMED_HEADER, _INPUT_AGAIN, end=text.find("{")) if "Action Input" in text else None
    return _read_span(closed) if slip is None else read_slip(closed, _read_span, slip)


def _read_span(closed: SpanClosed) -> ParseResult:
    text, start = closed.inner_text, closed.span.inner.start
    if not text.strip():
        return empty_call(closed, "a call such as `Action: name`")
    number = _NUMBER.match(text)
    position = number.end() if number is not None else 0
    named = _INPUT.search(text, position)
    head = Range(position, named.start() if named is not None else len(text)).stripped(text)
    if not len(head):
        reading = _no_name(text, head, named)
    elif head.of(text).startswith(("{", "[", "```")):
        reading = _read_block(text, head)
    elif named is not None:
        reading = _read_named(text, head, Range(named.end(), len(text)).stripped(text))
    else:
        cut = _read_cut(text, head) if closed.ended_at is None else None
        reading = cut if cut is not None else _read_alone(text, head)
    return reading.moved(start)


def read_react_answer(closed: SpanClosed) -> ParseResult:
    """A SpanReader for text: an answer that is a JSON block is decoded to the text in its `action_input`."""
    if closed.span.label != "answer_block":
        return ParseResult(complete=True)
    text, start = closed.inner_text, closed.span.inner.start
    block = Range(0, len(text)).stripped(text)
    reading, block_range = _read_json_block(text, block)
    action_input = reading.nodes[0].member("action_input") if reading.nodes else None
    answer = action_input.value.value() if action_input is not None else None
    return ParseResult(
        faults=tuple(fault.moved(block_range.start + start) for fault in reading.faults),
        complete=True,
        decoded=answer if isinstance(answer, str) else None,
    )


def _read_named(text: str, head: Range, input_range: Range) -> ParseResult:
    """Read the usual case: a name on one line, then its input."""
    name, faults = _name(text, head)
    arguments, more, valid, readable = _read_input(text, input_range)
    is_valid = valid and not faults
    more = (*more, *_answer_in_action(text, name, input_range))
    call = ToolCall(
        name.of(text),
        arguments,
        input_range.of(text),
        valid=is_valid,
        range=Range(head.start, max(input_range.end, head.end)),
        recovered=readable and not is_valid,
        name_range=name,
        arguments_range=input_range,
    )
    faults = (*faults, *more)
    complete = not any(fault.rule is rules.TRUNCATED_JSON for fault in faults)
    return ParseResult(calls=(call,), faults=faults, complete=complete)


def _answer_in_action(text: str, name: Range, input_range: Range) -> Iterator[Fault]:
    """The fault of an answer that is written as an action, or within its input, where a heading does not count."""
    if name.of(text) == FINAL_ANSWER:
        message = f"The answer is written as an action; parsers look for a tool named {shown(FINAL_ANSWER)}."
        yield Fault(MALFORMED_HEADER, name, message, f"Write `{FINAL_ANSWER}:` instead of the action.")
    if text.startswith(f"{FINAL_ANSWER}:", input_range.start):
        message = f"`{FINAL_ANSWER}:` is inside the action's input, so agents run the action and get no answer."
        fault_range = Range(input_range.start, input_range.start + len(FINAL_ANSWER) + 1)
        yield Fault(MALFORMED_HEADER, fault_range, message, "Write the answer on a separate line, without an action.")


def _name(text: str, head: Range) -> tuple[Range, tuple[Fault, ...]]:
    """The range of the tool's name, and faults for quotes around it and for words on the lines after it."""
    line_end = text.find("\n", head.start, head.end)
    line = Range(head.start, line_end if line_end >= 0 else head.end).stripped(text)
    bare = line.of(text)
    first, last = line.start, line.end
    while last - first > 1 and text[first] in _DECORATION and text[last - 1] in _DECORATION:
        first, last = first + 1, last - 1
    name_range, faults = Range(first, last), []
    if len(name_range) < len(line) and not bare.startswith("*"):
        edits = (Edit(Range(line.start, first), ""), Edit(Range(last, line.end), ""))
        message = f"The tool's name is in quotes, {shown(bare)}: many parsers read the quotes as part of the name."
        faults.append(Fault(rules.MALFORMED_JSON, line, message, "Write the bare name.", Fix(edits, safe=True)))
    if line_end >= 0:
        rest = Range(line_end, head.end).stripped(text)
        message = f"{shown(rest.of(text))} appears between the tool's name and `Action Input:`."
        faults.append(Fault(rules.TRAILING_DATA, rest, message, "Delete it.", Fix((Edit(rest, ""),), safe=False)))
    return name_range, tuple(faults)


def _read_input(text: str, input_range: Range) -> tuple[Json, tuple[Fault, ...], bool, bool]:
    """The arguments, their faults, whether they are valid, and whether they could be read."""
    raw = input_range.of(text)
    if not raw:
        return {}, (), True, True
    plain = strict_object(raw) if raw[0] == "{" else None
    if plain is not None:
        return plain, (), True, True
    decorated = _DECORATED_OBJECT.fullmatch(raw)
    inner = strict_object(decorated["object"]) if decorated is not None else None
    if decorated is not None and inner is not None:
        return inner, (_decoration(decorated, input_range),), False, True
    if raw.startswith('"'):
        return _read_quoted(raw, input_range)
    if not _LOOKS_LIKE_JSON.match(raw):
        return raw, (), True, True
    reading = read_json(raw)
    seconds = (_second_object(raw, node.range) for node in reading.nodes[1:])
    faults = tuple(fault.moved(input_range.start) for fault in (*reading.faults, *seconds))
    is_object = bool(reading.nodes) and reading.nodes[0].kind is JsonKind.OBJECT
    readable = is_object and (reading.strict or reading.repairable)
    return reading.nodes[0].value() if readable else raw, faults, reading.strict and is_object, readable


def _decoration(decorated: re.Match[str], input_range: Range) -> Fault:
    """The fault of decoration around the object of arguments: quotes, Markdown's code and bold signs, or a tag."""
    decoration, inner = decorated["sign"] or decorated["tag"], Range(*decorated.span("object")).moved(input_range.start)
    return Fault(
        rules.FENCED_PAYLOAD,
        Range(input_range.start, input_range.start + len(decoration)),
        f"{shown(decoration)} is around the input; parsers read an input that does not begin with a brace as text.",
        "Write the bare object.",
        Fix((Edit(Range(input_range.start, inner.start), ""), Edit(Range(inner.end, input_range.end), "")), safe=True),
    )


def _read_quoted(raw: str, input_range: Range) -> tuple[Json, tuple[Fault, ...], bool, bool]:
    """Read an input that begins with a quote: text, unless it is a JSON string of the object of arguments."""
    reading = read_json(raw)
    decoded, fault = decoded_arguments(reading.nodes[0], "The input is") if reading.strict else (None, None)
    if fault is None or not str(reading.nodes[0].scalar).strip():
        return raw, (), True, True
    return decoded, (fault.moved(input_range.start),), False, True


_second_object = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second value appears after the action's input; parsers reject both, or use the first.",
    "Give each call a separate `Action:`.",
)


def _read_cut(text: str, head: Range) -> ParseResult | None:
    """Read an action that ends within `Action Input:`, with the stream; None if the text ends with anything else."""
    line_end = text.find("\n", head.start, head.end)
    rest = Range(line_end, head.end).stripped(text) if line_end >= 0 else Range(0, 0)
    words = rest.of(text).replace("*", "")
    if not words or not _HEADING.startswith(words):
        return None
    name, faults = _name(text, Range(head.start, line_end))
    message = f"The stream ends within {shown(rest.of(text))}: the action {shown(name.of(text))} has no input yet."
    cut = Fault(rules.TRUNCATED_JSON, rest, message, "Raise the output token limit.")
    call = ToolCall(name.of(text), "", "", valid=False, range=head, name_range=name)
    return ParseResult(calls=(call,), faults=(*faults, cut))


def _read_alone(text: str, head: Range) -> ParseResult:
    """Read an action without `Action Input:`: `name[input]`, or a name whose input is missing."""
    match = _BRACKETS.fullmatch(text, head.start, head.end)
    if match is not None:
        input_range = Range(*match.span(2))
        arguments, faults, valid, readable = _read_input(text, input_range.stripped(text))
        call = ToolCall(
            match[1],
            arguments,
            match[2],
            valid=valid,
            range=head,
            recovered=readable and not valid,
            name_range=Range(*match.span(1)),
            arguments_range=input_range,
        )
        return ParseResult(calls=(call,), faults=faults, complete=True)
    name, faults = _name(text, head)
    end = name.end
    message = f"The action {shown(name.of(text))} has no `Action Input:`; most parsers reject the whole step."
    hint = "Write `Action Input:` after it, with `{}` if the tool takes no arguments."
    fix = Fix((Edit(Range(end, end), "\nAction Input: {}"),), safe=False)
    fault = Fault(rules.MISSING_VALUE, name, message, hint, fix)
    call = ToolCall(name.of(text), {}, "", valid=False, range=head, recovered=True, name_range=name)
    return ParseResult(calls=(call,), faults=(*faults, fault), complete=True)


def _no_name(text: str, head: Range, named: re.Match[str] | None) -> ParseResult:
    fault_range = Range(*named.span()) if named is not None else Range(0, len(text))
    input_range = Range(named.end(), len(text)).stripped(text) if named is not None else head
    call = ToolCall(None, input_range.of(text), input_range.of(text), valid=False, range=input_range)
    message = "The action has no tool name: expected it between `Action:` and `Action Input:`."
    return ParseResult(calls=(call,), faults=(Fault(rules.NOT_A_CALL, fault_range, message),), complete=True)


def _read_json_block(text: str, block: Range) -> tuple[JsonResult, Range]:
    """The parsed JSON of a block, and the range of its text without the fence."""
    fence = _FENCE.match(text, block.start, block.end)
    first = fence.end() if fence is not None else block.start
    last = block.end - 3 if fence is not None and text.endswith("```", first, block.end) else block.end
    block_range = Range(first, max(first, last))
    return read_json(block_range.of(text)), block_range


def _read_block(text: str, block: Range) -> ParseResult:
    """Read `{"action": "f", "action_input": ...}`, or a list of such objects."""
    reading, block_range = _read_json_block(text, block)
    objects = [node for node in reading.nodes if node.kind is JsonKind.OBJECT]
    for array in (node for node in reading.nodes if node.kind is JsonKind.ARRAY):
        objects += (node for node in array.items if node.kind is JsonKind.OBJECT)
    faults = list(reading.faults)
    faults += (_second_action(text, node.range) for node in reading.nodes[1:])
    calls = [_block_call(block_range.of(text), node, reading, faults) for node in objects]
    is_cut = any(fault.rule is rules.TRUNCATED_JSON for fault in faults)
    if reading.nodes and block_range.start > block.start and block_range.end == block.end and not is_cut:
        end = reading.nodes[-1].range.end
        faults.append(_open_fence(text, Range(end - 1, end), edits=(Edit(Range(end, end), "\n```"),)))
    if not calls:
        content = block.of(text)
        calls = [ToolCall(None, content, content, valid=False, range=Range(0, len(block_range)))]
        if not faults:
            faults.append(Fault(rules.NOT_A_CALL, Range(0, max(len(block_range), 1)), "This is not an action."))
    return ParseResult(calls=tuple(calls), faults=tuple(faults), complete=not is_cut).moved(block_range.start)


_open_fence = FaultMessage(
    UNTERMINATED_SPAN,
    "The code fence around the action is not closed; parsers that look for both fences read the reply as text.",
    "Close the fence on a separate line.",
    safe=True,
)

_second_action = FaultMessage(
    rules.SEVERAL_OBJECTS_IN_ONE_CALL,
    "A second action appears in the same block; parsers expect one JSON value there and fail.",
    "Give it a separate block.",
)


def _block_call(text: str, node: JsonNode, reading: JsonResult, faults: list[Fault]) -> ToolCall:
    name, action_input = node.member("action"), node.member("action_input")
    if action_input is None:
        action_input = next(filter(None, map(node.member, ARGUMENT_KEYS)), None)
        if action_input is not None:
            faults.append(_wrong_key(text, action_input.key_range, action_input.key))
    scalar = name.value.scalar if name is not None else None
    if not isinstance(scalar, str) or not scalar:
        message = "The action has no tool name: expected an object with `action` and `action_input`."
        faults.append(Fault(rules.NOT_A_CALL, node.range, message))
        raw = node.range.of(text)
        return ToolCall(None, raw, raw, valid=False, range=node.range)
    assert name is not None
    readable = reading.strict or reading.repairable
    raw = action_input.value.range.of(text) if action_input is not None else ""
    return ToolCall(
        scalar,
        (action_input.value.value() if action_input is not None else {}) if readable else raw or node.range.of(text),
        raw,
        valid=reading.strict,
        range=node.range,
        recovered=readable and not reading.strict,
        name_range=name.value.range,
        arguments_range=action_input.value.range if action_input is not None else None,
    )


_wrong_key = FaultMessage(
    rules.WRONG_ARGUMENTS_KEY,
    "The input is under `{value}`; parsers of such a block look for `action_input`.",
    "Rename it to `action_input`.",
    repair='"action_input"',
    safe=True,
)
