"""A file that is opened without an import: rows of training data with their D faults, logs as `check` sees them."""

import json
from pathlib import Path
from typing import cast

import pytest

from tests.ui.tui.test_terminal import Terminal
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.rules.rule import Severity
from weaklink.storage.store import open_store
from weaklink.ui.importing.opened_file import store_file

SECRET = "sk-" + "a8Kx2mQ9vTz4LpRw7NcY" * 2
ROWS: list[dict[str, object]] = [
    {
        "type": "no_tool_call",
        "tools": [{"name": "f", "parameters": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": f"My key is {SECRET}"},
            {"role": "assistant", "content": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'},
        ],
    },
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "See [insert your link here]."}]},
]


def codes(database: Path) -> list[list[str]]:
    with open_store(database, create=False) as store:
        ids = [summary.id for summary in store.traces()]
        return [[diagnostic.rule.code for diagnostic in store.inspection(id).diagnostics] for id in sorted(ids)]


def written(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_rows_have_the_faults_that_data_lint_finds_and_no_secrets(tmp_path: Path) -> None:
    path, database = written(tmp_path / "set.jsonl", [*map(json.dumps, ROWS), "{broken"]), tmp_path / "set.db"
    done: list[int] = []
    assert store_file(path, database, done.append) == 1
    assert sum(done) == 2
    first, second = codes(database)
    assert {"D701", "D703"} <= set(first)  # faults of the row, in its JSON text
    assert second == ["D709"]
    assert SECRET.encode() not in database.read_bytes()
    with open_store(database, create=False) as store:
        texts = [
            part.text
            for id in [summary.id for summary in store.traces()]
            for turn in store.trace(id).turns
            for part in turn.parts
        ]
    assert any('"type": "no_tool_call"' in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_a_fault_keeps_the_severity_that_data_lint_gives_it(tmp_path: Path) -> None:
    turns = [{"role": "tool", "content": "1"}, {"role": "assistant", "content": "1"}]
    row = {"messages": [*cast(list[object], ROWS[0]["messages"]), *turns]}
    store_file(written(tmp_path / "set.jsonl", [json.dumps(row)]), tmp_path / "set.db", lambda _: None)
    with open_store(tmp_path / "set.db", create=False) as store:
        severities = {found.rule.code: found.rule.severity for found in store.inspection(1).diagnostics}
    assert severities["D707"] is Severity.INFO


def test_a_log_has_the_faults_of_check_and_a_file_without_records_is_refused(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {"a": 1,}}\n</tool_call>'
    path = tmp_path / "raw.txt"
    path.write_text(text, encoding="utf-8")
    store_file(str(path), tmp_path / "raw.db", lambda _: None)
    assert "J104" in codes(tmp_path / "raw.db")[0]
    with pytest.raises(UnreadableFileError):
        store_file(written(tmp_path / "none.jsonl", ["{broken", "{broken"]), tmp_path / "none.db", lambda _: None)


def test_the_terminal_opens_a_training_file(tmp_path: Path) -> None:
    written(tmp_path / "train.jsonl", [*map(json.dumps, ROWS), "{broken"])
    terminal = Terminal(tmp_path, "tui", "train.jsonl", TERM="xterm-256color")
    terminal.wait_for("train.jsonl ▸ traces")
    terminal.wait_for("2 traces")
    terminal.wait_for("1 record could not be read")
    terminal.press(b"\x11")
    assert terminal.end() == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["train.jsonl"]
