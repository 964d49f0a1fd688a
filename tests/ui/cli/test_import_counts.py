"""What `import` counts, against counts that a reader makes by eye: each case says what one file holds."""

import json
from pathlib import Path

import pytest

from tests.ui.conftest import Run


def tag(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def call(name: str) -> str:
    return json.dumps({"name": name, "arguments": {}})


def row(*messages: tuple[str, str], **beside: object) -> dict[str, object]:
    return {"conversations": [{"from": role, "value": value} for role, value in messages], **beside}


EXAMPLE = "Answer with <tool_call>\n{'name': <function-name>, 'arguments': <args-dict>}\n</tool_call>"
CASES: dict[str, tuple[list[object], tuple[int, int, int], dict[str, int]]] = {
    "the example in a system prompt is no call": (
        [row(("system", EXAMPLE), ("human", "Hi"), ("gpt", tag(call("f"))))],
        (1, 1, 3),
        {"f": 1},
    ),
    "what the user quotes is no call": ([row(("human", tag(call("f"))), ("gpt", "I see."))], (1, 1, 2), {}),
    "a draft in reasoning is no call": (
        [row(("human", "Hi"), ("gpt", f"<think>\n{tag(call('f'))}\n</think>\n{tag(call('g'))}"))],
        (1, 1, 2),
        {"g": 1},
    ),
    "two objects and an array in a tag are calls each": (
        [row(("gpt", tag(call("f") + call("g"))), ("gpt", tag(f"[{call('f')}, {call('h')}]")))],
        (1, 2, 2),
        {"f": 2, "g": 1, "h": 1},
    ),
    "a tag opened again before it is closed is two calls": (
        [row(("gpt", f"<tool_call>\n{call('f')}\n{tag(call('g'))}"))],
        (1, 1, 1),
        {"f": 1, "g": 1},
    ),
    "what cannot be read is a call without a name": (
        [row(("gpt", tag("?")), ("gpt", "<tool_call>\n"))],
        (1, 2, 2),
        {"": 2},
    ),
    "function_call and observation": (
        [row(("human", "Hi"), ("function_call", call("f")), ("observation", "1"), ("gpt", "One."))],
        (1, 2, 4),
        {"f": 1},
    ),
    "structured, in-band and legacy calls of messages": (
        [
            {
                "messages": [
                    {"role": "user", "content": "Hi"},
                    {
                        "role": "assistant",
                        "content": tag(call("f")),
                        "tool_calls": [{"id": "a", "function": {"name": "g", "arguments": "{}"}}],
                    },
                    {"role": "tool", "tool_call_id": "a", "content": "1"},
                    {"role": "assistant", "content": None, "function_call": {"name": "h", "arguments": "{"}},
                ]
            }
        ],
        (1, 2, 4),
        {"f": 1, "g": 1, "h": 1},
    ),
    "messages that are the rows": (
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "g", "arguments": "{}"}}]},
        ],
        (1, 1, 2),
        {"g": 1},
    ),
    "answers of a leaderboard": (
        [{"id": "simple_0", "result": tag(call("f"))}, {"id": "simple_1", "result": [{"g": "{}"}, {"g": "{}"}]}],
        (2, 2, 2),
        {"f": 1, "g": 2},
    ),
    "a prompt's calls count as the session's, its answers not as requests": (
        [
            {
                "prompt": f"<|im_start|>assistant\n{tag(call('f'))}<|im_end|>\n<|im_start|>assistant\n",
                "completion": tag(call("g")),
            }
        ],
        (1, 1, 2),
        {"f": 1, "g": 1},
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CASES)
def test_counts_are_what_a_reader_counts(name: str, weaklink: Run, tmp_path: Path) -> None:
    rows, numbers, tools = CASES[name]
    (tmp_path / "file").write_text("".join(json.dumps(data_row) + "\n" for data_row in rows), encoding="utf-8")
    done = weaklink("import", "--json", "--db", "t.db", "file")
    (payload,) = json.loads(done.stdout)["files"]
    assert (payload["traces"], payload["requests"], payload["turns"]) == numbers
    assert payload["tools"] == tools
    assert payload["tool_calls"] == sum(tools.values())


def test_a_captured_stream_counts_its_calls_once(weaklink: Run, tmp_path: Path) -> None:
    pieces = [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]
    more = [{"index": 0, "function": {"arguments": "}"}}]
    chunks = [{"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": calls}}]} for calls in (pieces, more)]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    (tmp_path / "file").write_text(body * 2, encoding="utf-8")
    done = weaklink("import", "--json", "--db", "t.db", "file")
    (payload,) = json.loads(done.stdout)["files"]
    assert (payload["source"], payload["traces"], payload["requests"], payload["tools"]) == (
        "chat-completions",
        2,
        2,
        {"f": 2},
    )
