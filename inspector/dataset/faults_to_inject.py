"""The kinds of faults that can be injected into a call, each with the tool's refusal and the model's reaction.

Each maker takes a sound call and returns a `FaultyCall`, or None if the call cannot have that kind of fault: it has no
enum to violate, or no similar tool name is left. Frequencies of the kinds of malformed JSON are those of 1,542 broken
calls of two real models (docs/training-data-making.md).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from random import Random
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Step
from weaklink.inspector.dataset.context_values import is_free_text
from weaklink.inspector.dataset.json_faults import broken_json, spliced
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.inspected import PartInspection
from weaklink.inspector.json_text import object_of, properties_of, word_of
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.text import Range

_OPENERS = ("<tool_call>", "[tool_call]")
_MAX_NAME_WORDS = 4
_OPENING = 24  # characters of a description: its verb


class SoundCall(Struct, frozen=True):
    """A call without faults: `text` is the part that contains it; `structured` means the part is only its arguments.

    `span` is the range of the call with its markers.
    """

    call: ToolCall
    text: str
    tool: ToolDefinition
    offered: tuple[str, ...]
    format: Format
    structured: bool
    span: Range

    @property
    def arguments(self) -> dict[str, Json]:
        """The arguments as an object."""
        return self.call.arguments if isinstance(self.call.arguments, dict) else {}

    @property
    def properties(self) -> dict[str, Json]:
        """The schemas of the tool's parameters."""
        return properties_of(self.tool.parameters)

    @property
    def required(self) -> list[str]:
        """The required parameters of the tool that the call has."""
        schema = self.tool.parameters
        named = schema.get("required") if isinstance(schema, dict) else None
        return (
            [name for name in named if isinstance(name, str) and name in self.arguments]
            if isinstance(named, list)
            else []
        )


def span_of_call(step: Step, parts: Iterable[PartInspection]) -> Range:
    """The range of a step's call with its markers, in the text of its part."""
    part_key = (step.location.turn, step.location.part)
    spans = next((part.spans for part in parts if (part.turn, part.part) == part_key), ())
    return spans[step.call.span].range if step.call.span < len(spans) else step.call.range


class FaultyCall(Struct, frozen=True):
    """A call with one fault: `text` is the part's new text, `name` the tool's name if that is in a separate field.

    `rules` are the codes of the rules that may report the fault; the first one always does. `refusal` is the tool's
    answer, and `thought` the model's reasoning after it.
    """

    text: str
    rules: tuple[str, ...]
    refusal: str
    thought: str
    name: str | None = None


Maker: TypeAlias = Callable[[SoundCall, Random], FaultyCall | None]


def wrong_type(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A value of another JSON type than the schema requires."""
    names = [name for name in sound.arguments if word_of(object_of(sound.properties.get(name)).get("type")) in _WRONG]
    if not names:
        return None
    name = draw.choice(names)
    expected = word_of(object_of(sound.properties[name]).get("type"))
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
    """A value that is not in the schema's enum."""
    names = [name for name in sound.arguments if len(_enum(sound.properties.get(name))) > 0]
    if not names:
        return None
    name = draw.choice(names)
    allowed = _enum(sound.properties[name])
    value = next(
        candidate for candidate in (f"{sound.arguments[name]}_value", "default", "other") if candidate not in allowed
    )
    listed = ", ".join(map(str, allowed))
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: value}),
        ("S204",),
        _error(f"Invalid value '{value}' for {name}: expected one of {listed}"),
        f"`{value}` is not an allowed value of `{name}`; it takes {listed}. Let me use one of these.",
    )


