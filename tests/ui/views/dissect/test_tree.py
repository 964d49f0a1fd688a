"""The tree: every value points back to its characters, and what is not looked at is not made."""

import json

import pytest
from hypothesis import given

from tests.examples import in_the_gate
from tests.strategies import json_values
from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import CallHeader, Json, Part, Role, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect import tree_rows as call_rows
from weaklink.ui.views.dissect.tree import MAX_PARSED_CHARS, Tree
from weaklink.ui.views.dissect.tree_rows import MAX_CHILDREN, TreeRow
from weaklink.ui.views.styled_text import plain


def whole(tree: Tree) -> list[TreeRow]:
    index = 0
    while index < tree.count:
        tree.expand(index)
        index += 1
    return tree.rows


def called_with(arguments: str) -> Trace:
    part = Part("call:0", arguments)
    turn = Turn(Role.ASSISTANT, (part,), calls=(CallHeader("call:0", "act", "c1"),))
    return Trace((Turn(Role.USER, (Part("text", "Go."),)), turn), format="openai")


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(json_values())
def test_every_value_of_the_arguments_leads_to_the_characters_that_say_it(value: Json) -> None:
    written = write_json({"value": value})
    value = json.loads(written)["value"]
    dissection = scenes.dissected(called_with(written))
    rows = [row for row in whole(Tree(dissection)) if row.pointer]
    assert len(rows) == _count(value)
    for row in rows:
        assert row.location is not None
        assert json.loads(dissection.text_of(row.location)) == _at({"value": value}, row.pointer)


def _count(value: Json) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, children))


def _at(value: Json, pointer: str | None) -> Json:
    for token in (pointer or "").split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        value = value[name] if isinstance(value, dict) else value[int(name)] if isinstance(value, list) else None
    return value


@pytest.mark.parametrize(
    ("format", "stream", "characters"),
    [
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": {"b": [1, "x"]}}}\n</tool_call>', '"x"'),
        (
            "qwen3_coder",
            '<tool_call>\n<function=f>\n<parameter=a>\n{"b": [1, "x"]}\n</parameter>\n</function>\n</tool_call>',
            '"x"',
        ),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": [1, "x",]}}\n</tool_call>', '"x"'),
    ],
)
def test_nested_values_have_their_characters_in_every_format(format: str, stream: str, characters: str) -> None:
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", stream),)),), format=format)
    dissection = scenes.dissected(trace)
    said = [dissection.text_of(row.location) for row in whole(Tree(dissection)) if row.location and row.pointer]
    assert characters in said


def test_nothing_is_made_of_what_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_rows, "read_json", None)
    tree = Tree(scenes.streamed())
    assert tree.count == 4
    index = tree.reveal(Location(2, "text", Range(0, 1)))
    assert index is not None
    assert "reasoning" in plain(tree.rows[index].label)


def test_a_place_reveals_the_innermost_row_around_it() -> None:
    dissection = scenes.streamed()
    tree = Tree(dissection)
    position = dissection.parts[1].text.index("Oslo")
    index = tree.reveal(Location(2, "text", Range(position, position + 1)))
    assert index is not None
    assert tree.rows[index].pointer == "/city"
    assert tree.rows[index].step == 1
    again = tree.reveal(Location(2, "text", Range(position + 2, position + 3)))
    assert again == index


def test_heavy_arguments_are_not_read_unasked() -> None:
    dissection = scenes.dissected(called_with('{"a": "' + "x" * MAX_PARSED_CHARS + '"}'))
    tree = Tree(dissection)
    index = tree.reveal(Location(2, "call:0", Range(10, 11)))
    assert index is not None
    row = tree.rows[index]
    assert row.pointer == ""
    assert tree.is_heavy(row)
    tree.expand(index)
    assert tree.rows[index + 1].pointer == "/a"
    assert not tree.is_heavy(row)


def test_many_elements_lie_in_bundles() -> None:
    many = 3 * MAX_CHILDREN + 1
    tree = Tree(scenes.dissected(called_with(json.dumps({"a": list(range(many))}))))
    rows = whole(tree)
    bundles = [row for row in rows if row.key[-1] == f"{MAX_CHILDREN}…"]
    assert len(bundles) == 1
    assert plain(bundles[0].label).startswith("500 … 999")
    assert [row.pointer for row in rows if row.pointer and row.pointer.count("/") == 2] == [
        f"/a/{index}" for index in range(many)
    ]


def test_many_spans_lie_in_bundles_and_are_found_in_them() -> None:
    called = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n'
    dissection = scenes.of_text(called * 1_200)
    tree = Tree(dissection)
    index = tree.reveal(Location(2, "text", Range(called.index("1") + 1_100 * len(called), 1_101 * len(called))))
    assert index is not None
    assert tree.rows[index].pointer == "/a"
    assert tree.count < 600
    depths = [tree.rows[index].depth]
    while (parent := tree.parent(index)) is not None:
        index = parent
        depths.append(tree.rows[index].depth)
    assert depths == [4, 3, 2, 1, 0]


def test_collapsing_hides_what_expanding_showed_and_remembers_what_lay_open_within() -> None:
    tree = Tree(scenes.streamed())
    rows = list(whole(tree))
    assert tree.collapse(1)
    assert tree.count < len(rows)
    assert tree.expand(1)
    assert tree.rows == rows
    assert not tree.expand(1)


def test_a_row_knows_the_faults_within_it_and_the_row_around_it() -> None:
    tree = Tree(scenes.streamed())
    rows = whole(tree)
    unit = next(index for index, row in enumerate(rows) if row.pointer == "/unit")
    assert rows[unit].faults == 1
    assert rows[unit].worst is not None
    city = next(row for row in rows if row.pointer == "/city")
    assert city.faults == 0
    parent = tree.parent(unit)
    assert parent is not None
    assert rows[parent].pointer == ""
    assert tree.parent(0) is None
