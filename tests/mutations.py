"""Damaged outputs of every format: the inputs of its cases and written calls, cut, swapped, spliced and repeated."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.case_files import cases_of
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.api.parser import ApiOrText
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import Json
from weaklink.inspector.segmenter.machine import Machine

CASES = Path(__file__).parent / "cases" / "formats"
_MAX_TEXT_CHARS = 4000  # code points; longer texts are cut, so that repeats do not add up
_MOST_MUTATIONS = 4

CONTROLS = (
    *("\x00", "\x01", "\x08", "\t", "\n", "\r", "\x0b", "\x1b[31m", "\x7f", "\x85", "\xa0", "\xad", "\u200b", "\u200d"),
    *("\u2028", "\u2029", "\u202e", "\u2066", "\ufe0f", "\ufeff", "\ud83d", "\udc80", "\U000e0041", "😀"),
)
PIECES = (
    *("{", "}", "[", "]", "(", ")", ":", ",", ";", '"', "'", "`", "\\", '\\"', "\\\\", "\\u00e9", "\\ud83d", "\\x41"),
    *("“", "”", "<", "</", ">", "/>", "<|", "|>", "[/", "```json\n", "```", "//", "/* ", "#", "%", "=", "&quot;"),
    *("true", "True", "None", "null", "NaN", "-1.5e3", "1e999", "01", "6*12", "six sides", " and so on. ", "\n\nHm: "),
    *('"name": ', '"arguments": ', '"arguments": {', '"parameters": {}', '"type": "object"', '{"name": "f"'),
    *('{"name": "f", "arguments": {}}', "{'name': 'f', 'arguments': {}}", "f(a=1)", "Action: f\n", "<function=f>"),
)
WRITTEN: tuple[dict[str, Json], ...] = (
    {},
    {"city": "Tromsø", "days": 2, "deep": True, "none": None},
    {"a": [{"b": "]}"}, -1.5e3, "it's", 'say "x"\n'], "😀": {"c": {}}},
    {"code": "print('{}')\n</tool_call>", "path": "C:\\x"},
)
"""Arguments of the calls that each format writes itself."""


@dataclass(frozen=True, slots=True)
class FormatText:
    """A text to read as `format`, with what its case says of the request: the prompt's end and the tools."""

    format: str
    text: str
    prompt: str = ""
    tools: tuple[Json, ...] = ()


@cache
def originals(name: str) -> tuple[FormatText, ...]:
    """The undamaged texts of a format: the inputs of its cases, and calls that the format writes."""
    rows = [case for path in sorted((CASES / name).glob("*.yaml")) for case in cases_of(path)]
    cases = [FormatText(name, row["text"], row.get("prompt", ""), tuple(row.get("tools", ()))) for row in rows]
    return (*cases, *(FormatText(name, text) for text in _written(find_format(name))))


def _written(dialect: Format) -> Iterator[str]:
    calls = [make_call(f"get_weather{index}", arguments) for index, arguments in enumerate(WRITTEN)]
    calls = [call for call in calls if dialect.expresses(call)]
    yield from (dialect.write_calls([call]) for call in calls)
    if calls:
        yield "Let me see.\n" + dialect.write_calls(calls)


@cache
def markers(name: str) -> tuple[str, ...]:
    """Every marker of a format, where a table of markers drives it."""
    parser = find_format(name).new_parser()
    parser = parser.text_side if isinstance(parser, ApiOrText) else parser
    return tuple(sorted(parser.markers)) if isinstance(parser, Machine) else ()


def mutated_texts(seed: int, count: int, names: Sequence[str] = ()) -> Iterator[FormatText]:
    """`count` damaged texts, the formats in turn (of `names`, else all); the same ones for the same arguments."""
    turn = names or [dialect.name for dialect in formats()]
    for index in range(count):
        name = turn[index % len(turn)]
        yield mutated(Random(f"{seed}/{index}/{name}"), name)


def mutated(random: Random, name: str) -> FormatText:
    """One damaged text of a format: an original after one to four mutations."""
    original = random.choice(originals(name))
    text = original.text
    for _ in range(random.randint(1, _MOST_MUTATIONS)):
        text = random.choice(MUTATIONS)(random, name, text)[:_MAX_TEXT_CHARS]
    return FormatText(name, text, original.prompt, original.tools)


