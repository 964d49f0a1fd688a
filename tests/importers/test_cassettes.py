"""Cassettes as YAML: hostile ones raise nothing and take no memory, and a missing library is named."""

import sys
from pathlib import Path

import pytest

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import Trace

HEAD = """interactions:
- request: {method: POST, uri: 'https://api.example.com/v1/chat/completions', body: '{"messages":[]}'}
  response: {status: {code: 200}, body: {string: '{}'}}
"""
LAUGHS = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}' if n else 'ha'] * 9)}]\n" for n in range(12))


def reasons(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "cassette"
    path.write_text(text, encoding="utf-8")
    found = read_source(path)
    assert found.source == "vcr"
    return [record.reason for record in found.records if isinstance(record, Skipped)]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (LAUGHS, "its aliases expand to too many values"),
        ("self: &self [*self]\n", "its values are nested too deeply"),
        ("broken: 'no end\n", "while scanning a quoted scalar"),
        ("date: 2026-99-99\n", "month must be in 1..12"),
        ("object: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_reason(tail: str, reason: str, tmp_path: Path) -> None:
    (told,) = reasons(tmp_path, HEAD + tail)
    assert told.startswith("this is no valid YAML: ")
    assert reason in told


def test_without_the_library_the_file_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert reasons(tmp_path, HEAD) == [
        "reading YAML needs `pyyaml`, which is not installed: pip install 'weaklink[data]'"
    ]


def test_headers_that_yaml_shares_by_an_alias_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cassette"
    exchange = "request: {method: POST, uri: 'http://x/v1/chat/completions', headers: %s, body: '%s'}\n  response: %s\n"
    body = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
    answer = '{status: {code: 200}, headers: *h, body: {string: \'{"choices": [{"message": {"content": "Hello"}}]}\'}}'
    path.write_text("interactions:\n- " + exchange % ("&h {content-type: [application/json]}", body, answer))
    (trace,) = (record for record in read_source(path).records if isinstance(record, Trace))
    assert [part.text for turn in trace.turns for part in turn.parts] == ["Hi", "Hello"]
