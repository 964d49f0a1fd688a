"""Makes invalid JSON, or an invalid call, from a valid payload; each kind as often as real models write it.

Frequencies are those of 1,542 broken calls of two real models (docs/training-data-making.md). Most kinds change one of
the places that a pattern finds, which is drawn:

    missing-comma     {"city": "Rome", "days": 5}     {"city": "Rome" "days": 5}
    invalid-number    {"city": "Rome", "days": 5}     {"city": "Rome", "days": 05}
"""

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

_Change: TypeAlias = Callable[[str, Random], str | tuple[str, str] | None]
"""The payload with a fault, or also the fault's description; None for a payload that cannot have it."""


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
        fault = _JSON_FAULTS[kind]
        changed = fault.change(payload, draw)
        broken, description = changed if isinstance(changed, tuple) else (changed, fault.description)
        if broken is not None and broken != payload:
            return BrokenJson(broken, fault.rules, description)
    return None


def spliced(text: str, start: int, end: int, by: str) -> str:
    """`text` with `by` in place of what is between the positions."""
    return text[:start] + by + text[end:]


def _replace(pattern: str, write: Callable[[re.Match[str]], str], *, group: int = 0) -> _Change:
    """Write something else in place of a match, or of a group in it."""
    regex = re.compile(pattern)

    def change(payload: str, draw: Random) -> str | None:
        matches = list(regex.finditer(payload))
        if not matches:
            return None
        match = draw.choice(matches)
        return spliced(payload, *match.span(group), write(match))

    return change


def _single_quotes(payload: str, _: Random) -> str | None:
    return repr(json.loads(payload)) if "'" not in payload else None


def _python_literal(payload: str, _: Random) -> str:
    names = {"true": "True", "false": "False", "null": "None"}
    return re.sub(r"(?<=[:,\[ ])(true|false|null)(?=[,}\] ])", lambda match: names[match[1]], payload)


def _prose_after(payload: str, draw: Random) -> str:
    prose = ("I hope this helps!", "Let me know if you need anything else.", "This will get the data.")
    return f"{payload} {draw.choice(prose)}"


def _arithmetic(payload: str, draw: Random) -> str | None:
    matches = list(re.finditer(_INTEGER, payload))
    if not matches:
        return None
    match = draw.choice(matches)
    value = int(match[0])
    part = draw.randint(1, max(value - 1, 1))
    return spliced(payload, *match.span(), f"{part} + {value - part}")


def _missing_brace(payload: str, _: Random) -> str:
    end = payload.rfind("}")
    return payload[:end] + payload[end + 1 :]


def _trailing_comma(payload: str, _: Random) -> str | None:
    end = payload.rfind("}", 0, payload.rfind("}")) if payload.rstrip().endswith("}}") else payload.rfind("}")
    has_members = not payload[:end].rstrip().endswith("{")
    return payload[:end] + "," + payload[end:] if has_members else None


def _list_of_calls(payload: str, _: Random) -> str | None:
    return f"[{payload}]" if _NAME_KEY.match(payload) else None


def _arguments_as_string(payload: str, _: Random) -> str | None:
    call = json.loads(payload)
    inner = call.get("arguments") if isinstance(call.get("name"), str) else call
    if not isinstance(inner, dict):
        return None
    text = json.dumps(inner, ensure_ascii=False)
    return json.dumps({**call, "arguments": text} if inner is not call else text, ensure_ascii=False)


def _wrong_arguments_key(payload: str, _: Random) -> tuple[str, str] | None:
    match = _ARGUMENTS_KEY.match(payload)
    if match is None:
        return None
    wrong = "parameters" if match["key"] == "arguments" else "arguments"
    changed = spliced(payload, *match.span("key"), wrong)
    return changed, f"the arguments were under `{wrong}`, not `{match['key']}`"


def _not_a_call(payload: str, _: Random) -> str | None:
    call = json.loads(payload)
    inner = call.get("arguments") if isinstance(call.get("name"), str) else None
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else None


def _stray_key(payload: str, draw: Random) -> tuple[str, str] | None:
    if not _NAME_KEY.match(payload):
        return None
    key, value = draw.choice((("reason", "The user asks for it."), ("type_hint", "tool"), ("confidence", 0.9)))
    end = payload.rfind("}")
    return f'{payload[:end]}, "{key}": {json.dumps(value)}}}', f"the call had a key `{key}`"


