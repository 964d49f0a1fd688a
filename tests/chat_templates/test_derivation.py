"""Formats are derived from small templates of our own, and hostile templates end with a sentence."""

from pathlib import Path

import pytest

from weaklink.inspector.chat_templates.derivation import NotDerivableError, derive_format
from weaklink.inspector.chat_templates.files import read_chat_template
from weaklink.inspector.chat_templates.renderer import ChatTemplate, render_all
from weaklink.inspector.errors import ChatTemplateError, FormatTableError
from weaklink.inspector.formats.format_table import format_of, read_format_table, write_format_table
from weaklink.inspector.segmentation import segment_whole

pytest.importorskip("jinja2")

_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for call in m.tool_calls or [] %}"
    "CALL{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_JSON = '\n<call>\n{"name": "{{ call.function.name }}", "args": {{ call.function.arguments | tojson }}}\n</call>'
_NAMED = "<|call|>{{ call.function.name }}<|args|>{{ call.function.arguments | tojson }}<|end_call|>"
_TAGS = (
    "\n<use>\n<f={{ call.function.name }}>\n{% for k, v in call.function.arguments.items() %}<p={{ k }}>\n"
    "{{ v if v is string else v | tojson }}\n</p>\n{% endfor %}</f>\n</use>"
)


def template(call: str) -> ChatTemplate:
    return ChatTemplate(_TURNS.replace("CALL", call), "own.jinja")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (_JSON, "json", '<call>\n{"name": "get", "args": {"city": "Oslo"}}\n</call>'),
        (_NAMED, "named", '<|call|>get<|args|>{"city": "Oslo"}<|end_call|>'),
        (_TAGS, "tags", "<use>\n<f=get>\n<p=city>\nOslo\n</p>\n</f>\n</use>"),
    ],
)
def test_a_format_is_derived_written_and_read_again(call: str, kind: str, text: str) -> None:
    table = derive_format(template(call), "own")
    assert table.calls.kind == kind
    assert read_format_table(write_format_table(table), "own.toml") == table
    read = segment_whole(f"Yes.\n{text}", format_of(table))
    assert [(one.name, one.arguments, one.valid) for one in read.calls] == [("get", {"city": "Oslo"}, True)]
    assert not read.diagnostics


_THINK = "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}{{ m.content or '' }}"


@pytest.mark.parametrize("switch", ["enable_thinking", "thinking"])
def test_a_prompt_that_opens_reasoning_only_where_thinking_is_on_is_known_to_open_it(switch: str) -> None:
    turns = _TURNS.replace("{{ m.content or '' }}", _THINK).replace(
        "assistant\n{% endif %}", f"assistant\n{{% if {switch} %}}<think>\n{{% endif %}}{{% endif %}}"
    )
    table = derive_format(ChatTemplate(turns.replace("CALL", _JSON), "own.jinja"), "own")
    assert (table.reasoning.opener, table.reasoning.closer, table.prompt_end) == ("<think>", "</think>", "<think>")
    read = segment_whole("I look.\n</think>\nYes.", format_of(table))
    assert read.reasoning.strip() == "I look."
    assert [diagnostic.rule.code for diagnostic in read.diagnostics] == ["F319"]


def test_a_text_without_jinja_is_no_template() -> None:
    with pytest.raises(NotDerivableError, match="it is no chat template"):
        derive_format(ChatTemplate("Call the {tool} first.", "notes.txt"), "notes")


def test_a_template_without_calls_is_not_derivable() -> None:
    with pytest.raises(NotDerivableError, match="it shows no calls"):
        derive_format(template(""), "own")


_PYTHON = "[{{ call.function.name }}({% for k, v in call.function.arguments.items() %}{{ k }}=VALUE, {% endfor %})]"


@pytest.mark.parametrize(("value", "reason"), [("{{ v }}", "quotes"), ("'{{ v }}'", "opening marker")])
def test_python_that_no_reader_could_tell_from_text_is_not_derivable(value: str, reason: str) -> None:
    with pytest.raises(NotDerivableError, match=reason):
        derive_format(template(_PYTHON.replace("VALUE", value)), "own")


def test_an_array_in_a_code_fence_is_what_a_built_in_format_reads_or_not_derivable() -> None:
    call = '{"tool_name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}'
    fenced = f"\nAction:\n```json\n[{call}]\n```"
    assert derive_format(template(fenced), "own").calls.format == "command_r_action"


def test_a_template_that_loses_arguments_is_not_derivable() -> None:
    lossy = _JSON.replace("{{ call.function.arguments | tojson }}", '{"wlkeya": "wlvaluea", "wlkeyb": "wlvalueb"}')
    with pytest.raises(NotDerivableError, match="does not read"):
        derive_format(template(lossy), "own")


@pytest.mark.parametrize("source", ["{{ 'a' * 10 ** 10 }}", "{{ ''.__class__.__mro__ }}{{ ().__class__.x }}", "{% if"])
def test_a_hostile_template_gives_an_error(source: str) -> None:
    try:
        (rendering,) = render_all(ChatTemplate(source, "bad.jinja"), [{"messages": []}])
    except ChatTemplateError:
        return
    assert rendering.error


def test_files_without_a_template_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "tokenizer_config.json"
    config.write_text("{}")
    with pytest.raises(ChatTemplateError, match="no `chat_template`"):
        read_chat_template(config)
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 30)
    with pytest.raises(ChatTemplateError):
        read_chat_template(gguf)


def test_a_table_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(FormatTableError, match="opener"):
        format_of(read_format_table('name = "x"\n[calls]\nkind = "json"\n', "x.toml"))
    with pytest.raises(FormatTableError, match=r"x\.toml"):
        read_format_table('name = "x"\n[calls]\nkind = "jsn"\n', "x.toml")
