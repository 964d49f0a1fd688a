"""`weaklink db scan` finds and replaces what earlier versions stored; `show --redactions` lists what was replaced."""

import json
from pathlib import Path

from tests.redaction.planting import written_in
from tests.ui.conftest import Run

_KEY = "ghp_" + "A1b2C3d4" * 4
_PASSWORD = "Tr0ub4dor3xtra"


def _stored(weaklink: Run, tmp_path: Path) -> None:
    """A database that holds two traces with secrets, and one without."""
    rows = [
        {"messages": [{"role": "user", "content": f"Use {_KEY} and password={_PASSWORD}"}]},
        {"messages": [{"role": "user", "content": "Nothing here."}]},
        {"messages": [{"role": "user", "content": "Log in"}, {"role": "assistant", "content": f"token {_KEY}"}]},
    ]
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    imported = weaklink("import", "chat.jsonl", "--no-redact", "--db", "t.db")
    assert imported.returncode == 0, imported.stderr
    (tmp_path / "chat.jsonl").unlink()


def _is_stored(tmp_path: Path, secret: str) -> bool:
    return any(secret.encode() in raw for raw in written_in(tmp_path, without=tmp_path / "given"))


def test_a_scan_reports_and_replaces_what_is_stored(weaklink: Run, tmp_path: Path) -> None:
    _stored(weaklink, tmp_path)
    assert _is_stored(tmp_path, _PASSWORD)
    report = weaklink("db", "scan", "--dry-run", "--db", "t.db")
    assert report.returncode == 1, report.stderr
    assert b"prefix ghp_" in report.stdout
    assert b"3 traces scanned, 2 with secrets: nothing replaced" in report.stdout
    assert _PASSWORD.encode() not in report.stdout + report.stderr
    assert _is_stored(tmp_path, _PASSWORD)
    replaced = weaklink("db", "scan", "--yes", "--db", "t.db")
    assert replaced.returncode == 0, replaced.stderr
    assert b"secrets replaced" in replaced.stdout
    assert not _is_stored(tmp_path, _PASSWORD)
    assert not _is_stored(tmp_path, _KEY[4:])
    again = weaklink("db", "scan", "--dry-run", "--db", "t.db")
    assert (again.returncode, b"no secret found" in again.stdout) == (0, True)
    assert weaklink("db", "check", "--db", "t.db").returncode == 0
    assert len(weaklink("list", "--json", "--db", "t.db").stdout.splitlines()) == 3
    assert weaklink("search", "password", "--db", "t.db").stdout


def test_a_scan_without_a_terminal_asks_for_an_answer(weaklink: Run, tmp_path: Path) -> None:
    _stored(weaklink, tmp_path)
    refused = weaklink("db", "scan", "--db", "t.db")
    assert refused.returncode == 2
    assert b"--yes or --dry-run" in refused.stderr


def test_what_was_replaced_is_listed_with_its_place_and_rule(weaklink: Run, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": f"Use {_KEY} and password={_PASSWORD}"}]}
    (tmp_path / "chat.jsonl").write_text(json.dumps(row) + "\n")
    assert weaklink("import", "chat.jsonl", "--db", "t.db").returncode == 0
    listed = weaklink("show", "latest", "--redactions", "--db", "t.db")
    assert listed.returncode == 0, listed.stderr
    text = listed.stdout.decode()
    assert "turn 1, text 8-40  32 characters, prefix ghp_" in text
    assert "turn 1, text 54-68  14 characters, name, JSON, YAML" in text
    assert "2 places with asterisks for secrets" in text
    assert weaklink("show", "latest", "--redactions", "--json", "--db", "t.db").returncode == 2
