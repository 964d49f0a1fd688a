"""Makes invalid JSON, or an invalid call, from a valid payload; each kind as often as real models write it.

Frequencies are those of 1,542 broken calls of two real models (docs/training-data-making.md).
"""

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

_MakerResult: TypeAlias = tuple[str | None, tuple[str, ...], str]
_JsonMaker: TypeAlias = Callable[[str, Random], _MakerResult]
_PROSE = ("I hope this helps!", "Let me know if you need anything else.", "This will get the data.")


class BrokenJson(Struct, frozen=True):
    """A payload with one fault: its text, the codes that may be reported (the first always is), and a description."""

    text: str
    rules: tuple[str, ...]
    description: str


def broken_json(payload: str, draw: Random, weights: Mapping[str, int] | None = None) -> BrokenJson | None:
    """The payload, a JSON object, with a fault of a kind drawn by weight (JSON_KINDS, unless given), or None."""
    kinds = dict(JSON_KINDS if weights is None else weights)
    while kinds:
        kind = draw.choices(list(kinds), list(kinds.values()))[0]
        del kinds[kind]
        broken, codes, description = _JSON_FAULTS[kind][0](payload, draw)
        if broken is not None and broken != payload:
            return BrokenJson(broken, codes, description)
    return None


def spliced(text: str, start: int, end: int, by: str) -> str:
    """`text` with `by` in place of what is between the positions."""
    return text[:start] + by + text[end:]


def _single_quotes(payload: str, draw: Random) -> _MakerResult:
    del draw
    return (repr(json.loads(payload)) if "'" not in payload else None), ("J103", "J105"), "strings need double quotes"


def _python_literal(payload: str, draw: Random) -> _MakerResult:
    del draw
    changed = re.sub(
        r"(?<=[:,\[ ])(true|false|null)(?=[,}\] ])",
        lambda found: {"true": "True", "false": "False", "null": "None"}[found[1]],
        payload,
    )
    return changed, ("J105",), "JSON has true, false and null, not True, False and None"


def _prose_after(payload: str, draw: Random) -> _MakerResult:
    return f"{payload} {draw.choice(_PROSE)}", ("J109",), "extra text followed the object"


def _arithmetic(payload: str, draw: Random) -> _MakerResult:
    match = _some(_INTEGER, payload, draw)
    if match is None:
        return None, (), ""
    value = int(match[0])
    part = draw.randint(1, max(value - 1, 1))
    return (
        spliced(payload, match.start(), match.end(), f"{part} + {value - part}"),
        ("J115",),
        "a value was an expression",
    )


def _missing_brace(payload: str, draw: Random) -> _MakerResult:
    del draw
    end = payload.rfind("}")
    return payload[:end] + payload[end + 1 :], ("J120", "J102"), "a bracket was missing"


def _trailing_comma(payload: str, draw: Random) -> _MakerResult:
    del draw
    end = payload.rfind("}", 0, payload.rfind("}")) if payload.rstrip().endswith("}}") else payload.rfind("}")
    has_members = not payload[:end].rstrip().endswith("{")
    return (payload[:end] + "," + payload[end:] if has_members else None), ("J104",), "there was a trailing comma"


def _fence(payload: str, draw: Random) -> _MakerResult:
    del draw
    return f"```json\n{payload}\n```", ("J114",), "the object was in a code fence"


