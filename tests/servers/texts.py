"""Texts of a format to measure servers' parsers on: each kind of damage in many layouts.

Models write the same call with other white space, key order, escapes and text around it than templates do, and parsers
that search by regular expression see the difference. So every text is a layout (how calls and JSON are written, what
surrounds them), and at most one kind of damage. The same seed gives the same texts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from tests.mutations import markers, mutated, originals
from weaklink.inspector.dataset.json_faults import JSON_KINDS, broken_json
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.json_text import Json
from weaklink.inspector.segmentation import segment
from weaklink.ui.cli.files import tool_definitions

_PROPERTIES: dict[str, dict[str, Json]] = {
    "get_weather": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "get_time": {},
    "add_note": {
        "text": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pin": {"type": "boolean"},
    },
}
TOOLS: list[Json] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in _PROPERTIES.items()
]
_PLAIN = ("Oslo", "New York", "buy milk, eggs and bread", "it's fine", "3", "a.py", "Tromsø")
_ODD = (
    "a < b & c",
    'say "hi"',
    "first\nsecond",
    "C:\\new",
    "x; y | z",
    "[1] {2} (3)",
    "😀 née",
    "",
    " padded ",
    "50% off: <b>now</b>",
    "f(a=1), g()",
    "key: value",
)
_MAX_CHARS = 3000
_BEFORE = ("I will look.\n", "Let me check that for you.\n\n", "Sure! ", "OK: {1} [2]\n")
_AFTER = ("\nDone.", "\n\nI wait for the result.", " That is all.", "\nIs {this} [right]?")


def texts_of(name: str, seed: str, count: int) -> Iterator[str]:
    """Some `count` different texts of a format, and those of its cases."""
    seen = {""}
    random = Random(f"{seed}/{name}")
    dialect = find_format(name)
    produced = 0
    cases = [part.text for part in originals(name) if not part.prompt]
    while produced < count:
        text = _text(dialect, random) if produced >= len(cases) else cases[produced]
        produced += 1
        if text is not None and text not in seen and len(text) <= _MAX_CHARS and _encodes(text):
            seen.add(text)
            yield text


def plain_texts_of(name: str, seed: str, count: int, *, reasoned: bool = False) -> Iterator[str]:
    """Some `count` different texts of a format as its template writes them, most with one common damage.

    If `reasoned`, each has reasoning: opened by the prompt or the text, closed or not, before the calls or with them.
    """
    random = Random(f"{'reasoned' if reasoned else 'plain'} {seed}/{name}")
    dialect = find_format(name)
    seen = {""}
    for _ in range(count):
        text = _reasoned_text(dialect, random) if reasoned else _plain_text(dialect, random, _PLAIN_DAMAGES)
        if text not in seen and _encodes(text):
            seen.add(text)
            yield text


_PLAIN_DAMAGES = (
    *("",) * 4,
    *("no closer", "delete") * 3,
    *("cut", "marker", "no name", "parameters", "string", "no arguments", "unknown", "word") * 2,
    *JSON_KINDS,
)
"""Each about as often as it must be for its kind of text to get a row; "" is none."""
_OF_MARKERS = (*("delete",) * 4, "cut", "marker", "marker")
"""The damages that each format can have, in place of one that it cannot."""
_REASONED_DAMAGES = (*("",) * 12, "no closer", "no closer", "delete", "delete", "cut", "no name", "single-quotes")


def _reasoned_text(dialect: Format, random: Random) -> str:
    """A plain text with reasoning."""
    opener, closer = reasoning_markers(dialect)
    body = _plain_text(dialect, random, _REASONED_DAMAGES)
    break_, lead = random.choice(("", "\n")), random.choice(("", "\n\n"))
    match random.choice(("prompted", "prompted", "closed", "open", "drafted")):
        case "prompted":
            return body and f"I look it up.{closer}{body}"
        case "closed":
            return body and f"{opener}{break_}I look it up.{break_}{closer}{lead}{body}"
        case "open":
            return body and f"{opener}{break_}I look it up. {body}"
        case _:
            return body and f"{opener}{break_}Maybe {body} no.{break_}{closer}{lead}{random.choice(('Hello.', ''))}"


def _plain_text(dialect: Format, random: Random, damages: Sequence[str]) -> str:
    calls = [_call(random) for _ in range(random.choice((1, 1, 1, 2, 2)))]
    damage = random.choice(damages)
    if damage == "unknown" or random.random() < 0.06:
        calls[-1] = ("no_such_tool", calls[0][1])
    body = _written(dialect, calls, random)
    if not _reads_back(dialect, calls, body):
        return ""
    before = random.choice(_BEFORE) if random.random() < 0.25 else ""
    if damage not in ("", "unknown"):
        broken = _with_broken_json(dialect, body, random, {damage: 1}) if damage in JSON_KINDS else body
        broken = broken if broken != body or damage in JSON_KINDS else _without(dialect, body, random, damage)
        return before + (broken if broken != body else _damaged(dialect, body, random, random.choice(_OF_MARKERS)))
    if random.random() < 0.3:
        body = re.sub("(?<=>)(?=<)", "\n", body)  # a line end between tags
    return before + body + (random.choice(_AFTER) if random.random() < 0.25 else "")


def _reads_back(dialect: Format, calls: Sequence[tuple[str, dict[str, Json]]], text: str) -> bool:
    """Whether a text means these calls: parameters without a type have the one that their tool declares."""
    read = segment(text, dialect.name, tools=tool_definitions(TOOLS)).calls
    return [(call.name, call.arguments) for call in read] == calls


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(dialect: Format, random: Random) -> str | None:
    if random.random() < 0.06:
        changed = mutated(random, dialect.name)
        return None if changed.prompt else changed.text
    calls = [_call(random) for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
    if random.random() < 0.08:
        calls[random.randrange(len(calls))] = ("no_such_tool", calls[0][1])
    made = [make_call(call_name, arguments) for call_name, arguments in calls]
    if not all(map(dialect.expresses, made)):
        return None
    body = _layout(dialect, _written(dialect, calls, random), random)
    reasoning = random.choices(("", "closed", "open", "drafted", "lead", "prompted"), (48, 10, 12, 8, 4, 18))[0]
    if random.random() < (0.2 if reasoning in ("open", "drafted") else 0.8):
        body = _damaged(dialect, body, random)
    return _surrounded(dialect, body, reasoning, random)


def _written(dialect: Format, calls: Sequence[tuple[str, dict[str, Json]]], random: Random) -> str:
    if dialect.name == "mistral" and random.random() < 0.4:  # before v11, calls were one array
        array = [{"name": call_name, "arguments": arguments} for call_name, arguments in calls]
        return f"[TOOL_CALLS]{random.choice(('', ' ', ' '))}{json.dumps(array, ensure_ascii=False)}"
    return dialect.write_calls([make_call(call_name, arguments) for call_name, arguments in calls])


def _call(random: Random) -> tuple[str, dict[str, Json]]:
    def string() -> str:
        return random.choice(_PLAIN if random.random() < 0.7 else _ODD)

    name = random.choice(("get_weather", "get_weather", "get_time", "add_note"))
    choices: list[tuple[str, Json]] = []
    if name == "get_weather":
        choices = [("city", string()), ("days", random.choice((1, 3, 14)))]
    if name == "add_note":
        choices = [("text", string()), ("tags", [string() for _ in range(random.randint(0, 3))]), ("pin", True)]
    if choices and random.random() < 0.3:
        random.shuffle(choices)
    return name, dict(choices[: random.randint(1, 3)] if choices else [])


def _layout(dialect: Format, text: str, random: Random) -> str:
    """The calls with JSON written in another way and other white space beside markers, half of the time each."""
    if random.random() < 0.45:
        text = _with_other_json(dialect, text, random)
    if random.random() < 0.45:
        text = _with_other_spaces(dialect, text, random)
    return text


def _with_other_json(dialect: Format, text: str, random: Random) -> str:
    style: dict[str, Any] = random.choice(
        (
            {"indent": 2},
            {"separators": (",", ":")},
            {"ensure_ascii": True},
            {"ensure_ascii": False},
            {"indent": 4, "ensure_ascii": False},
        )
    )
    swap = random.random() < 0.4
    for call in reversed(segment(text, dialect.name).calls):
        index = call.range
        try:
            value = json.loads(index.of(text))
        except ValueError:
            continue
        if swap and isinstance(value, dict):
            value = dict(reversed(value.items()))
        options: dict[str, Any] = {"ensure_ascii": False, **style}
        text = text[: index.start] + json.dumps(value, **options) + text[index.end :]
    return text


def _with_other_spaces(dialect: Format, text: str, random: Random) -> str:
    structural = [marker for marker in markers(dialect.name) if marker in text and len(marker) > 2]
    if not structural:
        return text
    pattern = "|".join(map(re.escape, sorted(structural, key=len, reverse=True)))
    match random.choice(("tight", "lines", "spaces", "some")):
        case "tight":
            return re.sub(rf"\s*({pattern})\s*", r"\1", text)
        case "lines":
            return re.sub(rf"\s*({pattern})\s*", r"\n\1\n", text).strip()
        case "spaces":
            return re.sub(rf"({pattern})", r" \1 ", text).strip()
        case _:
            return re.sub(rf"({pattern})", lambda match: match[1] + random.choice(("", "", "\n", " ")), text).strip()


def _surrounded(dialect: Format, body: str, reasoning: str, random: Random) -> str:
    before = random.choice(_BEFORE) if random.random() < 0.25 else ""
    after = random.choice(_AFTER) if random.random() < 0.2 else ""
    text = before + body + after
    opener, closer = reasoning_markers(dialect)
    if (
        reasoning in ("closed", "prompted") and dialect.name == "muse"
    ):  # messages follow one another, each with a header
        closer += "<|start|>assistant to=get_weather<|message|>"
    match reasoning:
        case "closed":
            return (
                f"{opener}{random.choice(('', chr(10)))}I look it up.{closer}{random.choice(('', chr(10) * 2))}{text}"
            )
        case "open":
            return f"{opener}{random.choice(('', chr(10)))}I look it up. {text}"
        case "drafted":
            return f"{opener}Maybe {text} no.{closer}{random.choice(('', chr(10)))}Hello."
        case "prompted":  # the prompt opened the reasoning
            words = random.choice(("", "\n", "I look it up.", "I look it up.\n"))
            return f"{words}{closer}{random.choice(('', chr(10) * 2))}{text}"
        case "lead":
            return random.choice(("\n", " ", "\n\n")) + text
        case _:
            return text


def reasoning_markers(dialect: Format) -> tuple[str, str]:
    """The tags of the format's own reasoning."""
    return _REASONING.get(dialect.name, ("<think>", "</think>"))


