"""The rendered prompt is what the published Go template gives; the goldens were made by running that template in Go."""

import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.formats.templates.chatml import render_prompt
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Part, Role, ToolDefinition, Turn
from weaklink.inspector.segmentation import segment

CASES = Path(__file__).parent.parent / "cases" / "hermes_prompt"


def turn_of(message: dict[str, Any]) -> Turn:
    calls = [call["Function"] for call in message.get("ToolCalls", [])]
    parts = [Part("text", message["Content"])]
    parts += [Part(f"call:{index}", call["Arguments"]) for index, call in enumerate(calls)]
    headers = tuple(CallHeader(f"call:{index}", call["Name"]) for index, call in enumerate(calls))
    return Turn(Role(message["Role"]), tuple(parts), calls=headers)


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.json")))
def test_a_conversation_renders_as_the_template_does(name: str) -> None:
    given = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    system = [Turn(Role.SYSTEM, (Part("text", given["System"]),))] if given.get("System") else []
    tools = [
        ToolDefinition(tool["name"], tool["description"], tool["parameters"])
        for tool in (tool["function"] for tool in given.get("Tools", []))
    ]
    expected = (CASES / f"{name}.txt").read_text(encoding="utf-8")
    assert render_prompt([*system, *map(turn_of, given["Messages"])], tools) == expected


def test_a_rendered_prompt_reads_back_as_the_conversation_it_was() -> None:
    text = (CASES / "tools-and-results.txt").read_text(encoding="utf-8")
    trace = read_transcript(text)
    assert "".join(part.text for turn in trace.turns for part in turn.parts) == text
    assert [turn.role.value for turn in trace.turns] == ["system", "user", "assistant", "tool", "assistant", "user"]
    inspection = inspect_trace(trace, format="hermes")
    definitions = [tool.name for part in inspection.parts for tool in part.definitions]
    assert definitions == ["get_forecast", "find_park"]
    assert [(step.call.name, step.outcome.value) for step in inspection.chain.steps] == [
        ("get_forecast", "ok"),
        ("find_park", "ok"),
    ]
    assert inspection.chain.steps[1].result is not None
    assert inspection.chain.steps[1].result.content == '["Rensåsparken"]'


def test_tools_an_object_a_line_are_those_of_a_list_each_at_its_place() -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool_{index}", "parameters": {"type": "object"}}} for index in "ab"
    ]
    lines = f"<tools>\r\n{json.dumps(tools[0])}\r\n\n  {json.dumps(tools[1])} \n</tools>"
    segmentation = segment(lines, "hermes", role=Role.SYSTEM)
    assert [tool.name for tool in segmentation.definitions] == ["tool_a", "tool_b"]
    assert [tool.range and json.loads(tool.range.of(lines)) for tool in segmentation.definitions] == tools
    assert [tool.raw for tool in segmentation.definitions] == [json.dumps(tool) for tool in tools]
    again = segment(f"Again: {lines}", "hermes", role=Role.SYSTEM)
    assert (
        again.definitions[1].parameters is segmentation.definitions[1].parameters
    )  # its validator is found by identity
    listed = segment(f"<tools>{json.dumps(tools)}</tools>", "hermes", role=Role.SYSTEM)
    assert [(tool.name, tool.parameters) for tool in listed.definitions] == [
        (tool.name, tool.parameters) for tool in segmentation.definitions
    ]


def test_one_damaged_line_of_tools_is_a_fault_at_its_place() -> None:
    text = '<tools>\n{"name": "a"}\n{"name": "b",}\n{"name": "c", "name": "d"}\n</tools>'
    segmentation = segment(text, "hermes", role=Role.SYSTEM)
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["J104", "J108"]
    assert segmentation.diagnostics[0].range.of(text) == ","
    assert [tool.name for tool in segmentation.definitions] == ["a", "b", "d"]
