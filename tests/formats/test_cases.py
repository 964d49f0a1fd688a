"""Every format's cases: texts and the whole answer that weaklink gives for them, read in one piece and in many."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.formats.format import Format
from inspector.formats.registry import find_format, formats
from inspector.json_text import write_json
from inspector.segmentation import Segmenter
from ui.cli.inputs import tool_definitions
from ui.views.segment_json import segmentation_object

CASES = Path(__file__).parents[1] / "cases" / "formats"
KNOWN = {known.name for known in formats()}
FILES = sorted(path for path in CASES.glob("*/*.jsonl") if path.parent.name in KNOWN)


def answer(name: str | Format, row: dict[str, Any], size: int) -> dict[str, Any]:
    text = row["text"]
    segmenter = Segmenter(name, prompt=row.get("prompt", ""), tools=tool_definitions(row.get("tools", [])))
    for start in range(0, len(text), size):
        segmenter.feed(text[start : start + size])
    segmenter.close()
    segmentation = segmenter.segmentation(text)
    assert "".join(span.range.of(text) for span in segmentation.spans) == text, "the spans do not tile"
    found: dict[str, Any] = json.loads(write_json(segmentation_object(segmentation, row["id"])))
    for diagnostic in found["diagnostics"]:
        for key in ("call", "related"):  # the cases name them only where there are such
            if not diagnostic[key]:
                del diagnostic[key]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_cases(path: Path, update_goldens: bool) -> None:
    check(find_format(path.parent.name), path, update_goldens)


def check(name: Format, path: Path, update_goldens: bool) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    got = [answer(name, row, max(len(row["text"]), 1)) for row in rows]
    assert got == [answer(name, row, 1) for row in rows] == [answer(name, row, 7) for row in rows]
    if update_goldens:
        lines = [write_json({**row, "answer": found}) for row, found in zip(rows, got, strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    for row, found in zip(rows, got, strict=True):
        assert found == row.get("answer"), "if this is right, `make test ARGS='tests/formats --update-goldens'` says so"


def test_every_format_has_cases() -> None:
    assert {path.parent.name for path in FILES} == KNOWN
