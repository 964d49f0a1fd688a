r"""Reads the `response_template` of a tokenizer_config.json: how transformers itself reads its model's answers.

It names for each field of a message what opens and closes it, as texts or regular expressions, and how its content is
read. For example, with calls as `<call>{"name": ..., "arguments": ...}</call>`:

    "fields": {"tool_calls": {"open": "<call>", "close_pattern": "</call>\\s*", "repeats": true, "content": "json",
                              "transform": {"type": "function", "function": "{content}"}}, ...}

Only what a table of a format says equally is read: texts, and expressions that are a text with white space and named
groups (`<call>(?P<name>\w+)<args>`). Everything else is refused with the reason. One thing is not said there, since
transformers skips what no expression matches: a name in a tag `<function=NAME>` is taken to end with `</function>`.
The older `response_schema` is translated first. Source: transformers 5.24.0, utils/chat_parsing/response_templates.py
and content_parsers.py.
"""

import re
from collections.abc import Mapping

from weaklink.inspector.chat_templates.response_schemas import (
    REASONING_FIELDS,
    ResponseTemplateError,
    response_template_of,
)
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.format_table import CallTable, CallTags
from weaklink.inspector.formats.json.call_shape import CallKeys
from weaklink.inspector.model import Json

_VERSION = 1
_PIECE = re.compile(
    r"""
    (?P<space>\\s[*+]\??|(?:\n|\\n)[*?]?)                     # white space
    | \(\?P<(?P<group>\w+)>                                 # a name, a key or a value
        (?:\\[wS]|\.|\[[^\]\\]*(?:\\.[^\]\\]*)*\])[*+]\?? \)
    | \\(?P<escaped>\W)                                     # an escaped sign
    | (?P<plain>[^\\.^$*+?{}\[\]()|\n])                   # any other sign
    """,
    re.VERBOSE,
)
_QUANTIFIED = re.compile(r"[*+?{]")
_TAG_NAME = re.compile(r"<(\w+)[= ]")
_PLACEHOLDER = re.compile(r"\{(?:content\.)?(\w+)\}")


def response_calls(response: Json) -> CallTable:
    """How calls are written by a response template. Raises ResponseTemplateError."""
    field = _fields(response).get("tool_calls")
    if not isinstance(field, dict):
        raise ResponseTemplateError("its `response_template` has no field `tool_calls`")
    opener, closer = _anchor(field, "open"), _anchor(field, "close")
    if not opener.startswith(("<", "[")):
        raise ResponseTemplateError("the calls of its `response_template` have no opening marker")
    match field.get("content", "text"):
        case "python-call-list":
            return CallTable("python", section=Enclosed(opener, closer), between=", ", is_array=True)
        case "json" if not field.get("content_args") and "{name}" in opener:
            return _named(field, opener, closer)
        case "json" if not field.get("content_args"):
            is_array = field.get("transform_each") is True
            return CallTable(
                "json",
                opener="" if is_array else opener,
                closer="" if is_array else closer,
                section=Enclosed(opener, closer) if is_array else Enclosed(),
                between=", " if is_array else "",
                is_array=is_array,
                keys=_keys(field.get("transform")),
            )
        case "xml-inline" if "{name}" in opener:
            return _tagged(field, opener, closer)
    raise ResponseTemplateError("the content of its field `tool_calls` is read in a way that no table says")


def response_reasoning(response: Json) -> Enclosed:
    """The markers of reasoning by a response template; empty ones if it has none, or none that a table says."""
    fields = _fields(response)
    field = next((fields[name] for name in REASONING_FIELDS if name in fields), None)
    if not isinstance(field, dict):
        return Enclosed()
    try:
        return Enclosed(_anchor(field, "open").strip(), _anchor(field, "close"))
    except ResponseTemplateError:
        return Enclosed()


