"""A quote behind a closing bracket that neither opens nor closes a string: one fault, and the value without it."""

import json
import random

from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import Json


def _value(seed: random.Random, depth: int) -> Json:
    kinds = ("text", "number", "list", "object") if depth else ("text", "number")
    match seed.choice(kinds):
        case "text":
            return seed.choice(("Oslo", "a, b", "", "é"))
        case "number":
            return seed.choice((1, 2.5, None, True))
        case "list":
            return [_value(seed, depth - 1) for _ in range(seed.randrange(3))]
        case _:
            return {key: _value(seed, depth - 1) for key in "abc"[: seed.randrange(1, 4)]}


def test_a_stray_quote_behind_a_bracket_is_one_fault_with_its_repair() -> None:
    seed = random.Random(17)
    tried = 0
    for _ in range(400):
        value: Json = {"x": [_value(seed, 3), {"y": _value(seed, 2)}], "z": 1}
        text = json.dumps(value, ensure_ascii=False)
        places = [index + 1 for index, sign in enumerate(text[:-1]) if sign in "]}"]
        position = seed.choice(places)
        reading = read_json(f'{text[:position]}"{text[position:]}')
        assert [fault.rule.code for fault in reading.faults] == ["J121"], (text, position)
        assert (reading.faults[0].range.start, reading.faults[0].range.end) == (position, position + 1)
        assert reading.repairable
        assert reading.nodes[0].value() == value, (text, position)
        tried += 1
    assert tried == 400
