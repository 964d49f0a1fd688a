"""What the commands of the home screen do, each by its key."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, inspected, trace
from tests.ui.tui.apps import LONG_AGO_S, at_home, filled, home, names, press, running, settled, shown, told
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.model import ExternalId
from weaklink.inspector.text import Range
from weaklink.storage.listing import Order
from weaklink.storage.store import Store, open_store
from weaklink.ui.tui.chains.filter_bar import FilterBar, FilterInput, has_words, toggled
from weaklink.ui.tui.dialogs import ChoiceDialog, DialogChoice, LineDialog
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.tui.line_bar import LineBar
from weaklink.ui.tui.store_access import StoreAccess, error_sentence


async def test_enter_opens_a_chain_and_escape_comes_back(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "enter")
        assert isinstance(app.screen, DissectorScreen)
        assert "session 5" in shown(app)
        await press(pilot, "}")
        assert "session 4" in shown(app)
        await press(pilot, "{", "{")
        assert "No more traces" in told(app)
        await press(pilot, "escape")
        assert at_home(app)


@pytest.mark.slow
async def test_what_is_marked_in_a_chain_shows_in_the_list_that_comes_back(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        current = home(app).chains.current
        assert current is not None
        assert not current.marked
        await press(pilot, "enter", "m", "escape")
        assert at_home(app)
        current = home(app).chains.current
        assert current is not None
        assert current.marked


async def test_e_goes_from_break_to_break_and_begins_anew_behind_the_last(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        seen = []
        for _ in range(5):
            await press(pilot, "e")
            current = home(app).chains.current
            assert current is not None
            seen.append(current.name)
            await press(pilot, "escape")
        assert seen == ["session 5", "session 4", "session 2", "session 1", "session 5"]
        await press(pilot, "ctrl+e")
        assert "No trace before this one is broken." in told(app)


async def test_b_shows_only_what_broke_and_then_all_again(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "j", "b")
        assert names(app) == ["session 5", "session 4", "session 2", "session 1"]
        assert "[✖ 4 broken]" in shown(app)
        await press(pilot, "b")
        assert len(names(app)) == 6


@pytest.mark.slow
async def test_a_click_on_a_status_filters_by_it(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await pilot.click("#statuses", offset=(3, 0))
        await settled(pilot)
        assert home(app).chains.filter_text == "status:broken"
        await press(pilot, "escape")
        assert home(app).chains.filter_text == ""


def test_another_status_takes_the_place_of_the_one_there_is() -> None:
    assert toggled("model:x status:ok words", "status:broken") == "model:x words status:broken"
    assert toggled("model:x status:broken", "status:broken") == "model:x"
    assert toggled("model:x or model:y", "status:broken") == "(model:x or model:y) status:broken"


@pytest.mark.parametrize(
    ("filter_text", "asks"), [("not (a or model:x)", True), ("model:x calls:>3", False), ("x:", False)]
)
def test_a_filter_asks_the_text_index_where_it_holds_words(filter_text: str, asks: bool) -> None:
    assert has_words(filter_text) is asks


async def test_a_filter_is_checked_as_it_is_typed_and_the_list_follows(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "f", *"mdel:x")
        bar = app.screen.query_one(FilterBar)
        assert bar.has_class("wrong")
        assert "did you mean `model:`?" in shown(app)
        await settled(pilot)
        assert len(names(app)) == 6
        app.screen.query_one(FilterInput).value = "model:qwen*"
        await settled(pilot)
        assert not bar.has_class("wrong")
        assert names(app) == ["session 5", "session 1", "session 3"]
        await press(pilot, "escape")
        assert len(names(app)) == 6
        assert app.focused is home(app).chains


@pytest.mark.slow
async def test_what_is_wrong_with_a_filter_stays_said_while_more_is_typed_behind_it(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "f", *"status:brox")
        assert "not `brox`" in " ".join(shown(app).split())
        await press(pilot, "space", "enter")
        assert "not `brox`" in " ".join(shown(app).split())
        await press(pilot, *"model:")
        assert "not `brox`" in " ".join(shown(app).split())


@pytest.mark.slow
async def test_what_is_wrong_with_a_filter_is_said_to_its_end_on_a_narrow_screen(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(80, 24)) as (app, pilot):
        await press(pilot, "f", *"color:blue")
        said = " ".join(shown(app).split())
        assert "unknown key `color`" in said
        assert "Put text to search for in quotes." in said
        bar = app.screen.query_one(FilterBar)
        assert bar.region.bottom <= app.size.height - 2
        await press(pilot, *("backspace",) * 10)
        assert bar.size.height == 2


async def test_a_filter_is_kept_by_enter_and_comes_back_from_the_history(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "f", *"status:ok")
        assert "⏎ Accept  esc Leave" in shown(app)
        await press(pilot, "enter")
        assert names(app) == ["session 3", "session 0"]
        assert "2 of 6 traces" in shown(app)
        await press(pilot, "escape", "f", "up")
        assert app.screen.query_one(FilterInput).value == "status:ok"
        await press(pilot, "down")
        assert app.screen.query_one(FilterInput).value == ""


async def test_tab_completes_what_is_typed(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "f", *"stat", "tab")
        await press(pilot, *"bro", "tab", "enter")
        assert home(app).chains.filter_text == "status:broken"


async def test_the_list_is_sorted_by_what_is_chosen(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=5)
    with open_store(where) as store:
        store.save(inspected(trace("worst", *[BAD_CALL] * 3, started_s=LONG_AGO_S - 1_000)))
    async with running(where) as (app, pilot):
        await press(pilot, "t")
        assert names(app)[-1] == "worst"
        await press(pilot, "s", "G", "enter")
        assert names(app)[0] == "worst"
        assert "the most errors first" in shown(app)
        await press(pilot, "s", "enter")
        assert names(app)[-1] == "worst"


async def test_words_are_searched_and_shown_where_they_stand(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    with open_store(where) as store:
        store.save(inspected(trace("late", "It rains.", words="is there an umbrella?", started_s=LONG_AGO_S)))
    async with running(where) as (app, pilot):
        await press(pilot, "/", *"umbrella", "enter")
        assert names(app) == ["late"]
        await pilot.pause(0.1)
        await settled(pilot)
        assert "is there an umbrella?" in shown(app)


async def test_a_hit_opens_at_its_words_and_n_goes_on_from_there(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    said = "No umbrella. But two Umbrellas."
    with open_store(where) as store:
        store.save(inspected(trace("late", BAD_CALL, said, words="An Umbrella?", started_s=LONG_AGO_S)))
    async with running(where) as (app, pilot):
        await press(pilot, "/", *"umbrella", "enter")
        await press(pilot, "enter")  # once the line is closed: it would take this key as well
        seen = []
        for _ in range(4):
            assert isinstance(app.screen, DissectorScreen)
            location = app.screen.location
            assert location is not None
            seen.append((location.turn, location.range))
            await press(pilot, "n")
            await settled(pilot)
        first = said.index("umbrella")
        second = said.index("Umbrellas")
        assert seen[0] == seen[3] == (1, Range(3, 11))
        assert seen[1:3] == [(3, Range(first, first + 8)), (3, Range(second, second + 8))]


async def test_nothing_that_matches_says_what_to_do(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), filter_text="model:none") as (app, pilot):
        assert "No trace matches the filter `model:none`." in shown(app)
        await press(pilot, "escape")
        assert len(names(app)) == 6


async def test_a_mark_and_a_note_are_kept_in_the_database(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "m")
        assert "✖ broken ●" in shown(app)
        await press(pilot, ";", *"look here", "enter")
        assert "✎ look here" in shown(app)
        with open_store(where) as store:
            assert [summary.note for summary in store.traces() if summary.marked] == ["look here"]
        await press(pilot, "m")
        assert "This mark has a note" in told(app)
        await press(pilot, ";", *["backspace"] * 9, "enter")
        with open_store(where) as store:
            assert not any(summary.marked for summary in store.traces())


async def test_what_is_typed_after_the_key_of_a_note_is_the_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = filled(tmp_path / "runs.db")
    with open_store(where) as store:
        for summary in store.traces():
            store.marks.put(summary.id, note="look ")
            store.marks.put(summary.id, step=1, note="the step's own")
    query = StoreAccess.query

    async def slow(access: StoreAccess, of_store: Callable[[Store], object]) -> object:
        await asyncio.sleep(0.5)
        return await query(access, of_store)

    async with running(where) as (_, pilot):
        monkeypatch.setattr(StoreAccess, "query", slow)
        await press(pilot, ";", *"here", "enter")
        with open_store(where) as store:
            assert [summary.own_note for summary in store.traces() if summary.own_note != "look "] == ["here"]


async def test_a_note_that_somebody_else_wrote_meanwhile_is_not_overwritten_unseen(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=1)
    async with running(where) as (app, pilot):
        await press(pilot, ";", *"mine")
        with open_store(where) as store:
            store.marks.put(1, note="theirs")
        await press(pilot, "enter")
        assert "It was changed meanwhile, to: theirs" in shown(app)
        with open_store(where) as store:
            assert [summary.own_note for summary in store.traces()] == ["theirs"]
        await press(pilot, "enter")
        with open_store(where) as store:
            assert [summary.own_note for summary in store.traces()] == ["mine"]


@pytest.mark.slow
async def test_a_mark_is_taken_away_without_those_of_turns_and_steps(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=1)
    with open_store(where) as store:
        store.marks.put(1, step=1, note="the step's own")
        store.marks.put(1, turn=2)
    async with running(where) as (app, pilot):
        await press(pilot, "m")
        assert "Trace 1 is marked." in told(app)
        await press(pilot, "m")
        assert "The mark of trace 1 is removed. 2 marks in it remain." in told(app)
        await press(pilot, ";", *"mine", "enter")
        await press(pilot, ";", *["backspace"] * 4, "enter")
        with open_store(where) as store:
            assert [(mark.turn, mark.step, mark.note) for mark in store.marks.of([1])[1]] == [
                (None, 1, "the step's own"),
                (2, None, ""),
            ]


async def test_a_chain_is_written_to_a_file_whose_suffix_says_how(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "S")
        app.screen.query_one("Input").value = str(tmp_path / "out.docx")  # type: ignore[attr-defined]  # an Input
        await press(pilot, "enter")
        assert "The suffix selects the format" in shown(app)
        app.screen.query_one("Input").value = str(tmp_path / "out.md")  # type: ignore[attr-defined]  # an Input
        await press(pilot, "enter")
        assert "session 5" in (tmp_path / "out.md").read_text()
        assert "is written to" in told(app)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("downs", "copied"), [(0, "weaklink show 6"), (1, "weaklink://trace/6?step=1"), (2, "6")])
async def test_a_command_a_link_or_an_id_is_copied(tmp_path: Path, downs: int, copied: str) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "y", *["j"] * downs, "enter")
        assert app.clipboard.startswith(copied)


async def test_of_a_file_that_is_not_imported_nothing_is_offered_that_is_gone_afterwards(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "rows.jsonl"), is_temporary=True) as (app, pilot):
        assert "Import" not in shown(app)
        await press(pilot, "m")
        assert "It is not kept: the file is not imported." in told(app)
        for keys in (("y",), ("escape", "enter", "y")):
            await press(pilot, *keys)
            assert "copy" in shown(app)
            assert "weaklink show" not in shown(app)
            assert "weaklink tui" not in shown(app)
            assert "weaklink://" not in shown(app)


@pytest.mark.slow
async def test_an_id_of_the_source_is_told_from_ours_and_copied_as_it_is(tmp_path: Path) -> None:
    hostile = "7\x1b[31m\u202e"
    ids = (ExternalId("id", hostile), ExternalId("task_id", "t-1"))
    with open_store(tmp_path / "runs.db") as store:
        store.save(inspected(replace(trace("one", BAD_CALL), external_ids=ids)))
    async with running(str(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "y")
        assert "source's id" in shown(app)
        assert "task_id" in shown(app)
        assert hostile not in shown(app)
        await press(pilot, *["j"] * 4, "enter")
        assert app.clipboard == hostile


@pytest.mark.slow
async def test_a_database_that_is_not_there_yet_is_opened_when_it_comes(tmp_path: Path) -> None:
    async with running(str(tmp_path / "runs.db")) as (app, pilot):
        assert "There is no database at" in shown(app)
        assert "weaklink demo" in shown(app)
        filled(tmp_path / "runs.db")
        await home(app).beat()
        await settled(pilot)
        assert len(names(app)) == 6
        assert app.focused is home(app).chains


async def test_an_empty_database_says_how_to_fill_it(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=0)
    async with running(where) as (app, pilot):
        assert "contains no traces yet" in shown(app)
        with open_store(where) as store:
            store.save(inspected(trace("first", "Hello.")))
        await home(app).beat()
        await settled(pilot)
        assert names(app) == ["first"]


@pytest.mark.parametrize(
    ("said", "shown_as"),
    [
        ("postgresql://me@host/w: the server does not answer", "postgresql://me@host/w: the server does not answer."),
        ("logs/a.jsonl: there is no such file", "logs/a.jsonl: there is no such file."),
        ("w.db: the database is read-only", "The database is read-only."),
    ],
)
def test_a_sentence_begins_with_a_capital_and_an_address_as_it_is(said: str, shown_as: str) -> None:
    assert error_sentence(WeaklinkError(said), "w.db") == shown_as


async def test_a_search_without_a_database_says_so_once(tmp_path: Path) -> None:
    async with running(str(tmp_path / "none.db")) as (app, pilot):
        await press(pilot, "f", *"Oslo", "enter")
        await settled(pilot)
        assert "There is no database at" in shown(app)
        assert "text index" not in told(app)


async def test_a_database_that_vanishes_is_said_and_found_again(tmp_path: Path) -> None:
    where = Path(filled(tmp_path / "runs.db"))
    async with running(str(where)) as (app, pilot):
        where.rename(tmp_path / "away.db")
        await home(app).beat()
        await settled(pilot)
        assert "was removed or renamed" in shown(app)
        assert len(names(app)) == 6
        await press(pilot, "enter")
        assert "was removed or renamed" in shown(app)
        await press(pilot, "escape")
        (tmp_path / "away.db").rename(where)
        await press(pilot, "ctrl+r")
        assert "was removed or renamed" not in shown(app)


async def test_a_database_that_a_newer_weaklink_changed_is_said(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        with sqlite3.connect(where) as connection:
            connection.execute("UPDATE weaklink_version SET version_num = 'v9999'")
            connection.execute("ALTER TABLE trace RENAME COLUMN name TO title")
        await press(pilot, "ctrl+r")
        assert "created by a newer version of weaklink" in told(app)
        assert len(names(app)) == 6


@pytest.mark.slow
async def test_a_database_that_another_program_holds_locked_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weaklink.ui.tui.store_access._TIMEOUT_S", 0.05)
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        connection = sqlite3.connect(where, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        await press(pilot, "m")
        assert "The database is locked: another program is writing to it" in told(app)
        connection.execute("ROLLBACK")
        connection.close()
        await press(pilot, "m")
        assert "✖ broken ●" in shown(app)


async def test_a_trace_named_at_the_start_lies_above_the_list(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), named="3") as (app, pilot):
        assert isinstance(app.screen, DissectorScreen)
        await press(pilot, "escape")
        assert at_home(app)


@pytest.mark.slow
async def test_keys_at_the_bottom_can_be_clicked_and_hidden(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await pilot.click("KeyFooter", offset=(2, 0))
        await settled(pilot)
        assert isinstance(app.screen, DissectorScreen)
        await press(pilot, "escape", "H")
        assert "Next break" not in shown(app)
        assert app.screen.query(LineBar)
        await press(pilot, "q")
        assert app._exit


async def test_what_is_too_long_for_a_dialog_is_cut_with_a_sign(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        app.push_screen(ChoiceDialog("copy", [DialogChoice("text", "long " * 100, "long")]))
        await settled(pilot)
        line = next(line for line in shown(app).splitlines() if "long long" in line)
        assert line.rstrip(" │").endswith("…")


@pytest.mark.slow
async def test_a_dialog_is_chosen_from_with_the_keys_of_a_list_or_a_click(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        choices = [DialogChoice(name, "", name) for name in ("first", "second", "third", "last")]
        answers: list[str | None] = []
        for keys in (("enter",), ("j", "enter"), ("G", "k", "enter"), ("G", "g", "down", "up", "enter"), ("j", "q")):
            app.push_screen(ChoiceDialog("copy", choices), answers.append)
            await press(pilot, *keys)
        assert answers == ["first", "second", "third", "first", None]
        app.push_screen(ChoiceDialog("copy", choices), answers.append)
        await settled(pilot)
        await pilot.click("ChoiceList", offset=(2, 3))
        assert answers[-1] == "last"


@pytest.mark.slow
async def test_a_sentence_that_is_longer_than_its_dialog_is_wrapped(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), size=(40, 24)) as (app, pilot):
        app.push_screen(LineDialog("name", about="words " * 12, wrong=lambda _: "wrong " * 12 + "end"))
        await settled(pilot)
        assert shown(app).count("words") == 12
        await press(pilot, "enter")
        assert shown(app).count("wrong") == 12
        assert "end" in shown(app)
        await pilot.resize_terminal(100, 24)
        await settled(pilot)
        assert any(line.count("wrong") == 12 for line in shown(app).splitlines())


async def test_a_database_that_could_not_be_read_is_given_no_number_of_chains(tmp_path: Path) -> None:
    async with running(str(tmp_path / "none.db")) as (app, _):
        assert "traces  ○" not in shown(app).splitlines()[0]


async def test_a_view_is_saved_and_applied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with running(filled(tmp_path / "runs.db"), filter_text="model:qwen*") as (app, pilot):
        await press(pilot, "t", "V", "enter", *"mine", "enter")
        assert "The view `mine` is saved." in told(app)
        await press(pilot, "escape", "t")
        assert len(names(app)) == 6
        await press(pilot, "V", "enter")
        assert names(app) == ["session 5", "session 3", "session 1"]
        assert home(app).order is Order.TIME
