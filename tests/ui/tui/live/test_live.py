"""The live view, on a database that a recorder's thread writes into at the same time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.ui.tui.apps import SIZES, at_home, filled, press, running, settled, shown, told
from weaklink.inspector.capture.events import ChunksArrived, TraceStarted, TurnEnded, TurnStarted
from weaklink.inspector.capture.logged_turn import LoggedTurn
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.model import Chunk, Part, Role, Trace, Turn
from weaklink.storage.live import StoreSink
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.tui.live_screen import ChunkRate, LiveScreen
from weaklink.ui.tui.live_trace import MAX_TURNS, GrowingLines, GrowingTrace
from weaklink.ui.views.styled_text import Line, plain, width_of

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}}},
]
THOUGHT = "<think>Which city?</think>"
BAD = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome",}}\n</tool_call>'
BEGUN = '\n<tool_call>\n{"name": "get_we'


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait, ten seconds at most, until something is so."""
    for _ in range(500):
        if is_so():
            return
        await pilot.pause(0.02)
    raise AssertionError(shown(pilot.app))  # type: ignore[arg-type]  # a WeaklinkApp


def feed(turn: LoggedTurn, text: str) -> None:
    for index in range(0, len(text), 7):
        turn.feed(text[index : index + 7])


def live(app: object) -> LiveScreen:
    screen = app.screen  # type: ignore[attr-defined]  # of the application
    assert isinstance(screen, LiveScreen)
    return screen


def events_of(screen: LiveScreen) -> list[Line]:
    source = screen.events.source
    return [source.line(index, 0) for index in range(source.count)]


def text_of(screen: LiveScreen) -> str:
    return "".join(part.text for turn in screen.growing.turns for part in turn.parts.values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_spans_close_and_faults_appear_while_the_model_still_speaks(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    where = str(tmp_path / "runs.db")
    sink = StoreSink(where)
    with TraceLogger(sink, name="live\x1b[2J one", model="hermes-4") as log:
        log.user("How warm is it?")
        with log.assistant(tools=TOOLS) as turn:
            feed(turn, THOUGHT + BAD + BEGUN)
            sink.flush()
            async with running(where, size=size) as (app, pilot):
                await pilot.press("v")
                await until(pilot, lambda: isinstance(app.screen, LiveScreen))
                screen = live(app)
                await until(pilot, lambda: text_of(screen).endswith("get_we"))
                await until(pilot, lambda: "▸▸ tool_call" in shown(app))
                assert "error[J104]" in shown(app)
                assert "error[S204]" in shown(app)
                await until(pilot, lambda: "2 faults so far" in shown(app))
                assert '{"name": "get_we' in shown(app)
                assert "live␛[2J one" in shown(app)
                assert "\x1b" not in shown(app)
                await pilot.resize_terminal(60, 24)
                await until(pilot, lambda: 10 < max(map(width_of, events_of(screen))) < 60)
                await press_now(pilot, "escape")
                await until(pilot, lambda: at_home(app))
    sink.close()


async def press_now(pilot: Pilot[None], *keys: str) -> None:
    """Press keys on a screen that never rests."""
    await pilot.press(*keys)
    await pilot.pause()


async def test_the_stream_is_held_still_and_goes_on_and_then_becomes_the_dissector(tmp_path: Path) -> None:
    where = str(tmp_path / "runs.db")
    sink = StoreSink(where)
    log = TraceLogger(sink, name="live", model="hermes-4")
    log.user("How warm is it?")
    turn = log.assistant(tools=TOOLS)
    turn.__enter__()
    feed(turn, THOUGHT)
    sink.flush()
    async with running(where, size=(120, 40)) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, LiveScreen))
        screen = live(app)
        await until(pilot, lambda: text_of(screen).endswith("</think>"))
        await press_now(pilot, "p")
        feed(turn, BAD)
        sink.flush()
        await until(pilot, lambda: "chunks waiting" in shown(app) and "paused, 0" not in shown(app))
        assert "get_weather" not in text_of(screen)
        await press_now(pilot, "p")
        await until(pilot, lambda: text_of(screen).endswith("</tool_call>"))
        await press_now(pilot, "g")
        assert "not following" in shown(app)
        await press_now(pilot, "F")
        assert "not following" not in shown(app)
        assert "  following" in shown(app)
        await press_now(pilot, "tab", "tab")
        turn.__exit__(None, None, None)
        log.close()
        sink.close()
        await until(pilot, lambda: isinstance(app.screen, DissectorScreen))
        await settled(pilot)
        assert "live" in shown(app).splitlines()[0]


async def test_f_in_the_dissector_watches_and_o_comes_back(tmp_path: Path) -> None:
    where = str(tmp_path / "runs.db")
    sink = StoreSink(where)
    with TraceLogger(sink, name="live", model="hermes-4") as log, log.assistant(tools=TOOLS) as turn:
        feed(turn, THOUGHT)
        sink.flush()
        async with running(where, size=(120, 40)) as (app, pilot):
            await press(pilot, "enter")
            await press_now(pilot, "F")
            await until(pilot, lambda: isinstance(app.screen, LiveScreen))
            await press_now(pilot, "o")
            await until(pilot, lambda: isinstance(app.screen, DissectorScreen))
    sink.close()


