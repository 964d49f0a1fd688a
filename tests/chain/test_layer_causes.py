"""A break's sentence says who changed the call or its result, and which value was no longer in the prompt."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tests.chain.building import trace_of
from weaklink.inspector.chain.steps import Break
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Generation,
    Json,
    Part,
    RecordedRun,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    ToolDefinition,
    Turn,
)
from weaklink.inspector.model.trace import Trace

_ORDER = '{"customer": "Ada", "items": ["lamp", "chair", "table"], "order_id": "A-4711-889", "state": "open"}'
_STORY = (
    "user: Cancel the order of Ada.",
    'call a1: find_order {"customer": "Ada"}',
    f"result a1: {_ORDER}",
    "call a2: cancel {arguments}",
    'result a2!: {{"error": "no such order"}}',
    "say: It is done.",
)
_CUT = SentMessage(Role.TOOL, (SentPart("text", _ORDER[:40] + " [cut]"),), turn=3)
_SCHEMA: dict[str, Json] = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


def broken(trace: Trace) -> Break:
    chain_break = inspect_trace(trace, format="hermes").chain.broken
    assert chain_break is not None
    return chain_break


def with_request(trace: Trace, turn: int, messages: Sequence[int | SentMessage], tools: bool = False) -> Trace:
    """The trace in which a turn answers a request of these messages, and turn 2 one of the first message."""
    turns = list(trace.turns)
    offered = (ToolDefinition("cancel", "", _SCHEMA),) if tools else ()
    turns[1] = replace(turns[1], generation=Generation(request=SentRequest(messages=(1,)), tools=offered))
    held = SentRequest(messages=tuple(messages))
    turns[turn - 1] = replace(turns[turn - 1], generation=Generation(request=held, tools=offered))
    return replace(trace, turns=tuple(turns))


def story(arguments: str) -> Trace:
    return trace_of(*(line.replace("{arguments}", arguments).replace("{{", "{").replace("}}", "}") for line in _STORY))


def test_a_value_that_was_cut_is_named_with_its_turn() -> None:
    chain_break = broken(with_request(story('{"order_id": "A-0000-001"}'), 4, (1, 2, _CUT)))
    assert chain_break.message.endswith("; the `order_id` from turn 3 was no longer in the prompt.")


def test_a_required_argument_that_was_cut_is_named() -> None:
    chain_break = broken(with_request(story("{}"), 4, (1, 2, _CUT), tools=True))
    assert chain_break.message.endswith("; the `order_id` from turn 3 was no longer in the prompt.")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ('{"order_id": "A-0000-001"}', (1, 2, 3)),  # the whole result was there
        ('{"order_id": "A-4711-889"}', (1, 2, _CUT)),  # the model used the value itself
        ('{"reason": "B-0000-001"}', (1, 2, _CUT)),  # nothing that was cut states a value for this key
        (
            '{"order_id": "A-0000-001"}',  # it stands elsewhere in the prompt
            (1, 2, _CUT, SentMessage(Role.USER, (SentPart("text", "Note: A-4711-889"),))),
        ),
    ],
)
def test_a_value_is_named_only_where_it_was_lost(arguments: str, messages: tuple[int | SentMessage, ...]) -> None:
    assert "no longer" not in broken(with_request(story(arguments), 4, messages)).message


def test_without_a_recorded_request_nothing_is_claimed() -> None:
    assert "no longer" not in broken(story('{"order_id": "A-0000-001"}')).message


def ran(trace: Trace, turn: int, run: RecordedRun) -> Trace:
    turns = list(trace.turns)
    turns[turn - 1] = replace(turns[turn - 1], run=run)
    return replace(trace, turns=tuple(turns))


def test_other_arguments_are_the_agents_fault() -> None:
    run = RecordedRun("otlp", "cancel", "a2", '{"order_id": "A-4711-88"}')
    chain_break = broken(ran(story('{"order_id": "A-4711-889"}'), 5, run))
    assert "; the cause is the agent, at the layer executed: the model called `cancel` with" in chain_break.message


def test_a_result_that_was_changed_is_the_agents_fault() -> None:
    run = RecordedRun("otlp", "cancel", "a2", None, '{"state": "cancelled"}')
    chain_break = broken(ran(story('{"order_id": "A-4711-889"}'), 5, run))
    assert "; the cause is the agent, at the layer read: the model read a different result" in chain_break.message


def test_a_result_that_was_cut_at_once_lost_its_value() -> None:
    trace = with_request(story('{"order_id": "A-0000-001"}'), 4, (1, 2, 3))
    short = replace(trace.turns[2], parts=(Part("text", _ORDER[:40]),), run=RecordedRun("otlp", result=_ORDER))
    turns: list[Turn] = [*trace.turns[:2], short, *trace.turns[3:]]
    chain_break = broken(replace(trace, turns=tuple(turns)))
    assert chain_break.message.endswith("; the `order_id` from turn 3 was no longer in the prompt.")


def test_re_typed_arguments_are_the_servers_fault() -> None:
    trace = story('{"order_id": 7}')
    text = '<tool_call>\n{"name": "cancel", "arguments": {"order_id": "07"}}\n</tool_call>'
    turns = list(trace.turns)
    turns[3] = replace(turns[3], parts=(Part("text", text), *turns[3].parts))
    chain_break = broken(replace(trace, turns=tuple(turns)))
    assert "; the cause is the server, at the layer parsed: the model wrote" in chain_break.message


def test_a_call_that_the_content_holds_too_is_one_step() -> None:
    trace = trace_of("user: Cancel it.", 'call a1: cancel {"order_id": 7}', "result a1: cancelled", "say: Done.")
    text = '<tool_call>\n{"name": "cancel", "arguments": {"order_id": 7.0}}\n</tool_call>'
    turns = list(trace.turns)
    turns[1] = replace(turns[1], parts=(Part("text", text), *turns[1].parts))
    chain = inspect_trace(replace(trace, turns=tuple(turns)), format="hermes").chain
    assert [step.outcome.value for step in chain.steps] == ["ok"]