def _fields(response: Json) -> Mapping[str, Json]:
    if isinstance(response, dict) and "properties" in response:
        response = response_template_of(response)
    version = response.get("version", _VERSION) if isinstance(response, dict) else None
    fields = response.get("fields") if isinstance(response, dict) else None
    if version != _VERSION or not isinstance(fields, dict):
        raise ResponseTemplateError("its `response_template` is not one of version 1 with `fields`")
    return fields


def _anchor(field: Mapping[str, Json], side: str) -> str:
    """The text that opens or closes a field, with `{GROUP}` for each group of an expression."""
    text, pattern = field.get(side), field.get(f"{side}_pattern")
    if isinstance(text, list) and text:
        text = text[0]
    if isinstance(text, str) and text:
        return text
    literal = _text_of(pattern) if isinstance(pattern, str) else ""
    if not literal:
        raise ResponseTemplateError(f"what {side}s one of its fields is not a text")
    return literal


def _text_of(pattern: str) -> str:
    """The text that an expression matches, without white space that may lack at its end; "" if it is none."""
    parts: list[str] = []
    index = 0
    while index < len(pattern):
        match = _PIECE.match(pattern, index)
        if match is None:
            return ""
        index = match.end()
        if match["space"] is None and _QUANTIFIED.match(pattern, index):
            return ""
        if match["space"] is not None:
            parts.append(_shown_space(match["space"]))
        else:
            parts.append(f"{{{match['group']}}}" if match["group"] else match["escaped"] or match["plain"])
    return "".join(parts).rstrip()


def _shown_space(piece: str) -> str:
    """White space as a table shows it: one sign where some must be; line ends that may be are shown, others are not."""
    if piece.startswith(r"\s"):
        return " " if "+" in piece else ""
    return "\n"


def _function(transform: Json) -> Json:
    return transform.get("function") if isinstance(transform, dict) else None


def _keys(transform: Json) -> CallKeys:
    function = _function(transform)
    if function == "{content}":
        return CallKeys()
    names = (
        [_PLACEHOLDER.fullmatch(str(function.get(key))) for key in ("name", "arguments")]
        if isinstance(function, dict)
        else []
    )
    if len(names) == 2 and names[0] is not None and names[1] is not None:
        return CallKeys(names[0][1], names[1][1], others=True)
    raise ResponseTemplateError("the `transform` of its field `tool_calls` does not say the name and the arguments")


def _check_names(field: Mapping[str, Json]) -> None:
    if _function(field.get("transform")) != {"name": "{name}", "arguments": "{content}"}:
        raise ResponseTemplateError("the `transform` of its field `tool_calls` does not say the name and the arguments")


def _named(field: Mapping[str, Json], opener: str, closer: str) -> CallTable:
    _check_names(field)
    before, _, after = opener.partition("{name}")
    return CallTable("named", opener=before.strip(), closer=closer, header="{name}" + after)


def _tagged(field: Mapping[str, Json], opener: str, closer: str) -> CallTable:
    _check_names(field)
    options = field.get("content_args")
    pattern = options.get("tag_pattern") if isinstance(options, dict) else None
    tag = _text_of(pattern) if isinstance(pattern, str) else ""
    parameter, _, rest = tag.partition("{key}")
    after_parameter, _, value_end = rest.partition("{value}")
    before, _, after_name = opener.partition("{name}")
    if not parameter or not after_parameter or not value_end:
        raise ResponseTemplateError("the `tag_pattern` of its field `tool_calls` is not a text with a key and a value")
    start = before.rfind("<")
    own = before[:start].strip()
    on_own_lines = r"\s*(?P<value>" in str(pattern) or r"\n(?P<value>" in str(pattern)
    tag_name = _TAG_NAME.match(before[start:]) if own else None
    return CallTable(
        "tags",
        opener=own or before,
        closer=closer,
        tags=CallTags(
            parameter,
            after_parameter.removesuffix("\n") if on_own_lines else after_parameter,
            value_end.strip(),
            before[start:] if own else "",
            after_name,
            end=f"</{tag_name[1]}>" if tag_name is not None else "",
            own_lines=on_own_lines,
        ),
    )
