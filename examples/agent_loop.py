"""A small agent on the openai SDK: it asks for the weather by a tool, and goes on when a stream or a call breaks.

    weaklink record --upstream http://127.0.0.1:8000          # in one terminal
    OPENAI_BASE_URL=http://127.0.0.1:8788/v1 OPENAI_API_KEY=none python examples/agent_loop.py

Nothing in it knows of weaklink: only the base URL points at the proxy.
"""

import json
import os
import sys
from typing import Any

import openai
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

MODEL = "Hermes-4-70B"
TOOLS: list[ChatCompletionToolParam] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city, now.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
                "required": ["city"],
            },
        },
    }
]
PROMPT = os.environ.get("AGENT_PROMPT", "Answer in one sentence. Use the tools.")
_MOST_REQUESTS = 8


def get_weather(city: str, days: int = 1) -> str:
    """What the tool answers, always the same."""
    return json.dumps({"city": city, "days": days, "celsius": 3, "sky": "rain"})


def run(client: openai.OpenAI, question: str) -> str:
    """Ask, call tools as long as the model wants to, and give its last words."""
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": question},
    ]
    for _ in range(_MOST_REQUESTS):
        try:
            text, calls = ask(client, messages)
        except openai.APIError as error:
            print(f"agent: the stream broke ({error}); asking again", file=sys.stderr)
            continue
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})  # type: ignore[typeddict-item]  # plain dicts of the same shape
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": answer(call)} for call in calls]
    return "I gave up."


def ask(client: openai.OpenAI, messages: list[ChatCompletionMessageParam]) -> tuple[str, list[dict[str, Any]]]:
    """One request, streamed: the text, and the calls as the API wants them back."""
    text, calls = "", dict[int, dict[str, Any]]()
    stream = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, stream=True)
    finished = False
    for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finished = finished or choice.finish_reason is not None
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(
                    piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] += piece.id or ""
                if piece.function is not None:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    if not finished:
        raise openai.APIError("the stream ended before the answer did", stream.response.request, body=None)
    return text, list(calls.values())


def answer(call: dict[str, Any]) -> str:
    """The tool's result, or what was wrong with the call."""
    try:
        return get_weather(**json.loads(call["function"]["arguments"]))
    except (ValueError, TypeError) as error:
        print(f"agent: a call broke ({error}); telling the model", file=sys.stderr)
        return json.dumps({"error": f"invalid arguments: {error}"})


if __name__ == "__main__":
    print(run(openai.OpenAI(max_retries=0), " ".join(sys.argv[1:]) or "How warm is it in Tromsø?"))