def wrong_value(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A typo in the name that a required parameter has, which only the tool's refusal reveals.

    A tool looks up names, so it can know none of that spelling; it looks up no length and no text, and a tool that
    makes something new takes any name for it.
    """
    if _MAKES.search(f"{sound.tool.name} {sound.tool.description[:_OPENING]}"):
        return None
    names = [name for name in sound.required if _is_looked_up(name, sound.arguments[name])]
    names = [name for name in names if not _enum(sound.properties.get(name))]
    if not names:
        return None
    name = draw.choice(names)
    value = _slipped(str(sound.arguments[name]), draw)
    return FaultyCall(
        _with_arguments(sound, {**sound.arguments, name: value}),
        ("T406",),
        _error(f"Unknown {name}: '{value}'"),
        f"There is nothing for `{name}` `{value}`: I wrote it wrong. The right value is `{sound.arguments[name]}`.",
    )


def wrong_tool_name(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The name of a tool that is not offered, similar to the right one."""
    name = sound.call.name or ""
    near = [name.replace("_", ""), f"{name}s", f"{name}_tool", name[:-1], name.replace("get_", "fetch_")]
    near = [tool for tool in near if len(tool) > 2 and tool not in sound.offered and tool != name]
    if not near:
        return None
    wrong = draw.choice(near)
    refusal = _error(f"Unknown tool: {wrong}. Available tools: {', '.join(sound.offered[:8])}")
    thought = f"There is no tool `{wrong}`; the right name is `{name}`. Let me call that one."
    if sound.structured:
        return FaultyCall(sound.text, ("T401",), refusal, thought, name=wrong)
    name_range = sound.call.name_range
    if name_range is None:
        return None
    quoted = name_range.of(sound.text).replace(name, wrong)
    return FaultyCall(spliced(sound.text, name_range.start, name_range.end, quoted), ("T401",), refusal, thought)


def truncated_stream(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call whose text ends in the middle of its arguments."""
    arguments_range = sound.call.arguments_range
    if arguments_range is None or len(arguments_range) < 6:
        return None
    cut = arguments_range.start + draw.randrange(len(arguments_range) // 2, len(arguments_range) - 1)
    return FaultyCall(
        sound.text[:cut].rstrip(),
        ("J102", "F301", "J129", "F316"),
        _error("Invalid tool call: unexpected end of input"),
        "My call was cut off before it was complete. I will write it again, whole.",
    )


def malformed_tags(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call with one tag missing or in another spelling."""
    before, after = _around_markers(sound)
    framed = sound.text[len(before) : len(sound.text) - len(after)]
    opener = next((opener for opener in _OPENERS if framed.startswith(opener)), None)
    if sound.structured or opener is None or not _is_alone(sound):
        return None
    closer = opener[0] + "/" + opener[1:]
    inside = framed.removeprefix(opener).removesuffix(closer)
    other = next(candidate for candidate in _OPENERS if candidate != opener)
    kinds: tuple[tuple[str, tuple[str, ...], str], ...] = (
        (f"{opener}{inside.rstrip()}", ("F301",), "the closing tag was missing"),
        (f"{opener}{inside}{other[0]}/{other[1:]}", ("F308",), "the closing tag was in another spelling"),
        (f"{inside.lstrip()}{closer}", ("F309", "F302"), "the opening tag was missing"),
    )
    changed, codes, description = draw.choice(kinds)
    return FaultyCall(
        f"{before}{changed}{after}",
        codes,
        _error(f"Tool call could not be parsed: {description}"),
        f"The tags around my call were wrong: {description}. I will write it with both.",
    )


def wrong_format(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The call in the syntax of another family of models."""
    if sound.structured or not _is_alone(sound):
        return None
    others = [find_format(name) for name in _OTHER_FORMATS if name != sound.format.name]
    call = structs.replace(sound.call, id=None)  # few formats have ids
    others = [candidate for candidate in others if candidate.expresses(call)]
    if not others:
        return None
    other = draw.choice(others)
    written = other.write_calls([call])
    before, after = _around_markers(sound)
    return FaultyCall(
        f"{before}{written}{after}",
        ("F309", "F317", "F308", "F315"),
        _error(f"No tool call found: expected the {sound.format.name} format"),
        "I wrote the call in another model's syntax, so that nobody could read it. Let me use the right format.",
    )


def drafted_in_reasoning(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """A call inside reasoning that is never closed, so that a server does not parse the call."""
    del draw
    if sound.structured or not _is_alone(sound) or sound.text.count("</think>") != sound.text.count("<think>"):
        return None
    unclosed = sound.text.replace("</think>", "")
    if unclosed == sound.text:
        unclosed = f"<think>\nI will call `{sound.call.name}` now.\n{sound.text.strip()}"
    return FaultyCall(
        unclosed,
        ("F301",),
        _error("No tool call found in the answer: the reasoning was not closed"),
        "I wrote the call inside my reasoning and never closed it. I will make the call after the reasoning.",
    )


def malformed_json(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """Invalid JSON, each kind as often as real models write it."""
    if not sound.structured and sound.call.parameters:
        return None
    arguments = sound.call.arguments_range or sound.call.range
    is_object = not sound.structured and sound.call.range.of(sound.text).lstrip().startswith("{")
    payload_range = sound.call.range if is_object else arguments
    payload = payload_range.of(sound.text)
    if not payload.lstrip().startswith("{"):
        return None
    broken = broken_json(payload, draw)
    if broken is None:
        return None
    return FaultyCall(
        spliced(sound.text, payload_range.start, payload_range.end, broken.text),
        broken.rules,
        _error(f"Invalid JSON in tool call: {broken.description}"),
        f"My call was not valid JSON: {broken.description}. Let me write it correctly.",
    )


def timeout(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The tool does not answer in time; the same call then succeeds."""
    refusal = draw.choice(("Request timed out after 30 seconds", "503 Service Unavailable", "429 Too Many Requests"))
    thought = f"`{sound.call.name}` failed with a transient error. I will try the same call once more."
    return FaultyCall(sound.text, ("T406",), _error(refusal), thought)


def forbidden(sound: SoundCall, draw: Random) -> FaultyCall | None:
    """The tool is denied access to one source; the model tries another one."""
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


_FAULTS: Mapping[str, tuple[Maker, float]] = MappingProxyType(
    {
        "wrong-type": (wrong_type, 3.0),
        "wrong-value": (wrong_value, 3.0),
        "missing-required": (missing_required, 2.0),
        "unknown-key": (unknown_key, 1.0),
        "enum-violation": (enum_violation, 2.0),
        "wrong-tool-name": (wrong_tool_name, 1.0),
        "malformed-json": (malformed_json, 3.0),
        "malformed-tags": (malformed_tags, 0.5),
        "truncated-stream": (truncated_stream, 1.0),
        "drafted-in-reasoning": (drafted_in_reasoning, 0.5),
        "wrong-format": (wrong_format, 0.5),
        "timeout": (timeout, 1.0),
        "forbidden": (forbidden, 1.0),
        "empty-result": (empty_result, 1.0),
    }
)
KINDS: Mapping[str, Maker] = MappingProxyType({kind: maker for kind, (maker, _) in _FAULTS.items()})
"""Every kind of fault, by its name."""
DEFAULT_RATES: Mapping[str, float] = MappingProxyType({kind: rate for kind, (_, rate) in _FAULTS.items()})
"""The relative frequency at which each kind is drawn, if the call allows it."""
SAME_CALL = frozenset({"timeout"})
"""The kinds whose correction is the identical call."""

_OTHER_FORMATS = ("hermes", "mistral", "llama3", "claude", "functionary", "deepseek_v3")
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


def _enum(schema: Json) -> list[Json]:
    listed = schema.get("enum") if isinstance(schema, dict) else None
    return listed if isinstance(listed, list) else []


# Words of tools that make something whose name the caller chooses, in a name (`addContact`) or in a description.
_MAKES = re.compile(
    r"""
      (?:\b|_)
      (?: [Cc]reat | [Aa]dd(?!r) | [Rr]egister | [Ss]ave | [Ii]nsert | [Rr]ename | [Gg]enerat | [Cc]ompos | [Dd]raw
        | [Pp]aint(?!i|e) | [Nn]ew\b
        | [Cc]rea[r ] | [Aa]ñad | [Aa]greg                      # Spanish
        | [Aa]jout | [Cc]ré[ee]                                 # French
        | [Ee]rstell | [Aa]nleg | [Hh]inzuf                     # German
        | [Cc]ria[r ] | [Aa]ggiung                              # Portuguese and Italian
        | [Сс]озда | [Дд]обав )                                 # Russian
    | 创建|添加|新建|注册 | 建立|作成|追加|登録 | 만들|추가     # Chinese, Japanese, Korean
    """,
    re.VERBOSE,
)


def _is_looked_up(name: str, value: Json) -> bool:
    """Whether a value is a name of few words, long enough for a typo; a typo in an id is a fault that T412 reports."""
    if not isinstance(value, str) or len(value) < 4 or is_free_text(name):
        return False
    return len(value.split()) <= _MAX_NAME_WORDS and all(
        character.isalpha() or character in " .,'-" for character in value
    )


def _slipped(value: str, draw: Random) -> str:
    """The value with a typo."""
    position = draw.randrange(1, len(value) - 1)
    slipped = value[:position] + value[position + 1] + value[position] + value[position + 2 :]
    return slipped if slipped != value else value[:-1]


def _with_arguments(sound: SoundCall, arguments: dict[str, Json]) -> str:
    """The part's text with other arguments in the call."""
    arguments_range, call = sound.call.arguments_range, sound.call
    if sound.structured:
        return json.dumps(arguments, ensure_ascii=False)
    if (
        arguments_range is not None
        and not call.parameters
        and call.decoded is None
        and arguments_range.of(sound.text)[:1] == "{"
    ):
        return spliced(
            sound.text, arguments_range.start, arguments_range.end, json.dumps(arguments, ensure_ascii=False)
        )
    changed = ToolCall(call.name, arguments, json.dumps(arguments), valid=True, range=call.range, id=call.id)
    before, after = _around_markers(sound)
    return f"{before}{sound.format.write_calls([changed])}{after}"


def _around_markers(sound: SoundCall) -> tuple[str, str]:
    """The text before the call with its markers, and after it."""
    return sound.text[: sound.span.start], sound.text[sound.span.end :]


def _is_alone(sound: SoundCall) -> bool:
    return not _around_markers(sound)[1].strip()


def _error(sentence: str) -> str:
    return json.dumps({"error": sentence}, ensure_ascii=False)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}" if kind != "null" else kind
