"""An answer that a client sends back in its next request is the same message, in whichever members its thoughts are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import Run

QUESTION = {"role": "user", "content": "How warm is it in Oslo?"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "4 degrees"}
THOUGHT = "I look up the weather."
ANSWERS: dict[str, dict[str, Any]] = {
    "thoughts in a block (Mistral)": {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
            {"type": "text", "text": "One moment."},
        ]
    },
    "thoughts in details (OpenRouter)": {
        "content": "One moment.",
        "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT, "signature": "s", "index": 0}],
    },
    "thoughts in a member of their own (DeepSeek)": {"content": "One moment.", "reasoning_content": THOUGHT},
    "refusal in a block": {"content": [{"type": "refusal", "refusal": "One moment."}]},
}


def exchange(
    second: int, messages: list[dict[str, Any]], answer: dict[str, Any], finish: str, **settings: Any
) -> dict[str, Any]:
    """An exchange as a HAR archive has it."""
    body = {
        "id": f"chatcmpl-{second}",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **answer}, "finish_reason": finish}],
    }
    return {
        "startedDateTime": f"2026-01-02T03:04:{second:02}.000Z",
        "time": 500,
        "request": {
            "method": "POST",
            "url": "http://127.0.0.1:8000/v1/chat/completions",
            "headers": [],
            "postData": {
                "mimeType": "application/json",
                "text": json.dumps({"model": "m", "messages": messages, **settings}),
            },
        },
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"mimeType": "application/json", "text": json.dumps(body)},
        },
    }


def imported(weaklink: Run, folder: Path, exchanges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The traces of an archive, as `show --json` prints them."""
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": list(exchanges)}}
    (folder / "session.har").write_text(json.dumps(log), encoding="utf-8")
    done = weaklink("import", "session.har", "--db", "t.db")
    assert done.returncode == 0, done.stderr
    listed = map(json.loads, weaklink("list", "--db", "t.db", "--json").stdout.splitlines())
    return [json.loads(weaklink("show", "--db", "t.db", str(row["id"]), "--json").stdout) for row in listed]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_sent_back_unchanged_differs_in_nothing(
    weaklink: Run, tmp_path: Path, answer: dict[str, Any]
) -> None:
    called = {**answer, "tool_calls": [CALL]}
    history = [QUESTION, {"role": "assistant", **called}, RESULT]
    entries = [
        exchange(1, [QUESTION], called, "tool_calls"),
        exchange(2, history, {"content": "It has 4 degrees."}, "stop"),
    ]
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    (tmp_path / "session.har").write_text(json.dumps(log), encoding="utf-8")
    done = weaklink("check", "session.har", "--output", "json")
    checked = json.loads(done.stdout)
    assert [diagnostic["message"] for diagnostic in checked["diagnostics"]] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stop", ["", "\nObservation:"])
def test_a_result_that_an_agent_adds_to_the_answer_is_the_result_of_its_call(
    weaklink: Run, tmp_path: Path, stop: str
) -> None:
    """As CrewAI does for models whose native calls it does not use."""

    def asks(city: str) -> str:
        return f'Thought: I look.\nAction: get_weather\nAction Input: {{"city": "{city}"}}'

    def said(text: str) -> dict[str, Any]:
        return {"role": "assistant", "content": text}

    oslo, voss = f"{asks('Oslo')}\nObservation: 4 degrees", f"{asks('Voss')}\nObservation: Error: no such city"
    sent = [QUESTION, said(oslo), {"role": "user", "content": "Go on."}, said(voss)]
    entries = [
        exchange(1, sent[:1], {"content": asks("Oslo") + stop}, "stop"),
        exchange(2, sent[:3], {"content": asks("Voss") + stop}, "stop"),
        exchange(
            3, sent, {"content": "Thought: I know.\nFinal Answer: Oslo has 4 degrees, Voss was not found."}, "stop"
        ),
    ]
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    (tmp_path / "session.har").write_text(json.dumps(log), encoding="utf-8")
    assert weaklink("import", "session.har", "--db", "w.db").returncode == 0
    shown = json.loads(weaklink("show", "1", "--json", "--db", "w.db").stdout)
    assert [step["outcome"] for step in shown["chain"]] == ["ok", "error-result"]
    assert [(step["result"]["turn"], step["result"]["part"]) for step in shown["chain"]] == [(2, "text"), (4, "text")]
    assert {diagnostic["code"] for diagnostic in shown["diagnostics"]} & {"T404", "L811"} == set()
    chain = weaklink("show", "1", "--db", "w.db", COLUMNS="120").stdout.decode()
    assert "4 degrees" in chain
    assert "failure (textual), reported" in chain
    assert "Error: no such city" in chain


