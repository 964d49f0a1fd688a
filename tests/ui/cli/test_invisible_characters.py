"""What a command prints of a trace holds no character that a terminal obeys or that a reader cannot see."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.ui.conftest import Run

_SELECTORS = "\ufe0e\ufe0f\U000e0100\U000e01ef"
INVISIBLE = frozenset(
    character
    for character in map(chr, range(sys.maxunicode))
    if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
) - {"\n", "\t"} | set(_SELECTORS)
HOSTILE = f"a{''.join(sorted(INVISIBLE - {chr(0)}))}b"
COMMANDS = {
    "check": ("check", "trace.jsonl"),
    "check for GitHub": ("check", "trace.jsonl", "--output", "github"),
    "check for JUnit": ("check", "trace.jsonl", "--output", "junit"),
    "check for GitLab": ("check", "trace.jsonl", "--output", "gitlab"),
    "check as Markdown": ("check", "trace.jsonl", "--output", "markdown"),
    "segment": ("segment", "--format", "hermes", "raw.txt"),
    "fix": ("data", "fix", "trace.jsonl"),
    "annotate": ("data", "annotate", "trace.jsonl"),
    "list": ("list", "--db", "t.db"),
    "show": ("show", "1", "--db", "t.db"),
    "search": ("search", "Oslo", "--db", "t.db"),
    "stats": ("stats", "--db", "t.db"),
    "diff": ("diff", "1", "1", "--db", "t.db"),
    "report": ("export", "1", "--as", "markdown", "--db", "t.db"),
    "page": ("export", "1", "--as", "html", "--db", "t.db"),
    "wrong filter": ("list", "--filter", f"({HOSTILE}", "--db", "t.db"),
}


@pytest.fixture(scope="module")
def messages() -> str:
    """A conversation whose every text, name and id is hostile."""
    function = {"name": f"f{HOSTILE}", "arguments": f"{{'a{HOSTILE}': 1}}"}
    call = {"id": f"c{HOSTILE}", "type": "function", "function": function}
    said = [
        {"role": "user", "content": f"Oslo {HOSTILE}"},
        {"role": "assistant", "content": HOSTILE, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{HOSTILE}", "content": f"Error: {HOSTILE}"},
        {"role": "assistant", "content": HOSTILE},
    ]
    return json.dumps({"messages": said, "model": f"m{HOSTILE}", "id": HOSTILE})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_invisible_is_printed(weaklink: Run, tmp_path: Path, messages: str, name: str) -> None:
    (tmp_path / "trace.jsonl").write_text(messages + "\n", encoding="utf-8")
    payload = f'{{"name": "f{HOSTILE}", "arguments": {{"a": \'{HOSTILE}\'}}}}'
    (tmp_path / "raw.txt").write_text(f"<tool_call>{payload}</tool_call>{HOSTILE}", encoding="utf-8")
    command = COMMANDS[name]
    if "--db" in command:
        assert weaklink("import", "trace.jsonl", "--db", "t.db").returncode == 0
    done = weaklink(*command)
    printed = done.stdout.decode() + done.stderr.decode()
    assert printed.strip()
    assert not [hex(ord(character)) for character in set(printed) & INVISIBLE]
