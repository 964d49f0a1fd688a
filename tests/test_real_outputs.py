"""Real outputs of real models, where a folder of them lies beside the checkout; it is not part of the project."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.segmentation import segment

SHARED = Path(__file__).parents[2] / "shared"
RESULTS = sorted(SHARED.glob("samples/bfcl/v1-results/*/*.json"))
OUTPUTS = SHARED / "cases" / "outputs.jsonl"
PAYLOADS = re.compile(r"<tool_call>(.*?)(?=</tool_call>|<tool_call>|\Z)", re.DOTALL)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def is_strict(payload: str) -> bool:
    try:
        json.loads(payload)
    except ValueError:
        return False
    return True


@pytest.mark.skipif(not RESULTS, reason="no folder of real results beside the checkout")
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_call_of_hermes_2_pro_is_found_and_every_fault_lies_in_its_call(path: Path) -> None:
    for row in rows(path):
        text = row["result"]
        segmentation = segment(text, "hermes")
        spans = [span for span in segmentation.spans if span.kind.value == "tool_call"]
        payloads = list(PAYLOADS.finditer(text))
        assert [span.range.start for span in spans] == [match.start() for match in payloads], row["id"]
        for match, span in zip(payloads, spans, strict=True):
            calls = [call for call in segmentation.calls if segmentation.spans[call.span] is span]
            faults = [
                diagnostic
                for diagnostic in segmentation.diagnostics
                if diagnostic.rule.code[0] == "J" and span.range.covers(diagnostic.range)
            ]
            assert [call.valid for call in calls] == [True] if is_strict(match[1]) else faults, row["id"]


@pytest.mark.skipif(not OUTPUTS.exists(), reason="no folder of outputs with their meaning beside the checkout")
def test_outputs_mean_what_their_authors_say() -> None:
    checked = set()
    for row in rows(OUTPUTS):
        if row["class"] != "wellformed":
            continue
        tools = read_tools(row.get("tools", []))
        segmentation = segment(row["input"], row["format"], prompt=row.get("prompt_suffix") or "", tools=tools)
        expected = row["expected"]
        calls = [{"name": call.name, "arguments": call.arguments} for call in segmentation.calls]
        assert calls == [{"name": call["name"], "arguments": call["arguments"]} for call in expected["tool_calls"]], (
            row["id"]
        )
        if "content_unasserted" not in row["tags"]:
            assert segmentation.content.strip() == (expected["content"] or "").strip(), row["id"]
        checked.add(row["format"])
    assert checked == {"functionary", "harmony", "hermes", "qwen"}
