"""The home screen's list: what it shows, where one stands in it, and that its size does not matter."""

from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.tui.apps import LONG_AGO_S, filled, home, names, press, running, settled, shown
from weaklink.inspector.capture.events import TraceEnded, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.model import ExternalId, Instant, ParentTrace, ParentWhy, Part, Role, Trace, Turn
from weaklink.storage.listing import ListSection, Order
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store, open_store
from weaklink.storage.summaries import ListCursor
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.chains import chain_list
from weaklink.ui.tui.chains.chain_list import PAGE

GOLDENS = Path(__file__).parents[3] / "cases" / "tui"


@pytest.fixture(autouse=True)
def at_a_known_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(chain_list, "_now_s", lambda: LONG_AGO_S + 400 * 86_400)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (250, 30)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_list_stands_in_columns(tmp_path: Path, size: tuple[int, int], update_goldens: bool) -> None:
    async with running(filled(tmp_path / "runs.db"), size=size) as (app, _):
        check(f"chains-{size[0]}x{size[1]}.txt", shown(app), update_goldens)


def check(name: str, got: str, update_goldens: bool) -> None:
    golden = GOLDENS / name
    if update_goldens:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(got)
    assert got == golden.read_text(), "`make test ARGS=--update-goldens` writes what is shown now"


async def test_at_the_start_the_broken_chains_are_first_and_a_key_switches_to_the_newest(tmp_path: Path) -> None:
    broken, others = [f"session {n}" for n in (5, 4, 2, 1)], [f"session {n}" for n in (6, 3, 0)]
    async with running(filled(tmp_path / "runs.db", traces=7)) as (app, pilot):
        assert names(app) == [*broken, *others]
        assert "7 traces, the broken first" in shown(app)
        await press(pilot, "t")
        assert names(app) == [f"session {n}" for n in reversed(range(7))]
        assert "7 traces, the newest first" in shown(app)
        await press(pilot, "t")
        assert names(app) == [*broken, *others]


