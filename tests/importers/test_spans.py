"""The spans of a session become traces: doubles are one, tools answer calls, agents give their names."""

from collections.abc import Sequence

from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_message, read_messages, read_tools
from weaklink.inspector.importers.telemetry.span_traces import traces_of_spans
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, ToolRun, TracedSpan
from weaklink.inspector.model import ExternalId, Generation, Instant, Json, ParentWhy, Role, Trace, Usage
from weaklink.inspector.wire.events import DecodedRequest

IDS = (ExternalId("session.id", "s"),)
HELLO: Json = {"role": "user", "content": "Weather?"}


def call(name: str = "f", id_: str | None = "c1", arguments: str = "{}") -> Json:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id_, "function": {"name": name, "arguments": arguments}}],
    }


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


def model(
    id_: str, at: float, asked: Sequence[Json], answer: Json, *, parent: str = "", response: str = "", lasts: float = 1
) -> TracedSpan:
    request = DecodedRequest("", "m", read_messages(list(asked)))
    turn = replace(read_message(answer), role=Role.ASSISTANT, generation=Generation())
    return TracedSpan(
        id_,
        parent,
        OperationKind.MODEL,
        started=Instant(at),
        ended=Instant(at + lasts),
        call=ModelCall(request, turn, response),
    )


def tool(id_: str, at: float, run: ToolRun, *, parent: str = "") -> TracedSpan:
    return TracedSpan(id_, parent, OperationKind.TOOL, run.name, Instant(at), Instant(at + 1), run=run)


def agent(id_: str, name: str, *, parent: str = "") -> TracedSpan:
    return TracedSpan(id_, parent, OperationKind.AGENT, name, Instant(0))


def traces(*spans: TracedSpan) -> list[Trace]:
    return list(traces_of_spans(spans, IDS))


def story(trace: Trace) -> list[str]:
    return [
        f"{turn.role}: {' '.join(part.text for part in turn.parts if part.text)}"
        + "".join(f" {one.name}" for one in turn.calls)
        for turn in trace.turns
    ]


def test_requests_of_one_conversation_are_one_trace_in_the_order_of_time() -> None:
    later = model("2", 5, [HELLO, said("Sunny."), {"role": "user", "content": "Sure?"}], said("Yes."))
    (trace,) = traces(later, model("1", 1, [HELLO], said("Sunny.")))
    assert story(trace) == ["user: Weather?", "assistant: Sunny.", "user: Sure?", "assistant: Yes."]
    assert trace.external_ids == (*IDS, ExternalId("span_id", "1"))


def test_a_frameworks_span_around_the_providers_is_the_same_request() -> None:
    outer = model("outer", 1, [HELLO], said("Sunny."), lasts=3)
    assert outer.call is not None
    told = replace(outer.call.answer, generation=Generation(usage=Usage(3, 4), finish_reason="stop"))
    outer = replace(outer, call=replace(outer.call, answer=told, response_id="r"))
    between = TracedSpan("chain", "outer", OperationKind.OTHER)
    (trace,) = traces(outer, between, model("inner", 2, [HELLO], said("Sunny."), parent="chain"))
    assert story(trace) == ["user: Weather?", "assistant: Sunny."]
    assert trace.turns[1].generation is not None
    assert trace.turns[1].generation.usage == Usage(3, 4)
    assert trace.turns[1].generation.started == Instant(2)


def test_a_span_around_two_attempts_is_part_of_the_last() -> None:
    (trace,) = traces(
        model("outer", 1, [HELLO], said("Sunny."), lasts=9),
        model("first", 2, [HELLO], said(""), parent="outer"),
        model("second", 4, [HELLO], said("Sunny."), parent="outer"),
    )
    assert [turn.generation.attempt for turn in trace.turns if turn.generation] == [1, 2]


def test_two_spans_with_one_response_id_are_one() -> None:
    (trace,) = traces(
        model("1", 1, [HELLO], said("Sunny."), response="r"), model("2", 1.1, [HELLO], said("Sunny."), response="r")
    )
    assert len(trace.turns) == 2


def test_a_request_that_a_tool_makes_within_a_request_is_its_own() -> None:
    inner_words: Json = {"role": "user", "content": "Shorten."}
    found = traces(
        model("1", 1, [HELLO], call(), lasts=9),
        tool("t", 2, ToolRun("f"), parent="1"),
        model("2", 3, [inner_words], said("Short."), parent="t"),
    )
    assert [story(trace)[0] for trace in found] == ["user: Weather?", "user: Shorten."]
    assert found[1].parent is not None
    assert found[1].parent.why is ParentWhy.SUBAGENT


def test_another_conversation_of_the_session_is_no_sub_agent_unless_the_store_has_them_in_one_trace() -> None:
    other: Json = {"role": "user", "content": "Shorten."}
    one, two = model("1", 1, [HELLO], said("Sunny.")), model("2", 3, [other], said("Short."))
    found = traces(replace(one, span_trace="a"), replace(two, span_trace="b"))
    assert [trace.parent for trace in found] == [None, None]
    assert [trace.external_ids[1].value for trace in found] == ["a", "b"]
    assert traces(replace(one, span_trace="a"), replace(two, span_trace="a"))[1].parent is not None


def test_a_tools_span_is_the_result_that_no_request_brings() -> None:
    (trace,) = traces(model("1", 1, [HELLO], call()), tool("t", 3, ToolRun("f", "c1", "{}", "18", failed=True)))
    assert story(trace)[2:] == ["tool: 18"]
    assert trace.turns[2].result is not None
    assert trace.turns[2].result.is_error is True


