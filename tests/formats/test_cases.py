"""Every format's cases: a text, and the whole answer that weaklink gives for it, read in one piece and in many."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import CaseFields, cases_of, compare
from tests.formats.expectations import KEYS, expectation
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.json_text import write_json
from weaklink.inspector.segmentation import Segmentation, Segmenter
from weaklink.ui.cli.files import tool_definitions
from weaklink.ui.views.segment_json import segmentation_object

CASES = Path(__file__).parents[1] / "cases" / "formats"
KNOWN = {known.name for known in formats()}
FILES = sorted(CASES.glob("*/*.yaml"))


def answer(format: str, case: CaseFields) -> dict[str, Any]:
    """What `weaklink segment` answers for a case."""
    return _shown(reading(format, case))


def _shown(segmentation: Segmentation) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(write_json(segmentation_object(segmentation)))
    return result


def reading(format: str, case: CaseFields, size: int = 0) -> Segmentation:
    """How a case is read whose text comes in pieces of `size` code points (0: whole)."""
    text = case["text"]
    segmenter = Segmenter(
        find_format(format), prompt=case.get("prompt", ""), tools=tool_definitions(case.get("tools", []))
    )
    size = size or max(len(text), 1)
    for start in range(0, len(text), size):
        segmenter.feed(text[start : start + size])
    segmenter.close()
    segmentation = segmenter.segmentation(text)
    assert "".join(span.range.of(text) for span in segmentation.spans) == text, "the spans do not tile"
    return segmentation


@pytest.mark.parametrize(
    ("path", "number", "case"),
    [
        pytest.param(path, number, case, id=f"{path.parent.name}/{path.stem}/{case['id']}")
        for path in FILES
        for number, case in enumerate(cases_of(path))
    ],
)
def test_case(path: Path, number: int, case: CaseFields, update_goldens: bool) -> None:
    format = path.parent.name
    whole = reading(format, case)
    assert whole == reading(format, case, 1) == reading(format, case, 7)
    shown = _shown(whole)
    assert shown["format"] == format
    compare(path, number, KEYS, expectation(shown, case["text"]), update_goldens=update_goldens)


def test_every_format_has_cases() -> None:
    assert {path.parent.name for path in FILES} == KNOWN
