"""An agent of two requests, with two parallel calls, that differs from run to run in one planted way, or in none.

Run as a command, the planted source and the wire are its arguments; a file in the working folder counts the runs.
"""

import json
import os
import random
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLANTED = ("answer", "tool-result", "clock", "id", "order", "tools")

Send = Callable[[dict[str, Any]], list[dict[str, Any]]]


def run_agent(planted: str, wire: str, number: int, send: Send) -> None:
    """Two requests; `send` gives the calls of the answer, each with `id` and `name`."""
    names = ["weather", "traffic", "news"] if planted != "tools" or number % 2 else ["weather", "traffic"]
    system = "You are terse."
    if planted == "clock":
        system += time.strftime(" It is %Y-%m-%d", time.localtime(1_700_000_000 + 86_400 * number))
    question = "Is it warm in Oslo?"
    if planted == "id":
        question += f" (request {uuid.UUID(int=random.Random(number).getrandbits(128))})"
    body: dict[str, Any] = {"model": "m", "user": f"caller-{number}", "tools": [_tool(name, wire) for name in names]}
    if wire == "anthropic":
        body |= {"max_tokens": 99, "system": system, "messages": [{"role": "user", "content": question}]}
    else:
        body["messages"] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    calls = send(body)
    results = [(call, "12 degrees" if call["name"] == "weather" else "no jams") for call in calls]
    if planted == "tool-result" and number % 2:
        results[0] = (results[0][0], "13 degrees")
    if planted == "order" and number % 2:
        results.reverse()
    body["messages"] = [*body["messages"], *_history(wire, results, calls)]
    send(body)


def answer_of(planted: str, wire: str, number: int, *, is_last: bool) -> dict[str, Any]:
    """What the server answers: calls with ids of its own, then words."""
    ids = random.Random(f"{number} {is_last}")
    text = "It is warm." if planted != "answer" or number % 2 else "It is mild."
    calls = [] if is_last else [("weather", {"city": "Oslo"}), ("traffic", {"city": "Oslo"})]
    if wire == "anthropic":
        blocks: list[dict[str, Any]] = [
            {"type": "tool_use", "id": f"toolu_{ids.getrandbits(64):x}", "name": name, "input": given}
            for name, given in calls
        ]
        content = blocks or [{"type": "text", "text": text}]
        stop = "tool_use" if calls else "end_turn"
        return {"id": f"msg_{ids.getrandbits(64):x}", "type": "message", "role": "assistant", "content": content} | {
            "model": "m",
            "stop_reason": stop,
            "usage": {"input_tokens": 5, "output_tokens": 5},
        }
    made = [
        {
            "id": f"call_{ids.getrandbits(64):x}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for name, given in calls
    ]
    message = {"role": "assistant", "content": None if made else text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    return {"id": f"c{ids.getrandbits(64):x}", "object": "chat.completion", "model": "m", "choices": [choice]}


def calls_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of an answer of either wire."""
    if "choices" in answer:
        made = answer["choices"][0]["message"].get("tool_calls", [])
        return [{"id": call["id"], "name": call["function"]["name"], "raw": call} for call in made]
    return [block | {"raw": block} for block in answer["content"] if block["type"] == "tool_use"]


def _tool(name: str, wire: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    if wire == "anthropic":
        return {"name": name, "input_schema": schema}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def _history(wire: str, results: list[tuple[dict[str, Any], str]], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = [call["raw"] for call in calls]
    if wire == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call["id"], "content": said} for call, said in results]
        return [{"role": "assistant", "content": made}, {"role": "user", "content": blocks}]
    told = [{"role": "tool", "tool_call_id": call["id"], "content": said} for call, said in results]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *told]


def _over_http(wire: str) -> Send:
    address = (
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        if wire == "anthropic"
        else os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    )

    def send(body: dict[str, Any]) -> list[dict[str, Any]]:
        request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return calls_of(json.load(answer))

    return send


if __name__ == "__main__":
    counter = Path("runs.txt")
    run_number = int(counter.read_text()) + 1 if counter.exists() else 1
    counter.write_text(str(run_number))
    run_agent(sys.argv[1], sys.argv[2], run_number, _over_http(sys.argv[2]))