async def test_with_the_broken_first_a_new_trace_gets_its_place_and_the_cursor_stays(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db", traces=4)
    async with running(where) as (app, pilot):
        await press(pilot, "j")
        with open_store(where) as store:
            store.save(inspected(trace("good", GOOD_CALL, started_s=LONG_AGO_S + 9_000)))
            store.save(inspected(trace("bad", BAD_CALL, started_s=LONG_AGO_S + 9_000)))
        await home(app).beat()
        await settled(pilot)
        assert names(app)[:3] == ["bad", "session 2", "session 1"]
        for _ in range(5):
            await home(app).beat()
            await settled(pilot)
        assert names(app) == ["bad", "session 2", "session 1", "good", "session 3", "session 0"]
        current = home(app).chains.current
        assert current is not None
        assert current.name == "session 1"


async def test_counts_are_of_what_the_filter_lets_through_and_the_total_of_all(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db"), filter_text="model:qwen*") as (app, pilot):
        assert home(app).counts == {"broken": 2, "ok": 1}
        assert "✖ 2 broken" in shown(app)
        assert "3 of 6 traces" in shown(app)
        await press(pilot, "b")
        assert home(app).counts == {"broken": 2}


async def test_names_of_hostile_traces_move_no_column(tmp_path: Path, update_goldens: bool) -> None:
    hostile = (
        "\x1b[2J\x1b]52;c;aGk=\x07 escape",
        "[red]markup[/red] [@click=app.exit()]x[/]",
        "right\u202eto left\u2066",
        "zero\u200bwidth\ufeff",
        "e\u0301\u0301\u0301\u0301 marks",
        "日本語の名前 東京タワーの天気予報について",
        "👩\u200d👩\u200d👧\u200d👦 👍🏽 🇳🇴 ☀\ufe0f",
        "long " * 2_000,
        "null\x00 and \udc80 byte\nnext line\ttab",
    )
    with open_store(tmp_path / "runs.db") as store:
        store.save(
            inspected(
                *(
                    trace(name, BAD_CALL, model=name, started_s=LONG_AGO_S - number)
                    for number, name in enumerate(hostile)
                )
            )
        )
    async with running(str(tmp_path / "runs.db"), size=(120, 24)) as (app, _):
        text = shown(app)
        assert "\x1b" not in text
        assert {strip.cell_length for strip in app.screen._compositor.render_strips()} == {120}
        head, first = text.splitlines()[2:4]
        assert head.index("calls") + len("calls") == first.index("0/1") + len("0/1")
        check("hostile-120x24.txt", text, update_goldens)


async def test_of_a_long_list_only_pages_in_sight_are_read_and_its_end_is_one_key_away(tmp_path: Path) -> None:
    count = 5 * PAGE + 7
    async with running(filled(tmp_path / "runs.db", traces=count), size=(80, 24)) as (app, pilot):
        pages = home(app).chains.pages
        assert (pages.count, pages.is_complete) == (count, True)
        assert not pages.has(2)
        await press(pilot, "G")
        current = home(app).chains.current
        assert current is not None
        assert current.name == "session 0"
        assert not pages.has(2)
        await press(pilot, "g")
        assert home(app).chains.current is not None


@pytest.mark.slow
async def test_the_end_is_reached_though_the_list_is_still_being_walked_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks, may_go_on = chain_list._survey, Event()

    def held_up(store: Store, *, filter_text: str, order: Order, after: ListCursor) -> ListSection:
        may_go_on.wait(60)
        return walks(store, filter_text=filter_text, order=order, after=after)

    monkeypatch.setattr(chain_list, "SURVEYED", PAGE)
    monkeypatch.setattr(chain_list, "_survey", held_up)
    app = WeaklinkApp(filled(tmp_path / "runs.db", traces=3 * PAGE + 7))
    async with app.run_test(size=(80, 24)) as pilot:
        while not home(app).chains.pages.count:
            await pilot.pause(0.01)
        await pilot.press("G")
        assert home(app).chains.pages.count == PAGE
        may_go_on.set()
        await settled(pilot)
        current = home(app).chains.current
        assert current is not None
        assert current.name == "session 0"


async def test_a_running_trace_grows_in_the_list(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    with open_store(where) as store:
        sink = StoreSink(store)
        sink.accept(TraceStarted("run", Trace((), name="still running", started=Instant(LONG_AGO_S + 9_000))))
        sink.accept(TurnEnded("run", 1, Turn(Role.USER, (Part("text", "Hello?"),))))
        sink.flush()
        async with running(where) as (app, pilot):
            assert next(line for line in shown(app).splitlines() if "still running" in line).startswith("▹")
            sink.accept(TurnStarted("run", 2, Role.ASSISTANT))
            sink.flush()
            await home(app).beat()
            await settled(pilot)
            assert next(line for line in shown(app).splitlines() if "still running" in line).startswith("▸")
            assert "▸ 1 running" in shown(app)
            sink.accept(TurnEnded("run", 2, Turn(Role.ASSISTANT, (Part("text", BAD_CALL),))))
            sink.accept(TraceEnded("run"))
            sink.close()
            await home(app).beat()
            await settled(pilot)
            assert next(line for line in shown(app).splitlines() if "still running" in line).startswith("✖")


async def test_a_trace_that_comes_appears_at_the_top_and_the_cursor_stays_with_its_own(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        before = home(app).chains.current
        with open_store(where) as store:
            store.save(inspected(trace("newest", BAD_CALL, started_s=LONG_AGO_S + 9_000)))
        await home(app).beat()
        await settled(pilot)
        assert names(app)[0] == "newest"
        after = home(app).chains.current
        assert before is not None
        assert after is not None
        assert (after.id, home(app).chains.cursor) == (before.id, 1)
        assert "7 traces" in shown(app)


async def test_a_trace_that_comes_with_an_old_time_is_found_too(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "t")
        with open_store(where) as store:
            store.save(inspected(trace("oldest", started_s=1.0)))
        await home(app).beat()
        await settled(pilot)
        assert names(app)[-1] == "oldest"


async def test_paused_nothing_moves_and_what_waits_is_counted(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "p")
        with open_store(where) as store:
            store.save(inspected(trace("newest", BAD_CALL, started_s=LONG_AGO_S + 9_000)))
        await home(app).beat()
        await pilot.pause()
        assert "newest" not in names(app)
        assert "paused, 1 new" in shown(app)
        await press(pilot, "p")
        await home(app).beat()
        await settled(pilot)
        assert names(app)[0] == "newest"


async def test_following_the_cursor_stays_on_the_newest(tmp_path: Path) -> None:
    where = filled(tmp_path / "runs.db")
    async with running(where) as (app, pilot):
        await press(pilot, "j", "F")
        with open_store(where) as store:
            store.save(inspected(trace("newest", BAD_CALL, started_s=LONG_AGO_S + 9_000)))
        await home(app).beat()
        await settled(pilot)
        current = home(app).chains.current
        assert current is not None
        assert current.name == "newest"
        assert "  following" in shown(app)


async def test_forks_are_below_their_parent_and_the_cursor_stays_on_its_trace(tmp_path: Path) -> None:
    parent, other = _named("parent"), _named("other")
    with open_store(tmp_path / "t.db") as store:
        store.save(inspected(parent, _fork(parent, "first"), other))
    async with running(str(tmp_path / "t.db")) as (app, pilot):
        assert names(app) == ["other", "parent", "first"]
        assert "└ fork: first" in shown(app)
        await press(pilot, "j")
        with open_store(tmp_path / "t.db") as store:
            new = _named("new")
            store.save(inspected(new, _fork(new, "second")))
        await home(app).beat()
        await settled(pilot)
        assert names(app) == ["new", "second", "other", "parent", "first"]
        current = home(app).chains.current
        assert current is not None
        assert current.name == "parent"


def _named(name: str) -> Trace:
    return replace(trace(name, BAD_CALL), external_ids=(ExternalId("recording", name),))


def _fork(parent: Trace, name: str) -> Trace:
    return replace(_named(name), parent=ParentTrace(parent.external_ids[0], ParentWhy.FORK))
