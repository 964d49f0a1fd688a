"""Raw outputs that were written before the code was looked at: what they mean is read, or reported.

The files `independent*.yaml` have for each text the calls that its model means; `broken` ones have something wrong with
them.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.case_files import LOADER
from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.ui.cli.files import tool_definitions

FOLDER = Path(__file__).parents[1] / "cases" / "servers"
FILES: list[dict[str, Any]] = [
    yaml.load(path.read_bytes(), LOADER) for path in sorted(FOLDER.glob("independent*.yaml"))
]
CASES = [{**case, "tools": file["tools"]} for file in FILES for case in file["cases"]]
HEALTHY = [case for case in CASES if not case.get("broken")]
BROKEN = [case for case in CASES if case.get("broken")]
UNREAD = {
    "seed-oss-1": "the template writes values on the tags' line, so line feeds belong to them; vLLM trims them",
    "seed-oss-b1": "as seed-oss-1",
    "lfm2-b2": "a positional argument has no name, and no server guesses one",
    "pythonic-doubled-bracket": "no server reads a list in a list; F317 reports it as an attempted call",
}
"""Why a meant call is neither read as meant nor what the fixes make of it."""


def _read(case: dict[str, Any], text: str) -> Segmentation:
    return segment(text, case["format"], tools=tool_definitions(case["tools"]))


def _values(calls: tuple[ToolCall, ...]) -> list[Any]:
    return [[call.name, call.arguments] for call in calls]


def _serious(segmentation: Segmentation) -> list[str]:
    return [
        diagnostic.rule.code for diagnostic in segmentation.diagnostics if diagnostic.rule.severity is not Severity.INFO
    ]


@pytest.mark.parametrize("case", HEALTHY, ids=[case["id"] for case in HEALTHY])
def test_a_healthy_output_is_read_whole(case: dict[str, Any]) -> None:
    segmentation = _read(case, case["text"])
    assert (_values(segmentation.calls) == case["calls"]) is (case["id"] not in UNREAD)
    assert all(call.valid for call in segmentation.calls)
    assert segmentation.content.strip() == case.get("content", "")
    assert segmentation.reasoning.strip() == case.get("reasoning", "")
    assert _serious(segmentation) == case.get("told", [])


@pytest.mark.parametrize("case", BROKEN, ids=[case["id"] for case in BROKEN])
def test_a_broken_output_has_a_diagnostic_and_its_meant_calls_are_read_or_repaired(case: dict[str, Any]) -> None:
    segmentation = _read(case, case["text"])
    assert _serious(segmentation)
    faults = [diagnostic.fault for diagnostic in segmentation.diagnostics]
    repaired = _read(case, apply_fixes(case["text"], faults, only_safe=False))
    read = [*_values(segmentation.calls), *_values(repaired.calls)]
    assert all(call in read for call in case["calls"]) is (case["id"] not in UNREAD)