async def test_where_nothing_is_recorded_it_says_so(tmp_path: Path) -> None:
    async with running(filled(tmp_path / "runs.db")) as (app, pilot):
        await press(pilot, "v")
        await settled(pilot)
        assert "Nothing is being recorded now." in told(app)
        assert at_home(app)


@pytest.mark.slow
async def test_a_database_that_vanishes_is_said_and_watched_again(tmp_path: Path) -> None:
    where = tmp_path / "runs.db"
    sink = StoreSink(str(where))
    with TraceLogger(sink, name="live", model="hermes-4") as log, log.assistant(tools=TOOLS) as turn:
        feed(turn, THOUGHT)
        sink.flush()
        async with running(str(where), size=(120, 40)) as (app, pilot):
            await pilot.press("v")
            await until(pilot, lambda: isinstance(app.screen, LiveScreen))
            away = {path: path.with_name(f"away-{path.name}") for path in tmp_path.glob("runs.db*")}
            for path, aside in away.items():
                path.rename(aside)
            await until(pilot, lambda: "was removed or renamed" in shown(app).splitlines()[0])
            for path, aside in away.items():
                aside.rename(path)
            await press_now(pilot, "ctrl+r")
            await until(pilot, lambda: "was removed or renamed" not in shown(app).splitlines()[0])
            await until(pilot, lambda: text_of(live(app)).endswith("</think>"))
    sink.close()


def growing() -> tuple[GrowingTrace, list[str]]:
    said: list[str] = []
    growing_trace = GrowingTrace(
        lambda turn, span, words, calls: said.append(span.kind.value),
        lambda diagnostic: said.append(diagnostic.rule.code),
    )
    growing_trace.add(TraceStarted("1", Trace((), model="hermes-4")))
    growing_trace.add(TurnStarted("1", 1, Role.ASSISTANT))
    return growing_trace, said


def test_missing_numbers_are_counted_as_dropped() -> None:
    live_trace, _ = growing()
    live_trace.add(ChunksArrived("1", 1, (Chunk(0, "text", "a"), Chunk(4, "text", "b"))))
    assert (live_trace.chunks, live_trace.dropped) == (2, 3)


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_lines_that_grow_are_those_of_the_whole(size: int) -> None:
    text = THOUGHT + "\nI look.\n" + BAD + "\nand 日本語 \x1b[2J more" + BEGUN
    lines = []
    for step in (size, len(text)):
        live_trace, _ = growing()
        shown_lines = GrowingLines(live_trace, 80)
        for number, position in enumerate(range(0, len(text), step)):
            live_trace.add(ChunksArrived("1", 1, (Chunk(number, "text", text[position : position + step]),)))
            shown_lines.update()
        lines.append([plain(shown_lines.line(index, 80)) for index in range(shown_lines.count)])
    assert lines[0] == lines[1]
    assert not any("\x1b" in line for line in lines[0])


def test_of_very_many_turns_the_last_are_held_and_what_is_read_stays_in_sight() -> None:
    live_trace, _ = growing()
    lines = GrowingLines(live_trace, 80)
    read, position, count = "", 0, MAX_TURNS + 50
    for number in range(1, count + 1):
        live_trace.add(TurnStarted("1", number, Role.ASSISTANT))
        text = f"{number} {BAD}"
        live_trace.add(ChunksArrived("1", number, (Chunk(0, "text", text),)))
        live_trace.add(TurnEnded("1", number, Turn(Role.ASSISTANT, (Part("text", text),))))
        position -= lines.update()
        if number == MAX_TURNS:
            position = next(index for index in range(lines.count) if "100 assistant" in plain(lines.line(index, 80)))
            read = plain(lines.line(position, 80))
    assert len(live_trace.turns) == MAX_TURNS
    assert live_trace.before == 50
    assert (live_trace.chunks, live_trace.faults) == (count, live_trace.turns[0].faults * count)
    assert live_trace.faults >= count
    said = [plain(lines.line(index, 80)) for index in range(lines.count)]
    assert "50 earlier turns" in said[0]
    assert "── 51 assistant" in said[1]
    assert said[position] == read


def test_of_a_long_open_span_the_end_is_laid_out() -> None:
    live_trace, _ = growing()
    live_trace.add(ChunksArrived("1", 1, (Chunk(0, "text", "<think>" + "word " * 100_000),)))
    shown_lines = GrowingLines(live_trace, 80)
    shown_lines.update()
    assert shown_lines.count < 120
    assert "earlier characters" in plain(shown_lines.line(1, 80))


def test_the_rate_counts_by_the_second() -> None:
    rate = ChunkRate()
    for at_s, chunks in ((10.0, 4), (10.9, 4), (11.5, 2), (13.2, 1)):
        rate.count(chunks, at_s)
    assert rate.bars(10) == "█▃▁▂"
    assert rate.per_second == 0
    rate.count(0, 14.0)
    assert rate.per_second == 1
