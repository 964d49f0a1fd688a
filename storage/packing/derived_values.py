"""The derived values of a trace, ready to pack: each is the array of its fields that msgspec derives from its Struct.

What the trace or another value has already is not stored again:

    ToolResult("Sunny", Range(0, 5), "call-1")     [None, [0, 5], "call-1", None, None, 0, None]
    ToolCall("f", {"a": 1}, '{"a":1}', ...)        ["f", [], 0, ...]: the text at its range, decoded
    Step(1, call, ...)                             [1, 0, ...]: the first call of the inspection
    Diagnostic(location, Fault(rule, range, ...))  [[2, "text", [3, 9]], ["J104", None, ...]]

A function `..._facts` replaces such fields (`structs.replace` accepts any value, and the encoder looks at values, not
at types); its inverse puts them back into the unpacked array, and msgspec builds the value. A new field of a Struct
needs no code here, and changes LAYOUT.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

import msgspec
from msgspec import structs

from weaklink.inspector.chain.steps import Break, Chain, Step
from weaklink.inspector.diagnostics import AttemptedCall, Diagnostic, Edit, Fault, Fix, Location, Related
from weaklink.inspector.errors import UnknownRuleError
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Json, Parameter, Span, ToolCall, ToolResult, Trace
from weaklink.inspector.rules.catalogue import RULES, find_rule
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range
from weaklink.storage.packing.records import tool_facts, tool_from
from weaklink.storage.packing.values import packable

_FORM = 3  # increase it when a function here stores a field in another way
_STRUCTS: tuple[type[msgspec.Struct], ...] = (
    *(Inspection, PartInspection, Span, ToolCall, Parameter, ToolResult, Chain, Step, Break),
    *(Diagnostic, Fault, Fix, Edit, Related, AttemptedCall, Location, Range),
)
LAYOUT = crc32(repr([_FORM, *(kind.__struct_fields__ for kind in _STRUCTS)]).encode())
"""The first value of a packed inspection: another one if the Structs have other fields."""

_AT_ARGUMENTS, _AT_RANGE = 0, 1
_DEEP = 100  # brackets; msgspec recurses, so texts with more are not decoded again

Facts = list[Any]
"""The unpacked array of a value."""

StringPool = dict[str, str]
"""A cache of strings, so that equal ones are in memory once."""


Texts = Mapping[tuple[int, str], str]
"""The text of each part of a trace, by turn (from 1) and name; the last one if parts of a turn share a name."""


def texts_of(trace: Trace) -> Texts:
    """The texts that an inspection of `trace` refers to."""
    return {(number, part.name): part.text for number, turn in enumerate(trace.turns, 1) for part in turn.parts}


Position = Callable[[ToolCall | ToolResult], int | None]
"""The position of a call or result among the packed ones; None if it is not one of them."""


class OtherLayoutError(ValueError):
    """The inspection has the layout of another version of weaklink; it can be rebuilt."""


_CALL, _LOCATION, _RESULT, _RESULT_LOCATION = map(
    Step.__struct_fields__.index, ("call", "location", "result", "result_location")
)


def step_facts(step: Step, position: Position, texts: Texts) -> Step:
    """A step; its call and its result are replaced with their positions, if they have any."""
    call: Any = position(step.call)
    if call is None:
        call = call_facts(step.call, _text(texts, step.location))
    result: Any = None
    if step.result is not None:
        result = position(step.result)
        if result is None:
            result = result_facts(step.result, _text(texts, step.result_location))
    return structs.replace(step, call=call, result=result)


def step_from(facts: Facts, placed: Sequence[Any], texts: Texts) -> Step:
    """The inverse of `step_facts`, with the same texts; positions are indices of `placed`."""
    call, result = facts[_CALL], facts[_RESULT]
    facts[_CALL] = call_from(call, _text_at(texts, facts[_LOCATION])) if isinstance(call, list) else placed[call]
    if isinstance(result, list):
        facts[_RESULT] = result_from(result, _text_at(texts, facts[_RESULT_LOCATION]))
    elif result is not None:
        facts[_RESULT] = placed[result]
    return msgspec.convert(facts, Step)


_SEVERITIES = {rule.code: rule.severity for rule in RULES}
_RULE, _FAULT_RANGE, _MESSAGE, _HINT = map(Fault.__struct_fields__.index, ("rule", "range", "message", "hint"))


def diagnostic_facts(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic; its rule is replaced with its `rule_key`."""
    fault = diagnostic.fault
    call = fault.call and structs.replace(fault.call, arguments=packable(fault.call.arguments))
    range_ = None if fault.range == diagnostic.location.range else fault.range
    return structs.replace(diagnostic, fault=structs.replace(fault, rule=rule_key(fault.rule), range=range_, call=call))


def diagnostic_from(facts: Facts, rules: Mapping[str, Rule], pool: StringPool) -> Diagnostic:
    """The inverse of `diagnostic_facts`; `rules` are those of all diagnostics, by `rule_key`."""
    (_, part, range_), fault = facts
    facts[0][1] = pool.setdefault(part, part)
    fault[_RULE] = rules[fault[_RULE]]
    if fault[_FAULT_RANGE] is None:
        fault[_FAULT_RANGE] = range_
    for index in (_MESSAGE, _HINT):  # often equal to those of other diagnostics
        fault[index] = pool.setdefault(fault[index], fault[index])
    return msgspec.convert(facts, Diagnostic)