_REASONING = {
    "mistral": ("[THINK]", "[/THINK]"),
    "seed_oss": ("<seed:think>", "</seed:think>"),
    "minimax_m3": ("<mm:think>", "</mm:think>"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
    "gemma4": ("<|channel>thought\n", "<channel|>"),
    "kimi_k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "hy_v4": ("<think:6124c78e>", "</think:6124c78e>"),
    "inkling": ("<|content_thinking|>", "<|end_message|>"),
    "k2_horizon": ("<ifm|think>", "</ifm|think>"),
    "muse": (" to=self<|message|>", "<|eom|>"),
    "plamo3": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
}


def _damaged(dialect: Format, body: str, random: Random, damage: str = "") -> str:
    """The text with one kind of damage, a random one unless it is given."""
    places = [(offset, marker_) for marker_ in markers(dialect.name) for offset in _offsets(body, marker_)]
    kind = (
        damage
        or random.choices(
            (
                "json",
                "delete",
                "cut",
                "repeat",
                "misspell",
                "parameters",
                "string",
                "no arguments",
                "marker",
                "character",
            ),
            (30, 18, 14, 4, 4, 5, 4, 4, 7, 10),
        )[0]
    )
    match kind:
        case "json":
            return _with_broken_json(dialect, body, random)
        case "cut":
            return body[: random.randrange(1, len(body))]
        case "delete" if places:
            start, marker = random.choice(places)
            return body[:start] + body[start + len(marker) :]
        case "repeat" if places:
            start, marker = random.choice(places)
            return body[:start] + marker + body[start:]
        case "misspell" if places:
            start, marker = random.choice(places)
            gone = start + random.randrange(len(marker))
            return body[:gone] + body[gone + 1 :]
        case "parameters":
            swapped = {'"arguments"': '"parameters"', '"parameters"': '"arguments"'}
            return re.sub(r'"(?:arguments|parameters)"', lambda match: swapped[match[0]], body)
        case "string":
            return re.sub(
                r'("(?:arguments|parameters)": ?)(\{[^{}]*\})', lambda match: match[1] + json.dumps(match[2]), body
            )
        case "no arguments":
            return re.sub(r', ?"(?:arguments|parameters)": ?\{[^{}]*\}', "", body, count=random.randint(1, 2))
        case "marker" if places:
            value = random.choice(("Oslo", "milk", "New York"))
            return body.replace(value, f"{value} {random.choice(places)[1]} end", 1)
        case _:
            start = random.randrange(len(body))
            return body[:start] + random.choice(("", body[start] * 2, '"', "'", "}", ",")) + body[start + 1 :]


def _without(dialect: Format, body: str, random: Random, damage: str) -> str:
    """The text without a call's name or its end, with a word for a number, or with another damage."""
    if damage == "no name":
        return re.sub(r'"(?:name|tool_name)": ?"\w+",? ?|(?<=[=:>])"?get_\w+"?', "", body, count=1)
    starts = sorted(start for marker in markers(dialect.name) for start in _offsets(body, marker))
    if damage == "word":
        return re.sub(r"(?<=[>\n =:])(?:1|3|14)(?=[<\n,})])", "three", body, count=1)
    if damage == "no closer" and starts:
        return body[: random.choice(starts[-3:])].rstrip("\n")
    return _damaged(dialect, body, random, damage)


def _with_broken_json(dialect: Format, body: str, random: Random, weights: Mapping[str, int] | None = None) -> str:
    calls = segment(body, dialect.name).calls
    if not calls:
        return body
    call_range = random.choice(calls).range
    if not call_range.of(body).startswith("{"):
        first = body.find("{", call_range.start, call_range.end)
        last = body.rfind("}", call_range.start, call_range.end)
        if first < 0 or last < 0:
            return body
        call_range = type(call_range)(first, last + 1)
    try:
        broken = broken_json(call_range.of(body), random, weights)
    except ValueError:
        return body
    return body if broken is None else body[: call_range.start] + broken.text + body[call_range.end :]


def _offsets(text: str, marker: str) -> list[int]:
    return [index for index in range(len(text)) if text.startswith(marker, index)]
