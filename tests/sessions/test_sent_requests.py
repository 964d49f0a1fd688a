"""Requests as read: whatever a client does to its history, each request comes back word for word, each text once."""

import json
from collections.abc import Callable
from hashlib import md5
from random import Random
from typing import cast

import pytest

from weaklink.inspector.exporters.openai_messages import messages_row
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Role, SentMessage, Trace, Turn
from weaklink.inspector.model.exchange import ReadRequest, compacted, expanded, requests_of
from weaklink.inspector.sessions.exchange import Exchange, RequestHead
from weaklink.inspector.sessions.gathering import traces_of

Message = dict[str, object]
_CLOCK = "You are a helper with tools. " * 20


def exchange(messages: list[Message], answer: Message, number: int) -> Exchange:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    head = RequestHead("POST", "/v1/chat/completions", (("x-session-id", "s"),), at_s=float(number))
    choice = {"index": 0, "message": answer, "finish_reason": "stop"}
    said = json.dumps({"id": f"r{number}", "object": "chat.completion", "model": "m", "choices": [choice]}).encode()
    return Exchange(head, body, 200, (("content-type", "application/json"),), ((None, said),), ended_s=number + 0.5)


def call(number: int) -> Message:
    arguments = json.dumps({"query": f"what is number {number}?" * 3, "limit": number})
    function = {"name": "search", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "reasoning_content": f"I think of {number}.",
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def edited(random: Random, messages: list[Message], number: int) -> list[Message]:
    """A history as some clients send it back: without reasoning, cut, trimmed, with a clock, with other white space."""
    kept = [{key: value for key, value in message.items() if key != "reasoning_content"} for message in messages]
    for message in kept:
        match random.randrange(12):
            case 0 if message["role"] == "tool":
                message["content"] = f"{str(message['content'])[:100]} [cut]"
            case 1 if message["role"] == "assistant":
                raw = json.loads(json.dumps(message["tool_calls"]))
                raw[0]["function"]["arguments"] = json.dumps(json.loads(raw[0]["function"]["arguments"]), indent=1)
                message["tool_calls"] = raw
            case 2 if message["role"] == "user" and message is not kept[1]:
                message["content"] = "Other words."
    if random.random() < 0.3:
        kept[0] = {"role": "system", "content": f"{_CLOCK}It is {number} o'clock. {_CLOCK}"}
    if random.random() < 0.2 and len(kept) > 8:
        del kept[2:6]
    return kept


def said_by(messages: list[Message]) -> list[list[object]]:
    said: list[list[object]] = []
    for message in messages:
        calls = message.get("tool_calls")
        made = [[each["id"], each["function"]["arguments"]] for each in calls] if isinstance(calls, list) else []
        said.append([message["role"], message["content"] or "", made])
    return said


def read_by(request: ReadRequest, turns: tuple[Turn, ...]) -> list[list[object]]:
    said: list[list[object]] = []
    for message in request.messages():
        turn = message.version if message.version is not None else turns[(message.turn or 0) - 1]
        text = turn.part("text")
        parts = {part.name: part.text for part in turn.parts}
        made = [[each.id, parts[each.part]] for each in turn.calls]
        said.append([turn.role.value, text.text if text else "", made])
    return said


@pytest.mark.parametrize("seed", range(24))
def test_every_request_comes_back_as_it_was_sent(seed: int) -> None:
    random = Random(seed)
    history: list[Message] = [{"role": "system", "content": _CLOCK}, {"role": "user", "content": "Find them all."}]
    sent: list[list[Message]] = []
    exchanges = []
    for number in range(8):
        messages = edited(random, history, number) if number else list(history)
        sent.append(messages)
        exchanges.append(exchange(messages, call(number), number))
        result: Message = {"role": "tool", "tool_call_id": f"c{number}", "content": f"result {number} " * 50}
        history += [call(number), result]
        if random.random() < 0.2:
            history.append({"role": "user", "content": f"And then {number}?"})
    read: list[list[list[object]]] = []
    for trace in traces_of(exchanges):
        assert isinstance(trace, Trace)
        turns = tuple(trace.turns)
        for stored in (compacted(trace), expanded(compacted(trace))):
            requests = [request for request in requests_of(stored.turns) if isinstance(request, ReadRequest)]
            original = [request for request in requests_of(turns) if isinstance(request, ReadRequest)]
            assert [read_by(request, turns) for request in requests] == [
                read_by(request, turns) for request in original
            ]
        read += [read_by(request, turns) for request in requests_of(turns) if isinstance(request, ReadRequest)]
    assert sorted(map(json.dumps, read)) == sorted(json.dumps(said_by(sent_messages)) for sent_messages in sent)


def test_a_history_that_grows_costs_its_new_messages() -> None:
    history: list[Message] = [{"role": "user", "content": "Find them all."}]
    exchanges = []
    for number in range(30):
        exchanges.append(exchange(history, {"role": "assistant", "content": f"answer {number}"}, number))
        history = [
            *history,
            {"role": "assistant", "content": f"answer {number}"},
            {"role": "user", "content": f"{number}"},
        ]
    (trace,) = traces_of(exchanges)
    assert isinstance(trace, Trace)
    requests = [turn.generation.request for turn in trace.turns if turn.generation is not None]
    assert [len(request.messages) for request in requests if request is not None] == [1, *[2] * 29]
    assert not any(isinstance(message, SentMessage) for request in requests if request for message in request.messages)


def test_a_version_that_comes_again_is_kept_once() -> None:
    result = "line of a file\n" * 400
    history: list[Message] = [{"role": "user", "content": "Read it."}]
    exchanges = [exchange(history, call(0), 0)]
    history = [*history, call(0), {"role": "tool", "tool_call_id": "c0", "content": result}]
    exchanges.append(exchange(history, call(1), 1))
    for number in range(2, 6):
        history = [*history, call(number - 1), {"role": "tool", "tool_call_id": f"c{number - 1}", "content": "ok"}]
        cut = [dict(message) for message in history]
        cut[2]["content"] = f"{result[:900]}[truncated]"
        cut.insert(1, {"role": "user", "content": f"Reminder {number}"})
        exchanges.append(exchange(cut, call(number), number))
    (trace,) = traces_of(exchanges)
    assert isinstance(trace, Trace)
    own = [
        part.text
        for turn in compacted(trace).turns
        if turn.role is Role.ASSISTANT and turn.generation and turn.generation.request
        for message in turn.generation.request.messages
        if isinstance(message, SentMessage)
        for part in message.parts
    ]
    assert [text for text in own if "[truncated]" in text] == ["[truncated]"]


def _renamed(messages: list[Message], name: Callable[[str], str]) -> list[Message]:
    """A history as a client sends it that writes other ids into it than the model gave."""
    sent = json.loads(json.dumps(messages))
    for message in sent:
        if "tool_call_id" in message:
            message["tool_call_id"] = name(message["tool_call_id"])
        for each in message.get("tool_calls", ()):
            each["id"] = name(each["id"])
    return cast("list[Message]", sent)


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize(
    "name",
    [lambda id_: "".join(filter(str.isalnum, id_)), lambda id_: md5(id_.encode()).hexdigest()[:9]],
    ids=["openclaw", "digest"],
)
def test_results_answer_their_calls_under_the_ids_of_a_client(name: Callable[[str], str], calls: int) -> None:
    history: list[Message] = [{"role": "user", "content": "Look."}]
    exchanges = []
    for number in range(3):
        answer = call(number)
        made = cast("list[dict[str, object]]", answer["tool_calls"])
        answer["tool_calls"] = [{**made[0], "id": f"call_{number}_{index}"} for index in range(calls)]
        exchanges.append(exchange(_renamed(history, name), answer, number))
        ids = [f"call_{number}_{index}" for index in reversed(range(calls))]  # in another order than the calls
        results: list[Message] = [{"role": "tool", "tool_call_id": id_, "content": f"for {id_}"} for id_ in ids]
        history += [answer, *results]
    exchanges.append(exchange(_renamed(history, name), {"role": "assistant", "content": "That is it."}, 3))
    (trace,) = traces_of(exchanges)
    assert isinstance(trace, Trace)
    inspection = inspect_trace(trace)
    assert [step.result and step.result.content for step in inspection.chain.steps] == [
        f"for {step.call.id}" for step in inspection.chain.steps
    ]
    assert len(inspection.chain.steps) == 3 * calls
    assert [
        diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.rule.code in {"T404", "L811"}
    ] == []
    messages = cast("list[Message]", messages_row(trace).value["messages"])
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert sorted(map(str, answered)) == sorted(str(step.call.id) for step in inspection.chain.steps)
