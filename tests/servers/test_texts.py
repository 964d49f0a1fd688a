"""Texts of 2026's formats: weaklink reads what the servers' own parsers return, or reports why they do not.

`texts.jsonl` has for each text what one parser's own code returned in `tests/servers/real` (`server` says which;
`other` is SGLang's answer where it differs from vLLM's) and the end of the prompt where the template opens something.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.texts import TOOLS
from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.server_parsers import wrong_predictions
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules.markers import REASONING_OPENED_BY_PROMPT
from weaklink.inspector.segmentation import Segmentation, segment
from weaklink.ui.cli.files import tool_definitions

TEXTS = Path(__file__).parents[1] / "cases" / "servers" / "texts.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]


def _read(row: dict[str, Any]) -> Segmentation:
    format = detect_format(row["text"], row["model"]).format.name
    return segment(row["text"], format, tools=tool_definitions(TOOLS), prompt=row["prompt"])


def _is_returned(segmentation: Segmentation, answer: dict[str, Any]) -> bool:
    return (
        [(call.name, call.arguments) for call in segmentation.calls]
        == [(call["name"], _value(call["arguments"])) for call in answer["tool_calls"]]
        and segmentation.content.strip() == (answer["content"] or "").strip()
        and segmentation.reasoning.strip() == (answer["reasoning"] or "").strip()
    )


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _is_told(segmentation: Segmentation) -> bool:
    """Whether a fault is reported, or that a measured parser returns other calls."""
    faults = [diagnostic.fault for diagnostic in segmentation.diagnostics]
    return any(fault.rule is not REASONING_OPENED_BY_PROMPT for fault in faults) or bool(
        wrong_predictions(segmentation.text, segmentation.format, segmentation.spans, segmentation.calls, faults)
    )


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_what_a_parser_returns_is_read_or_a_fault_is_reported(row: dict[str, Any]) -> None:
    segmentation = _read(row)
    answers = (row["returned"], row.get("other", row["returned"]))
    assert any(_is_returned(segmentation, answer) for answer in answers) or _is_told(segmentation), segmentation


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_every_returned_call_is_read(row: dict[str, Any]) -> None:
    segmentation = _read(row)
    read: list[ToolCall] = list(segmentation.calls)
    drafts = [span for span in segmentation.spans if span.children]
    for call in row["returned"]["tool_calls"]:
        assert drafts or any(candidate.name == call["name"] for candidate in read), (call, segmentation)
