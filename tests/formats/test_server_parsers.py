"""What servers' parsers would take from a text: each rule of the table, and no text that makes one fail."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.formats.registry import find_format
from inspector.formats.server_parsers import PARSERS, predictions
from tests.examples import in_the_gate
from tests.strategies import texts

GOOD = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
BAD = "<tool_call>\n{'name': 'g'}\n</tool_call>"


@pytest.mark.parametrize(
    ("format", "parser", "text", "names", "why"),
    [
        ("hermes", "hermes", GOOD, ["f"], ""),
        ("hermes", "hermes", f"{GOOD}\nI wait.", ["f"], ""),
        ("hermes", "hermes", GOOD.removesuffix("</tool_call>"), ["f"], ""),
        ("hermes", "qwen25", GOOD.removesuffix("</tool_call>"), [], "no JSON is on the lines"),
        ("hermes", "qwen25", f"{GOOD}\n<tool_call>\n{{'name': 'g'}}\n</tool_call>\n{GOOD}", ["f", "f"], ""),
        ("hermes", "qwen25", GOOD.replace("\n", ""), [], "with a line feed is not in the text"),
        ("hermes", "hermes", GOOD + BAD, [], "one bad call discards all calls"),
        ("hermes", "hermes", '<tool_call>{"name": "f"}</tool_call>', [], "lacks `name` or `arguments`"),
        ("hermes", "hermes", '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}', [], "is not JSON"),
        ("hermes", "hermes", '{"name": "f", "arguments": {}}', [], "`<tool_call>` is not in the text"),
        ("pythonic", "pythonic", "[f(a=true, b=[null])]", ["f"], ""),
        ("pythonic", "pythonic", "[f(1)]", [], "one argument has no name"),
        ("jamba", "jamba", '<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>', ["f"], ""),
        ("jamba", "jamba", '<tool_calls>[{"name": "f", "arguments": {}}]', [], "`</tool_calls>` is missing"),
        ("jamba", "jamba", "<tool_calls>[{'name': 'f'}]</tool_calls>", [], "is not JSON"),
        ("pythonic", "pythonic", "[f(a=1), g(b='x')]", ["f", "g"], ""),
        ("pythonic", "pythonic", "I look.\n[f(a=1)]", [], "there is text before the list"),
        ("pythonic", "pythonic", "[f(a=1)] and more", [], "one Python list of calls"),
        ("pythonic", "pythonic", "[f(a=b)]", [], "one argument is not a literal"),
    ],
)
def test_a_parser_returns_what_its_code_says(format: str, parser: str, text: str, names: list[str], why: str) -> None:
    (found,) = [one for one in predictions(text, format) if one.parser.name == parser]
    assert [name for name, _ in found.calls] == names
    assert why in found.reason
    assert bool(found.reason) is not bool(names)
    assert parser in found.sentence


def test_every_entry_is_cited_and_of_a_known_format() -> None:
    for parser in PARSERS:
        assert ":" in parser.source
        assert parser.source.endswith(".py")
        assert parser.version.count(".") == 2
        assert [find_format(name).name for name in parser.formats] == list(parser.formats)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("mistral", '[TOOL_CALLS] [{"name": "f", "arguments": {}}]'),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": 1}'),
        ("kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"),
        ("qwen", f"<think>I look. {GOOD}"),
        ("pythonic", "[f(a=1)  # one\n]"),
    ],
)
def test_nothing_is_said_of_what_is_not_known(format: str, text: str) -> None:
    assert predictions(text, format) == ()


@pytest.mark.invariants
@in_the_gate(30, most=100)
@given(
    text=texts()
    | st.lists(
        st.sampled_from(
            (
                GOOD,
                BAD,
                "{",
                "}",
                "[f(",
                "\\d",
                "<think>",
                "</think>",
                "[TOOL_CALLS]",
                "[{",
                "}]",
                "<tool_calls>",
                "</tool_calls>",
                "<tool_call>",
            )
        )
    ).map("".join)
)
def test_no_text_makes_a_parser_fail(text: str) -> None:
    for parser in PARSERS:
        for found in predictions(text, parser.formats[0]):
            assert found.calls or found.reason
            for _, arguments in found.calls:
                json.dumps(arguments)
