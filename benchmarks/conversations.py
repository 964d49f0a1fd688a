"""Made-up agent conversations in OpenAI's messages, as training sets and chat logs hold them, always the same.

Most calls are good; a few have broken JSON, an argument of the wrong type, a missing one, or a tool that is not there.
"""

import json
import math
import random
from dataclasses import dataclass
from typing import Any

from benchmarks.corpus import coding_arguments, coding_steps, prose, reasoning_texts, short_texts

_TYPES = ("string", "string", "integer", "number", "boolean", "enum", "array", "object")
_BROKEN_OF_100 = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """How large conversations are: steps of a call and its result, tools on offer, characters of a result.

    `toolsets` is how many different sets of tools the lines of one file share; 0 gives every line its own.
    """

    steps: int
    tools: int
    parameters: int
    result_size: int
    toolsets: int


SHAPES = {
    "small conversations, large tools, shared": Shape(2, 12, 5, 200, 3),
    "small conversations, large tools, each its own": Shape(2, 12, 5, 200, 0),
    "long conversations": Shape(60, 10, 4, 3_000, 2),
}


def lines(shape: Shape, size: int) -> list[str]:
    """Lines of JSON, a conversation each, about `size` characters in all."""
    made: list[str] = []
    length = 0
    while length < size:
        made.append(json.dumps(conversation(shape, len(made)), ensure_ascii=False))
        length += len(made[-1]) + 1
    return made


def conversation(shape: Shape, number: int) -> dict[str, Any]:
    """One conversation: a request, calls with their results and now and then a word between them, and an answer."""
    rng = random.Random(number)
    tools = toolset(shape, number % shape.toolsets if shape.toolsets else 1_000 + number)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"You are a helpful agent. {prose(400, 7)}"},
        {"role": "user", "content": prose(160, number)},
    ]
    for step in range(shape.steps):
        messages += _step(rng, tools, shape, number * 1_000 + step)
    messages.append({"role": "assistant", "content": f"Done: {prose(300, number + 1)}"})
    return {"id": number, "model": "hermes-4-70b", "tools": tools, "messages": messages}


def short_calls(number: int) -> dict[str, Any]:
    """A request and its answer with one or two short Hermes calls, of the sizes of `short_texts`."""
    return _answered(number, short_texts(1, number)[0][0])


def long_reasoning(number: int) -> dict[str, Any]:
    """A request and its answer after long reasoning, of the sizes of `reasoning_texts`."""
    return _answered(number, reasoning_texts(1, number)[0][0])


def _answered(number: int, text: str) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": f"You are a function calling model. {prose(400, 7)}"},
        {"role": "user", "content": prose(110, number)},
        {"role": "assistant", "content": text},
    ]
    return {"id": number, "model": "hermes-4-70b", "messages": messages}


def coding_session(number: int) -> dict[str, Any]:
    """A coding agent's session: a step is a call of `coding_arguments` and its result.

    Results have 1,000 characters in the median and 2,300 on average, which makes sessions of 60 to 70 kB, the average
    of nebius/SWE-agent-trajectories (5.6 GB over 80,036).
    """
    rng = random.Random(number)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"You are a coding agent. {prose(3_000, 7)}"},
        {"role": "user", "content": prose(2_500, number)},
    ]
    for step in range(coding_steps(rng)):
        name, value = coding_arguments(rng)
        identifier = f"call_{number * 1_000 + step:08x}"
        call = {"id": identifier, "type": "function", "function": {"name": name, "arguments": json.dumps(value)}}
        result = prose(min(30_000, round(1_000 * math.exp(rng.gauss(0, 1.29)))), rng.randrange(10**6))
        thought = prose(round(120 * math.exp(rng.gauss(0, 0.8))), rng.randrange(10**6))
        messages += [
            {"role": "assistant", "content": thought, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identifier, "name": name, "content": result},
        ]
    messages.append({"role": "assistant", "content": f"Done: {prose(300, number + 1)}"})
    return {"id": number, "model": "hermes-4-70b", "messages": messages}


def toolset(shape: Shape, seed: int) -> list[dict[str, Any]]:
    """The definitions that one request offers, each with a schema of nested parameters and long descriptions."""
    rng = random.Random(seed)
    return [_tool(rng, f"tool_{index}_{rng.choice('abcdefgh')}", shape.parameters) for index in range(shape.tools)]


def arguments(rng: random.Random, schema: dict[str, Any], depth: int = 0) -> Any:
    """A value that fits a schema of `toolset`."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema["type"]:
        case "integer":
            return rng.randrange(1, 100)
        case "number":
            return round(rng.random() * 100, 3)
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return [arguments(rng, schema["items"], depth + 1) for _ in range(3)]
        case "object":
            return {name: arguments(rng, inner, depth + 1) for name, inner in schema["properties"].items()}
    return prose(rng.choice((12, 30, 120)), rng.randrange(10**6))


def _tool(rng: random.Random, name: str, parameters: int) -> dict[str, Any]:
    properties = {
        f"{rng.choice(('path', 'query', 'limit', 'mode'))}_{index}": _property(rng) for index in range(parameters)
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)[: parameters // 2]}
    described = {"name": name, "description": prose(220, rng.randrange(10**6)), "parameters": schema}
    return {"type": "function", "function": described}


def _property(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = rng.choice(_TYPES[: 8 if depth < 2 else 6])
    about = {"description": prose(70, rng.randrange(10**6))}
    if kind == "enum":
        return {"type": "string", "enum": ["fast", "slow", "exact"], **about}
    if kind == "array":
        return {"type": "array", "items": _property(rng, depth + 1), **about}
    if kind == "object":
        inner = {f"field_{index}": _property(rng, depth + 1) for index in range(2)}
        return {"type": "object", "properties": inner, "required": ["field_0"], **about}
    return {"type": kind, **about}


def _step(rng: random.Random, tools: list[dict[str, Any]], shape: Shape, seed: int) -> list[dict[str, Any]]:
    function = rng.choice(tools)["function"]
    name, value = function["name"], arguments(rng, function["parameters"])
    text = json.dumps(value, ensure_ascii=False)
    content = prose(120, seed) if rng.random() < 0.4 else None
    if rng.randrange(100) < _BROKEN_OF_100:
        name, text = _broken(rng, name, value)
    call = {"id": f"call_{seed:08x}", "type": "function", "function": {"name": name, "arguments": text}}
    result = {"status": "ok", "id": seed, "text": prose(max(20, round(shape.result_size * rng.random() * 2)), seed + 1)}
    return [
        {"role": "assistant", "content": content, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "name": name, "content": json.dumps(result, ensure_ascii=False)},
    ]


def _broken(rng: random.Random, name: str, value: dict[str, Any]) -> tuple[str, str]:
    first = next(iter(value))
    match rng.randrange(4):
        case 0:
            return name, json.dumps(value)[:-1] + ",}"
        case 1:
            return name, json.dumps({**value, first: [1]})
        case 2:
            return name, json.dumps({key: inner for key, inner in value.items() if key != first})
    return f"{name}s", json.dumps(value)
