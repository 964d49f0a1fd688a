"""Made-up rows of a training set, short and sound, always the same: `python -m benchmarks.training_rows ROWS SEED`.

A row asks for one to three things; each is a call whose arguments are in the user's words and whose result is in the
answer. Shares of tools and steps are 50, 30 and 20 %, types of parameters are balanced, one row in ten needs no call;
no call fails. Half of the rows hold Hermes' calls in their texts, the others are OpenAI's messages and ShareGPT's.
"""

import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_CITIES = (
    *("Oslo", "Lisbon", "Nairobi", "Quito", "Hanoi", "Perth", "Tallinn", "Accra", "Denver", "Osaka", "Turin", "Malmo"),
    *("Gdansk", "Leeds", "Bergen", "Porto", "Cusco", "Davao", "Split", "Graz", "Ghent", "Cork", "Brno", "Varna"),
)
_SYMBOLS = ("AAPL", "MSFT", "NVDA", "SAP", "TSM", "SHEL", "UL", "TM", "NVO", "ASML", "BHP", "RIO", "INTC", "IBM")
_CURRENCIES = ("EUR", "USD", "JPY", "NOK", "CHF", "GBP", "SEK", "CAD", "PLN", "BRL")
_ROOMS = ("kitchen", "bedroom", "office", "hallway", "cellar", "studio", "attic", "garage")
_GOODS = ("lamp", "kettle", "chair", "backpack", "keyboard", "bicycle", "tent", "notebook", "headset", "mug")
_COLORS = ("red", "blue", "green", "black", "white", "yellow")
_STRING, _NUMBER = {"type": "string"}, {"type": "number"}
_SMALL_TALK = (
    ("What does the word serendipity mean?", "It is the luck of finding something good without looking for it."),
    ("Write a short greeting for a colleague.", "Good morning! I hope that your week has begun well."),
    ("Which is longer, a mile or a kilometre?", "A mile is longer than a kilometre."),
    ("Name a synonym of happy.", "Cheerful means much the same."),
    ("How do I say thank you in French?", "You say merci."),
    ("Is a tomato a fruit?", "Yes, in botany a tomato is a fruit, and in the kitchen a vegetable."),
)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is asked, the call that it needs, the tool's result, and the words of it in the answer."""

    request: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    answer: str


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    description: str
    properties: dict[str, Any]
    task: Callable[[random.Random], _Task]

    @property
    def definition(self) -> dict[str, Any]:
        parameters = {"type": "object", "properties": self.properties, "required": list(self.properties)}
        return {"name": self.name, "description": self.description, "parameters": parameters}


@dataclass(frozen=True, slots=True)
class _Said:
    """A conversation: its type, the tools on offer, the calls of each turn, the question and the answer."""

    kind: str
    offered: list[_Tool]
    steps: list[list[tuple[_Tool, _Task]]]
    question: str
    answer: str


def _pair(first: str, second: str) -> dict[str, Any]:
    return {"type": "object", "properties": {first: _STRING, second: _STRING}, "required": [first, second]}


_LIST = {"type": "array", "items": _STRING}


def _forecast(rng: random.Random) -> _Task:
    city, days, degrees = rng.choice(_CITIES), rng.randint(2, 9), rng.randint(-9, 34)
    request = f"How will the weather in {city} be over the next {days} days"
    answer = f"{city} will have {degrees} degrees."
    return _Task(request, {"city": city, "days": days}, {"city": city, "degrees": degrees}, answer)


def _quotes(rng: random.Random) -> _Task:
    symbols, price = rng.sample(_SYMBOLS, 2), rng.randint(1_000, 90_000) / 100
    request = f"What do {' and '.join(symbols)} cost"
    result = {"prices": dict(zip(symbols, (price, price + 10), strict=True))}
    return _Task(request, {"symbols": symbols}, result, f"{symbols[0]} costs {price}.")


def _flights(rng: random.Random) -> _Task:
    (start, goal), price = rng.sample(_CITIES, 2), rng.randint(40, 900)
    request = f"Which flight is the cheapest from {start} to {goal}"
    result = {"flight": f"WK{price + 100}", "price": price}
    return _Task(
        request, {"route": {"from": start, "to": goal}}, result, f"WK{price + 100} to {goal} is {price} euros."
    )


def _exchange(rng: random.Random) -> _Task:
    (base, quote), amount, rate = rng.sample(_CURRENCIES, 2), rng.randint(11, 4_000), rng.randint(2, 90)
    request = f"How much are {amount} {base} in {quote}"
    arguments = {"amount": amount, "pair": {"base": base, "quote": quote}}
    return _Task(request, arguments, {"converted": amount * rate}, f"{amount} {base} are {amount * rate} {quote}.")


def _distance(rng: random.Random) -> _Task:
    stops, load, length = rng.sample(_CITIES, 3), rng.randint(100, 9_000), rng.randint(300, 9_000)
    request = f"How far is it for a truck with {load} kg by way of {', '.join(stops)}"
    return _Task(request, {"stops": stops, "load_kg": load}, {"km": length}, f"The way to {stops[2]} is {length} km.")


def _products(rng: random.Random) -> _Task:
    goods, color, price = rng.choice(_GOODS), rng.choice(_COLORS), rng.randint(10, 400)
    request = f"Find me a {color} {goods}"
    result = {"found": [{"name": f"{color} {goods}", "price": price}]}
    return _Task(request, {"filters": {"kind": goods, "color": color}}, result, f"A {color} {goods} costs {price}.")


