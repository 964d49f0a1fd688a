"""What the segmenter is measured on: made-up sessions of an agent, always the same."""

import json
import random

SESSION_CHARACTERS = 570_000
CALL_SIZES = (100, 1_000, 10_000, 50_000)
_WORDS = [
    *("order", "status", "weather", "harbour", "invoice", "train", "ticket", "refund", "window", "garden", "report"),
    *("summary", "login", "request", "server", "yesterday", "because", "nothing", "further", "please", "check"),
    *("the", "a", "of", "in", "and", "to", "is", "not", "with", "but", "so", "then", "at", "from", "we", "it's"),
] * 5 + ["<b>bold</b>", "list[0]"]


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


def deltas(text: str, size: int = 4) -> list[str]:
    """`text` in pieces of `size` characters, as a server streams it."""
    return [text[start : start + size] for start in range(0, len(text), size)]
