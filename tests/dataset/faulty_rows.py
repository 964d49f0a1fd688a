"""Rows of training data with random faults, always the same for a seed: to compare two ways of judging them."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks.training_rows import training_rows

_SNIPPETS = (
    *("<tool_call>", "</tool_call>", "<think>It is so.</think>", "<scratch_pad>", "<|im_end|>", "<tool_response>"),
    *(
        "Error: not found",
        "Traceback (most recent call last):\nValueError: no",
        "permission denied",
        "404",
        "exit code 1",
    ),
    *(
        '{"error": "no such city"}',
        '{"success": false}',
        '{"status": "failed"}',
        "null",
        "[]",
        "{",
        "}",
        '"',
        "\\",
        ",",
    ),
    *(
        "I have sent the email.",
        "Let me check that.",
        "It costs 987654.",
        "I could not do it, sorry.",
        "[1]",
        "Action: x",
    ),
    *('get_forecast(city="Oslo", days=3)', '{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}'),
    *(
        "YOUR_API_KEY",
        "<city>",
        "INV-20931",
        "running in background with ID: 7",
        "Прогноз",
        "天气",
        "°",
        "\n",
        " ",
        "a",
    ),
)
_TEXT_KEYS = ("content", "value")


def faulty_rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """That many rows; a quarter are as sound as the benchmark's, the others have one to three random changes."""
    for number, row in enumerate(training_rows(count, seed)):
        rng = Random(f"{seed}:{number}")
        for _ in range(rng.choice((0, 1, 1, 2, 3)) if number % 4 else 0):
            rng.choice(_CHANGES)(row, rng)
        yield row


def _messages(row: dict[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = row.get("messages") or row.get("conversations") or [{}]
    return messages


def _insert(row: dict[str, Any], rng: Random) -> None:
    message, snippet = rng.choice(_messages(row)), rng.choice(_SNIPPETS)
    for key in _TEXT_KEYS:
        if isinstance(message.get(key), str):
            text = message[key]
            choice = rng.choice((0, len(text), rng.randint(0, len(text))))
            message[key] = text[:choice] + snippet + text[choice:]


def _replace(row: dict[str, Any], rng: Random) -> None:
    message = rng.choice(_messages(row))
    for key in _TEXT_KEYS:
        if isinstance(message.get(key), str):
            message[key] = rng.choice((*_SNIPPETS, ""))


def _cut(row: dict[str, Any], rng: Random) -> None:
    message = rng.choice(_messages(row))
    for key in _TEXT_KEYS:
        if isinstance(message.get(key), str):
            message[key] = message[key][: rng.randint(0, len(message[key]))]


def _drop(row: dict[str, Any], rng: Random) -> None:
    messages = _messages(row)
    del messages[rng.randrange(len(messages))]


def _repeat(row: dict[str, Any], rng: Random) -> None:
    messages = _messages(row)
    index = rng.randrange(len(messages)) if messages else 0
    messages[index:index] = [
        json.loads(json.dumps(message)) for message in messages[index : index + rng.choice((1, 2))]
    ]


def _swap(row: dict[str, Any], rng: Random) -> None:
    messages = _messages(row)
    if len(messages) > 1:
        index = rng.randrange(len(messages) - 1)
        messages[index], messages[index + 1] = messages[index + 1], messages[index]


def _end_early(row: dict[str, Any], rng: Random) -> None:
    messages = _messages(row)
    del messages[rng.randrange(len(messages)) + 1 :]


def _change_words(row: dict[str, Any], rng: Random) -> None:
    """Change a word everywhere in the row: a tool's name, a key, a value, a type, a role, an id."""
    text = json.dumps(row)
    words = sorted({word for word in text.replace('"', " ").replace("\\", " ").split() if word.isalnum()})
    if words:
        old, new = rng.choice(words), rng.choice((*words, "7", "true", "null"))
        try:
            changed = json.loads(text.replace(old, new, rng.choice((1, 2, -1))))
        except ValueError:
            return
        row.clear()
        row.update(changed)


def _forget_tools(row: dict[str, Any], rng: Random) -> None:
    row.pop("tools", None)
    if rng.random() < 0.5:
        row["tools"] = rng.choice(([], "[]", None, "x"))


def _expect(row: dict[str, Any], rng: Random) -> None:
    call = {"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}
    row["expected"] = rng.choice(([], [call], "not JSON"))


def _think(row: dict[str, Any], rng: Random) -> None:
    answers = [message for message in _messages(row) if message.get("role") == "assistant"]
    if answers:
        rng.choice(answers)["reasoning_content"] = rng.choice(("Thinking.", ""))


_CHANGES: tuple[Callable[[dict[str, Any], Random], None], ...] = (
    *(_insert, _insert, _insert, _replace, _replace, _cut, _drop, _repeat, _swap, _end_early),
    *(_change_words, _change_words, _change_words, _forget_tools, _expect, _think),
)