@pytest.mark.parametrize("at_limit", [False, True], ids=["goes on", "at the step limit"])
def test_calls_that_an_agent_repeats_as_words_are_not_dropped_and_have_their_results(
    weaklink: Run, tmp_path: Path, *, at_limit: bool
) -> None:
    """As smolagents does; at its step limit, it asks for the answer under another system prompt."""

    def calls(number: int, city: str) -> dict[str, Any]:
        function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        return {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}

    def words(number: int, city: str) -> dict[str, Any]:
        called = [{"id": f"call_{number}", "function": {"name": "get_weather", "arguments": {"city": city}}}]
        return {"role": "assistant", "content": f"Calling tools:\n{called}"}

    def observed(text: str) -> dict[str, Any]:
        return {"role": "user", "content": f"Observation:\n{text}"}

    system = {"role": "system", "content": "You solve tasks by tools."}
    asked = [QUESTION, words(1, "Oslo"), observed("4 degrees")]
    last = [*asked, words(2, "Voss"), observed("6 degrees\nPlease answer from the above." if at_limit else "6 degrees")]
    end = {"role": "system", "content": "An agent got stuck; here is its memory."} if at_limit else system
    entries = [
        exchange(1, [system, QUESTION], calls(1, "Oslo"), "tool_calls"),
        exchange(2, [system, *asked], calls(2, "Voss"), "tool_calls"),
        exchange(3, [end, *last], {"content": "4 and 6 degrees."}, "stop"),
    ]
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    (tmp_path / "session.har").write_text(json.dumps(log), encoding="utf-8")
    assert weaklink("import", "session.har", "--db", "w.db").returncode == 0
    assert len(weaklink("list", "--json", "--db", "w.db").stdout.splitlines()) == 1
    shown = json.loads(weaklink("show", "1", "--json", "--db", "w.db").stdout)
    assert [step["outcome"] for step in shown["chain"]] == ["ok", "ok"]
    assert [step["result"]["turn"] for step in shown["chain"]] == [4, 7 if at_limit else 6]
    changed = ["L811"] if at_limit else []  # the system prompt of the request before is gone
    assert [diagnostic["code"] for diagnostic in shown["diagnostics"]] == changed


_SAID = 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo", "days": null, "of": "it\'s"}'
_CODE = 'Thought: I look.\n<code>\nprint(get_weather(city="Oslo"))\n'
_CALLING = "Calling tools:\n[{'id': 'call_1', 'type': 'function', 'function': {'name': %r, 'arguments': %r}}]"


