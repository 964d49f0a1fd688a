"""A source as a description: which files it recognises, by which of its signs, and which reader gets a file."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.importers.agents.agent_session import AgentSession
from weaklink.inspector.importers.agents.record_maps import Facts
from weaklink.inspector.importers.generations import stored_generation, usage_of
from weaklink.inspector.importers.identity import text_at
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import first_rows
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.json_text import member_at
from weaklink.inspector.model import ExternalId, FinishReason, Instant, Json, ParentTrace, ParentWhy, Trace

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab.", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
)


def _reader(name: str, asked: list[str]) -> Iterator[Trace | Skipped]:
    asked.append(name)
    return iter(())


def _sample(path: Path) -> FileSample:
    file = SourceFile(path)
    return FileSample(file, first_rows(file))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (id, words)")
    connection.close()
    return path


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text('{"other": 1}\n{"note": 2}\n', encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("columns", "confidence"), [({"notes": {"id", "words"}}, 0.95), ({"notes": {"id", "more"}}, 0.0), ({}, 0.0)]
)
def test_a_database_is_recognised_by_all_of_the_columns(
    columns: dict[str, set[str]], confidence: float, database: Path
) -> None:
    source = LogSource(name="notes", signs="notes", columns=columns, reader=lambda _: iter(()))
    assert source.recognises(_sample(database)) == confidence


def test_lines_are_recognised_by_any_row_or_else_by_the_score(lines: Path) -> None:
    def source(member: str) -> LogSource:
        return LogSource(
            name="notes",
            signs="notes",
            is_row=lambda row: member in row,
            confidence=0.7,
            score=lambda sample: 0.2 * len(sample.rows),
            reader=lambda _: iter(()),
        )

    assert source("note").recognises(_sample(lines)) == 0.7
    assert source("nothing").recognises(_sample(lines)) == 0.4


def test_a_database_has_a_reader_of_its_own_where_there_is_one(database: Path, lines: Path) -> None:
    asked: list[str] = []
    both = LogSource(
        name="notes",
        signs="notes",
        reader=lambda _: _reader("lines", asked),
        table_reader=lambda _: _reader("tables", asked),
    )
    only = LogSource(name="notes", signs="notes", reader=lambda _: _reader("only", asked))
    for source in (both, only):
        for path in (lines, database):
            source.read(SourceFile(path))
    assert asked == ["lines", "tables", "only", "only"]


@given(_JSON, st.lists(st.sampled_from("ab"), min_size=1, max_size=4))
def test_a_path_leads_where_its_members_lead_one_by_one(value: Json, keys: list[str]) -> None:
    expected = value
    for key in keys:
        expected = expected.get(key) if isinstance(expected, dict) else None
    assert member_at(value, ".".join(keys)) == expected
    if isinstance(value, dict):
        assert text_at(value, "c", ".".join(keys)) == (expected if isinstance(expected, str) else "")


def test_facts_of_a_session_are_the_newest_ones_but_its_time_is_the_first() -> None:
    session = AgentSession("notes", (("id", "1"), ("file", "")), "line 1")
    Facts(title="name summary")({"name": "", "summary": "Tides", "at": 5, "model": {"id": "m-1"}}, session)
    Facts(started="none at", model="model.id", title="name summary")({"at": 5, "model": {"id": "m-1"}}, session)
    Facts(started="at", model="model.id", title="name", parent="up")({"at": 9, "name": "Ports", "up": "p"}, session)
    session.say("user", "Which port?")
    trace = session.trace()
    assert isinstance(trace, Trace)
    assert (trace.name, trace.model, trace.started) == ("Ports", "m-1", Instant(5.0))
    assert [(one.name, one.value) for one in trace.external_ids] == [("id", "1")]
    assert trace.parent == ParentTrace(ExternalId("session_id", "p"), ParentWhy.SUBAGENT)


def test_what_a_log_states_of_an_answer_may_be_a_value_or_a_text() -> None:
    counts: dict[str, Json] = {"in": 3, "out": True, "cache": {"read": 2}}
    generation = stored_generation(
        started="2026-11-03T10:00:00Z",
        ended=Instant(7.0),
        usage=usage_of(counts, "in", "out", cached="cache.read", reasoning="cache.none"),
        finish="tool_calls",
    )
    assert generation.started == Instant(1793700000.0)
    assert generation.ended == Instant(7.0)
    assert (generation.usage.input_tokens, generation.usage.output_tokens) == (3, None)
    assert (generation.usage.cached_tokens, generation.usage.reasoning_tokens) == (2, None)
    assert generation.finish is FinishReason.TOOL_CALLS
    assert generation.tools_origin is None
