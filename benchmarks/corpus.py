"""What the segmenter is measured on: made-up sessions of an agent, always the same."""

import json
import math
import random

SESSION_CHARACTERS = 570_000
CALL_SIZES = (100, 1_000, 10_000, 50_000)
_WORDS = [
    *("order", "status", "weather", "harbour", "invoice", "train", "ticket", "refund", "window", "garden", "report"),
    *("summary", "login", "request", "server", "yesterday", "because", "nothing", "further", "please", "check"),
    *("the", "a", "of", "in", "and", "to", "is", "not", "with", "but", "so", "then", "at", "from", "we", "it's"),
] * 5 + ["<b>bold</b>", "list[0]"]
_TOOLS = ("get_stock_price", "find_trains", "create_invoice", "search_flights", "get_weather", "list_open_orders")
_SENTENCES = (
    "I'll look that up for you: one moment, please.",
    "Let me check the current price (in US dollars).",
    "To answer this, I need the list of open orders first.",
)
_ARGUMENTS: tuple[tuple[str, object], ...] = (
    ("symbol", "TSLA"),
    ("city", "Oslo, Norway"),
    ("date", "2024-05-17"),
    ("limit", 25),
    ("include_closed", False),
    ("origin", "Hamburg Hbf"),
    ("tags", ["urgent", "paid"]),
    ("max_price", 129.5),
    ("customer", {"id": 4711, "vip": True}),
)


def prose(size: int, seed: int = 0) -> str:
    """Words that mean nothing, `size` characters of them, with an angle bracket or a square one now and then."""
    rng = random.Random(seed)
    words: list[str] = []
    length = 0
    while length < size:
        words.append(rng.choice(_WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[:size]


def call_payload(size: int, seed: int = 0) -> str:
    """A valid Hermes payload of about `size` characters: records of short values, as tools get them."""
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    arguments: dict[str, object] = {"city": "Tromsø", "days": 3, "rows": rows}
    length = 60
    while length < size:
        row = {"id": rng.randrange(10**6), "name": prose(18, rng.randrange(10**6)), "price": rng.random(), "ok": True}
        rows.append(row)
        length += len(json.dumps(row)) + 2
    return json.dumps({"name": "store_rows", "arguments": arguments}, ensure_ascii=False)


def session(call_sizes: tuple[int, ...] = CALL_SIZES, size: int = SESSION_CHARACTERS) -> tuple[str, list[str]]:
    """One stream of about `size` characters, half of it call payload, and its payloads; the sizes take turns."""
    pieces: list[str] = []
    payloads: list[str] = []
    length = seed = 0
    while length < size:
        payload = call_payload(call_sizes[seed % len(call_sizes)], seed)
        thought, text = prose(len(payload) // 2, seed), prose(len(payload) - len(payload) // 2, seed + 1)
        piece = f"<think>\n{thought}\n</think>\n{text}\n<tool_call>\n{payload}\n</tool_call>\n"
        pieces.append(piece)
        payloads.append(payload)
        length += len(piece)
        seed += 1
    return "".join(pieces), payloads


def short_texts(count: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Texts with one or two short Hermes calls, each with its payloads.

    The sizes are those of 7,311 real payloads: median 108 characters, 90 of 100 under 145, 99 of 100 under 307. Seven
    texts in ten are a call alone; the others begin with a sentence, some with reasoning too.
    """
    rng = random.Random(seed)
    return [_short_text(rng) for _ in range(count)]


def _short_text(rng: random.Random) -> tuple[str, list[str]]:
    payloads = [_short_payload(rng) for _ in range(2 if rng.random() < 0.1 else 1)]
    calls = "\n".join(f"<tool_call>\n{payload}\n</tool_call>" for payload in payloads)
    kind = rng.random()
    thought = "<think>\nThe user wants this done: one call is enough.\n</think>\n" if kind < 0.1 else ""
    words = rng.choice(_SENTENCES) + "\n" if kind < 0.3 else ""
    return f"{thought}{words}{calls}", payloads


def _short_payload(rng: random.Random) -> str:
    """A payload of a size that real ones have; its arguments grow until it is reached."""
    size = 108 * math.exp(rng.gauss(0, 0.22)) if rng.random() < 0.97 else rng.uniform(200, 400)
    arguments: dict[str, object] = {}
    name = rng.choice(_TOOLS)
    while True:
        payload = json.dumps({"name": name, "arguments": arguments})
        if len(payload) >= size - 12:
            return payload
        key, value = rng.choice(_ARGUMENTS)
        arguments[f"{key}_{len(arguments)}" if key in arguments else key] = value


def deltas(text: str, size: int = 4) -> list[str]:
    """`text` in pieces of `size` characters, as a server streams it."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def coding_texts(sessions: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """What a coding agent's model says, turn by turn, each text with the payloads of its Hermes calls.

    Turns of a session: 26.4 on average, 408 at most (nebius/SWE-agent-trajectories, 80,036 trajectories, as tabled in
    the README of nebius/SWE-rebench-openhands-trajectories). Arguments: 92 of 100 calls of agents under 300 bytes.
    """
    rng = random.Random(seed)
    return [_coding_text(rng) for _ in range(sessions) for _ in range(coding_steps(rng))]


def coding_steps(rng: random.Random) -> int:
    """How many steps a coding agent takes: 20 in the median, 26.4 on average, 408 at most."""
    return max(1, min(408, round(20 * math.exp(rng.gauss(0, 0.745)))))


def coding_arguments(rng: random.Random) -> tuple[str, dict[str, object]]:
    """A coding agent's call: a tool's name and arguments of 90 characters in the median, 92 of 100 under 300."""
    size = max(4, round(90 * math.exp(rng.gauss(0, 0.85))) - 30)
    name = rng.choice(("run_command", "run_command", "read_file", "edit_file"))
    if name == "run_command":
        return name, {"command": prose(size, rng.randrange(10**6))}
    path = f"src/{rng.choice(_WORDS[:20])}/{rng.choice(_WORDS[:20])}.py"
    if name == "read_file":
        return name, {"path": path, "first_line": rng.randrange(1, 900), "lines": 100}
    return name, {"path": path, "old": prose(size // 2, rng.randrange(10**6)), "new": prose(size, rng.randrange(10**6))}


def _coding_text(rng: random.Random) -> tuple[str, list[str]]:
    name, arguments = coding_arguments(rng)
    payload = json.dumps({"name": name, "arguments": arguments})
    thought = prose(round(120 * math.exp(rng.gauss(0, 0.8))), rng.randrange(10**6))
    return f"{thought}\n<tool_call>\n{payload}\n</tool_call>", [payload]


def reasoning_texts(count: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Answers after long reasoning, each with the payload of its call.

    Half of them think for about 14,000 characters, half for four times as long, which is how gpt-oss's traces compare
    with DeepSeek-R1's (arXiv 2511.19333).
    """
    rng = random.Random(seed)
    return [_reasoning_text(rng, number) for number in range(count)]


def _reasoning_text(rng: random.Random, number: int) -> tuple[str, list[str]]:
    size = round((14_000 if number % 2 else 56_000) * math.exp(rng.gauss(0, 0.6)))
    payload = _short_payload(rng)
    text = f"<think>\n{prose(size, number)}\n</think>\n{rng.choice(_SENTENCES)}\n<tool_call>\n{payload}\n</tool_call>"
    return text, [payload]
