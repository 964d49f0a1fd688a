"""What reading real broken calls has taught (the thirteen points of the fault study), one test each."""

import json

import pytest

from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.json_scanner import JsonKind, read_json


def faults_of(text: str, *, call: bool = False) -> list[tuple[str, str]]:
    return [(fault.rule.code, fault.range.of(text)) for fault in read_json(text, call=call).faults]


def fixed(text: str, *, call: bool = False) -> str:
    return apply_fixes(text, read_json(text, call=call).faults, only_safe=False)


def test_1_all_faults_of_a_payload_are_reported_each_at_its_culprit() -> None:
    text = '{\'name\': "f", "arguments": {"a": True, "b": 6*7, "c": [1, 2,], "d": .5,}}'
    assert faults_of(text) == [
        ("J103", "'name'"),
        ("J105", "True"),
        ("J115", "6*7"),
        ("J104", ","),
        ("J124", ".5"),
        ("J104", ","),
    ]
    assert json.loads(fixed(text)) == {"name": "f", "arguments": {"a": True, "b": 42, "c": [1, 2], "d": 0.5}}


def test_4_no_call_of_several_is_dropped() -> None:
    text = '{"name": "f", "arguments": {}}\n{\'name\': \'g\', \'arguments\': {}}; {"name": "h", "arguments": {}}'
    names = [node.node_at("/name") for node in read_json(text, call=True).nodes]
    assert [name and name.scalar for name in names] == ["f", "g", "h"]


def test_5_two_dialects_live_in_one_payload() -> None:
    text = '{"arguments": {\'deep\': true, "why": None}, \'name\': "f"}'
    assert json.loads(fixed(text)) == {"arguments": {"deep": True, "why": None}, "name": "f"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"by": "Ann\'s", \'x\': 1}', {"by": "Ann's", "x": 1}),
        ("{'q': 'say \"hi\"'}", {"q": 'say "hi"'}),
        ("{'q': 'it\\'s'}", {"q": "it's"}),
        ("{'q': 'a\\\"b'}", {"q": 'a"b'}),
        ("{'q': '\\u00e9'}", {"q": "é"}),
        ("{'q': '{\"w\": [1, 2]}'}", {"q": '{"w": [1, 2]}'}),
    ],
)
def test_6_swapping_delimiters_keeps_the_content(text: str, value: object) -> None:
    assert json.loads(fixed(text)) == value


def test_7_only_a_quote_before_a_delimiter_closes_a_single_quoted_string() -> None:
    assert json.loads(fixed("{'t': 'Cup (Men's Doubles)', 'n': 2}")) == {"t": "Cup (Men's Doubles)", "n": 2}


def test_8_brackets_are_matched_by_kind() -> None:
    text = '{"path": [10, 20], [30, 40]]}'
    assert faults_of(text) == [("J120", "[")]
    assert json.loads(fixed(text)) == {"path": [[10, 20], [30, 40]]}


@pytest.mark.parametrize(
    "expression", ["6*12+2", "2 * <speed_from_above>", "sqrt(2)", "True and late", 'f("x", [1, 2])']
)
def test_9_an_expression_is_marked_whole_and_mending_it_is_never_safe(expression: str) -> None:
    text = f'{{"n": {expression}, "m": 1}}'
    (fault,) = read_json(text).faults
    assert (fault.rule.code, fault.range.of(text)) == ("J115", expression)
    assert fault.fix
    assert not fault.fix.safe


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "get_wea',
        '{"name": "f"',
        '{"name": "f", "arg',
        '{"name": "f", "arguments"',
        '{"name": "f", "arguments": ',
        '{"arguments": {"a": 1}',
        '{"arguments": {"a": 1}, "name": "f',
        "{",
    ],
)
def test_10_a_call_without_name_or_arguments_is_never_closed(text: str) -> None:
    reading = read_json(text, call=True)
    assert [fault.rule.code for fault in reading.faults] == ["J102"]
    assert reading.faults[0].fix is None
    assert not reading.repairable


@pytest.mark.parametrize("text", ["I cannot help with that.", "", " \n", "assistant", "no {braces here"])
def test_12_there_is_no_value_and_no_repair_where_there_is_no_json(text: str) -> None:
    reading = read_json(text, call=True)
    assert all(fault.fix is None for fault in reading.faults)
    assert not reading.repairable


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        ('{"arguments": {"a": 1, "name": "f"}', ', "name"'),
        ('{"arguments": {"a": 1, "b": {"c": 2}, "name": "f"}\n', ', "name"'),
        ('{"arguments": {"a": {"b": 1, "name": "f"}', ', "name"'),
        ('{"arguments": {"a": [1, 2, "name": "f"}', '"name"'),
        ('{"arguments": {"a": 1}}, "name": "f"}', "}"),
    ],
)
def test_13_a_missing_brace_is_placed_by_what_the_root_of_a_call_holds(text: str, faulty: str) -> None:
    assert faults_of(text, call=True) == [("J120", faulty)]
    call = json.loads(fixed(text, call=True))
    assert set(call) == {"name", "arguments"}
    assert "name" not in call["arguments"]


def test_an_argument_that_is_called_name_stays_one() -> None:
    text = '{"arguments": {"a": [1], "name": "Ann"}, "name": "f"'
    reading = read_json(text, call=True)
    assert reading.nodes[0].value() == {"arguments": {"a": [1], "name": "Ann"}, "name": "f"}


def test_prose_before_a_call_does_not_hide_it() -> None:
    text = 'Here is the call: {"name": "f", "arguments": {}}'
    (node,) = read_json(text, call=True).nodes
    assert node.kind is JsonKind.OBJECT
    assert node.range.of(text) == '{"name": "f", "arguments": {}}'


@pytest.mark.parametrize("before", ["water(", "water ", "<function=water>"])
def test_what_may_be_the_name_of_the_tool_is_never_cut_off(before: str) -> None:
    reading = read_json(before + '{"bed": 3}', call=True)
    assert reading.nodes[0].value() == {"bed": 3}
    assert reading.faults[0].fix is None
