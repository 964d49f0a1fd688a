"""What holds for every text: nothing raises, strict means strict, and a repair makes what the reading says."""

import json
import math
from typing import Never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.json_scanner import JsonKind, is_strict, read_json, read_strict_at, read_values
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

pytestmark = pytest.mark.invariants
MANY = in_the_gate(100)

_PIECES = (
    *("{", "}", "[", "]", "(", ")", '"', "'", ",", ":", ";", "=", "=>", "\\", '\\"', "\\'", "\\u12", "\\ud800", "\\n"),
    *(
        '"name"',
        '"arguments": {',
        '"a": 1',
        "'k': ",
        "'v'",
        '"v"',
        ", ",
        "name",
        "don't",
        "1",
        "-",
        ".5",
        "007",
        "1e",
        "0x1",
    ),
    *(
        "True",
        "None",
        "null",
        "tru",
        "NaN",
        "6*7",
        "f(",
        "<x>",
        "+",
        'f"',
        "//",
        "#",
        "/*",
        "*/",
        "```",
        "```json\n",
        '"""',
    ),
    *(
        "“",
        "”",
        "‘",
        "\n",
        "\t",
        " ",
        "\0",
        "\x85",
        "\xa0",
        "\u2028",
        "\ufeff",
        "\ud83d",
        "\udcff",
        "😀",
        "é",
        "{{",
        "}}",
    ),
)
_CALLS = (
    '{"name": "dig", "arguments": {"bed": "north", "rows": 3, "tags": ["a", "b", 5], "deep": {"x": null}}}',
    "{'name': 'dig', 'arguments': {'s': 'it\\'s', 'l': [1, 2.5], 't': True}}",
    '{"arguments": {"a": [[1, 2], [3]], "t": "x\\n\\"q\\" y"}, "name": "dig"}',
)
_SPACES = st.text(alphabet=" \t\n\r", max_size=3)


def pieces() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)


@st.composite
def broken_calls(draw: st.DrawFn) -> str:
    """A call with up to three characters lost, put in or cut off."""
    text = draw(st.sampled_from(_CALLS))
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(["lose", "put", "cut"]))
        rest = (
            ""
            if change == "cut"
            else text[position + 1 :]
            if change == "lose"
            else draw(st.sampled_from(_PIECES)) + text[position:]
        )
        text = text[:position] + rest
    return text


def json_texts() -> st.SearchStrategy[str]:
    leaves: st.SearchStrategy[object] = (
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    )
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    )
    return st.builds(
        lambda value, ascii_only, indent, before, after: (
            before + json.dumps(value, ensure_ascii=ascii_only, indent=indent) + after
        ),
        values,
        st.booleans(),
        st.sampled_from([None, 0, 2, "\t"]),
        _SPACES,
        _SPACES,
    )


def _refuse(name: str) -> Never:
    raise ValueError(name)


def strictly(text: str) -> tuple[bool, object]:
    """What `json.loads` makes of a text by the letter of RFC 8259: whether it reads it, and the value."""
    try:
        return True, json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False, None


@MANY
@given(json_texts())
def test_valid_json_is_strict_and_means_what_json_loads_says(text: str) -> None:
    reading = read_json(text)
    assert reading.strict
    assert not reading.faults
    assert reading.nodes[0].value() == json.loads(text)


@MANY
@given(json_texts())
def test_the_range_of_every_value_holds_just_that_value(text: str) -> None:
    todo = list(read_json(text).nodes)
    while todo:
        node = todo.pop()
        assert json.loads(node.range.of(text)) == node.value()
        todo += node.items
        for member in node.members:
            assert json.loads(member.key_range.of(text)) == member.key
            todo.append(member.value)


@MANY
@given(pieces() | broken_calls(), st.booleans())
def test_nothing_raises_and_strict_means_what_json_loads_takes(text: str, call: bool) -> None:
    reading = read_json(text, call=call)
    takes, value = strictly(text)
    assert reading.strict == takes
    if takes:
        assert reading.nodes[0].value() == value
    elif len(reading.nodes) < 2:
        assert any(fault.rule.severity is Severity.ERROR for fault in reading.faults)


@MANY
@given(pieces() | broken_calls(), st.data())
def test_strict_json_is_read_from_its_first_bracket_to_any_end(text: str, data: st.DataObject) -> None:
    written = f"[{text}"
    end = data.draw(st.integers(1, len(written)))
    node, node_end = read_strict_at(written, 0, end)
    assert 0 < node_end <= end
    assert (node is not None) == is_strict(written, Range(0, node_end))


@MANY
@given(pieces() | broken_calls(), st.booleans())
def test_values_read_alone_are_those_read_with_faults(text: str, call: bool) -> None:
    assert list(read_values(text, call=call)) == list(read_json(text, call=call).nodes)


@MANY
@given(pieces() | broken_calls(), st.booleans())
def test_faults_lie_in_the_text_in_order_and_their_words_are_printable(text: str, call: bool) -> None:
    faults = read_json(text, call=call).faults
    assert list(faults) == sorted(faults, key=lambda fault: fault.range)
    for fault in faults:
        assert 0 <= fault.range.start < fault.range.end <= len(text) or not text
        assert fault.message.isprintable()
        assert fault.hint is None or fault.hint.isprintable()


@MANY
@given(pieces() | broken_calls(), st.booleans())
def test_all_repairs_together_make_the_values_that_were_read(text: str, call: bool) -> None:
    reading = read_json(text, call=call)
    if not reading.repairable:
        return
    again = read_json(apply_fixes(text, reading.faults, only_safe=False))
    assert [node.value() for node in again.nodes] == [node.value() for node in reading.nodes]
    assert again.strict or len(again.nodes) > 1


@MANY
@given(broken_calls(), st.booleans())
def test_nodes_lie_within_each_other(text: str, call: bool) -> None:
    todo = list(read_json(text, call=call).nodes)
    while todo:
        node = todo.pop()
        inner = [*node.items, *(member.value for member in node.members)]
        assert all(node.range.covers(each.range) for each in inner)
        todo += inner


@MANY
@given(st.floats())
def test_numbers_that_json_lacks_are_no_values(number: float) -> None:
    reading = read_json(f"[{number!r}]".replace("nan", "NaN").replace("inf", "Infinity"))
    finite = math.isfinite(number)
    assert reading.strict == finite
    assert (reading.nodes[0].items[0].kind is JsonKind.NUMBER) == finite