def test_a_result_that_the_next_request_brings_is_not_doubled() -> None:
    result: Json = {"role": "tool", "tool_call_id": "c1", "content": "18"}
    for run in (ToolRun("f", "c1", "{}", "18"), ToolRun("f", "", "{ }", "18")):
        (trace,) = traces(
            model("1", 1, [HELLO], call()), tool("t", 3, run), model("2", 5, [HELLO, call(), result], said("Sunny."))
        )
        assert [turn.role for turn in trace.turns] == ["user", "assistant", "tool", "assistant"]


def test_runs_without_ids_find_their_calls_by_name_and_arguments() -> None:
    two: Json = {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "function": {"name": "f", "arguments": '{"x": 2}'}},
        ],
    }
    (trace,) = traces(
        model("1", 1, [HELLO], two),
        tool("t2", 3, ToolRun("f", "", '{"x":2}', "two")),
        tool("t1", 4, ToolRun("f", "", '{"x":1}', "one")),
    )
    assert [(turn.result.call_id, turn.parts[0].text) for turn in trace.turns if turn.result] == [
        ("b", "two"),
        ("a", "one"),
    ]


def test_a_run_that_no_call_asked_for_is_told_and_left_out() -> None:
    (trace,) = traces(model("1", 1, [HELLO], said("Sunny.")), tool("t", 3, ToolRun("g", "", "{}", "18")))
    assert len(trace.turns) == 2
    assert any("without a matching call" in warning for warning in trace.provenance.warnings)


def test_agents_name_their_traces() -> None:
    found = traces(
        agent("a", "planner"),
        model("1", 1, [{"role": "system", "content": "Plan."}, HELLO], said("1."), parent="a"),
        agent("b", "writer", parent="a"),
        model("2", 3, [{"role": "system", "content": "Write."}, HELLO], said("2."), parent="b"),
    )
    assert [trace.name for trace in found] == ["planner", "writer"]


def test_requests_without_words_go_on_with_their_agents_trace() -> None:
    found = traces(
        agent("a", "one"),
        agent("b", "two"),
        model("1", 1, [], said("x"), parent="a"),
        model("2", 2, [], said("y"), parent="b"),
        model("3", 3, [], said("z"), parent="a"),
    )
    assert [story(trace) for trace in found] == [["assistant: x", "assistant: z"], ["assistant: y"]]


def test_of_rewritten_and_raw_arguments_the_raw_count() -> None:
    raw = model("inner", 2, [HELLO], call(arguments='{"x":  1}'), parent="outer")
    outer = model("outer", 1, [HELLO], call(arguments='{"x":1}'), lasts=5)
    assert outer.call is not None
    assert raw.call is not None
    for first, second in ((outer, raw), (replace(outer, call=raw.call), replace(raw, call=outer.call))):
        assert first.call is not None
        assert second.call is not None
        marked = [
            replace(one, call=replace(one.call, is_rewritten=one.call.answer.parts[-1].text == '{"x":1}'))
            for one in (first, second)
            if one.call is not None
        ]
        (trace,) = traces(*marked)
        assert trace.turns[1].parts[-1].text == '{"x":  1}'


def test_tools_and_circles_and_spans_that_come_twice_are_borne() -> None:
    one = model("1", 1, [HELLO], said("x"), parent="2")
    two = model("2", 2, [HELLO, said("x"), HELLO], said("y"), parent="1")
    assert one.call is not None
    one = replace(one, call=replace(one.call, request=replace(one.call.request, tools=read_tools([{"name": "f"}]))))
    (trace,) = traces(one, two, one, two)
    assert trace.turns[-1].generation is not None


def test_runs_of_tools_without_a_request_are_the_calls_of_their_agents() -> None:
    asked = ModelCall(
        DecodedRequest("", "m", read_messages([HELLO])),
        replace(read_message(said("Sunny.")), role=Role.ASSISTANT, generation=Generation(requested_model="m")),
    )
    outer, inner = traces(
        replace(agent("a", "planner"), conversation=asked),
        agent("b", "searcher", parent="a"),
        tool("t1", 1, ToolRun("open", "c1", '{"url": ', "bad arguments", failed=True), parent="b"),
        tool("t2", 3, ToolRun("map", "", "{}"), parent="a"),
        tool("t3", 5, ToolRun("map", "", "{}", ""), parent="a"),
    )
    assert story(outer) == ["user: Weather?", "assistant: {} map", "assistant: {} map", "tool: ", "assistant: Sunny."]
    assert story(inner) == ['assistant: {"url":  open', "tool: bad arguments"]
    assert [turn.result.is_error for turn in inner.turns if turn.result] == [True]
    assert inner.parent is not None
    assert inner.parent.why is ParentWhy.SUBAGENT
    assert inner.parent.external_id in outer.external_ids
    assert (outer.name, inner.name) == ("planner", "searcher")
    assert any("malformed calls can be seen" in warning for warning in outer.provenance.warnings)


def test_runs_outside_of_an_agent_are_a_trace_too_and_an_agent_without_any_is_none() -> None:
    (trace,) = traces(
        agent("a", "idle"), tool("t", 1, ToolRun("f", "c", "{}", "1")), TracedSpan("x", "", OperationKind.OTHER)
    )
    assert story(trace) == ["assistant: {} f", "tool: 1"]
    assert trace.parent is None
