"""A value of a database that cannot be read is reported with its place, and everything else is read as before."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from msgspec import Struct

from weaklink.inspector.importers.compression import unpacked_zstd
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.importers.sqlite_tables import MAGIC
from weaklink.inspector.model import Trace, Turn

CASES = Path(__file__).parents[1] / "cases" / "importers"
DATABASES = sorted(path for path in CASES.glob("*/*") if path.is_file() and path.read_bytes().startswith(MAGIC))
OF_THE_MODEL = {"arguments", "options_json"}
"""Columns of JSON that are shown as they are: what is wrong with them is what was written."""


class Value(Struct, frozen=True):
    """A value of a table that holds JSON: its place, its text, and whether it is stored as bytes."""

    table: str
    column: str
    rowid: int
    text: str
    is_binary: bool = False

    def damaged(self, number: int) -> Iterator[object]:
        """Two ways in which a value is damaged: it ends early, and one by turns: it is something else, or lost."""
        cut = self.text[: len(self.text) * 2 // 3]
        for text in (cut, ('"words"', "17", "not JSON", "")[number % 4]):
            yield text.encode() if self.is_binary else text


def values(path: Path) -> Iterator[Value]:
    """Every value in the database that is an object or a list in JSON, plain, as hexadecimal digits or compressed."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            cursor = connection.execute(f'SELECT rowid, * FROM "{table}"')
            columns = [column[0] for column in cursor.description][1:]
            for rowid, *row in cursor:
                for column, value in zip(columns, row, strict=True):
                    with suppress(ValueError, TypeError):
                        stored = unpacked_zstd(value, 1 << 20) if isinstance(value, bytes) else None
                        read = json.loads(stored or value)
                        if isinstance(read, dict | list) and column not in OF_THE_MODEL:
                            text = stored or value
                            shown = text.decode() if isinstance(text, bytes) else str(text)
                            yield Value(table, column, rowid, shown, isinstance(value, bytes))


def sessions(path: Path, source: str) -> tuple[list[Trace], list[Skipped]]:
    records = list(read_source(path, source).records)
    traces = [record for record in records if isinstance(record, Trace)]
    return traces, [record for record in records if isinstance(record, Skipped) and not record.is_irrelevant]


def is_of(turn: Turn, whole: Turn) -> bool:
    """Whether everything that was said in a turn was said in the whole one too, by the same side."""
    texts, whole_texts = ([part.text for part in one.parts] for one in (turn, whole))
    calls, whole_calls = ([(call.name, call.id) for call in one.calls] for one in (turn, whole))
    same_side = (turn.role, turn.result and turn.result.call_id) == (whole.role, whole.result and whole.result.call_id)
    return same_side and all(text in whole_texts for text in texts) and all(call in whole_calls for call in calls)


def is_part(trace: Trace, whole: Trace) -> bool:
    """Whether the turns of a trace are some of the whole one's, in the same order."""
    before = iter(whole.turns)
    return all(any(is_of(turn, other) for other in before) for turn in trace.turns)


def in_words(record: Skipped) -> str:
    return f"{record.record}: {record.reason}"


@pytest.mark.parametrize("path", DATABASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_damage_is_reported_and_takes_nothing_else_along(path: Path, tmp_path: Path) -> None:
    source = path.parent.name
    whole, known = sessions(path, source)
    copy = tmp_path / path.name
    checked = 0
    for number, value in enumerate(values(path)):
        for damaged in value.damaged(number):
            shutil.copyfile(path, copy)
            with closing(sqlite3.connect(copy)) as connection:
                connection.execute(
                    f'UPDATE "{value.table}" SET "{value.column}" = ? WHERE rowid = ?', (damaged, value.rowid)
                )
                connection.commit()
            left, skipped = sessions(copy, source)
            names = [in_words(record) for record in skipped if record not in known]
            what = f"{value.table}.{value.column} of row {value.rowid} as {damaged!r}: {names}"
            if not names:  # the importer does not read this column
                assert [(trace.name, trace.turns) for trace in left] == [
                    (trace.name, trace.turns) for trace in whole
                ], what
                continue
            checked += 1
            assert all("`" in name and ": " in name for name in names), what
            for trace in left:
                assert any(is_part(trace, before) for before in whole), what
    assert checked


def test_a_line_of_pi_that_cannot_be_read_cuts_no_branch(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    entries = [{"type": "session", "id": "s", "cwd": "/harbour", "version": 3}]
    for number, (role, parent) in enumerate(
        [("user", 0), ("assistant", 1), ("user", 2), ("assistant", 3), ("user", 2)], 1
    ):
        message = {"role": role, "content": [{"type": "text", "text": f"word {number}"}]}
        entries.append(
            {"type": "message", "id": f"e{number}", "parentId": f"e{parent}" if parent else None, "message": message}
        )
    lines = [json.dumps(entry) for entry in entries]
    lines[2] = lines[2][:-9]  # e2, the parent of e3 and of the other branch
    path.write_text("\n".join(lines))
    traces, skipped = sessions(path, "pi")
    words = [[turn.parts[0].text for turn in trace.turns] for trace in traces]
    assert words == [["word 1", "word 5"], ["word 1", "word 3", "word 4"]]
    assert [record.record for record in skipped] == ["line 3"]
