"""The faults that every format must have a case for, or a stated reason why it cannot meet them."""

import json
from pathlib import Path

import pytest

from inspector.formats.registry import formats

CASES = Path(__file__).parents[1] / "cases" / "formats"
EVERY_FORMAT_MEETS = (
    "closing marker in a string",
    "call drafted in reasoning",
    "reasoning that never closes",
    "missing closing tag with complete payload",
    "two objects in one tag",
    "an array in one tag",
    "arguments as a JSON string",
    "the wrong arguments key",
    "a fence inside the tag",
    "near-tag",
    "opener cut at the end of the stream",
    "markup quoted in code",
    "invented result",
)


@pytest.mark.parametrize("name", [known.name for known in formats()])
def test_every_format_has_a_case_for_every_common_fault(name: str) -> None:
    """`elsewhere.json` in the format's folder names the case that shows it, or says why it never comes."""
    folder = CASES / name
    cases = {json.loads(line)["id"] for path in folder.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()}
    path = folder / "elsewhere.json"
    elsewhere = json.loads(path.read_text("utf-8")) if path.exists() else {}
    missing = [fault for fault in EVERY_FORMAT_MEETS if fault not in cases and fault not in elsewhere]
    assert not missing, f"add a case, or say in {path.name} which case shows it (told_by) or why it cannot come (never)"
    for fault, answer in elsewhere.items():
        assert fault in EVERY_FORMAT_MEETS
        assert fault not in cases, "a format that has the case needs no other answer"
        assert answer.get("told_by") in cases or len(answer.get("never", "")) > 20
