"""The kinds of faults that can be put into a call: how each changes it, how its tool refuses it, how a model says so.

Each maker takes a sound call and gives a `FaultyCall`, or None where the call offers no place for that kind: no enum to
violate, no list of tools that a name could miss. Frequencies of the kinds of malformed JSON are those of 1,542 broken
calls of two real models (docs/training-data-making.md).
"""

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from inspector.formats.format import Format
from inspector.formats.registry import find_format
from inspector.model import Json, ToolCall, ToolDefinition
from inspector.scanning import lazy_pattern

_OPENERS = ("<tool_call>", "[tool_call]")


class SoundCall(Struct, frozen=True):
    """A call without faults: `text` is the part that holds it, `structured` that its part is the arguments alone."""

    call: ToolCall
    text: str
    tool: ToolDefinition
    offered: tuple[str, ...]
    format: Format
    structured: bool

    @property
    def arguments(self) -> dict[str, Json]:
        """The arguments as an object."""
        return self.call.arguments if isinstance(self.call.arguments, dict) else {}

    @property
    def properties(self) -> dict[str, Json]:
        """The schemas of the tool's parameters."""
        schema = self.tool.parameters
        found = schema.get("properties") if isinstance(schema, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def required(self) -> list[str]:
        """The parameters that the tool requires and the call gives."""
        schema = self.tool.parameters
        named = schema.get("required") if isinstance(schema, dict) else None
        return (
            [name for name in named if isinstance(name, str) and name in self.arguments]
            if isinstance(named, list)
            else []
        )


class FaultyCall(Struct, frozen=True):
    """A call with one fault: `text` is the part's new text, `name` the tool's name where that is in a field of its own.

    `rules` are the codes that may be found for the fault, the first of them always. `refusal` is what the tool answers,
    `thought` what the model thinks then.
    """

    text: str
    rules: tuple[str, ...]
    refusal: str
    thought: str
    name: str | None = None
    place: str = ""


Maker: TypeAlias = Callable[[SoundCall, Random], FaultyCall | None]


def wrong_type(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A value of another JSON type than the schema has."""
    places = [name for name in sound.arguments if _type(sound.properties.get(name)) in _WRONG]
    if not places:
        return None
    name = draw.choice(places)
    expected = _type(sound.properties[name])
    value = _WRONG[expected](sound.arguments[name])
    got = _PYTHON_NAMES[type(value)]
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: value}),
        ("S202",),
        _error(f"TypeError: {name} must be {expected}, got {got}"),
        f"I made a type error: `{name}` must be {_a(expected)}, not {_a(_JSON_NAMES[type(value)])}. I will correct it.",
    )


def missing_required(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call without a required parameter."""
    if not sound.required:
        return None
    name = draw.choice(sound.required)
    left = {key: value for key, value in sound.arguments.items() if key != name}
    return FaultyCall(
        _with_arguments(sound, left),
        ("S201",),
        _error(f"Missing required parameter: {name}"),
        f"I left out the required parameter `{name}`. I will call the tool again with it.",
    )


def unknown_key(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A parameter that the tool does not have."""
    name = draw.choice([word for word in _EXTRA_KEYS if word not in sound.properties])
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: _EXTRA_KEYS[name]}),
        ("S203",),
        _error(f"Unexpected parameter: {name}"),
        f"The tool has no parameter `{name}`. I will leave it out.",
    )


def enum_violation(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A value that the schema's enum does not have."""
    places = [name for name in sound.arguments if len(_enum(sound.properties.get(name))) > 0]
    if not places:
        return None
    name = draw.choice(places)
    allowed = _enum(sound.properties[name])
    value = next(one for one in (f"{sound.arguments[name]}_value", "default", "other") if one not in allowed)
    listed = ", ".join(map(str, allowed))
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: value}),
        ("S204",),
        _error(f"Invalid value '{value}' for {name}: expected one of {listed}"),
        f"`{value}` is no allowed value of `{name}`; it takes {listed}. Let me use one of these.",
    )


