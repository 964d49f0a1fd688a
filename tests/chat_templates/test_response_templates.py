"""The response template of a tokenizer's configuration is read where a table says the same, and else refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.chat_templates.derivation import NotDerivableError, derive_format
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.chat_templates.renderer import ChatTemplate, render_all
from weaklink.inspector.errors import ChatTemplateError
from weaklink.inspector.formats.format_table import format_of, read_format_table, write_format_table
from weaklink.inspector.model import Json
from weaklink.inspector.segmentation import segment_whole

_NAMED: Json = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
_WHOLE: Json = {"type": "function", "function": "{content}"}
_OTHER_KEYS: Json = {"type": "function", "function": {"name": "{content.tool}", "arguments": "{content.input}"}}
_EACH: Json = {"type": "function", "function": {"name": "{tool}", "arguments": "{input}"}}
_TAG = r"<p=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</p>"
_PAIR = r"<k>(?P<key>[^<]+)</k>\s*\n<v>(?P<value>.*?)</v>"
_JSON = '{"name": "get", "arguments": {"city": "Oslo"}}'
_OWN_JSON = '{"tool": "get", "input": {"city": "Oslo"}}'


def response(**calls: Json) -> dict[str, Any]:
    thinking: Json = {"open": "<mull>", "close_pattern": r"</mull>\s*", "content": "text"}
    return {"start_anchor": "<bot>", "fields": {"thinking": thinking, "tool_calls": calls, "content": {}}}


READABLE = {
    "json": (
        response(open="<call>", close_pattern=r"</call>\s*", repeats=True, content="json", transform=_WHOLE),
        f"<call>\n{_JSON}\n</call>",
    ),
    "json with other keys": (
        response(open=["<call>"], close="</call>", content="json", transform=_OTHER_KEYS),
        f"<call>{_OWN_JSON}</call>",
    ),
    "an array": (
        response(open="<calls>", close="</calls>", content="json", transform=_EACH, transform_each=True),
        f"<calls>[{_OWN_JSON}]</calls>",
    ),
    "a header and json": (
        response(
            open_pattern=r"<\|call\|>(?P<name>\w+)<\|args\|>\s*",
            close=r"<|end_call|>",
            content="json",
            transform=_NAMED,
        ),
        '<|call|>get<|args|>{"city": "Oslo"}<|end_call|>',
    ),
    "parameters in tags": (
        response(
            open_pattern=r"<use>\s*<f=(?P<name>[^\n>]+)>",
            close_pattern=r"</use>\s*",
            content="xml-inline",
            content_args={"tag_pattern": _TAG},
            transform=_NAMED,
        ),
        "<use>\n<f=get>\n<p=city>\nOslo\n</p>\n</f>\n</use>",
    ),
    "keys and values": (
        response(
            open_pattern=r"<use>(?P<name>\S+)\n?",
            close="</use>",
            content="xml-inline",
            content_args={"tag_pattern": _PAIR},
            transform=_NAMED,
        ),
        "<use>get\n<k>city</k>\n<v>Oslo</v>\n</use>",
    ),
    "python": (
        response(open="<|calls|>", close="<|end_calls|>", content="python-call-list"),
        "<|calls|>[get(city='Oslo')]<|end_calls|>",
    ),
}


@pytest.mark.parametrize(("template", "text"), READABLE.values(), ids=READABLE)
def test_a_response_template_alone_is_read(template: Json, text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"response_template": template}), encoding="utf-8")
    table = derive_format(read_chat_template(path), "own")
    assert read_format_table(write_format_table(table), "own.toml") == table
    format = format_of(table)
    read = segment_whole(f"<mull>I look.</mull>Yes.\n{text}", format)
    assert [(call.name, call.arguments, call.valid) for call in read.calls] == [("get", {"city": "Oslo"}, True)]
    assert not read.diagnostics
    assert read.reasoning == "I look."
    again = segment_whole(format.write_calls(read.calls), format)
    assert [(call.name, call.arguments) for call in again.calls] == [("get", {"city": "Oslo"})]


def schema(calls: Json, **thinking: Json) -> dict[str, Any]:
    mulled = {"x-regex": r"<mull>(.*?)</mull>\s*", **thinking}
    return {"type": "object", "properties": {"thinking": mulled, "tool_calls": calls, "content": {}}}


def items(transform: str) -> dict[str, Json]:
    return {"x-parser": "json", "x-parser-args": {"transform": transform}, "type": "object"}


def tagged(name: str, pairs: str) -> Json:
    function: Json = {"name": {"x-regex": name}, "arguments": {"x-regex-key-value": pairs}}
    return {"type": "object", "properties": {"function": {"properties": function}}}


_FROM_START = r"^(?:<mull>\n?(?:(?P<thinking>.*?\S.*?)\n?|[\s]*)</mull>\s*)?(?P<tool_calls>.*)$"
_CALL_SCHEMA: dict[str, Json] = {
    "x-regex-iterator": r"<call>\s*(.+?)\s*</call>",
    "items": items("{type: 'function', function: @}"),
}
_RENAMED = "[*].{type: 'function', function: {name: tool, arguments: input}}"
SCHEMAS: dict[str, tuple[dict[str, Any], str]] = {
    "json": (schema(_CALL_SCHEMA), f"<call>\n{_JSON}\n</call>"),
    "reasoning in the expression of the answer": (
        {**schema(_CALL_SCHEMA), "x-regex": _FROM_START},
        f"<call>\n{_JSON}\n</call>",
    ),
    "an array with other keys": (
        schema({"x-regex": r"<calls>(.*)</calls>", **items(_RENAMED), "type": "array"}),
        f"<calls>[{_OWN_JSON}]</calls>",
    ),
    "parameters in tags": (
        schema(
            {
                "x-regex-iterator": r"<use>\s*(.+?)\s*</use>",
                "items": tagged(r"<f=([^\n>]+)>", r"<p=(?P<key>[^>\n]+)>\n(?P<value>.*?)\n</p>"),
            }
        ),
        "<use>\n<f=get>\n<p=city>\nOslo\n</p>\n</f>\n</use>",
    ),
    "keys and values": (
        schema({"x-regex-iterator": r"<use>\s*(.+?)\s*</use>", "items": tagged(r"^(\S+)", _PAIR)}),
        "<use>get\n<k>city</k>\n<v>Oslo</v>\n</use>",
    ),
}
SCHEMAS["reasoning in the expression of the answer"][0]["properties"]["thinking"] = {"type": "string"}


@pytest.mark.parametrize(("older", "text"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_response_schema_is_read_as_the_template_that_says_the_same(older: Json, text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"response_schema": older}), encoding="utf-8")
    format = format_of(derive_format(read_chat_template(path), "own"))
    read = segment_whole(f"<mull>I look.</mull>Yes.\n{text}", format)
    assert [(call.name, call.arguments, call.valid) for call in read.calls] == [("get", {"city": "Oslo"}, True)]
    assert not read.diagnostics
    assert read.reasoning == "I look."
    again = segment_whole(format.write_calls(read.calls), format)
    assert [(call.name, call.arguments) for call in again.calls] == [("get", {"city": "Oslo"})]


def test_keys_that_a_renaming_schema_does_not_name_are_no_stray_keys(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    calls = {"x-regex": r"<calls>(.*)</calls>", **items(_RENAMED), "type": "array"}
    path.write_text(json.dumps({"response_schema": schema(calls)}), encoding="utf-8")
    table = derive_format(read_chat_template(path), "own")
    format = format_of(read_format_table(write_format_table(table), "a table"))
    text = '<calls>[{"call_no": "0", "tool": "get", "input": {"city": "Oslo"}}]</calls>'
    read = segment_whole(text, format)
    assert [(call.name, call.arguments, call.valid) for call in read.calls] == [("get", {"city": "Oslo"}, True)]
    assert not read.diagnostics


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (schema({**_CALL_SCHEMA, "x-regex-substitutions": [["a", "b"]]}), "rewrites"),
        (schema({"x-regex-iterator": "<call>(a)(b)</call>"}), "not one group"),
        (schema({**_CALL_SCHEMA, "items": items("@")}), "`transform`"),
        (schema({"x-regex": "<use>(.*)</use>", "items": tagged(r"^(\S+)", "")}), "arguments"),
        ({"properties": {}}, "no field `tool_calls`"),
        ({"fields": []}, "version 1"),
        ({"version": 2, "fields": {}}, "version 1"),
        ([], "version 1"),
        ({"fields": {"content": {}}}, "no field `tool_calls`"),
        (response(open="call:", close="\n", content="json", transform=_WHOLE), "no opening marker"),
        (response(open_pattern="<(?:a|b)>", close="</a>", content="json", transform=_WHOLE), "opens"),
        (response(open_pattern="<ab?>", close="</a>", content="json", transform=_WHOLE), "opens"),
        (response(open="<a>", content="json", transform=_WHOLE), "closes"),
        (response(open="<a>", close="</a>", content="json", transform={"function": "f"}), "`transform`"),
        (response(open="<a>", close="</a>", content="json"), "`transform`"),
        (response(open="<a>", close="</a>", content="json", content_args={"unquoted_keys": True}), "no table"),
        (response(open="<a>", close="</a>", content="kv-lines"), "no table"),
        (
            response(
                open_pattern="<a>(?P<name>.+)",
                close="</a>",
                content="xml-inline",
                content_args={"tag_pattern": "(?P<key>a|b)=(?P<value>.*?)"},
                transform=_NAMED,
            ),
            "`tag_pattern`",
        ),
    ],
)
def test_what_no_table_says_is_refused_with_its_reason(template: Json, reason: str) -> None:
    with pytest.raises(NotDerivableError, match=f"^not derivable: own.json: .*{reason}"):
        derive_format(ChatTemplate("", "own.json", {}, template), "own")


_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for call in m.tool_calls or [] %}"
    "CALL{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CALL = '<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</call>'


def test_reasoning_that_the_chat_template_leaves_out_is_the_response_templates() -> None:
    pytest.importorskip("jinja2")
    declared = response(open="<call>", close="</call>", content="json", transform=_WHOLE)
    table = derive_format(ChatTemplate(_TURNS.replace("CALL", _CALL), "own.jinja", {}, declared), "own")
    assert (table.reasoning.opener, table.reasoning.closer) == ("<mull>", "</mull>")
    assert table.turn_ends == ("<|im_end|>",)


def test_a_response_template_alone_is_not_rendered() -> None:
    with pytest.raises(ChatTemplateError, match=r"^own\.json has no `chat_template`"):
        render_all(ChatTemplate("", "own.json", {}, response()), [{"messages": []}])


def test_a_response_template_that_contradicts_the_chat_template_is_not_used() -> None:
    pytest.importorskip("jinja2")
    declared = response(open="<tool>", close="</tool>", content="json", transform=_WHOLE)
    table = derive_format(ChatTemplate(_TURNS.replace("CALL", _CALL), "own.jinja", {}, declared), "own")
    assert table.calls.opener == "<call>"
