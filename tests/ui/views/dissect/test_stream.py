"""The stream's layout: nothing of the text is lost, places lead to rows and back, and only what is seen is made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.strategies import texts
from tests.ui.views.dissect import scenes
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.text import Range
from weaklink.ui.views.dissect import stream
from weaklink.ui.views.dissect.outline import BLOCK_CHARS
from weaklink.ui.views.dissect.stream import BlockRow, StreamLayout
from weaklink.ui.views.dissect.stream_rows import BlockRows, RowKind, StreamRow
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.styled_text import plain, visible_line, width_of


def streams() -> st.SearchStrategy[str]:
    """Texts with markers, wide characters, combining ones, joiners and long lines."""
    odd = st.sampled_from(
        ("日本", "👩‍👩‍👧", "e\u0301", "\u0301", "\u202e", "\t", "  ", "\n\n", "x" * 40, "\x1b[2J", "\r\n")
    )
    return st.lists(st.one_of(texts(), odd)).map("".join)


def layouts() -> st.SearchStrategy[StreamLayout]:
    options = st.builds(StreamOptions, wrap=st.booleans(), white_space=st.booleans(), chunks=st.booleans())
    return st.builds(
        lambda text, chunk, width, chosen: StreamLayout(scenes.of_text(text, chunk=chunk), width, chosen),
        streams(),
        st.integers(0, 5),
        st.integers(32, 60),
        options,
    )


def text_rows(layout: StreamLayout, part: int) -> list[tuple[BlockRow, StreamRow]]:
    rows = layout.below(layout.first())
    return [(spot, row) for spot, row in rows if row.kind is RowKind.TEXT and row.part == part]


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(layouts())
def test_rows_show_every_character_once_in_order(layout: StreamLayout) -> None:
    text = layout.dissection.parts[1].text
    places = [row.range for _, row in text_rows(layout, 1) if row.range is not None]
    assert "".join(range_.of(text) for range_ in places) == text
    assert [range_.start for range_ in places] == [0, *(range_.end for range_ in places)][: len(places)]


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(layouts())
def test_a_row_says_its_characters_and_ends_in_the_cells_that_it_promises(layout: StreamLayout) -> None:
    text = layout.dissection.parts[1].text
    for _, row in text_rows(layout, 1):
        assert row.range is not None
        assert width_of(row.line) == layout.cells(row)[-1] or not text
        if not layout.options.white_space:
            shown = plain(row.line).partition("│ ")[2].replace("⟨", "").replace("⟩", "")
            said = visible_line(row.range.of(text).replace("\n", "").replace("\t", "    "))
            assert shown == (said.replace("⟨", "").replace("⟩", "") if text else "(empty)")


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(layouts())
def test_wrapped_rows_keep_to_the_width(layout: StreamLayout) -> None:
    if layout.options.wrap:
        assert [plain(row.line) for _, row in layout.below(layout.first()) if width_of(row.line) > layout.width] == []


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(layouts(), st.data())
def test_a_character_leads_to_its_row_and_its_cell_back_to_the_character(
    layout: StreamLayout, data: st.DataObject
) -> None:
    text = layout.dissection.parts[1].text
    if not text:
        return
    offset = data.draw(st.integers(0, len(text) - 1))
    row = layout.row(layout.find_in(1, offset))
    assert row.range is not None
    assert row.range.start <= offset < row.range.end
    cells = layout.cells(row)
    index = offset - row.range.start
    pointed = layout.offset(row, cells[index])
    assert pointed is not None
    assert cells[pointed - row.range.start] == cells[index]
    if cells[index] != cells[index + 1]:
        assert pointed == offset


@in_the_gate(25, most=400)  # each lays out a whole trace
@given(layouts())
def test_walking_up_meets_the_rows_of_walking_down(layout: StreamLayout) -> None:
    down = [spot for spot, _ in layout.below(layout.first())]
    assert [spot for spot, _ in layout.above(layout.last())] == down[-2::-1]
    assert layout.count == len(down)
    assert [layout.number(spot) for spot in down] == list(range(len(down)))
    assert [layout.spot(number) for number in range(len(down))] == down
    assert layout.moved(layout.first(), len(down) + 5) == layout.last()
    assert layout.moved(layout.last(), -len(down) - 5) == layout.first()


def test_only_the_blocks_that_are_seen_are_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    rows = BlockRows

    def counted(*arguments: object) -> object:
        made.append(1)
        return rows(*arguments)  # type: ignore[arg-type]  # handed on as they came

    dissection = scenes.of_text("one line of the stream\n" * 100_000)
    monkeypatch.setattr(stream, "BlockRows", counted)
    layout = StreamLayout(dissection, 80, StreamOptions())
    end = layout.find(Location(2, "text", Range(2_000_000, 2_000_001)))
    assert end is not None
    assert layout.row(end).range is not None
    assert len(made) <= 2


@pytest.mark.slow
def test_blocks_that_were_left_are_forgotten_and_made_again_alike() -> None:
    layout = StreamLayout(scenes.of_text("one line of the stream\n" * 20_000), 80, StreamOptions())
    first = [row for _, row in layout.below(layout.first())]
    assert len(layout._laid) < 100
    assert [row for _, row in layout.below(layout.first())] == first


def test_a_spot_stays_true_while_guesses_above_it_are_mended() -> None:
    layout = StreamLayout(scenes.of_text("日本語 " * 20_000), 60, StreamOptions())
    spot = layout.find_in(1, 50_000)
    row_range = layout.row(spot).range
    before = layout.number(spot)
    for _ in layout.above(spot):
        pass
    assert layout.number(spot) != before
    assert layout.row(spot).range == row_range
    assert layout.spot(layout.number(spot)) == spot


def test_exactly_the_characters_of_a_value_are_lit() -> None:
    dissection = scenes.streamed()
    layout = StreamLayout(dissection, 80, StreamOptions(white_space=True))
    text = dissection.parts[1].text
    start = text.index('"Oslo"')
    location = Location(2, "text", Range(start, start + 6))
    spot = layout.find(location)
    assert spot is not None
    row = layout.row(spot)
    lit = layout.lit(row, location)
    assert lit is not None
    assert plain(row.line)[lit.start : lit.end] == '"Oslo"'
    assert [
        other for index, other in layout.below(layout.first()) if index != spot and layout.lit(other, location)
    ] == []


def test_a_place_in_no_part_leads_to_its_turn() -> None:
    layout = StreamLayout(scenes.broken(), 80, StreamOptions())
    spot = layout.find(Location(7, "text", Range(0, 0)))
    assert spot is not None
    assert "7 assistant" in plain(layout.row(spot).line)
    assert layout.find(Location(70, "text", Range(0, 0))) is None


@pytest.mark.parametrize("length", [0, 1, BLOCK_CHARS - 1, BLOCK_CHARS, BLOCK_CHARS + 1, 3 * BLOCK_CHARS])
def test_a_text_of_any_length_has_its_last_character_in_its_last_row(length: int) -> None:
    layout = StreamLayout(scenes.of_text("a" * length), 40, StreamOptions())
    assert layout.find_in(1, length) == text_rows(layout, 1)[-1][0]