def _rooms(rng: random.Random) -> _Task:
    rooms, degrees, power = rng.sample(_ROOMS, 2), rng.randint(15, 24), rng.randint(300, 2_000)
    request = f"How much power does heating {' and '.join(rooms)} to {degrees} degrees take"
    return _Task(
        request, {"rooms": rooms, "degrees": degrees}, {"watts": power}, f"The {rooms[0]} takes {power} watts."
    )


def _population(rng: random.Random) -> _Task:
    city, people = rng.choice(_CITIES), rng.randint(20_000, 4_000_000)
    return _Task(f"How many people live in {city}", {"city": city}, {"people": people}, f"{people} live in {city}.")


_TOOLS = (
    _Tool("get_forecast", "Weather of a city for some days.", {"city": _STRING, "days": _NUMBER}, _forecast),
    _Tool("stock_quotes", "Prices of shares.", {"symbols": _LIST}, _quotes),
    _Tool("cheapest_flight", "The cheapest flight on a route.", {"route": _pair("from", "to")}, _flights),
    _Tool("convert_money", "Changes an amount.", {"amount": _NUMBER, "pair": _pair("base", "quote")}, _exchange),
    _Tool("truck_distance", "Length of a truck's way.", {"stops": _LIST, "load_kg": _NUMBER}, _distance),
    _Tool("shop_items", "Items of a shop.", {"filters": _pair("kind", "color")}, _products),
    _Tool("heating_power", "Power that heating takes.", {"rooms": _LIST, "degrees": _NUMBER}, _rooms),
    _Tool("city_population", "Number of inhabitants.", {"city": _STRING}, _population),
)  # fmt: skip
_WEIGHTS = (4, 5, 4, 1, 2, 3, 1, 5)  # balances the types of parameters


def training_rows(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """That many rows; the same seed makes the same."""
    for number in range(count):
        yield _row(random.Random(f"{seed}:{number}"), number)


def _row(rng: random.Random, number: int) -> dict[str, Any]:
    if rng.random() < 0.1:
        question, answer = rng.choice(_SMALL_TALK)
        said = _Said("no_tool_call", rng.sample(_TOOLS, 2), [], f"{question} ({number})", answer)
        return _shaped(rng, number, said)
    wanted = rng.choices((1, 2, 3), (50, 30, 20))[0]
    tools: list[_Tool] = []
    while len(tools) < wanted:
        tools += [choice for choice in rng.choices(_TOOLS, _WEIGHTS) if choice not in tools]
    tasks = [(tool, tool.task(rng)) for tool in tools]
    offered = [*tools, *rng.sample([tool for tool in _TOOLS if tool not in tools], 1)]
    rng.shuffle(offered)
    question = ". ".join(task.request for _, task in tasks)
    is_parallel = wanted > 1 and rng.random() < 0.4
    kind = "single_tool_call" if wanted == 1 else "parallel_tool_calls" if is_parallel else "multi_step_tool_call"
    steps = [tasks] if is_parallel else [[task] for task in tasks]
    answer = " ".join(task.answer for _, task in tasks)
    return _shaped(rng, number, _Said(kind, offered, steps, f"{question}?", answer))


def _shaped(rng: random.Random, number: int, said: _Said) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"row-{number}", "type": said.kind}
    if said.kind == "no_tool_call":
        row["annotation"] = {"should_call_tool": False}
    else:
        row["tool_call_count"] = sum(map(len, said.steps))
    definitions = [{"type": "function", "function": tool.definition} for tool in said.offered]
    chance = rng.random()
    if chance < 0.3:
        return row | {"tools": definitions, "messages": list(_structured(number, said))}
    told = "\n".join(map(json.dumps, definitions))
    system = f"You are a function calling AI model. Your tools:\n<tools>\n{told}\n</tools>"
    turns = [("system", system), ("user", said.question), *_in_texts(said), ("assistant", said.answer)]
    if chance < 0.8:
        return row | {"messages": [{"role": role, "content": text} for role, text in turns]}
    names = {"user": "human", "assistant": "gpt"}
    return row | {"conversations": [{"from": names.get(role, role), "value": text} for role, text in turns]}


def _structured(number: int, said: _Said) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": said.question}
    for index, tasks in enumerate(said.steps):
        ids = [f"call_{number}_{index}_{position}" for position in range(len(tasks))]
        calls = [
            {"id": id, "type": "function", "function": {"name": tool.name, "arguments": json.dumps(task.arguments)}}
            for id, (tool, task) in zip(ids, tasks, strict=True)
        ]
        yield {"role": "assistant", "content": "", "tool_calls": calls}
        for id, (_, task) in zip(ids, tasks, strict=True):
            yield {"role": "tool", "tool_call_id": id, "content": json.dumps(task.result)}
    yield {"role": "assistant", "content": said.answer}


def _in_texts(said: _Said) -> Iterator[tuple[str, str]]:
    for tasks in said.steps:
        calls = [{"name": tool.name, "arguments": task.arguments} for tool, task in tasks]
        yield "assistant", "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
        results = [f"<tool_response>\n{json.dumps(task.result)}\n</tool_response>" for _, task in tasks]
        yield "tool", "\n".join(results)


if __name__ == "__main__":
    for row in training_rows(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 0):
        sys.stdout.write(json.dumps(row) + "\n")
