"""Each shape of training row becomes the same conversation, with its calls, results and offered tools."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.samples import ROW_PART, Sample, read_sample
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.model import Json, Role
from weaklink.inspector.rules.rule import Severity

FUNCTION = {
    "name": "tide_table",
    "description": "Tides of a harbour.",
    "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
}
TOOL = {"type": "function", "function": FUNCTION}
ARGUMENTS = {"harbour": "Bodø"}
CALL_JSON = json.dumps({"name": "tide_table", "arguments": ARGUMENTS}, ensure_ascii=False)
HERMES = f"<tool_call>\n{CALL_JSON}\n</tool_call>"
BRACKETS = f"[tool_call]\n{CALL_JSON}\n[/tool_call]"
RESULT = '{"high": "14:05"}'
STRUCTURED = {"id": "c1", "type": "function", "function": {"name": "tide_table", "arguments": json.dumps(ARGUMENTS)}}
ASKED = {"role": "user", "content": "When is high tide in Bodø?"}
ANSWERED = {"role": "assistant", "content": "At 14:05."}
CALLED = {"role": "assistant", "content": HERMES}
TOLD = {"role": "tool", "content": RESULT}
SYSTEM = f"Tools:\n<tools>\n{json.dumps(TOOL)}\n</tools>"

SHAPES: dict[str, tuple[Shape, dict[str, Any]]] = {
    "seed": (
        Shape.MESSAGES,
        {
            "type": "single_tool_call",
            "messages": [
                {"role": "system", "content": f"You have tools:\n\n[{json.dumps(FUNCTION)}]"},
                ASKED,
                {"role": "assistant", "content": BRACKETS},
                TOLD,
                ANSWERED,
            ],
        },
    ),
    "sharegpt": (
        Shape.SHAREGPT,
        {
            "conversations": [
                {"from": "system", "value": SYSTEM},
                {"from": "human", "value": ASKED["content"]},
                {"from": "gpt", "value": HERMES},
                {"from": "tool", "value": f"<tool_response>\n{RESULT}\n</tool_response>"},
                {"from": "gpt", "value": "At 14:05."},
            ]
        },
    ),
    "hermes-function-calling": (
        Shape.SHAREGPT,
        {
            "id": "7",
            "tools": json.dumps([TOOL]),
            "conversations": [
                {"from": "human", "value": ASKED["content"]},
                {"from": "gpt", "value": HERMES},
                {"from": "tool", "value": f"<tool_response>\n{RESULT}\n</tool_response>"},
                {"from": "gpt", "value": "At 14:05."},
            ],
        },
    ),
    "llama-factory": (
        Shape.SHAREGPT,
        {
            "system": "Be brief.",
            "tools": json.dumps([FUNCTION]),
            "conversations": [
                {"from": "human", "value": ASKED["content"]},
                {"from": "function_call", "value": CALL_JSON},
                {"from": "observation", "value": RESULT},
                {"from": "gpt", "value": "At 14:05."},
            ],
        },
    ),
    "openai": (
        Shape.MESSAGES,
        {
            "tools": [TOOL],
            "messages": [
                ASKED,
                {"role": "assistant", "content": None, "tool_calls": [STRUCTURED]},
                {"role": "tool", "tool_call_id": "c1", "content": RESULT},
                ANSWERED,
            ],
        },
    ),
    "openai-json-text": (
        Shape.MESSAGES,
        {
            "functions": json.dumps([FUNCTION]),
            "messages": json.dumps(
                [
                    ASKED,
                    {"role": "assistant", "content": None, "tool_calls": [STRUCTURED]},
                    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
                    ANSWERED,
                ]
            ),
        },
    ),
    "anthropic": (
        Shape.MESSAGES,
        {
            "system": "Be brief.",
            "tools": [{"name": "tide_table", "description": "", "input_schema": FUNCTION["parameters"]}],
            "messages": [
                ASKED,
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "tide_table", "input": ARGUMENTS}],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RESULT}]},
                {"role": "assistant", "content": [{"type": "text", "text": "At 14:05."}]},
            ],
        },
    ),
    "trl-prompt-completion": (
        Shape.PROMPT_COMPLETION,
        {"tools": [TOOL], "prompt": [ASKED], "completion": [CALLED, TOLD, ANSWERED]},
    ),
    "trl-preference": (
        Shape.PREFERENCE,
        {"tools": [TOOL], "prompt": [ASKED], "chosen": [CALLED, TOLD, ANSWERED], "rejected": [ANSWERED]},
    ),
    "instruction": (
        Shape.INSTRUCTION,
        {"tools": [TOOL], "instruction": "When is high tide", "input": "in Bodø?", "output": HERMES},
    ),
    "segments": (
        Shape.SEGMENTS,
        {
            "tools": [TOOL],
            "segments": [
                {
                    "label": False,
                    "text": "<|im_start|>user\nWhen is high tide in Bodø?<|im_end|>\n<|im_start|>assistant\n",
                },
                {"label": True, "text": f"{HERMES}<|im_end|>"},
            ],
        },
    ),
    "completion": (Shape.COMPLETION, {"tools": [TOOL], "prompt": "When is high tide in Bodø?", "completion": HERMES}),
}


def sample_of(value: dict[str, Any]) -> Sample:
    return read_sample(DataRow("train.jsonl", "line 3", 3, value))


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_the_same_call_and_offer(name: str) -> None:
    shape, value = SHAPES[name]
    sample = sample_of(value)
    assert sample.shape is shape
    steps = sample.inspection.chain.steps
    assert [(step.call.name, step.call.arguments) for step in steps] == [("tide_table", ARGUMENTS)]
    assert [tool.name for tool in sample.offered.tools] == ["tide_table"]
    assert sample.offered.is_readable
    assert next(iter(sample.texts(Role.USER))).replace("\n", " ") in (
        "When is high tide in Bodø?",
        "When is high tide in Bodø? ",
    )
    if any(turn.role is Role.TOOL for turn in sample.trace.turns):
        (result,) = [step.result for step in steps]
        assert result is not None
        assert json.loads(result.content) == {"high": "14:05"}


def test_a_sample_has_its_place_id_type_and_annotation() -> None:
    sample = sample_of(
        {"id": 5, "type": "no_tool_call", "annotation": {"should_call_tool": False}, "messages": [ASKED, ANSWERED]}
    )
    assert (sample.reference, sample.id, sample.type) == ("train.jsonl:line 3", "5", "no_tool_call")
    assert (sample.should_call, sample.offered.origin) == (False, None)


def test_a_separate_system_field_counts_as_the_first_turn() -> None:
    sample = sample_of(SHAPES["llama-factory"][1])
    assert (sample.trace.turns[0].role, sample.first_turn, len(sample.messages)) == (Role.SYSTEM, 2, 4)


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ("[{'name': 'f'}]", "`tools` is not valid JSON"),
        ('[{"name": "f"}', "`tools` is not valid JSON"),
        ('{"name": "f"}', "not a list"),
        ([{"description": "x"}], "tool 1 in `tools` has no name"),
        (["f"], "tool 1 in `tools` has no name"),
    ],
)
def test_a_list_of_tools_that_cannot_be_read_says_why(tools: Any, reason: str) -> None:
    offered = sample_of({"messages": [ASKED], "tools": tools}).offered
    assert offered.origin == "tools"
    assert reason in (offered.error or "")


def test_an_empty_list_offers_nothing_and_is_readable() -> None:
    assert sample_of({"messages": [ASKED], "tools": []}).offered.is_readable


def test_the_row_itself_is_a_part_of_the_reported_trace() -> None:
    sample = sample_of({"note": "no conversation"})
    assert (sample.shape, len(sample.trace.turns)) == (None, 0)
    part = sample.reported_trace.turns[0].part(ROW_PART)
    assert part is not None
    assert json.loads(part.text) == {"note": "no conversation"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "from", "value", "tool_calls", "function", "name", "arguments", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KEYS = [
    *("messages", "conversations", "prompt", "completion", "chosen", "instruction", "output", "segments", "text"),
    *("tools", "functions", "system", "type", "id", "annotation", "history"),
]


@given(value=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5))
def test_no_row_raises(value: dict[str, Any]) -> None:
    sample = sample_of(value)
    assert (sample.shape is None) == (not sample.trace.turns)
    assert sample.inspection.chain is not None
    assert sample.offered is not None
    assert (sample.id, sample.type, sample.annotation, sample.should_call) is not None
    assert sample.reported_trace.turns[0].part(ROW_PART) is not None


@pytest.mark.parametrize(
    "name", ["seed", "sharegpt", "hermes-function-calling", "llama-factory", "openai", "anthropic"]
)
def test_a_sound_sample_of_each_shape_is_clean(name: str) -> None:
    assert lint_sample(sample_of(SHAPES[name][1])) == []


def test_a_deliberate_fault_and_its_error_result_are_infos() -> None:
    wrong = HERMES.replace('"Bodø"', "5")
    messages = [
        ASKED,
        {"role": "assistant", "content": wrong, "weight": 0},
        {"role": "tool", "content": '{"error": "harbour must be a string"}'},
        CALLED,
        TOLD,
        ANSWERED,
    ]
    diagnostics = lint_sample(sample_of({"type": "error_recovery", "messages": messages, "tools": [TOOL]}))
    assert {diagnostic.rule.code for diagnostic in diagnostics} == {"S202"}
    assert {diagnostic.rule.severity for diagnostic in diagnostics} == {Severity.INFO}


@pytest.mark.parametrize("indent", [None, 4])
def test_tools_are_read_from_definitions_that_stand_one_by_one_in_the_system_prompt(indent: int | None) -> None:
    listed = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in ("one", "two")
    ]
    words = "Call these.\n\n" + "\n\n".join(json.dumps(record, indent=indent) for record in listed)
    messages: list[Json] = [{"role": "system", "content": words}, {"role": "user", "content": "Hi."}]
    offered = read_sample(DataRow("a.jsonl", "line 1", 1, {"messages": messages})).offered
    assert ([tool.name for tool in offered.tools], offered.origin) == (["one", "two"], "system")


def test_a_schema_and_an_object_have_one_finding_each() -> None:
    typed: dict[str, Any] = {"type": "dict", "properties": {name: {"type": "str"} for name in "abc"}}
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    tools = [
        {"name": "f", "description": "F", "parameters": typed},
        {"name": "g", "description": "G", "parameters": closed},
    ]
    calls = ({"a": "x", "b": 1, "c": 2}, {"a": "y", "d": 1, "e": 2, "f": 3})
    texts = [f"<tool_call>\n{json.dumps({'name': 'g', 'arguments': call})}\n</tool_call>" for call in calls]
    texts.insert(0, '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>')
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "\n".join(texts)}]
    diagnostics = lint_sample(sample_of({"messages": messages, "tools": tools}))
    unknown = [diagnostic for diagnostic in diagnostics if diagnostic.rule.code == "S203"]
    assert [len(diagnostic.fault.related) for diagnostic in unknown] == [1, 2]
    assert "Nor has it `e`, `f`." in unknown[1].fault.message
    (schema,) = [diagnostic for diagnostic in diagnostics if diagnostic.rule.code == "S207"]
    assert "The schema has 3 more faults." in schema.fault.message
