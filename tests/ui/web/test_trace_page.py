"""The page of one trace, run without a browser: what it tells the dissector, and where its lines lead."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.chain.test_layer_places import changed_story
from tests.ui.scenes import broken_trace
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import data_flow_of, inspect_trace
from weaklink.inspector.model import Generation, Instant, Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.text import Range
from weaklink.storage.store import open_store
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.side import initial_position
from weaklink.ui.views.links import read_link
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.web import stream_data as stream_data_module
from weaklink.ui.web import trace_actions
from weaklink.ui.web.pages import settings
from weaklink.ui.web.pages.trace import nearest_traces
from weaklink.ui.web.pictures import MAX_BOXES, MAX_STEPS, flow_picture, rail, rail_boxes, selected_box
from weaklink.ui.web.stores import DashboardOptions, set_options
from weaklink.ui.web.stream_data import (
    EXPANDED_TURNS,
    MAX_VALUE_ROWS,
    TurnWindow,
    fault_data,
    short_mark,
    stream_data,
    value_rows,
    window_notes,
    window_of,
)

_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo %d"}}\n</tool_call>'
_PASSWORD = "hunter2"
_RESULT = '<tool_response>\n{"name": "get_weather", "content": "grey"}\n</tool_response>'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[int]:
    """The id of a broken trace in the store that the pages show."""
    with open_store(tmp_path / "w.db") as store:
        saved = store.save([broken_trace()])
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    yield saved[0].id
    set_options(DashboardOptions())


def _page(**asked: object) -> AppTest:
    def script() -> None:
        from weaklink.ui.web.pages.trace import show  # noqa: PLC0415  # AppTest runs this function's text as a file

        show()

    app = AppTest.from_function(script, default_timeout=30)
    for key, value in asked.items():
        app.query_params[key] = str(value)
    return app.run()


def _long_trace(steps: int) -> Dissection:
    turns = [Turn(Role.USER, (Part("text", "go"),))]
    for number in range(steps):
        turns += [
            Turn(Role.ASSISTANT, (Part("text", _CALL % number),)),
            Turn(Role.TOOL, (Part("text", _RESULT),)),
        ]
    trace = Trace(tuple(turns))
    return Dissection(trace, inspect_trace(trace, format="hermes"))


def test_without_a_trace_in_the_address_the_page_says_so(served: int) -> None:
    page = _page()
    assert not page.exception
    assert [info.value for info in page.info] == ["No trace selected. Choose one in the list of traces."]


def test_a_broken_trace_is_drawn_with_its_actions(served: int) -> None:
    page = _page(trace=served)
    assert not page.exception
    assert {"Compare"} <= {button.label for button in page.button}
    assert {"weaklink_Newer", "weaklink_Older"} <= {button.key for button in page.button}
    assert [tab.label for tab in page.tabs][:2] == ["Data flow", "Schema"]


def test_a_note_on_the_step_that_is_looked_at_is_kept_there(served: int, tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db", create=False) as store:
        inspection = store.inspection(served)
    step = inspection.chain.steps[1]
    location = step.location
    page = _page(
        trace=served, turn=location.turn, part=location.part, start=location.range.start, end=location.range.end
    )
    page.radio[0].set_value((None, step.number))
    page.text_input[0].set_value("look here")
    next(button for button in page.button if button.label == "Save").click().run()
    assert not page.exception
    with open_store(tmp_path / "w.db", create=False) as store:
        marks = store.marks.of([served])[served]
    assert [(mark.turn, mark.step, mark.note) for mark in marks] == [(None, step.number, "look here")]


def test_the_command_for_the_terminal_leads_to_the_characters_that_are_selected(served: int, tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db", create=False) as store:
        dissection = Dissection(*store.inspected(served))
    location = dissection.inspection.chain.steps[1].location
    page = _page(
        trace=served, turn=location.turn, part=location.part, start=location.range.start, end=location.range.end
    )
    (command,) = [code.value for code in page.code if code.value.startswith("weaklink tui")]
    words = shlex.split(command)
    assert words[3:] == ["--db", str(tmp_path / "w.db")]
    link = read_link(words[2])
    assert link.trace == str(served)
    assert link.find(dissection) == location


def test_the_command_for_the_terminal_does_not_show_the_password_of_the_database() -> None:
    set_options(DashboardOptions(f"postgresql://weaklink:{_PASSWORD}@db.example/runs"))
    try:
        commands = trace_actions._command(12, None), settings._command("stats")
    finally:
        set_options(DashboardOptions())
    assert commands == (
        "weaklink tui 12 --db 'postgresql://weaklink:***@db.example/runs'",
        "weaklink db stats --db 'postgresql://weaklink:***@db.example/runs'",
    )


def test_a_note_that_another_user_wrote_is_seen_before_it_is_replaced(served: int, tmp_path: Path) -> None:
    page = _page(trace=served)
    page.text_input[0].set_value("mine").run()
    with open_store(tmp_path / "w.db", create=False) as store:
        store.marks.put(served, note="theirs", author="bob")
    next(button for button in page.button if button.label == "Save").click().run()
    with open_store(tmp_path / "w.db", create=False) as store:
        assert [mark.note for mark in store.marks.of([served])[served]] == ["theirs"]
    assert any("theirs (bob)" in element.value for element in page.text)
    assert page.text_input[0].value == "mine"
    next(button for button in page.button if button.label == "Replace the note").click().run()
    with open_store(tmp_path / "w.db", create=False) as store:
        assert [mark.note for mark in store.marks.of([served])[served]] == ["mine"]


def test_each_box_of_the_rail_leads_to_its_characters_and_the_break_is_selected() -> None:
    dissection = Dissection(*broken_trace())
    boxes = rail_boxes(dissection, None)
    assert all(dissection.part(box.location.turn, box.location.part) is not None for box in boxes)
    calls = [box.location for box in boxes if box.step is not None and box.location == box.step.location]
    assert calls == [step.location for step in dissection.inspection.chain.steps]
    initial = initial_position(dissection.inspection)
    assert initial is not None
    key = selected_box(boxes, initial)
    assert key is not None
    assert boxes[int(key)].location.turn == initial.turn
    assert [group.key for group in rail(boxes).groups] == [str(index) for index in range(len(boxes))]


def test_a_long_trace_is_shown_around_the_place_that_is_looked_at() -> None:
    steps = 500
    dissection = _long_trace(steps)
    last = dissection.inspection.chain.steps[-1]
    boxes = rail_boxes(dissection, last.location)
    assert len(boxes) <= MAX_BOXES
    assert any(box.step == last for box in boxes)
    flow = flow_picture(dissection.inspection.chain, data_flow_of(dissection.trace, dissection.inspection), last.number)
    assert str(last.number) in [group.key for group in flow.groups]
    assert len(flow.groups) <= MAX_STEPS
    rows: list[Any] = value_rows(dissection, window_of(dissection.trace, 1), last.location.turn)
    assert len(rows) <= MAX_VALUE_ROWS + 1
    near = [row for row in rows if row["depth"] > 1]
    assert near
    assert all(abs(row["turn"] - last.location.turn) <= EXPANDED_TURNS for row in near)
    assert any(row["turn"] == last.location.turn for row in near)


def test_a_member_is_chosen_by_its_key_too() -> None:
    text = _CALL % 1
    trace = Trace((Turn(Role.USER, (Part("text", "go"),)), Turn(Role.ASSISTANT, (Part("text", text),))))
    dissection = Dissection(trace, inspect_trace(trace, format="hermes"))
    rows: list[Any] = value_rows(dissection, TurnWindow(1, 2, is_whole=True), 2)
    value = next(row for row in rows if row.get("from") == text.index('"city"'))
    assert text[value["start"] : value["end"]] == '"Oslo 1"'


def test_the_browser_is_given_every_character_and_the_places_of_what_it_cannot_take() -> None:
    trace = Trace((Turn(Role.USER, (Part("text", "a\ud800b😀"),)),))
    inspection = inspect_trace(trace, format="hermes")
    data: Any = stream_data(trace, inspection, window_of(trace, 1))
    (part,) = data["parts"]
    assert part["text"] == "a\ufffdb😀"
    assert part["odd"] == [[1, "\\ud800"]]
    assert part["spans"][0][1:3] == [0, 4]


def test_the_browser_calls_a_span_as_the_terminal_does() -> None:
    trace = Trace(
        (
            Turn(Role.ASSISTANT, (Part("reasoning", "go"), Part("text", f"Now.\n{_CALL % 1}"))),
            Turn(Role.TOOL, (Part("text", '{"sky": "grey"}'),)),  # a result without markers, as servers send them
            Turn(Role.TOOL, (Part("text", _RESULT),)),
        )
    )
    data: Any = stream_data(trace, inspect_trace(trace, format="hermes"), window_of(trace, 1))
    words = [[span[-1] for span in part["spans"]] for part in data["parts"]]
    assert words == [["reasoning"], ["text", "call"], ["result"], ["result"]]


def test_the_browser_is_given_every_fault_and_each_sentence_once() -> None:
    bad = "<tool_call>\n{'name': 'get', 'arguments': {'city': 'Oslo',}}\n</tool_call>\n"
    trace = Trace((Turn(Role.USER, (Part("text", "go"),)), Turn(Role.ASSISTANT, (Part("text", bad * 1_001),))))
    inspection = inspect_trace(trace, format="hermes")
    data: Any = fault_data(trace, inspection.diagnostics, inspection.chain)
    assert len(inspection.diagnostics) > 2_000
    told = [
        (*data["parts"][part], start, end, data["rules"][rule][1], data["sentences"][message], data["sentences"][hint])
        for part, start, end, rule, message, hint in zip(
            *(data[name] for name in ("part", "start", "end", "rule", "message", "hint")), strict=True
        )
    ]
    assert told == [
        (
            *(
                diagnostic.location.turn,
                diagnostic.location.part,
                diagnostic.location.range.start,
                diagnostic.location.range.end,
            ),
            *(
                diagnostic.fault.rule.code,
                visible_line(diagnostic.fault.message),
                visible_line(diagnostic.fault.hint or ""),
            ),
        )
        for diagnostic in inspection.diagnostics
    ]
    assert len(set(data["sentences"])) == len(data["sentences"])


def test_a_fault_in_a_request_is_at_its_turn_and_a_row_leads_to_the_other_side() -> None:
    trace = changed_story()
    inspection = inspect_trace(trace, format="hermes")
    data: Any = stream_data(trace, inspection, window_of(trace, 1))
    faults = data["faults"]
    codes = [faults["rules"][rule][1] for rule in faults["rule"]]
    parts = [faults["parts"][part] for part in faults["part"]]
    assert parts[codes.index("L809")] == [5, "text"]
    assert parts[codes.index("L805")] == [4, "text"]
    row = faults["against"][str(codes.index("L809"))]
    assert (row["turn"], row["part"], row["depth"]) == (4, "text", 1)
    assert row["runs"] == [["dim", "≠ against turn 4, text"]]
    prompt = [(row["turn"], row["part"]) for row in data["layers"] if row["step"] < 0]
    assert prompt == [(1, "text"), (5, "text")]


def test_a_trace_that_does_not_fit_into_a_page_brings_the_turns_around_the_one_that_is_asked_for() -> None:
    trace = Trace(tuple(Turn(Role.USER, (Part("text", "x" * 600_000),)) for _ in range(8)))
    window = window_of(trace, 5)
    assert window.first <= 5 <= window.last
    assert not window.is_whole
    assert window.last - window.first == 2
    assert next(iter(window_notes(window, trace))).endswith(f"Shown: turns {window.first} to {window.last} of 8.")


_LENGTHS = st.lists(st.integers(0, 400), min_size=1, max_size=4)


@given(lengths=_LENGTHS, chosen=st.integers(0, 3), share=st.floats(0, 1))
def test_a_turn_that_does_not_fit_into_a_page_brings_the_characters_around_the_position(
    lengths: list[int], chosen: int, share: float
) -> None:
    texts = [f"{index}{'line' * length}"[: length + 1] for index, length in enumerate(lengths)]
    parts = tuple(Part(f"p{index}", text) for index, text in enumerate(texts))
    trace = Trace((Turn(Role.USER, parts), Turn(Role.USER, (Part("text", "y" * 90),))))
    part = parts[chosen % len(parts)]
    position = int(share * (len(part.text) - 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_data_module, "MAX_STREAM_CHARS", 100)
        window = window_of(trace, 1, part.name, position)
        data: Any = stream_data(trace, inspect_trace(trace, format="hermes"), window)
    shown = {(record["turn"], record["part"]): record for record in data["parts"]}
    assert sum(len(record["text"]) for record in shown.values()) <= 100
    for (turn, name), piece in shown.items():
        source = trace.turns[turn - 1].part(name)
        assert source is not None
        assert piece["text"] == source.text[piece["from"] : piece["from"] + len(piece["text"])]
        assert (piece["length"], piece["line"]) == (len(source.text), 1)
        assert [span[1] for span in piece["spans"][:1]] == [piece["from"]]
    mine = shown[1, part.name]
    assert mine["from"] <= position < mine["from"] + len(mine["text"])
    words = " ".join(window_notes(window, trace))
    cut = [record for record in shown.values() if record["turn"] == 1 and len(record["text"]) < record["length"]]
    assert all(f"of the {record['length']:,} characters of {record['part']}" in words for record in cut)
    assert bool(words) == (not window.is_whole)


def test_a_missing_trace_offers_those_with_the_nearest_ids(tmp_path: Path) -> None:
    with open_store(tmp_path / "w.db") as store:
        ids = [store.save([_said(number)])[0].id for number in range(12)]
        store.delete(ids[3:8])
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    left = [*ids[:3], *ids[8:]]
    for asked in (ids[4], ids[-1] + 1, ids[-1] + 100_000):
        expected = sorted(left, key=lambda length: (abs(length - asked), length))[:5]
        assert [trace.id for trace in nearest_traces(asked)] == expected
    page = _page(trace=ids[-1] + 100_000)
    assert [caption.value for caption in page.caption] == ["The traces with the nearest ids:"]
    assert [button.key for button in page.button][:1] == [f"weaklink_nearest_{ids[-1]}"]
    set_options(DashboardOptions())


def _said(number: int) -> tuple[Trace, Inspection]:
    """A trace that is older than the one before it."""
    trace = Trace((Turn(Role.USER, (Part("text", f"trace {number}"),)),), started=Instant(1_000.0 - number))
    return trace, inspect_trace(trace)


_MANY = 3_000
_LARGE_CALL = (
    '<tool_call>\n{"name": "save", "arguments": {'
    + ", ".join(f'"key_{number}": {number}' for number in range(_MANY))
    + "}}\n</tool_call>"
)
_SAVE = ToolDefinition("save", parameters={"type": "object", "required": ["owner"]})


def test_a_fault_of_a_large_object_is_marked_at_its_brace_and_names_the_member() -> None:
    turns = (
        Turn(Role.USER, (Part("text", "go"),)),
        Turn(Role.ASSISTANT, (Part("text", _LARGE_CALL),), generation=Generation(tools=(_SAVE,))),
    )
    trace = Trace(turns)
    inspection = inspect_trace(trace, format="hermes")
    (missing,) = (diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "S201")
    assert len(missing.location.range) > 20 * _MANY / 2
    data: Any = fault_data(trace, inspection.diagnostics, inspection.chain)
    (position,) = (index for index, rule in enumerate(data["rule"]) if data["rules"][rule][1] == "S201")
    assert _LARGE_CALL[data["start"][position] : data["end"][position]] == "{"
    assert data["start"][position] == missing.location.range.start
    assert "`owner`" in data["sentences"][data["message"][position]]
    initial = initial_position(inspection)
    assert initial is not None
    assert len(short_mark(trace, initial).range) == 1


def test_a_fault_of_many_lines_is_marked_at_its_first_line() -> None:
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", "def f():\n" + "    pass\n" * 9),)),))
    assert short_mark(trace, Location(1, "text", Range(0, 50))).range == Range(0, 8)
    few = Location(1, "text", Range(0, 30))
    assert short_mark(trace, few) == few


@given(text=st.text(max_size=40) | st.text("\n{ab", max_size=40), start=st.integers(0, 900), length=st.integers(0, 900))
def test_a_mark_is_short_and_begins_where_its_fault_begins(text: str, start: int, length: int) -> None:
    whole = text + "x" * 1_000 + "\n{" + "y" * 1_000
    trace = Trace((Turn(Role.USER, (Part("text", whole),)),))
    location = Location(1, "text", Range(start, min(start + length, len(whole))))
    marked = short_mark(trace, location).range
    assert marked.start == location.range.start
    assert marked == location.range or (0 < len(marked) <= 80 and "\n" not in whole[marked.start + 1 : marked.end])
