"""The view of lines: any number of them, hostile ones too, with a cursor that keys and mouse move."""

import pytest
from textual.app import App, ComposeResult

from weaklink.ui.tui.line_view import CellRange, LineList, LineView
from weaklink.ui.tui.palette import themes
from weaklink.ui.views.styled_text import Line, Run, Style, visible_runs


class Numbered:
    """Ten million lines that remember which of them were asked for."""

    count = 10_000_000

    def __init__(self) -> None:
        self.asked: set[int] = set()

    def line(self, index: int, width: int) -> Line:
        self.asked.add(index)
        return (Run(f"line {index}", Style.STRONG),)


class Shell(App[None]):
    """An application with nothing but a view."""

    def __init__(self, view: LineView) -> None:
        super().__init__()
        self.view = view
        self.said: list[tuple[str, int]] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        for theme in themes():
            self.register_theme(theme)
        self.theme = "dark"
        self.view.focus()

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        self.said.append((type(event).__name__, event.index))

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        self.said.append((type(event).__name__, event.index))


def rows(view: LineView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def test_of_ten_million_lines_only_those_in_sight_are_asked_for() -> None:
    source = Numbered()
    shell = Shell(LineView(source))
    async with shell.run_test(size=(40, 10)) as pilot:
        await pilot.press("G")
        await pilot.pause()
        assert rows(shell.view)[-1] == "line 9999999"
        await pilot.press("k", "pageup", "g", "j", "space")
        await pilot.pause()
        assert shell.view.cursor == 10
        assert len(source.asked) < 60


async def test_keys_move_the_cursor_and_enter_chooses() -> None:
    shell = Shell(LineView(Numbered()))
    async with shell.run_test(size=(40, 10)) as pilot:
        await pilot.press("j", "down", "k", "enter")
    assert shell.said == [("Moved", 1), ("Moved", 2), ("Moved", 1), ("Chosen", 1)]


async def test_a_click_moves_the_cursor_and_a_second_one_chooses() -> None:
    shell = Shell(LineView(Numbered()))
    async with shell.run_test(size=(40, 10)) as pilot:
        await pilot.click(LineView, offset=(3, 4))
        await pilot.click(LineView, offset=(3, 4))
    assert shell.said == [("Moved", 4), ("Chosen", 4)]


async def test_lit_cells_and_the_cursor_show_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(LineView(LineList(((Run("first"),), (Run("second line"),)))))
    async with shell.run_test(size=(40, 10)) as pilot:
        shell.theme = "ansi"
        shell.view.light({1: [CellRange(0, 6)]})
        await pilot.pause()
        cursor, lit, *_ = shell.view.render_line(0), shell.view.render_line(1)
        assert all(segment.style and segment.style.reverse for segment in cursor)
        assert [(part.text, bool(part.style and part.style.underline)) for part in lit][:2] == [
            ("second", True),
            (" line", False),
        ]


async def test_wide_and_joined_characters_keep_every_line_as_wide_as_the_screen() -> None:
    names = (
        "日本語" * 30,
        "👩\u200d👩\u200d👧 family",
        "e\u0301\u0301\u0301 marks",
        "नि",
        "\x1b[31mred\u202e",
        "☀\ufe0f",
    )
    shell = Shell(LineView(LineList([visible_runs(name) for name in names])))
    async with shell.run_test(size=(40, 10)):
        assert {shell.view.render_line(y).cell_length for y in range(10)} == {40}
        assert "␛[31mred\\u202e" in rows(shell.view)[4]


async def test_a_line_that_is_too_long_is_reached_by_going_aside() -> None:
    view = LineView()
    shell = Shell(view)
    async with shell.run_test(size=(40, 10)) as pilot:
        view.show(LineList(((Run("x" * 60 + "END"),),)), content_width=63)
        await pilot.pause()
        assert "END" not in rows(view)[0]
        await pilot.press(*["right"] * 4)
        assert "END" in rows(view)[0]


async def test_fewer_lines_take_the_cursor_with_them() -> None:
    view = LineView(Numbered())
    async with Shell(view).run_test(size=(40, 10)) as pilot:
        await pilot.press("G")
        view.show(LineList(((Run("only"),),)), cursor=9)
        await pilot.pause()
        assert view.cursor == 0
        assert rows(view)[0] == "only"
