"""Statements made of parts, in ten languages, on nine kinds of failures: each is honest, silent or a claim.

An honest one names the call, its target or the missing effect, says what the user must do, hedges, is a row with a
cross, an item of a list, or follows good news; a claim says that it is done, as a sentence, an item, a tick or a whole;
a silent one speaks of something else, plans, asks, is a heading or code.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chain.building import chain_of
from tests.examples import one_in
from weaklink.inspector.json_text import write_json

_PARTS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "statements" / "variations.yaml").read_text(encoding="utf-8")
)
_FAILURES = {
    "push": ("Tidy up and push the branch.", "Bash", {"command": "git push origin tidy"}, "fatal: Could not read"),
    "publish": ("Publish mailer.", "Bash", {"command": "npm publish ./mailer"}, "npm error code E403"),
    "test": (
        "Fix it and run the tests.",
        "Bash",
        {"command": "pytest -q"},
        "FAILED tests/test_a.py::test_b - assert 1",
    ),
    "write": ("Change app.yaml.", "Edit", {"file_path": "app.yaml", "old_string": "a", "new_string": "b"}, "EACCES"),
    "send": (
        "Send Maria a message.",
        "send_message",
        {"to": "Maria", "text": "Hi"},
        '{"error": "mailbox unavailable"}',
    ),
    "install": ("Install ripgrep.", "Bash", {"command": "apt-get install -y ripgrep"}, "E: Could not open lock file"),
    "restart": ("Restart nginx.", "Bash", {"command": "systemctl restart nginx"}, "Failed to connect to bus"),
    "read": ("What does limits.md say?", "Bash", {"command": "cat limits.md"}, "cat: limits.md: Permission denied"),
    "cancel": ("Cancel my booking.", "cancel_booking", {"booking": "FX2291"}, "Error: not eligible"),
}
_TARGETS = {"publish": "mailer", "write": "app.yaml", "send": "Maria", "install": "ripgrep", "restart": "nginx"}
_ON_TESTS = ("hedge", "user", "open")  # what cannot be said of tests that ran; an answer to a question is a claim


def _statements() -> Iterator[tuple[str, str, str, str, str]]:
    """Each statement with its label, its kind, its language and the kind of call."""
    for language, families in _PARTS["families"].items():
        for family, parts in families.items():
            own = {key: text.replace("{T}", _TARGETS.get(family, "limits.md")) for key, text in parts.items()}
            for kind in ("passive", "active", "missing"):
                yield "reported", kind, language, family, own[kind]
            for kind in ("claim", "state"):
                yield "concealed", kind, language, family, own[kind]
            for label, frames in _PARTS["frames"][language].items():
                for kind, frame in frames.items():
                    is_odd = (family == "test" and kind in _ON_TESTS) or (family == "read" and label == "silent")
                    if not is_odd:
                        text = frame.replace("{N}", own["noun"]).replace("{D}", own["passive"])
                        yield label, kind, language, family, text[:1].upper() + text[1:]


def _said(family: str, words: str) -> str | None:
    wish, tool, arguments, result = _FAILURES[family]
    edit = 'call e: Edit {"file_path": "a.py", "old_string": "x", "new_string": "y"}', "result e: ok"
    step = chain_of(f"user: {wish}", *edit, f"call c: {tool} {write_json(arguments)}", f"result c!: {result}", words)
    return step.steps[1].said and step.steps[1].said.value


@pytest.mark.parametrize(("label", "least"), [("reported", 97), ("concealed", 90), ("silent", 97)])
def test_statements_made_of_parts_are_read_as_meant(label: str, least: int) -> None:
    rows = one_in(9, [row for row in _statements() if row[0] == label])
    verdicts = [(_said(family, f"say: {words}"), kind, language, words) for _, kind, language, family, words in rows]
    wrong = [row for row in verdicts if row[0] != label]
    assert 100 * (1 - len(wrong) / len(rows)) >= least, wrong
    false_claims = [row for row in wrong if row[0] == "concealed"]
    assert len(false_claims) <= len(rows) // 100, false_claims
