"""The timeline of a trace, and what its tokens cost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Instant, Part, RecordedRun, Role, Trace, Turn, Usage
from weaklink.storage.store import open_store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.web.pictures import timing_picture
from weaklink.ui.web.prices import ModelPrice, PriceError, cost_text, find_prices
from weaklink.ui.web.stores import DashboardOptions, set_options, shown_trace
from weaklink.ui.web.trace_api import view_data
from weaklink.ui.web.trace_listing import SORTED_COLUMNS, filled_columns, trace_rows

_CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def _answer(start: float, end: float, text: str = _CALL) -> Turn:
    usage = Usage(input_tokens=1_000, output_tokens=100)
    generation = Generation(
        requested_model="claude-x",
        started=Instant(start),
        first_token=Instant(start + 0.5),
        ended=Instant(end),
        usage=usage,
    )
    return Turn(Role.ASSISTANT, (Part("text", text),), generation=generation)


def _result(run: RecordedRun | None = None) -> Turn:
    return Turn(Role.TOOL, (Part("text", "<tool_response>\nfine\n</tool_response>"),), run=run)


def _trace() -> Trace:
    run = RecordedRun("otlp", started=Instant(1_002.0), ended=Instant(1_003.5))
    turns = (
        Turn(Role.USER, (Part("text", "go"),)),
        _answer(1_000, 1_002),
        _result(run),
        _answer(1_004, 1_006),
        _result(),
        _answer(1_010, 1_011, "done"),
    )
    return Trace(turns, name="timed")


def test_answers_tool_runs_and_the_time_between_answers_are_on_one_axis() -> None:
    picture = timing_picture(_trace())
    assert picture is not None
    rows = {group.key: group.title for group in picture.groups if group.key}
    assert rows == {
        "2": "turn 2, answer: 2.00 s, first chunk after 0.500 s",
        "3": "turn 3, tool run: 1.50 s",
        "4": "turn 4, answer: 2.00 s, first chunk after 0.500 s",
        "5": "turn 5, between two answers: 4.00 s",
        "6": "turn 6, answer: 1.00 s, first chunk after 0.500 s",
    }
    lefts = [group.shapes[1].attributes["x"] for group in picture.groups if group.key]
    assert lefts == sorted(lefts)
    assert [group.shapes[1].text for group in picture.groups if not group.key] == [
        "0",
        "2.0s",
        "4.0s",
        "6.0s",
        "8.0s",
        "10s",
    ]


def test_a_trace_without_times_has_no_timeline() -> None:
    assert timing_picture(Trace((Turn(Role.USER, (Part("text", "go"),)), _result()))) is None


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e5, 1e15])
def test_the_axis_has_few_ticks_whatever_the_time(size: float) -> None:
    picture = timing_picture(Trace((_answer(0, size, "done"),)))
    assert picture is not None
    assert 1 <= sum(not group.key for group in picture.groups) <= 10


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[TraceSummary]:
    trace = _trace()
    with open_store(tmp_path / "w.db") as store:
        store.save([(trace, inspect_trace(trace, format="hermes"))])
    with open_store(tmp_path / "w.db", read_only=True) as store:
        yield store.traces()[0]
    set_options(DashboardOptions())


def _words(summary: TraceSummary) -> str:
    lines = view_data("ending", shown_trace(summary.id), None)["lines"]
    assert isinstance(lines, list)
    return str(lines[0])


def _titles(summary: TraceSummary) -> list[str]:
    return [column.title for column in filled_columns(SORTED_COLUMNS, trace_rows([summary]))[0]]


def test_head_and_list_have_latency_and_tokens_and_the_cost_where_prices_are_configured(
    stored: TraceSummary, tmp_path: Path
) -> None:
    set_options(DashboardOptions(str(tmp_path / "w.db")))
    assert "11s · 3.3k tokens" in _words(stored)
    assert "cost" not in _words(stored)
    assert "cost" not in _titles(stored)
    (tmp_path / "weaklink.toml").write_text('[prices."claude-*"]\ninput = 3.0\noutput = 15\n', encoding="utf-8")
    prices = find_prices(tmp_path)
    assert prices == {"claude-*": ModelPrice(3.0, 15.0)}
    set_options(DashboardOptions(str(tmp_path / "w.db"), prices=prices))
    assert "3.3k tokens · cost 0.0135" in _words(stored)
    assert "cost" in _titles(stored)


@pytest.mark.parametrize(
    "text", ["[prices.x]\ninput = 1", '[prices.x]\ninput = "1"\noutput = 2', "prices = 3", "prices ="]
)
def test_prices_that_cannot_be_read_are_an_error_with_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "weaklink.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PriceError, match=r"weaklink\.toml: the prices cannot be read"):
        find_prices(tmp_path)


def test_a_cost_that_is_too_small_to_print_is_not_nothing() -> None:
    assert [cost_text(cost) for cost in (0.0, 0.00001, 0.5, 1234.5)] == ["0.0000", "<0.0001", "0.5000", "1,234.50"]