def _place(random: Random, text: str) -> int:
    """A place in the text: half of the time beside a bracket, a quote or another character of the syntax."""
    start = random.randint(0, len(text))
    if random.random() < 0.5:
        positions = [position for mark in "{}[]\"':,<>|(" if (position := text.find(mark, start)) >= 0]
        return min(positions) + random.randint(0, 1) if positions else start
    return start


def _stretch(random: Random, text: str) -> tuple[int, int]:
    start = _place(random, text)
    if random.random() < 0.3:
        end = text.find("\n", start) + 1
        return (start, end) if end else (start, len(text))
    return start, min(len(text), start + random.choice((1, 1, 2, 5, 20)))


def _cut_end(random: Random, _: str, text: str) -> str:
    return text[: _place(random, text)]


def _cut_beginning(random: Random, _: str, text: str) -> str:
    return text[_place(random, text[: len(text) // 2]) :]


def _delete(random: Random, _: str, text: str) -> str:
    start, end = _stretch(random, text)
    return text[:start] + text[end:]


def _repeat(random: Random, _: str, text: str) -> str:
    start, end = _stretch(random, text)
    return text[:end] + text[start:end] * random.choice((1, 1, 2, 30)) + text[end:]


def _repeat_all(random: Random, _: str, text: str) -> str:
    return random.choice(("", " ", "\n", ",", ";")).join((text, text))


def _swap(random: Random, _: str, text: str) -> str:
    (start, end), (other, last) = sorted((_stretch(random, text), _stretch(random, text)))
    if other < end:
        return text
    return text[:start] + text[other:last] + text[end:other] + text[start:end] + text[last:]


def _insert(random: Random, name: str, text: str) -> str:
    position = _place(random, text)
    return text[:position] + random.choice(random.choice((CONTROLS, PIECES, markers(name) or PIECES))) + text[position:]


def _insert_half_marker(random: Random, name: str, text: str) -> str:
    position = _place(random, text)
    marker = random.choice(markers(name) or PIECES)
    return text[:position] + marker[: random.randint(1, len(marker))] + text[position:]


def _replace(random: Random, name: str, text: str) -> str:
    start, end = _stretch(random, text)
    return text[:start] + random.choice(random.choice((CONTROLS, PIECES, markers(name) or PIECES))) + text[end:]


def _splice(random: Random, name: str, text: str) -> str:
    """The beginning of one text and the end of another, half of the time one of another format."""
    other = random.choice(formats()).name if random.random() < 0.5 else name
    second = random.choice(originals(other)).text
    return text[: _place(random, text)] + second[_place(random, second) :]


def _embed(random: Random, name: str, text: str) -> str:
    """Another whole text of any format, in the midst of this one."""
    other = random.choice((name, random.choice(formats()).name))
    position = _place(random, text)
    return text[:position] + random.choice(originals(other)).text + text[position:]


def _other_quotes(random: Random, _: str, text: str) -> str:
    start = _place(random, text)
    end = len(text) if random.random() < 0.5 else min(len(text), start + 40)
    return text[:start] + text[start:end].translate(random.choice(_QUOTES)) + text[end:]


def _escape(random: Random, _: str, text: str) -> str:
    """A stretch as it looks within a JSON string."""
    start, end = _stretch(random, text)
    return text[:start] + json.dumps(text[start:end])[1:-1] + text[end:]


_QUOTES = (str.maketrans({'"': "'"}), str.maketrans({"'": '"'}), str.maketrans({'"': "“"}), str.maketrans({'"': '\\"'}))
Mutation = Callable[[Random, str, str], str]
MUTATIONS: tuple[Mutation, ...] = (
    *(_cut_end, _cut_beginning, _delete, _repeat, _repeat_all, _swap, _insert, _insert_half_marker, _replace),
    *(_splice, _embed, _other_quotes, _escape),
)
"""All mutations; each takes the source of chance, the format's name and a text, and gives the damaged text."""