def _smart_quotes(payload: str, draw: Random) -> _MakerResult:
    strings = list(re.finditer(r'"([A-Za-z][^"\\]{0,60})"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    match = draw.choice(strings)
    return spliced(payload, match.start(), match.end(), f"“{match[1]}”"), ("J123",), "it had typographic quotes"


def _unquoted_word(payload: str, draw: Random) -> _MakerResult:
    strings = list(re.finditer(r'"([A-Za-z]\w{1,30})"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    match = draw.choice(strings)
    return spliced(payload, match.start(), match.end(), match[1]), ("J119",), "a string had no quotes"


def _missing_comma(payload: str, draw: Random) -> _MakerResult:
    commas = list(re.finditer(r'(?<=["\d}\]]),(?= ?")', payload))
    if not commas:
        return None, (), ""
    match = draw.choice(commas)
    return spliced(payload, match.start(), match.end(), " "), ("J118",), "a comma was missing"


def _raw_line_feed(payload: str, draw: Random) -> _MakerResult:
    strings = list(re.finditer(r'"[^"\\\n]*?[a-z]( )[a-z][^"\\\n]*"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    match = draw.choice(strings)
    return spliced(payload, match.start(1), match.end(1), "\n"), ("J106",), "a string contained a raw line feed"


def _missing_quote(payload: str, draw: Random) -> _MakerResult:
    match = _some(_STRING, payload, draw)
    if match is None:
        return None, (), ""
    return (spliced(payload, match.end() - 1, match.end(), ""), ("J121", "J102", "J101", "J118"), "a quote was missing")


def _invalid_escape(payload: str, draw: Random) -> _MakerResult:
    match = _some(_STRING, payload, draw)
    if match is None:
        return None, (), ""
    return (
        spliced(payload, match.start() + 2, match.start() + 2, "\\'"),
        ("J107",),
        "a string contained an invalid escape",
    )


def _missing_value(payload: str, draw: Random) -> _MakerResult:
    match = _some(_STRING, payload, draw)
    return (None if match is None else spliced(payload, *match.span(), "")), ("J126",), "a key had no value"


def _invalid_number(payload: str, draw: Random) -> _MakerResult:
    match = _some(_INTEGER, payload, draw)
    return (
        (None if match is None else spliced(payload, *match.span(), f"0{match[0]}")),
        ("J124",),
        "a number had a leading zero",
    )


def _non_finite_number(payload: str, draw: Random) -> _MakerResult:
    match = _some(_INTEGER, payload, draw)
    return ((None if match is None else spliced(payload, *match.span(), "NaN")), ("J111", "S202"), "JSON has no NaN")


def _comment(payload: str, draw: Random) -> _MakerResult:
    match = _some(_STRING, payload, draw)
    comment = "/* as the user asked */"
    return (
        (None if match is None else spliced(payload, match.end(), match.end(), f" {comment}")),
        ("J122",),
        "it had a comment",
    )


def _duplicate_key(payload: str, draw: Random) -> _MakerResult:
    match = _some(_MEMBER, payload, draw)
    if match is None:
        return None, (), ""
    return spliced(payload, match.end(), match.end(), f", {match[0]}"), ("J108",), "a key was duplicated"


def _list_of_calls(payload: str, draw: Random) -> _MakerResult:
    del draw
    return (f"[{payload}]" if _NAME_KEY.match(payload) else None), ("J110",), "it was a list of calls, not one call"


def _arguments_as_string(payload: str, draw: Random) -> _MakerResult:
    del draw
    call = json.loads(payload)
    inner = call.get("arguments") if isinstance(call.get("name"), str) else call
    if not isinstance(inner, dict):
        return None, (), ""
    text = json.dumps(inner, ensure_ascii=False)
    changed = {**call, "arguments": text} if inner is not call else text
    return json.dumps(changed, ensure_ascii=False), ("J112", "S206"), "the arguments were a string, not an object"


def _wrong_arguments_key(payload: str, draw: Random) -> _MakerResult:
    del draw
    match = _ARGUMENTS_KEY.match(payload)
    if match is None:
        return None, (), ""
    wrong = "parameters" if match["key"] == "arguments" else "arguments"
    changed = spliced(payload, *match.span("key"), wrong)
    return changed, ("J113",), f"the arguments were under `{wrong}`, not `{match['key']}`"


def _not_a_call(payload: str, draw: Random) -> _MakerResult:
    del draw
    call = json.loads(payload)
    inner = call.get("arguments") if isinstance(call.get("name"), str) else None
    return (
        (None if not isinstance(inner, dict) else json.dumps(inner, ensure_ascii=False)),
        ("J116",),
        "it had no tool name",
    )


def _stray_key(payload: str, draw: Random) -> _MakerResult:
    if not _NAME_KEY.match(payload):
        return None, (), ""
    key, value = draw.choice((("reason", "The user asks for it."), ("type_hint", "tool"), ("confidence", 0.9)))
    end = payload.rfind("}")
    return f'{payload[:end]}, "{key}": {json.dumps(value)}}}', ("J125",), f"the call had a key `{key}`"


def _some(pattern: re.Pattern[str], payload: str, draw: Random) -> re.Match[str] | None:
    matches = list(pattern.finditer(payload))
    return draw.choice(matches) if matches else None


_STRING = re.compile(r'(?<=: )"[A-Za-z][^"\\\n]{1,200}"(?=\s*[,}\]])')
_MEMBER = re.compile(r'"[A-Za-z_]\w*": (?:"[^"\\\n]{1,200}"|[1-9]\d{0,15}|true|false)(?=[,}])')
_NAME_KEY = re.compile(r'\{\s*"name"\s*:')
_ARGUMENTS_KEY = re.compile(r'\{\s*"name"\s*:\s*"[^"\\]*"\s*,\s*"(?P<key>arguments|parameters)"\s*:')
_INTEGER = re.compile(r"(?<=: )[1-9]\d{0,15}(?=[,}])")
_JSON_FAULTS: Mapping[str, tuple[_JsonMaker, int]] = MappingProxyType(
    {
        "single-quotes": (_single_quotes, 1082),
        "python-literal": (_python_literal, 155),
        "prose-after": (_prose_after, 16),
        "arithmetic": (_arithmetic, 8),
        "missing-brace": (_missing_brace, 3),
        "unquoted-word": (_unquoted_word, 2),
        "fence": (_fence, 2),
        "trailing-comma": (_trailing_comma, 1),
        "smart-quotes": (_smart_quotes, 1),
        "missing-comma": (_missing_comma, 1),
        "raw-line-feed": (_raw_line_feed, 1),
        "missing-quote": (_missing_quote, 2),
        "invalid-escape": (_invalid_escape, 1),
        "missing-value": (_missing_value, 1),
        "invalid-number": (_invalid_number, 1),
        "non-finite-number": (_non_finite_number, 1),
        "comment": (_comment, 1),
        "duplicate-key": (_duplicate_key, 1),
        "list-of-calls": (_list_of_calls, 1),
        "arguments-as-string": (_arguments_as_string, 1),
        "wrong-arguments-key": (_wrong_arguments_key, 1),
        "not-a-call": (_not_a_call, 1),
        "stray-key": (_stray_key, 1),
    }
)
JSON_KINDS: Mapping[str, int] = MappingProxyType({kind: seen for kind, (_, seen) in _JSON_FAULTS.items()})
"""The kinds of malformed JSON, and how often each was seen among 1,542 broken calls (the rare ones at least once)."""
