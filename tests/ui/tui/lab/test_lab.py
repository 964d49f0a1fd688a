"""The re-read lab: what is read, how it compares, what its keys do."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.tui.apps import SIZES, agree, at_home, home, press, running, settled, shown, told
from weaklink.inspector.formats import registry
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import Chunks, Part, Role, Trace, Turn
from weaklink.inspector.segmenter.events import FormatParser
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.lab_readings import MAX_PIECES, Chunking, ResultMatch, pieces_of
from weaklink.ui.tui.lab_screen import LabScreen
from weaklink.ui.views.styled_text import plain


@asynccontextmanager
async def reading(
    path: Path, *traces: Trace, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[WeaklinkApp, Pilot[None], LabScreen]]:
    """The lab on the first of these traces, once all is read."""
    with open_store(path / "runs.db") as store:
        store.save(inspected(*(traces or (said(BAD_CALL),))))
    async with running(str(path / "runs.db"), size=size) as (app, pilot):
        await press(pilot, "r")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, LabScreen)
        yield app, pilot, screen


def said(text: str) -> Trace:
    return replace(trace("said", text), format="hermes")


def chunked(text: str, *ends: int) -> Trace:
    chunks = Chunks((*ends, len(text)), tuple(range(len(ends) + 1)))
    turns = (Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", text, chunks),)))
    return Trace(turns, name="chunked", format="hermes")


def unlike(screen: LabScreen) -> str:
    view = screen.unlike
    return "\n".join(plain(view.source.line(index, 100)) for index in range(view.source.count))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_formats_stand_in_rows_and_cuts_in_columns(
    tmp_path: Path, size: tuple[int, int], update_goldens: bool
) -> None:
    async with reading(tmp_path, size=size) as (app, pilot, _):
        await press(pilot, "n", "n")
        await settled(pilot)
        agree(f"lab-{size[0]}x{size[1]}.txt", shown(app), update_goldens=update_goldens)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", [GOOD_CALL, BAD_CALL, "<think>Hm.</think>Hello <tool_call>{", "plain words"])
async def test_the_formats_own_reading_is_the_stored_one_however_it_is_cut(tmp_path: Path, text: str) -> None:
    async with reading(tmp_path, chunked(text, 1, len(text) // 2)) as (_, _, screen):
        assert {screen.cells["hermes", cut].likeness for cut in Chunking} == {ResultMatch.SAME}
        assert len(screen.cells) == len(formats()) * len(Chunking)


@pytest.mark.slow
async def test_a_reading_in_another_format_shows_what_differs_side_by_side(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, screen):
        assert screen.cells["mistral", Chunking.WHOLE].likeness is ResultMatch.DIFFERS
        assert "the same reading" in unlike(screen)
        await press(pilot, "n")
        assert "- tool_call" in unlike(screen)
        assert "│ + text" in unlike(screen)
        await press(pilot, "g", "w")
        assert "= tool_call" in unlike(screen)
        assert "differ" in shown(app).splitlines()[0]


@pytest.mark.slow
async def test_how_a_text_came_is_not_made_up(tmp_path: Path) -> None:
    async with reading(tmp_path) as (_, pilot, screen):
        assert screen.cells["hermes", Chunking.AS_RECEIVED].likeness is ResultMatch.UNCUT
        await press(pilot, "]")
        assert "did not record the chunks" in unlike(screen)
        await press(pilot, "[")
        assert "the same reading" in unlike(screen)


@pytest.mark.slow
async def test_another_seed_cuts_elsewhere(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, screen):
        await press(pilot, "s")
        await settled(pilot)
        assert "seed 2" in shown(app)
        assert screen.cells["hermes", Chunking.RANDOM].likeness is ResultMatch.SAME


@pytest.mark.slow
async def test_a_reading_is_written_as_json(tmp_path: Path) -> None:
    async with reading(tmp_path) as (app, pilot, _):
        await press(pilot, "S")
        app.screen.query_one("Input").value = str(tmp_path / "nowhere" / "out.json")  # type: ignore[attr-defined]  # an Input
        await press(pilot, "enter")
        assert "There is no folder" in shown(app)
        app.screen.query_one("Input").value = str(tmp_path / "out.json")  # type: ignore[attr-defined]  # an Input
        await press(pilot, "enter")
        await settled(pilot)
        written = json.loads((tmp_path / "out.json").read_text())
        assert written["format"] == "hermes"
        assert [diagnostic["code"] for diagnostic in written["diagnostics"]] == ["J104"]
        assert "is written to" in told(app)


async def test_the_lab_is_left_while_it_reads(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        store.save(inspected(said(GOOD_CALL + "words " * 60_000)))
    async with running(str(tmp_path / "runs.db")) as (app, pilot):
        home(app).action_reread()
        while not (isinstance(app.screen, LabScreen) and app.screen.cells):
            await asyncio.sleep(0.005)  # a pilot would wait until nothing is read any more
        lab = app.screen
        lab.action_back()
        await settled(pilot)
        assert at_home(app)
        assert len(lab.cells) < len(formats()) * len(Chunking)


async def test_a_trace_without_text_says_so(tmp_path: Path) -> None:
    empty = Trace((Turn(Role.ASSISTANT, ()),), name="empty", format="hermes")
    async with reading(tmp_path, empty) as (app, pilot, _):
        assert "contains no text that a format could read" in shown(app)
        await press(pilot, "n", "s", "w", "S", "]", "j", "escape")
        assert at_home(app)


@pytest.mark.slow
async def test_a_reader_of_foreign_code_that_raises_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        raise RuntimeError("\x1b[31mno")

    monkeypatch.setattr(registry, "_registered", {})
    registry.register_format(replace(formats()[0], name="raising", aliases=(), new_parser=raises))
    async with reading(tmp_path) as (app, pilot, screen):
        assert screen.cells["raising", Chunking.WHOLE].likeness is ResultMatch.ERROR
        assert "3 errors" in shown(app).splitlines()[0]
        while screen.selected != ("raising", Chunking.WHOLE):
            await press(pilot, "n")
        assert "The reader of `raising` raised RuntimeError: ␛[31mno." in unlike(screen)


@pytest.mark.parametrize("cut", Chunking)
@pytest.mark.parametrize("text", ["", "a", "𝔸b" * 30_000])
def test_pieces_make_up_the_text_and_are_not_too_many(cut: Chunking, text: str) -> None:
    part = Part("text", text, Chunks((len(text),), (0,)) if text else None)
    pieces = list(pieces_of(part, cut, 7))
    assert "".join(pieces) == text
    assert len(pieces) <= MAX_PIECES