def rule_key(rule: Rule) -> str:
    """The code of a rule, and its severity if that is not the one of the catalogue: training data lowers some."""
    is_own = _SEVERITIES.get(rule.code, rule.severity) is rule.severity
    return rule.code if is_own else f"{rule.code} {rule.severity.value}"


def rule_facts(rule: Rule) -> list[Any]:
    """A rule, without its code."""
    return [rule.name, rule.severity.value]


def rules_from(facts: Mapping[str, list[Any]]) -> Mapping[str, Rule]:
    """The rules with these keys; rules that this weaklink does not know are built from the stored facts."""
    return {key: _rule(key, *values) for key, values in facts.items()}


def _rule(key: str, name: str, severity: str) -> Rule:
    code, _, changed = key.partition(" ")
    try:
        rule = find_rule(code)
        return structs.replace(rule, severity=Severity(changed)) if changed else rule
    except UnknownRuleError:
        summary = "A rule of another version of weaklink; only that version can explain it."
        return Rule(code, name, Severity(severity), summary, summary)


def part_facts(part: PartInspection, text: str) -> PartInspection:
    """The inspection of one part; `text` is that part's text."""
    return structs.replace(
        part,
        spans=tuple(part.spans),
        calls=[call_facts(call, text) for call in part.calls],
        results=[result_facts(result, text) for result in part.results],
        definitions=[tool_facts(tool) for tool in part.definitions],
    )


def part_from(facts: Facts, texts: Texts, pool: StringPool) -> PartInspection:
    """The inverse of `part_facts`; the part's text is found in `texts` by turn and name."""
    turn, part, format_, spans, calls, results, definitions = facts
    text = texts.get((turn, part), "")
    return PartInspection(
        turn,
        pool.setdefault(part, part),
        pool.setdefault(format_, format_),
        msgspec.convert(spans, tuple[Span, ...]),
        tuple([call_from(call, text) for call in calls]),
        tuple([result_from(result, text) for result in results]),
        tuple(map(tool_from, definitions)),
    )


_ARGUMENTS, _RAW, _RANGE, _ARGUMENTS_RANGE, _PARAMETERS = map(
    ToolCall.__struct_fields__.index, ("arguments", "raw_arguments", "range", "arguments_range", "parameters")
)


@memoized
def call_facts(call: ToolCall, text: str) -> ToolCall:
    """A call; `text` is the text of its part."""
    return structs.replace(
        call,
        arguments=_arguments(call),
        raw_arguments=_raw(call, text),
        parameters=[
            structs.replace(parameter, text=None) if parameter.range.of(text) == parameter.text else parameter
            for parameter in call.parameters
        ],
        decoded=None,
    )


def call_from(facts: Facts, text: str) -> ToolCall:
    """The inverse of `call_facts`, with the same text."""
    source, arguments = facts[_RAW], facts[_ARGUMENTS]
    if isinstance(source, int):
        start, end = facts[_ARGUMENTS_RANGE if source == _AT_ARGUMENTS else _RANGE]
        facts[_RAW] = source = text[start:end]
    facts[_ARGUMENTS] = arguments[0] if arguments else _decode_json(source)
    for parameter in facts[_PARAMETERS]:
        _, written, (start, end), *_ = parameter
        parameter[1] = text[start:end] if written is None else written
    return msgspec.convert(facts, ToolCall)


@memoized
def result_facts(result: ToolResult, text: str) -> ToolResult:
    """A result; `text` is the text of its part."""
    return structs.replace(result, content=None) if result.range.of(text) == result.content else result


def result_from(facts: Facts, text: str) -> ToolResult:
    """The inverse of `result_facts`, with the same text."""
    content, (start, end), *_ = facts
    facts[0] = text[start:end] if content is None else content
    return msgspec.convert(facts, ToolResult)


def _text(texts: Texts, location: Location | None) -> str:
    return "" if location is None else texts.get((location.turn, location.part), "")


def _text_at(texts: Texts, location: Facts | None) -> str:
    return "" if location is None else texts.get((location[0], location[1]), "")


_decode_json = msgspec.json.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


def _raw(call: ToolCall, text: str) -> str | int:
    if call.arguments_range is not None and call.arguments_range.of(text) == call.raw_arguments:
        return _AT_ARGUMENTS
    return _AT_RANGE if call.range.of(text) == call.raw_arguments else call.raw_arguments


def _arguments(call: ToolCall) -> list[Any]:
    """The value in a list, or an empty list if the raw text decodes to exactly this value."""
    raw = call.raw_arguments
    if call.arguments is raw or raw.count("[") + raw.count("{") > _DEEP:
        return [packable(call.arguments)]
    try:
        decoded: Json = _decode_json(raw)
        same = decoded == call.arguments and _encode(decoded) == _encode(call.arguments)  # True == 1 == 1.0
    except (msgspec.MsgspecError, UnicodeEncodeError, OverflowError, RecursionError):
        same = False
    return [] if same else [packable(call.arguments)]
