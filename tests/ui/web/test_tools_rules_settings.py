"""The pages about tools, rules and the dashboard itself."""

import time
from pathlib import Path

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.web.apps import address, left_for, page, said_in
from weaklink.inspector.checks.schema_complexity import SchemaComplexity
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.maintenance import Retention
from weaklink.storage.store import open_store
from weaklink.ui.views.styled_text import plain
from weaklink.ui.web.components import LinkCell
from weaklink.ui.web.pages.settings import _facts
from weaklink.ui.web.pages.tools import _schema_words

_SECRET = "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_a_tool_is_looked_at_alone_and_all_of_them_again(demo_database: Path) -> None:
    app = page("tools", demo_database, tool="get_weather")
    button = next(drawn for drawn in app.button if drawn.label.startswith("All tools"))
    button.click().run()
    assert address(app) == {}


def test_a_tool_that_broke_no_schema_is_said_to_have_broken_none(demo_database: Path) -> None:
    app = page("tools", demo_database, tool="never_called")
    words = "No argument of the selected tool violates its schema. For schema compliance, calls that are"
    assert any(caption.value.startswith(words) for caption in app.caption)


def test_without_a_database_the_rules_are_there_and_the_counts_are_not(tmp_path: Path) -> None:
    drawn = said_in(page("rules", tmp_path / "none.db", rule="trailing-comma"))
    assert "There is no database yet, so no traces are counted." in drawn
    assert "error[J104]" in drawn


def test_a_rule_is_explained_with_its_remedy_and_what_weaklink_says_of_its_example(demo_database: Path) -> None:
    drawn = said_in(page("rules", demo_database, rule="trailing-comma"))
    assert "What to do: " in drawn
    assert "error[J104]" in drawn
    assert "Delete the comma." in drawn


def test_a_rule_that_was_found_leads_to_its_traces_and_one_that_was_not_does_not(demo_database: Path) -> None:
    with open_store(demo_database, create=False) as store:
        count = len(store.traces("code:J104", limit=100))
    labels = [button.label for button in page("rules", demo_database, rule="J104").button]
    assert labels == [f"Traces with J104: {count}", "Close"]
    assert [button.label for button in page("rules", demo_database, rule="J117").button] == ["Close"]


@pytest.mark.parametrize("has_experiments", [False, True])
def test_the_number_of_a_status_opens_the_traces_that_it_counts(tmp_path: Path, has_experiments: bool) -> None:
    sources = ("", "", *(("doctor", "replay", "doctor") if has_experiments else ()))
    traces = [trace(f"s{number}", GOOD_CALL, source=source) for number, source in enumerate(sources)]
    with open_store(tmp_path / "t.db") as store:
        store.save(inspected(*traces))
        rows = [row for row in _facts(store.maintenance.stats(), "t.db") if row.key.startswith("status:")]
        numbers = []
        for row in rows:
            _, cell = row.cells
            assert isinstance(cell, LinkCell)
            numbers.append(int(plain(cell.line)))
            assert len(store.traces(row.key)) == numbers[-1]
        assert sum(numbers) == len(traces)


@pytest.mark.parametrize("keeps_broken", [True, False])
@pytest.mark.parametrize("undated", [0, 3])
def test_retention_counts_what_the_command_would_delete(
    tmp_path: Path, *, keeps_broken: bool, undated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "t.db"
    old_s = time.time() - 30 * 86_400
    dated = [
        trace(f"d{index}", answer, started_s=old_s) for index, answer in enumerate((BAD_CALL, GOOD_CALL, GOOD_CALL))
    ]
    answers = [trace("fork", GOOD_CALL, started_s=old_s, source="replay")]
    with open_store(database) as store:
        with monkeypatch.context() as then:
            then.setattr(time, "time", lambda: old_s)
            store.save(inspected(*(trace(f"u{index}", GOOD_CALL) for index in range(undated))))
        store.save(inspected(*dated, *answers, trace("new", GOOD_CALL)))
        doomed = store.maintenance.count_to_prune(Retention(time.time() - 7 * 86_400, keep_broken=keeps_broken))
        assert doomed == 4 + undated - keeps_broken
    app = page("settings", database, age="7d", keep_broken="yes" if keeps_broken else "no")
    assert f"{doomed} traces would be deleted." in said_in(app)
    command = next(code.value for code in app.code if "prune" in code.value)
    assert command.startswith("weaklink db prune --before 7d")
    assert ("--keep-broken" in command) is keeps_broken
    shown = next(button for button in app.button if button.key == "weaklink_doomed")
    listed = doomed - undated
    assert shown.label == (f"Show the other {listed}" if undated else "Show these traces")
    assert any("no recorded time" in caption.value for caption in app.caption) is bool(undated)
    shown.click().run()
    went = left_for(app)
    assert went is not None
    with open_store(database, create=False) as store:
        assert len(store.traces(went[1]["filter"])) == listed


def test_a_secret_is_shown_replaced_and_counted(demo_database: Path) -> None:
    app = page("settings", demo_database)
    text = f"key {_SECRET}\nand <b>nothing</b> else"
    app.text_area(key="weaklink_redacted").input(text).run()
    drawn = said_in(app)
    assert _SECRET not in drawn
    assert "*" * Redactor().text(text).count("*") in drawn
    assert "and &lt;b&gt;nothing&lt;/b&gt; else" in drawn
    assert any("1 secret replaced" in caption.value for caption in app.caption)


def test_a_pattern_of_one_s_own_is_taken_out_and_a_wrong_one_said(demo_database: Path) -> None:
    app = page("settings", demo_database)
    app.text_area(key="weaklink_redacted").input("order customer-42")
    app.text_input(key="weaklink_pattern").input("customer-[0-9]+").run()
    assert "customer-42" not in said_in(app)
    app.text_input(key="weaklink_pattern").input("(").run()
    assert app.error


@pytest.mark.parametrize(("count", "words"), [(1, "depth 2, 1 property"), (2, "depth 2, 2 properties")])
def test_one_property_of_a_schema_is_not_called_several(count: int, words: str) -> None:
    assert plain(_schema_words(SchemaComplexity(2, count))) == words


def test_a_tool_that_only_the_text_of_a_prompt_defines_is_not_said_to_be_missing_from_it() -> None:
    assert plain(_schema_words(None)) == "in no request"


def test_the_settings_name_everything_that_the_dashboard_writes(demo_database: Path) -> None:
    words = "This dashboard writes only marks, notes, imports and the answers to *Ask again* to the database."
    assert words in [caption.value for caption in page("settings", demo_database).caption]