def wrong_value(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A value with a slip in a required parameter, which only the tool's refusal shows."""
    places = [name for name in sound.required if _slipped(sound.arguments[name], draw) is not None]
    places = [name for name in places if not _enum(sound.properties.get(name))]
    if not places:
        return None
    name = draw.choice(places)
    value = _slipped(sound.arguments[name], draw)
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: value}),
        ("T406",),
        _error(f"Not found: no entry for {name} '{value}'"),
        f"There is nothing for `{name}` `{value}`: I wrote it wrong. The right value is `{sound.arguments[name]}`.",
    )


def wrong_tool_name(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The name of a tool that is not offered, near the right one."""
    name = sound.call.name or ""
    near = [name.replace("_", ""), f"{name}s", f"{name}_tool", name[:-1], name.replace("get_", "fetch_")]
    near = [one for one in near if len(one) > 2 and one not in sound.offered and one != name]
    if not near:
        return None
    wrong = draw.choice(near)
    refusal = _error(f"Unknown tool: {wrong}. Available tools: {', '.join(sound.offered[:8])}")
    thought = f"There is no tool `{wrong}`; the right name is `{name}`. Let me call that one."
    if sound.structured:
        return FaultyCall(sound.text, ("T401",), refusal, thought, name=wrong)
    place = sound.call.name_range
    if place is None:
        return None
    quoted = place.of(sound.text).replace(name, wrong)
    return FaultyCall(_replaced(sound.text, place.start, place.end, quoted), ("T401",), refusal, thought)


def truncated_stream(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call whose text ends in the middle of its arguments."""
    place = sound.call.arguments_range
    if place is None or len(place) < 6:
        return None
    cut = place.start + draw.randrange(len(place) // 2, len(place) - 1)
    return FaultyCall(
        sound.text[:cut].rstrip(),
        ("J102", "F301", "J129", "F316"),
        _error("Invalid tool call: unexpected end of input"),
        "My call was cut off before it was complete. I will write it again, whole.",
    )


def wrong_format(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The call in the syntax of another family of models."""
    if sound.structured or not _is_alone(sound):
        return None
    others = [find_format(name) for name in _OTHER_FORMATS if name != sound.format.name]
    others = [one for one in others if one.expresses(sound.call)]
    if not others:
        return None
    other = draw.choice(others)
    written = other.write_calls([sound.call])
    before, after = _around_markers(sound)
    return FaultyCall(
        f"{before}{written}{after}",
        ("F309", "F317", "F308", "F315"),
        _error(f"No tool call found: expected the {sound.format.name} format"),
        "I wrote the call in another model's syntax, so that nobody could read it. Let me use the right format.",
    )


def drafted_in_reasoning(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call that the reasoning holds, which is never closed, so that a server takes no call from it."""
    del draw
    if sound.structured or not _is_alone(sound) or sound.text.count("</think>") != sound.text.count("<think>"):
        return None
    unclosed = sound.text.replace("</think>", "")
    if unclosed == sound.text:
        unclosed = f"<think>\nI will call `{sound.call.name}` now.\n{sound.text.strip()}"
    return FaultyCall(
        unclosed,
        ("F301", "F305"),
        _error("No tool call found in the answer: the reasoning was not closed"),
        "I wrote the call inside my reasoning and never closed it. I will make the call after the reasoning.",
    )


def malformed_json(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """JSON that is not strict, each kind as often as real models write it."""
    if not sound.structured and sound.call.parameters:
        return None
    place = sound.call.range if not sound.structured else sound.call.arguments_range or sound.call.range
    payload = place.of(sound.text)
    if not payload.lstrip().startswith("{"):
        return None
    kinds = dict(JSON_KINDS)
    while kinds:
        kind = draw.choices(list(kinds), list(kinds.values()))[0]
        del kinds[kind]
        broken, codes, said = _JSON_MAKERS[kind](payload, draw)
        if broken is not None and broken != payload:
            return FaultyCall(
                _replaced(sound.text, place.start, place.end, broken),
                codes,
                _error(f"Invalid JSON in tool call: {said}"),
                f"My call was not valid JSON: {said}. Let me write it correctly.",
            )
    return None


def _single_quotes(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    del draw
    return (repr(json.loads(payload)) if "'" not in payload else None), ("J103", "J105"), "strings need double quotes"


def _python_literal(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    del draw
    changed = re.sub(
        r"(?<=[:,\[ ])(true|false|null)(?=[,}\] ])",
        lambda found: {"true": "True", "false": "False", "null": "None"}[found[1]],
        payload,
    )
    return changed, ("J105",), "it has true, false and null, not True, False and None"


def _prose_after(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    return f"{payload} {draw.choice(_PROSE)}", ("J109",), "something followed the object"


def _arithmetic(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_INTEGER, payload, draw)
    if found is None:
        return None, (), ""
    value = int(found[0])
    part = draw.randint(1, max(value - 1, 1))
    return (
        _replaced(payload, found.start(), found.end(), f"{part} + {value - part}"),
        ("J115",),
        "a value was an expression",
    )


def _missing_brace(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    del draw
    end = payload.rfind("}")
    return payload[:end] + payload[end + 1 :], ("J120", "J102"), "a bracket was missing"


def _trailing_comma(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    del draw
    end = payload.rfind("}", 0, payload.rfind("}")) if payload.rstrip().endswith("}}") else payload.rfind("}")
    has_members = not payload[:end].rstrip().endswith("{")
    return (payload[:end] + "," + payload[end:] if has_members else None), ("J104",), "a comma stood before a bracket"


def _fence(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    del draw
    return f"```json\n{payload}\n```", ("J114",), "the object was in a code fence"


def _smart_quotes(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    strings = list(re.finditer(r'"([A-Za-z][^"\\]{0,60})"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    found = draw.choice(strings)
    return _replaced(payload, found.start(), found.end(), f"“{found[1]}”"), ("J123",), "it had typographic quotes"


def _unquoted_word(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    strings = list(re.finditer(r'"([A-Za-z]\w{1,30})"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    found = draw.choice(strings)
    return _replaced(payload, found.start(), found.end(), found[1]), ("J119",), "a text had no quotes"


def _missing_comma(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    commas = list(re.finditer(r'(?<=["\d}\]]),(?= ?")', payload))
    if not commas:
        return None, (), ""
    found = draw.choice(commas)
    return _replaced(payload, found.start(), found.end(), " "), ("J118",), "a comma was missing"


def _raw_line_feed(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    strings = list(re.finditer(r'"[^"\\\n]*?[a-z]( )[a-z][^"\\\n]*"(?=\s*[,}\]])', payload))
    if not strings:
        return None, (), ""
    found = draw.choice(strings)
    return _replaced(payload, found.start(1), found.end(1), "\n"), ("J106",), "a text held a raw line feed"


def _missing_quote(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_STRING, payload, draw)
    if found is None:
        return None, (), ""
    return _replaced(payload, found.end() - 1, found.end(), ""), ("J121", "J102", "J101", "J118"), "a quote was missing"


def _invalid_escape(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_STRING, payload, draw)
    if found is None:
        return None, (), ""
    return (
        _replaced(payload, found.start() + 2, found.start() + 2, "\\'"),
        ("J107",),
        "a text held an escape JSON lacks",
    )


def _missing_value(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_STRING, payload, draw)
    return (None if found is None else _replaced(payload, *found.span(), "")), ("J126",), "a key had no value"


def _invalid_number(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_INTEGER, payload, draw)
    return (
        (None if found is None else _replaced(payload, *found.span(), f"0{found[0]}")),
        ("J124",),
        "a number began with 0",
    )


def _non_finite_number(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_INTEGER, payload, draw)
    return (None if found is None else _replaced(payload, *found.span(), "NaN")), ("J111", "S202"), "JSON has no NaN"


def _comment(payload: str, draw: Random) -> tuple[str | None, tuple[str, ...], str]:
    found = _some(_STRING, payload, draw)
    said = "/* as the user asked */"
    return (
        (None if found is None else _replaced(payload, found.end(), found.end(), f" {said}")),
        ("J122",),
        "it had a comment",
    )


def _some(pattern: re.Pattern[str], payload: str, draw: Random) -> re.Match[str] | None:
    found = list(pattern.finditer(payload))
    return draw.choice(found) if found else None


_STRING = lazy_pattern(r'(?<=: )"[A-Za-z][^"\\\n]{1,200}"(?=\s*[,}\]])')
_INTEGER = lazy_pattern(r"(?<=: )[1-9]\d{0,15}(?=[,}])")
JSON_KINDS: Mapping[str, int] = MappingProxyType(
    {
        "single-quotes": 1082,
        "python-literal": 155,
        "prose-after": 16,
        "arithmetic": 8,
        "missing-brace": 3,
        "unquoted-word": 2,
        "fence": 2,
        "trailing-comma": 1,
        "smart-quotes": 1,
        "missing-comma": 1,
        "raw-line-feed": 1,
        "missing-quote": 2,
        "invalid-escape": 1,
        "missing-value": 1,
        "invalid-number": 1,
        "non-finite-number": 1,
        "comment": 1,
    }
)
"""The kinds of malformed JSON, and how often each was seen among 1,542 broken calls (the rare ones at least once)."""
_JSON_MAKERS = MappingProxyType(
    {
        "single-quotes": _single_quotes,
        "python-literal": _python_literal,
        "prose-after": _prose_after,
        "arithmetic": _arithmetic,
        "missing-brace": _missing_brace,
        "unquoted-word": _unquoted_word,
        "fence": _fence,
        "trailing-comma": _trailing_comma,
        "smart-quotes": _smart_quotes,
        "missing-comma": _missing_comma,
        "raw-line-feed": _raw_line_feed,
        "missing-quote": _missing_quote,
        "invalid-escape": _invalid_escape,
        "missing-value": _missing_value,
        "invalid-number": _invalid_number,
        "non-finite-number": _non_finite_number,
        "comment": _comment,
    }
)


def timeout(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The tool does not answer in time; the same call once more does its work."""
    refusal = draw.choice(("Request timed out after 30 seconds", "503 Service Unavailable", "429 Too Many Requests"))
    thought = f"`{sound.call.name}` failed with a transient error. I will try the same call once more."
    return FaultyCall(sound.text, ("T406",), _error(refusal), thought)


def forbidden(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The tool is refused access to one source; another one is tried."""
    for name, value in sound.arguments.items():
        if isinstance(value, str) and re.match(r"https?://[^/]+", value):
            other = re.sub(r"^(https?://)(?:www\.)?", rf"\g<1>{draw.choice(('m', 'archive', 'api'))}.", value, count=1)
            return FaultyCall(
                _with_arguments(sound, {**sound.arguments, name: other}),
                ("T406",),
                _error("HTTP 403 Forbidden: access denied"),
                "403 means access denied. I will try an alternative source.",
            )
    return None


def empty_result(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A search that is too narrow finds nothing; a broader one does."""
    for name, value in sound.arguments.items():
        if isinstance(value, str) and re.search(r"quer|search|keyword|^q$|term", name, re.IGNORECASE):
            narrow = f'"{value}" {draw.choice(("exact match", "official report", "full text", "2019 archive"))}'
            return FaultyCall(
                _with_arguments(sound, {**sound.arguments, name: narrow}),
                ("T407",),
                "null",
                "The search returned nothing. I will broaden the query and try again.",
            )
    return None


KINDS: Mapping[str, Maker] = MappingProxyType(
    {
        "wrong-type": wrong_type,
        "wrong-value": wrong_value,
        "missing-required": missing_required,
        "unknown-key": unknown_key,
        "enum-violation": enum_violation,
        "wrong-tool-name": wrong_tool_name,
        "malformed-json": malformed_json,
        "truncated-stream": truncated_stream,
        "drafted-in-reasoning": drafted_in_reasoning,
        "wrong-format": wrong_format,
        "timeout": timeout,
        "forbidden": forbidden,
        "empty-result": empty_result,
    }
)
"""Every kind of fault, by its name."""
SAME_CALL = frozenset({"timeout"})
"""The kinds whose correction is the identical call."""

_OTHER_FORMATS = ("hermes", "mistral", "llama3", "claude", "functionary", "deepseek_v3")
_PROSE = ("I hope this helps!", "Let me know if you need anything else.", "This will get the data.")
_EXTRA_KEYS: Mapping[str, Json] = MappingProxyType(
    {"verbose": True, "output_format": "json", "max_retries": 3, "include_metadata": False, "request_id": "r1"}
)
_JSON_NAMES: Mapping[type, str] = MappingProxyType(
    {int: "number", float: "number", str: "string", bool: "boolean", list: "array", dict: "object", type(None): "null"}
)
_PYTHON_NAMES: Mapping[type, str] = MappingProxyType(
    {int: "int", float: "float", str: "str", bool: "bool", list: "list", dict: "dict", type(None): "NoneType"}
)
_WRONG: Mapping[str, Callable[[Json], Json]] = MappingProxyType(
    {
        "string": lambda value: len(str(value)) * 7 + 116,
        "integer": lambda value: f"{value} units" if not isinstance(value, float) else f"{value:g} units",
        "number": lambda value: f"{value} units",
        "boolean": lambda value: "yes" if value else "no",
        "array": lambda value: ", ".join(map(str, value)) + " etc" if isinstance(value, list) else "none",
        "object": lambda value: ", ".join(value) + " etc" if isinstance(value, dict) else "none",
    }
)


def _type(schema: Json) -> str:
    named = schema.get("type") if isinstance(schema, dict) else None
    return named if isinstance(named, str) else ""


def _enum(schema: Json) -> list[Json]:
    listed = schema.get("enum") if isinstance(schema, dict) else None
    return listed if isinstance(listed, list) else []


def _slipped(value: Json, draw: Random) -> Json:
    """The value with a slip of the pen; None where it is too short for one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int):
        return value * 10 + draw.randint(1, 9)
    if len(value) < 4 or not value.isprintable():
        return None
    at = draw.randrange(1, len(value) - 1)
    slipped = value[:at] + value[at + 1] + value[at] + value[at + 2 :]
    return slipped if slipped != value else value[:-1]


def _with_arguments(sound: SoundCall, arguments: dict[str, Json]) -> str:
    """The part's text with other arguments in the call."""
    place, call = sound.call.arguments_range, sound.call
    if sound.structured:
        return json.dumps(arguments, ensure_ascii=False)
    if place is not None and not call.parameters and call.decoded is None and place.of(sound.text)[:1] == "{":
        return _replaced(sound.text, place.start, place.end, json.dumps(arguments, ensure_ascii=False))
    changed = ToolCall(call.name, arguments, json.dumps(arguments), valid=True, range=call.range, id=call.id)
    before, after = _around_markers(sound)
    return f"{before}{sound.format.write_calls([changed])}{after}"


def _around_markers(sound: SoundCall) -> tuple[str, str]:
    """The text before the call with its markers, and after it."""
    text, place = sound.text, sound.call.range
    start, end = place.start, place.end
    for opener in _OPENERS:
        closer = opener[0] + "/" + opener[1:]
        found = text.rfind(opener, 0, start)
        if found >= 0 and not text[found + len(opener) : start].strip():
            start = found
            last = text.find(closer, end)
            end = last + len(closer) if last >= 0 and not text[end:last].strip() else end
    return text[:start], text[end:]


def _is_alone(sound: SoundCall) -> bool:
    return not _around_markers(sound)[1].strip()


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]


def _error(sentence: str) -> str:
    return json.dumps({"error": sentence}, ensure_ascii=False)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}" if kind != "null" else kind