_STRING = r'(?<=: )"[A-Za-z][^"\\\n]{1,200}"(?=\s*[,}\]])'
_LAST_STRING = r'"([A-Za-z][^"\\]{0,60})"(?=\s*[,}\]])'
_LAST_WORD = r'"([A-Za-z]\w{1,30})"(?=\s*[,}\]])'
_BLANK_IN_STRING = r'"[^"\\\n]*?[a-z]( )[a-z][^"\\\n]*"(?=\s*[,}\]])'
_COMMA = r'(?<=["\d}\]]),(?= ?")'
_MEMBER = r'"[A-Za-z_]\w*": (?:"[^"\\\n]{1,200}"|[1-9]\d{0,15}|true|false)(?=[,}])'
_INTEGER = r"(?<=: )[1-9]\d{0,15}(?=[,}])"
_NAME_KEY = re.compile(r'\{\s*"name"\s*:')
_ARGUMENTS_KEY = re.compile(r'\{\s*"name"\s*:\s*"[^"\\]*"\s*,\s*"(?P<key>arguments|parameters)"\s*:')


class _JsonFault(Struct, frozen=True):
    """A kind of fault: how often it was seen, the codes that may be reported, its description, and how it is made."""

    seen: int
    rules: tuple[str, ...]
    description: str
    change: _Change


_JSON_FAULTS: Mapping[str, _JsonFault] = MappingProxyType(
    {
        "single-quotes": _JsonFault(1082, ("J103", "J105"), "strings need double quotes", _single_quotes),
        "python-literal": _JsonFault(
            155, ("J105",), "JSON has true, false and null, not True, False and None", _python_literal
        ),
        "prose-after": _JsonFault(16, ("J109",), "extra text followed the object", _prose_after),
        "arithmetic": _JsonFault(8, ("J115",), "a value was an expression", _arithmetic),
        "missing-brace": _JsonFault(3, ("J120", "J102"), "a bracket was missing", _missing_brace),
        "unquoted-word": _JsonFault(2, ("J119",), "a string had no quotes", _replace(_LAST_WORD, lambda word: word[1])),
        "fence": _JsonFault(
            2, ("J114",), "the object was in a code fence", lambda payload, _: f"```json\n{payload}\n```"
        ),
        "trailing-comma": _JsonFault(1, ("J104",), "there was a trailing comma", _trailing_comma),
        "smart-quotes": _JsonFault(
            1, ("J123",), "it had typographic quotes", _replace(_LAST_STRING, lambda string: f"“{string[1]}”")
        ),
        "missing-comma": _JsonFault(1, ("J118",), "a comma was missing", _replace(_COMMA, lambda _: " ")),
        "raw-line-feed": _JsonFault(
            1,
            ("J106",),
            "a string contained a raw line feed",
            _replace(_BLANK_IN_STRING, lambda _: "\n", group=1),
        ),
        "missing-quote": _JsonFault(
            2,
            ("J121", "J102", "J101", "J118"),
            "a quote was missing",
            _replace(_STRING, lambda string: string[0][:-1]),
        ),
        "invalid-escape": _JsonFault(
            1,
            ("J107",),
            "a string contained an invalid escape",
            _replace(_STRING, lambda string: f"{string[0][:2]}\\'{string[0][2:]}"),
        ),
        "missing-value": _JsonFault(1, ("J126",), "a key had no value", _replace(_STRING, lambda _: "")),
        "invalid-number": _JsonFault(
            1, ("J124",), "a number had a leading zero", _replace(_INTEGER, lambda number: f"0{number[0]}")
        ),
        "non-finite-number": _JsonFault(1, ("J111", "S202"), "JSON has no NaN", _replace(_INTEGER, lambda _: "NaN")),
        "comment": _JsonFault(
            1,
            ("J122",),
            "it had a comment",
            _replace(_STRING, lambda string: f"{string[0]} /* as the user asked */"),
        ),
        "duplicate-key": _JsonFault(
            1, ("J108",), "a key was duplicated", _replace(_MEMBER, lambda member: f"{member[0]}, {member[0]}")
        ),
        "list-of-calls": _JsonFault(1, ("J110",), "it was a list of calls, not one call", _list_of_calls),
        "arguments-as-string": _JsonFault(
            1, ("J112", "S206"), "the arguments were a string, not an object", _arguments_as_string
        ),
        "wrong-arguments-key": _JsonFault(1, ("J113",), "the arguments were under another key", _wrong_arguments_key),
        "not-a-call": _JsonFault(1, ("J116",), "it had no tool name", _not_a_call),
        "stray-key": _JsonFault(1, ("J125",), "the call had another key", _stray_key),
    }
)
JSON_KINDS: Mapping[str, int] = MappingProxyType({kind: fault.seen for kind, fault in _JSON_FAULTS.items()})
"""The kinds of malformed JSON, and how often each was seen among 1,542 broken calls (the rare ones at least once)."""
