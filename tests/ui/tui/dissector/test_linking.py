"""The panes of the dissector move together, and exactly the selected characters are lit."""

from pathlib import Path

import pytest
from textual.events import MouseScrollDown

from tests.chain.test_layer_places import changed_story
from tests.ui.tui.apps import settled, shown, told
from tests.ui.tui.dissector.stage import SMALL, dissecting
from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Generation,
    Part,
    ResultHeader,
    Role,
    SentRequest,
    ToolDefinition,
    Trace,
    Turn,
)
from weaklink.inspector.text import Range
from weaklink.ui.tui.dissector.panes import TreeView
from weaklink.ui.tui.dissector.side_pane import SideKind
from weaklink.ui.tui.dissector.stream_view import StreamView
from weaklink.ui.tui.lab_screen import LabScreen
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.tree import MAX_PARSED_CHARS


async def test_a_trace_opens_on_the_fault_that_broke_it(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        assert stage.selected.startswith('{"city": "Oslo"')
        assert stage.row.startswith("arguments")
        seen = shown(stage.app)
        assert "▲ broken" in seen
        assert "error[S201] missing-required" in seen
        assert "step 1 get_weather" in seen


async def test_selecting_an_argument_lights_exactly_its_characters(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("1", "enter", "j")
        assert stage.row.startswith("city")
        assert (stage.lit, stage.selected) == ('"Oslo"', '"Oslo"')
        await stage.press("j")
        assert stage.lit == '"kelvin"'
        assert "/unit" in shown(stage.app)


@pytest.mark.slow
async def test_moving_in_the_stream_selects_the_innermost_row_of_the_tree(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("2", *["right"] * 9)
        assert stage.row.startswith("city")
        assert stage.lit == '"Oslo"'
        assert len(stage.selected) == 1
        await stage.press("g")
        assert stage.row.startswith("1 user")
        await stage.press("G")
        assert stage.row.startswith("4 assistant")


async def test_a_line_of_the_diagnostics_leads_to_its_place_and_a_fault_to_its_line(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("4", "j")
        assert stage.selected == '"kelvin"'
        await stage.press("2", "ctrl+e")
        assert stage.screen.panes.side.view.cursor == 0


async def test_the_schema_is_that_of_the_selected_call_with_the_violation_marked(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        stage.screen.panes.side.turn_to(SideKind.SCHEMA)
        await settled(stage.pilot)
        assert '✖       "enum"' in stage.side
        await stage.press("2", "g")
        assert "No call selected" in stage.side


async def test_a_key_goes_from_layer_to_layer_and_the_request_has_a_view(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "weather", "arguments": {"city": "oslo"}}\n</tool_call>'
    call = Turn(
        Role.ASSISTANT,
        (Part("text", text), Part("call:0", '{"city": "Oslo"}')),
        calls=(CallHeader("call:0", "weather", "a1"),),
        generation=Generation(request=SentRequest(messages=(1,))),
    )
    result = Turn(Role.TOOL, (Part("text", "4 degrees"),), result=ResultHeader("a1", "weather"))
    trace = Trace((Turn(Role.USER, (Part("text", "Weather?"),)), call, result))
    async with dissecting(tmp_path, Dissection(trace, inspect_trace(trace))) as (stage, _):
        stage.screen._jump(Location(2, "call:0", Range(2, 3)))
        seen = []
        for _ in range(4):
            await stage.press("x")
            seen.append((stage.location.turn, stage.location.part))
        assert seen == [(3, "text"), (2, "text"), (2, "call:0"), (3, "text")]
        assert "≠" in stage.side
        stage.screen.panes.side.turn_to(SideKind.CONTEXT)
        await stage.press("x", "x")
        await stage.press("c")
        assert "The request of turn 2" in stage.side
        await stage.press("2", "g", "x")
        assert "Select a call or a result" in told(stage.app)


async def test_x_goes_to_what_ran_and_to_what_a_later_request_has(tmp_path: Path) -> None:
    trace = changed_story()
    inspection = inspect_trace(trace, format="hermes")
    async with dissecting(tmp_path, Dissection(trace, inspection)) as (stage, _):
        stage.screen._jump(Location(3, "call:0", Range(2, 3)))
        seen = []
        for _ in range(4):
            await stage.press("x")
            seen.append((stage.location.turn, stage.location.part))
        assert seen == [(4, "run:arguments"), (4, "text"), (5, "sent:4:text"), (3, "call:0")]
        stage.screen._jump(inspection.diagnostics[-1].location)
        prompt = next(diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "L816")
        stage.screen._jump(prompt.location)
        await settled(stage.pilot)
        assert "turn 5 message 1 of its request, text" in shown(stage.app)
        await stage.press("x")
        assert (stage.location.turn, stage.location.part) == (1, "text")
        await stage.press("x")
        assert stage.location == prompt.location
        assert "The request of turn 5" in stage.side


@pytest.mark.slow
async def test_c_says_once_that_the_request_was_not_recorded(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.of_text("Hello.")) as (stage, _):
        await stage.press("c")
        assert stage.side.count("was not recorded") == 1


@pytest.mark.slow
async def test_enter_on_a_line_of_the_origins_goes_to_where_the_value_stood_first(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, _):
        await stage.press("3", *["left"] * 5)
        assert stage.screen.panes.side.kind is SideKind.ORIGINS
        assert "← a user message, turn 1" in stage.side
        await stage.press("j", "enter")
        assert (stage.location.turn, stage.selected) == (1, "Oslo")


async def test_a_click_in_the_stream_selects_the_character_and_in_the_tree_the_row(tmp_path: Path) -> None:
    async with dissecting(tmp_path) as (stage, pilot):
        stream = stage.screen.panes.stream
        await stage.press("g")
        await pilot.click(StreamView, offset=(1 + 12 + 4, 1 + 1))
        await settled(pilot)
        assert (stage.location.turn, stage.selected) == (1, "w")
        assert stream.has_focus
        await pilot.click(TreeView, offset=(6, 1 + 2))
        await settled(pilot)
        assert stage.row.startswith("reasoning")
        assert stage.lit.startswith("<think>")


@pytest.mark.slow
async def test_the_wheel_scrolls_and_leaves_the_cursor(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.of_text("line\n" * 200)) as (stage, pilot):
        await stage.press("2", "g")
        before, stream = stage.location, stage.screen.panes.stream
        stream.post_message(MouseScrollDown(stream, 20, 5, 0, 1, 0, shift=False, meta=False, ctrl=False))
        await settled(pilot)
        assert stage.location == before
        assert "── 1 user" not in shown(stage.app)


@pytest.mark.slow
async def test_arguments_that_are_long_to_read_are_read_in_a_thread_when_they_are_opened(tmp_path: Path) -> None:
    arguments = '{"a": "' + "x" * MAX_PARSED_CHARS + '", "b": 1}'
    turn = Turn(Role.ASSISTANT, (Part("call:0", arguments),), calls=(CallHeader("call:0", "act", "c1"),))
    trace = Trace((Turn(Role.USER, (Part("text", "Go."),)), turn), format="openai")
    async with dissecting(tmp_path, scenes.dissected(trace)) as (stage, _):
        await stage.press("]", "1")
        assert stage.row.startswith("arguments")
        await stage.press("enter")
        await stage.press("j")
        assert stage.row.startswith("a ")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [SMALL, (120, 40), (250, 70)])
async def test_a_hostile_trace_changes_nothing_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with dissecting(tmp_path, scenes.hostile(), size=size) as (stage, _):
        for key in ("v", "C", "w", "1", "enter", "j", "j", "enter", "2", "G", "3", *["right"] * 8):
            await stage.press(key)
            lines = shown(stage.app).splitlines()
            assert not any(
                character in text for text in lines for character in "\x1b\x07\x00\x9b\u202e\u2066\u200b\ud800"
            )


@pytest.mark.slow
async def test_a_trace_without_turns_says_so(tmp_path: Path) -> None:
    async with dissecting(tmp_path, scenes.dissected(Trace(()))) as (stage, _):
        assert "The trace has no turns." in shown(stage.app)
        await stage.press("e", "]", "o", "y", "m", "1", "j", "enter", "2", "j", "G", "right", "n")


async def test_from_a_result_that_broke_the_chain_schema_o_and_r_follow_to_its_call(tmp_path: Path) -> None:
    generation = Generation(tools=(ToolDefinition("refund", "Pays back.", {"type": "object"}),))
    turns = (
        Turn(Role.USER, (Part("text", "Refund me."),)),
        Turn(
            Role.ASSISTANT,
            (Part("call:0", '{"order": 71}'),),
            generation=generation,
            calls=(CallHeader("call:0", "refund", "c1"),),
        ),
        Turn(Role.TOOL, (Part("text", '{"error": "no such order"}'),), result=ResultHeader("c1", None, True)),
        Turn(Role.ASSISTANT, (Part("text", "Sorry."),), generation=generation),
    )
    async with dissecting(tmp_path, scenes.dissected(Trace(turns, format="openai"))) as (stage, _):
        assert stage.location.turn == 3
        stage.screen.panes.side.turn_to(SideKind.SCHEMA)
        await settled(stage.pilot)
        assert "No call selected" not in stage.side
        assert "refund" in stage.side
        await stage.press("r")
        lab = stage.app.screen
        assert isinstance(lab, LabScreen)
        assert lab._location is not None
        assert lab._location.turn == 2
        await stage.press("escape")
        await stage.press("o")
        assert (stage.location.turn, stage.location.part) == (2, "call:0")
        await stage.press("ctrl+o")
        assert stage.location.turn == 3
