r"""Translates the older `response_schema` of a tokenizer_config.json into a `response_template`.

transformers before 5.13 read its models' answers by a JSON schema whose entries have regular expressions: a group of an
expression is the text that the entry's own properties are read from. For example, with calls as `<call>{...}</call>`:

    "tool_calls": {"x-regex-iterator": "<call>(.*?)</call>", "type": "array",
                   "items": {"x-parser": "json", "x-parser-args": {"transform": "{type: 'function', function: @}"}}}

What is before the group opens a call, what is after it closes one. A `transform` is JMESPath; read are the two shapes
that name keys, for one object and for each of an array. An expression that rewrites the text first
(`x-regex-substitutions`) says nothing about how calls are written.

Source: transformers 4.57, utils/chat_parsing_utils.py.
"""

import re
from collections.abc import Mapping

from weaklink.inspector.chat_templates.call_shapes import MARKER
from weaklink.inspector.errors import ChatTemplateError
from weaklink.inspector.model import Json

REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")
"""The names under which models' configurations have the reasoning."""
_GROUP = re.compile(r"\((?:\?P<\w+>)?((?:\\[wS]|\.|\[[^\]\\]*(?:\\.[^\]\\]*)*\])[*+]\??)\)")
_SAME = re.compile(r"\{type: 'function', function: @\}")
_RENAMED = re.compile(r"(\[\*\]\.)?\{type: 'function', function: \{name: (\w+), arguments: (\w+)\}\}")


class ResponseTemplateError(ChatTemplateError):
    """A response template says something that no table of a format says; the message names the field."""


def response_template_of(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_template` that says the same. Raises ResponseTemplateError if none does."""
    fields: dict[str, Json] = {}
    properties = _object(schema.get("properties"))
    for name in REASONING_FIELDS:
        if name in properties:
            fields[name] = _reasoning(schema, name)
    if "tool_calls" in properties:
        fields["tool_calls"] = _calls(_object(properties["tool_calls"]))
    return {"fields": fields}


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _expression(entry: Mapping[str, Json], *keys: str) -> str:
    return next((expression for key in keys if isinstance(expression := entry.get(key), str)), "")


def _reasoning(schema: Mapping[str, Json], name: str) -> Json:
    """The markers around the reasoning: in its own expression, or beside its group in that of the whole answer."""
    own = _expression(_object(_object(schema.get("properties")).get(name)), "x-regex")
    whole = _expression(schema, "x-regex")
    before, group, after = own.partition("(.*") if own else whole.partition(f"(?P<{name}>")
    opener, closer = ([match[0] for match in MARKER.finditer(_literal(text))] for text in (before, after))
    return {"open": opener[-1], "close": closer[0]} if group and opener and closer else {}


def _literal(pattern: str) -> str:
    return re.sub(r"\\(\W)", r"\1", re.sub(r"\(\?P<\w+>", "", pattern))


def _calls(entry: Mapping[str, Json]) -> dict[str, Json]:
    items = _object(entry.get("items"))
    if any("x-regex-substitutions" in each for each in (entry, items)):
        raise ResponseTemplateError("its `response_schema` rewrites the text of calls before it reads them")
    opens, closes = _around(_expression(entry, "x-regex-iterator", "x-regex"))
    parsed = next((each for each in (items, entry) if each.get("x-parser") == "json"), None)
    if parsed is not None:
        function, is_each = _transform(_object(parsed.get("x-parser-args")).get("transform"))
        transform: Json = {"function": function}
        field: dict[str, Json] = {"content": "json", "transform": transform, "transform_each": is_each}
        return {**field, "open_pattern": opens, "close_pattern": closes}
    return _tagged(items, opens, closes)


def _tagged(items: Mapping[str, Json], opens: str, closes: str) -> dict[str, Json]:
    """The field of calls whose name and arguments have expressions of their own."""
    function = _object(_object(_object(items.get("properties")).get("function")).get("properties"))
    name, arguments = _object(function.get("name")), _object(function.get("arguments"))
    before_name, after_name = _around(_expression(name, "x-regex").removeprefix("^"))
    pairs = _expression(arguments, "x-regex-key-value")
    if not pairs:
        raise ResponseTemplateError("its `response_schema` reads the arguments in a way that no table says")
    return {
        "open_pattern": rf"{opens}{before_name}(?P<name>[^<>\s]+){after_name}",
        "close_pattern": closes,
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
        "content": "xml-inline",
        "content_args": {"tag_pattern": pairs},
    }


def _around(pattern: str) -> tuple[str, str]:
    """The expressions before and after the group of an expression."""
    groups = list(_GROUP.finditer(pattern))
    if len(groups) != 1:
        raise ResponseTemplateError("an expression of its `response_schema` has not one group for the text within")
    return pattern[: groups[0].start()], pattern[groups[0].end() :]


def _transform(transform: Json) -> tuple[Json, bool]:
    """What a transform makes a call's function of, and whether it is of each object of an array."""
    text = transform if isinstance(transform, str) else ""
    if _SAME.fullmatch(text):
        return "{content}", False
    renamed = _RENAMED.fullmatch(text)
    if renamed is None:
        raise ResponseTemplateError("the `transform` of its `response_schema` does not say the name and the arguments")
    within = "" if renamed[1] else "content."
    return {"name": f"{{{within}{renamed[2]}}}", "arguments": f"{{{within}{renamed[3]}}}"}, bool(renamed[1])
