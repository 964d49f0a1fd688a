"""Phoenix's database is only read, its log included, and what is left of a damaged one is read too."""

import json
import sqlite3
from pathlib import Path

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.importers.telemetry.phoenix import read_phoenix_span
from weaklink.inspector.model import Trace

CASES = Path(__file__).parents[1] / "cases" / "importers" / "phoenix"


def records(path: Path) -> list[Trace | Skipped]:
    return list(read_source(path, "phoenix").records)


def test_reading_a_database_leaves_it_and_its_folder_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    path.write_bytes((CASES / "phoenix.db").read_bytes())
    assert sum(isinstance(one, Trace) for one in records(path)) == 2
    assert path.read_bytes() == (CASES / "phoenix.db").read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == ["phoenix.db"]


def test_spans_that_stand_only_in_the_write_ahead_log_are_read(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    path.write_bytes((CASES / "phoenix.db").read_bytes())
    attributes = {"llm": {"output_messages": [{"message": {"role": "assistant", "content": "Spring."}}]}}
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(
            "INSERT INTO spans VALUES (9, 4, 'ff', NULL, 'late', 'LLM', '2026-03-01 10:00:00', '2026-03-01 10:00:01',"
            " ?, '[]', 'OK', '', 0)",
            [json.dumps(attributes)],
        )
        connection.commit()
        assert path.with_name("phoenix.db-wal").stat().st_size
        found = [one for one in records(path) if isinstance(one, Trace)]
    finally:
        connection.close()
    assert [turn.parts[0].text for turn in found[-1].turns] == ["Spring."]


def test_a_database_that_is_cut_off_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    path.write_bytes((CASES / "phoenix.db").read_bytes()[:3000])
    reasons = [one.reason for one in records(path) if isinstance(one, Skipped)]
    assert any("the rest of the database cannot be read" in reason for reason in reasons)


def test_attributes_are_the_same_whether_flat_or_nested_or_columns() -> None:
    ids: JsonObject = {"context": {"trace_id": "a", "span_id": "b"}, "span_kind": "LLM"}
    flat = read_phoenix_span({**ids, "attributes": {"llm.model_name": "m", "llm.token_count.prompt": 1}})
    nested = read_phoenix_span({**ids, "attributes": {"llm": {"model_name": "m", "token_count": {"prompt": 1}}}})
    columns = read_phoenix_span(
        {
            "context.trace_id": "a",
            "context.span_id": "b",
            "span_kind": "LLM",
            "attributes.llm.model_name": "m",
            "attributes.llm.token_count.prompt": 1,
            "attributes.session.id": None,
        }
    )
    assert flat == nested == columns
