"""Faults planted in a server or its model are found in both modes, each with its kind and its owner; and no others."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.probe.model_server import Body, Fault, Parsed, call_text, running
from weaklink.inspector.probe.builtin_suite import builtin_suite
from weaklink.inspector.probe.judging import Owner
from weaklink.inspector.probe.measures import measure
from weaklink.inspector.probe.results import ProbeMode
from weaklink.inspector.probe.running import ProbedAnswer, ProbePlan, ProbeRun, endpoint_target
from weaklink.inspector.probe.suite import ProbeRequest

_SUITE = {request.id: request for request in builtin_suite()}
_ONE, _TWO, _TEXT, _UNICODE = "one-call-1", "several-calls-2", "no-call-1", "long-and-unicode-arguments-3"
_USED = (_ONE, _TWO, _TEXT)


def probed(fault: Fault, ids: tuple[str, ...] = _USED, server_parser: str = "") -> list[ProbedAnswer]:
    """The answers to these requests from a server with this fault."""

    async def run() -> list[ProbedAnswer]:
        answers: list[ProbedAnswer] = []
        async with running(fault) as server:
            plan = ProbePlan(server.url, tuple(_SUITE[id_] for id_ in ids), model="m", server_parser=server_parser)
            await ProbeRun(plan, endpoint_target(server.url, {}), answers.extend).run()
        return answers

    return asyncio.run(run())


def _set(*path: str | int, to: Any) -> Callable[[Any, Body], Any]:
    """A fault that sets a member of a body, and of each chunk that has it; `None` as the last of `to` removes it."""

    def change(value: Any, _: Body) -> Any:
        for element in value if isinstance(value, list) else [value]:
            inner = element
            for step in path[:-1]:
                inner = _inner(inner, step)
            if isinstance(inner, dict) and (path[-1] in inner or to is not _REMOVED):
                if to is _REMOVED:
                    inner.pop(path[-1])
                elif path[-1] in inner:
                    inner[path[-1]] = to
        return value

    return change


_REMOVED = object()
_ERROR = {"error": {"message": "out of memory"}}


def _inner(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and len(value) > step else None


def _both(*path: str | int, to: Any) -> Fault:
    """The same fault in the body and in the chunks."""
    change = _set(*path, to=to)
    return Fault(whole=change, chunks=change)


def _usage(**counts: int) -> Fault:
    def change(value: Any, _: Body) -> Any:
        for element in value if isinstance(value, list) else [value]:
            if "usage" in element:
                element["usage"] = {**element["usage"], **counts}
        return value

    return Fault(whole=change, chunks=change)


def _calls(change: Callable[[list[Body]], list[Body]], *, keep_finish: bool = True) -> Fault:
    """The server changes the calls that it parsed."""

    def parsed(value: Parsed, _: Body) -> Parsed:
        calls = change([{**call, "function": dict(call["function"])} for call in value.calls])
        finish = value.finish if keep_finish else "tool_calls" if calls else "stop"
        return replace(value, calls=calls, finish=finish)

    return Fault(parsed=parsed)


def _each(**members: Any) -> Fault:
    def change(calls: list[Body]) -> list[Body]:
        return [{**call, **members} for call in calls]

    return _calls(change)


def _arguments(change: Callable[[str], Any]) -> Fault:
    def of_calls(calls: list[Body]) -> list[Body]:
        for call in calls:
            call["function"]["arguments"] = change(call["function"]["arguments"])
        return calls

    return _calls(of_calls)


def _named(change: Callable[[str], str]) -> Fault:
    def of_calls(calls: list[Body]) -> list[Body]:
        for call in calls:
            call["function"]["name"] = change(call["function"]["name"])
        return calls

    return _calls(of_calls)


def _left_in_content(value: Parsed, _: Body) -> Parsed:
    if not value.calls:
        return value
    texts = [call_text(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in value.calls]
    return Parsed("\n".join(texts), [], "stop")


def _swallowed(value: Parsed, _: Body) -> Parsed:
    if not value.calls:
        return value
    return Parsed("", [], "stop", reasoning=_left_in_content(value, {}).content)


def _instead(text: Callable[[str], str], ids: tuple[str, ...] = _USED) -> Fault:
    """The model writes another text."""

    def change(right: str, request: ProbeRequest) -> str:
        return text(right) if request.id in ids else right

    return Fault(text=change)


def _invented(value: Parsed, body: Body) -> Parsed:
    if value.calls or not body.get("tools"):
        return value
    call = {"id": "call_9", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
    return Parsed("", [call], "tool_calls")


def _content(change: Callable[[str], str]) -> Fault:
    return Fault(parsed=lambda value, _: replace(value, content=change(value.content)))


def _one_parsed(content: str, *names: str, finish: str = "") -> Fault:
    """The server delivers this content and these calls, whatever the model wrote."""
    calls = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": '{"city": "Oslo"}'}}
        for index, name in enumerate(names)
    ]
    return Fault(parsed=lambda value, _: Parsed(content, calls, finish or ("tool_calls" if calls else "stop")))


def _numbers_as_text(arguments: str) -> str:
    return json.dumps({key: str(value) for key, value in json.loads(arguments).items()})


_SERVER, _MODEL = Owner.SERVER, Owner.MODEL
_CALL_IDS = (_ONE, _TWO)

# name: fault, requests, (kind, owner) of all findings
BOTH_MODES: dict[str, tuple[Fault, tuple[str, ...], tuple[str, Owner]]] = {
    # the form of the answer
    "no id": (_both("id", to=_REMOVED), _USED, ("id-missing", _SERVER)),
    "another object": (_both("object", to="text_completion"), _USED, ("object-wrong", _SERVER)),
    "no model": (_both("model", to=None), _USED, ("model-missing", _SERVER)),
    "role of a user": (
        Fault(
            whole=_set("choices", 0, "message", "role", to="user"),
            chunks=_set("choices", 0, "delta", "role", to="user"),
        ),
        _USED,
        ("role-wrong", _SERVER),
    ),
    "no finish reason": (_both("choices", 0, "finish_reason", to=None), _USED, ("finish-reason-missing", _SERVER)),
    "stop after calls": (
        Fault(parsed=lambda value, _: replace(value, finish="stop")),
        _USED,
        ("finish-reason-wrong", _SERVER),
    ),
    "tool_calls without calls": (
        Fault(parsed=lambda value, _: replace(value, finish="tool_calls")),
        _USED,
        ("finish-reason-wrong", _SERVER),
    ),
    "an unknown finish reason": (
        Fault(parsed=lambda value, _: replace(value, finish="eos")),
        _USED,
        ("finish-reason-unknown", _SERVER),
    ),
    "no usage": (_both("usage", to=None), _USED, ("usage-missing", _SERVER)),
    "usage that does not add up": (_usage(total_tokens=1), _USED, ("usage-wrong", _SERVER)),
    "usage of no tokens": (_usage(completion_tokens=0, total_tokens=20), _USED, ("usage-wrong", _SERVER)),
    "more tokens than allowed": (
        _usage(completion_tokens=2000, total_tokens=2020),
        _USED,
        ("token-limit-exceeded", _SERVER),
    ),
    "calls without ids": (_each(id=None), _USED, ("call-id-missing", _SERVER)),
    "calls with one id": (_each(id="call_0"), _USED, ("call-id-repeated", _SERVER)),
    "calls without type": (_each(type=None), _USED, ("call-type-missing", _SERVER)),
    "arguments as an object": (_arguments(json.loads), _CALL_IDS, ("arguments-not-text", _SERVER)),
    "an error with status 200": (
        Fault(
            whole=lambda value, _: {"error": {"message": "x"}}, chunks=lambda value, _: [{"error": {"message": "x"}}]
        ),
        _USED,
        ("error-in-answer", _SERVER),
    ),
    "a parameter refused": (
        Fault(status=lambda body: 400 if body.get("parallel_tool_calls") is False else 200),
        (*_USED, "tool-choice-4"),
        ("request-refused", _SERVER),
    ),
    "an error of the server": (Fault(status=lambda body: 501), _USED, ("no-answer", _SERVER)),
    # what the server's parser made of the model's right text
    "calls left in the content": (Fault(parsed=_left_in_content), _USED, ("call-missing", _SERVER)),
    "calls lost": (_calls(lambda calls: [], keep_finish=False), _USED, ("call-missing", _SERVER)),
    "reasoning swallows the call": (Fault(parsed=_swallowed), _USED, ("call-missing", _SERVER)),
    "the second call lost": (_calls(lambda calls: calls[:1]), _USED, ("call-missing", _SERVER)),
    "calls delivered twice": (
        _calls(lambda calls: [*calls, *({**call, "id": f"{call['id']}b"} for call in calls)]),
        _USED,
        ("call-repeated", _SERVER),
    ),
    "a call invented": (Fault(parsed=_invented), _USED, ("call-unwanted", _SERVER)),
    "arguments encoded twice": (_arguments(json.dumps), _USED, ("arguments-as-string", _SERVER)),
    "arguments without their end": (_arguments(lambda text: text[:-1]), _USED, ("truncated-json", _SERVER)),
    "arguments as Python": (
        _arguments(lambda text: text.replace('"', "'")),
        _USED,
        ("single-quoted-json", _SERVER),
    ),
    "arguments of another character set": (
        _arguments(lambda text: text.encode().decode("latin-1")),
        (_UNICODE,),
        ("wrong-arguments", _SERVER),
    ),
    "arguments lost": (_arguments(lambda text: "{}"), _CALL_IDS, ("missing-required", _SERVER)),
    "numbers as text": (_arguments(_numbers_as_text), ("one-call-4",), ("wrong-type", _SERVER)),
    "an argument too many": (
        _arguments(lambda text: json.dumps({**json.loads(text), "explanation": "x"})),
        _CALL_IDS,
        ("wrong-arguments", _SERVER),
    ),
    "arguments changed": (
        _arguments(lambda text: text.replace("Oslo", "oslo")),
        (_ONE,),
        ("wrong-arguments", _SERVER),
    ),
    "a prefix before the name": (_named(lambda name: f"functions.{name}"), _USED, ("unknown-tool", _SERVER)),
    "a special token left": (
        _content(lambda text: text and f"{text}<|im_end|>"),
        _USED,
        ("special-token-in-content", _SERVER),
    ),
    "the first characters lost": (_content(lambda text: text[3:]), _USED, ("wrong-text", _SERVER)),
    # what the request makes the server enforce
    "no call although forced": (
        _one_parsed("The weather is nice."),
        ("tool-choice-1", "tool-choice-2"),
        ("forced-call-missing", _SERVER),
    ),
    "another tool than forced": (_one_parsed("", "get_time"), ("tool-choice-2",), ("other-tool-than-forced", _SERVER)),
    "a call although none": (_one_parsed("", "get_weather"), ("tool-choice-3",), ("call-despite-none", _SERVER)),
    "parallel calls although false": (
        _one_parsed("", "get_weather", "get_weather"),
        ("tool-choice-4",),
        ("parallel-call-despite-false", _SERVER),
    ),
    "prose in JSON mode": (
        _one_parsed("Here you are!"),
        ("json-mode-1", "json-mode-2"),
        ("json-mode-violated", _SERVER),
    ),
    "another schema in JSON mode": (_one_parsed('{"a": 1}'), ("json-mode-1",), ("json-mode-violated", _SERVER)),
    "a strict schema violated": (
        _instead(lambda right: call_text("get_weather", {"town": "Oslo"}), ("strict-mode-1",)),
        ("strict-mode-1",),
        ("strict-schema-violated", _SERVER),
    ),
    # what the model wrote itself, delivered faithfully
    "the model makes no call": (_instead(lambda right: "It rains.", _CALL_IDS), _USED, ("call-missing", _MODEL)),
    "the model makes a call too many": (
        _instead(lambda right: f"{right}\n{call_text('get_time', {'city': 'Oslo'})}", (_TWO,)),
        _USED,
        ("call-unwanted", _MODEL),
    ),
    "the model repeats a call": (
        _instead(lambda right: f"{right}\n{right}", (_ONE,)),
        _USED,
        ("call-repeated", _MODEL),
    ),
    "the model calls without need": (
        _instead(lambda right: call_text("get_weather", {"city": "Paris"}), (_TEXT,)),
        _USED,
        ("call-unwanted", _MODEL),
    ),
    "the model writes single quotes": (
        _instead(lambda right: right.replace('"', "'"), (_ONE,)),
        _USED,
        ("single-quoted-json", _MODEL),
    ),
    "the model forgets an argument": (
        _instead(lambda right: call_text("get_weather", {}), (_ONE,)),
        _USED,
        ("missing-required", _MODEL),
    ),
    "the model mistakes a type": (
        _instead(lambda right: right.replace("12", '"12"'), ("one-call-4",)),
        ("one-call-4",),
        ("wrong-type", _MODEL),
    ),
    "the model invents a tool": (
        _instead(lambda right: right.replace("get_weather", "weather_now"), (_ONE,)),
        _USED,
        ("unknown-tool", _MODEL),
    ),
    "the model mistakes a value": (
        _instead(lambda right: right.replace("Oslo", "Bergen"), (_ONE,)),
        _USED,
        ("wrong-arguments", _MODEL),
    ),
    "the model answers wrongly": (_instead(lambda right: "London", (_TEXT,)), _USED, ("wrong-text", _MODEL)),
}


@pytest.mark.parametrize("name", BOTH_MODES)
def test_a_planted_fault_is_found_in_both_modes_with_its_owner(name: str) -> None:
    fault, ids, expected = BOTH_MODES[name]
    answers = probed(fault, ids)
    for mode in ProbeMode:
        findings = [finding for answer in answers if answer.record.mode is mode for finding in answer.record.findings]
        assert {(finding.kind, finding.owner) for finding in findings} == {expected}, findings
        assert all(finding.message and finding.evidence for finding in findings)


def test_thirty_and_more_faults_are_planted() -> None:
    assert len(BOTH_MODES) >= 30


def test_a_clean_server_has_no_finding_in_the_whole_suite() -> None:
    answers = probed(Fault(), tuple(_SUITE))
    assert len(answers) == 2 * len(_SUITE)
    assert [finding for answer in answers for finding in answer.record.findings] == []
    measures = measure([answer.record for answer in answers])
    assert all(share.value == 1.0 and share.trials for share in measures.shares), measures
    assert not any(measures.errors.values())
    assert measures.medians[0].trials == len(_SUITE)


def _every_piece(change: Callable[[Body], None]) -> Fault:
    """A fault in the pieces of calls in a stream, after the first of each."""

    def change_all(chunks: list[Any], _: Body) -> list[Any]:
        for chunk in chunks:
            for choice in chunk["choices"]:
                for piece in choice["delta"].get("tool_calls", ()):
                    change(piece)
        return chunks

    return Fault(chunks=change_all)


def _joined(piece: Body) -> None:
    """All calls under index 0, with one head: the arguments of both become one text."""
    if piece["index"]:
        piece["index"] = 0
        piece.pop("id", None)
        piece.pop("type", None)
        piece["function"].pop("name", None)


def _twice(chunks: list[Any], _: Body) -> list[Any]:
    content = [chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["delta"].get("content")]
    last = max((chunks.index(chunk) for chunk in content), default=0)
    return [*chunks[: last + 1], *content, *chunks[last + 1 :]]


def _without_a_piece(chunks: list[Any], _: Body) -> list[Any]:
    pieces = [chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["delta"].get("tool_calls")]
    return [chunk for chunk in chunks if chunk not in pieces[2:3]]


def _finish_first(chunks: list[Any], _: Body) -> list[Any]:
    """The finish reason comes before the last piece."""
    *before, piece, finish, usage = chunks
    return [*before, finish, piece, usage]


def _whole_message(chunks: list[Any], _: Body) -> list[Any]:
    for chunk in chunks:
        for choice in chunk["choices"]:
            choice["message"] = choice["delta"]
            del choice["delta"]
    return chunks


def _set_id(chunks: list[Any], _: Body) -> list[Any]:
    return [{**chunk, "id": f"chatcmpl-{number}"} for number, chunk in enumerate(chunks)]


# name: fault, requests, a finding in the stream; the whole answer has none
STREAMED: dict[str, tuple[Fault, tuple[str, ...], tuple[str, Owner]]] = {
    "no end mark": (Fault(has_end=False), _USED, ("end-mark-missing", _SERVER)),
    "ids change": (Fault(chunks=_set_id), _USED, ("id-changes", _SERVER)),
    "an event is no JSON": (
        Fault(chunks=lambda chunks, _: [chunks[0], "{broken", *chunks[1:]]),
        _USED,
        ("event-unreadable", _SERVER),
    ),
    "pieces without index": (
        _every_piece(lambda piece: piece.pop("index")),
        (_ONE,),
        ("call-index-missing", _SERVER),
    ),
    "all calls have index 0": (
        _every_piece(lambda piece: piece.update(index=0)),
        (_TWO,),
        ("call-index-reused", _SERVER),
    ),
    "the name comes again": (
        _every_piece(lambda piece: piece["function"].update(name="get_weather")),
        (_ONE,),
        ("call-name-repeated", _SERVER),
    ),
    "messages instead of deltas": (Fault(chunks=_whole_message), (_TEXT,), ("delta-missing", _SERVER)),
    "text after the finish": (Fault(chunks=_finish_first), (_ONE, _TEXT), ("text-after-finish", _SERVER)),
    "no stream": (Fault(swap_modes=(True,)), _USED, ("stream-not-sent", _SERVER)),
    "arguments joined": (_every_piece(_joined), (_TWO,), ("several-objects-in-one-call", _SERVER)),
    "text streamed twice": (Fault(chunks=_twice), (_TEXT,), ("streamed-differs", _SERVER)),
    "a piece of arguments lost": (Fault(chunks=_without_a_piece), (_ONE,), ("missing-value", _SERVER)),
}


@pytest.mark.parametrize("name", STREAMED)
def test_a_fault_of_the_stream_alone_is_found_there(name: str) -> None:
    fault, ids, expected = STREAMED[name]
    answers = probed(fault, ids)
    streamed = [
        finding for answer in answers if answer.record.mode is ProbeMode.STREAMED for finding in answer.record.findings
    ]
    whole = [
        finding for answer in answers if answer.record.mode is ProbeMode.WHOLE for finding in answer.record.findings
    ]
    assert expected in {(finding.kind, finding.owner) for finding in streamed}, streamed
    assert whole == []


def test_a_stream_that_was_not_asked_for_is_found() -> None:
    answers = probed(Fault(swap_modes=(False,)))
    assert {(finding.kind, finding.owner) for answer in answers for finding in answer.record.findings} == {
        ("stream-not-asked", Owner.SERVER)
    }