def _called(text: str) -> dict[str, Any]:
    return {"content": text, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (  # LlamaIndex prints the arguments that it has read
            {"content": _SAID},
            "Thought: I look.\nAction: get_weather\nAction Input: {'city': 'Oslo', 'days': None, 'of': \"it's\"}",
        ),
        ({"content": _CODE}, f"{_CODE}</code>"),  # the stop word, which a server leaves out
        (  # smolagents' agents that write code, and those that call tools
            {"content": _CODE},
            f"{_CODE}</code>" + _CALLING % ("python_interpreter", 'print(get_weather(city="Oslo"))'),
        ),
        (_called(""), _CALLING % ("get_weather", {"city": "Oslo"})),
        (_called("One moment."), "One moment.\n" + _CALLING % ("get_weather", {"city": "Oslo"})),
    ],
    ids=["arguments as Python prints them", "stop word", "code and its call", "call", "text and its call"],
)
def test_an_answer_whose_calls_are_sent_back_as_words_is_not_rewritten(
    weaklink: Run, tmp_path: Path, answer: dict[str, Any], sent: str
) -> None:
    history = [QUESTION, {"role": "assistant", "content": sent}, {"role": "user", "content": "Observation:\n4 degrees"}]
    stop = {"stop": ["Calling tools:", "</code>"]}
    entries = [
        exchange(1, [QUESTION], answer, "stop", **stop),
        exchange(2, history, {"content": "It has 4 degrees."}, "stop", **stop),
    ]
    assert _history_faults(weaklink, tmp_path, entries) == []


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"content": _SAID}, _SAID.replace("Oslo", "Voss")),
        ({"content": _CODE}, f"{_CODE}</code>\nprint(delete_all())"),
        (_called("One moment."), "One moment."),
        (_called(""), _CALLING % ("get_weather", {"city": "Voss"})),
    ],
    ids=["other argument", "other code", "no call", "call with other argument"],
)
def test_an_answer_that_is_sent_back_with_other_words_is_rewritten(
    weaklink: Run, tmp_path: Path, answer: dict[str, Any], sent: str
) -> None:
    history = [QUESTION, {"role": "assistant", "content": sent}, {"role": "user", "content": "Observation:\n4 degrees"}]
    entries = [
        exchange(1, [QUESTION], answer, "stop", stop=["</code>"]),
        exchange(2, history, {"content": "It has 4 degrees."}, "stop", stop=["</code>"]),
    ]
    assert _history_faults(weaklink, tmp_path, entries) == ["L811"]


def _history_faults(weaklink: Run, tmp_path: Path, entries: list[dict[str, Any]]) -> list[str]:
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    (tmp_path / "session.har").write_text(json.dumps(log), encoding="utf-8")
    checked = json.loads(weaklink("check", "session.har", "--output", "json").stdout)
    codes = [diagnostic["code"] for diagnostic in checked["diagnostics"]]
    return [code for code in codes if code.startswith("L8")]


def test_a_refused_answer_that_a_later_request_leaves_out_is_of_the_same_run(weaklink: Run, tmp_path: Path) -> None:
    """LlamaIndex's ReAct agent says once why it could not read an answer, and prints the arguments of the next one."""
    call = 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo"}'
    printed = call.replace('"', "'")
    refused = [{"role": "assistant", "content": call[:-1]}, {"role": "user", "content": "Error while parsing: no JSON"}]
    done = [{"role": "assistant", "content": printed}, {"role": "user", "content": "Observation: 4 degrees"}]
    entries = [
        exchange(1, [QUESTION], {"content": call[:-1]}, "stop"),
        exchange(2, [QUESTION, *refused], {"content": call}, "stop"),
        exchange(3, [QUESTION, *done], {"content": "Thought: I know.\nAnswer: It has 4 degrees."}, "stop"),
    ]
    log = {"log": {"version": "1.2", "creator": {"name": "test", "version": "1"}, "entries": entries}}
    (tmp_path / "session.har").write_text(json.dumps(log), encoding="utf-8")
    assert weaklink("import", "session.har", "--db", "w.db").returncode == 0
    assert len(weaklink("list", "--json", "--db", "w.db").stdout.splitlines()) == 1
    chain = json.loads(weaklink("show", "1", "--json", "--db", "w.db").stdout)["chain"]
    assert [(step["outcome"], step["recovered_by"]) for step in chain] == [("malformed", 2), ("ok", None)]
