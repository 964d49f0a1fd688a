"""Public training and evaluation sets: a row of each shape is read with its calls, results, tools and reference."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import weaklink
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.convert import convert_row
from weaklink.inspector.dataset.data_files import DataRow, renamed_members
from weaklink.inspector.dataset.injection import InjectedRow, inject_faults
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.rows import open_row_file, read_data
from weaklink.inspector.dataset.samples import Sample, as_listed, read_sample
from weaklink.inspector.dataset.scoring import score_sample
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.data.public_shapes import public_row
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.model import Role
from weaklink.inspector.rules.rule import Severity

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
WEATHER = {"name": "get_weather", "description": "Weather of a city", "parameters": SCHEMA}
OFFERED: list[Any] = [{"type": "function", "function": WEATHER}]
FLAT = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {
        "city": {"description": "The city", "type": "str"},
        "days": {"description": "How many", "type": "int, optional"},
    },
}
GORILLA = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}
ASKED = "Weather in Oslo?"
RESULT = '{"celsius": 18}'
TOLD = "It is 18 degrees in Oslo."
GLAIVE_SYSTEM = "SYSTEM: You are a helpful assistant with access to the following functions. Use them if required -\n"
GLAIVE_CHAT = (
    f"USER: {ASKED}\n\n\nASSISTANT: <functioncall> "
    '{"name": "get_weather", "arguments": \'{"city": "Oslo"}\'} <|endoftext|>\n\n\n'
    f"FUNCTION RESPONSE: {RESULT}\n\n\nASSISTANT: {TOLD} <|endoftext|>"
)
USER = {"role": "user", "content": ASKED}
STRUCTURED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ],
}

WITH_CALL: dict[str, dict[str, Any]] = {
    "xlam": {"id": 1, "query": ASKED, "answers": json.dumps([CALL]), "tools": json.dumps([FLAT])},
    "apigen": {"query": ASKED, "answers": [CALL], "tools": [FLAT]},
    "glaive": {"system": GLAIVE_SYSTEM + json.dumps(WEATHER, indent=4), "chat": GLAIVE_CHAT},
    "when2call-preference": {
        "tools": [json.dumps(WEATHER)],
        "messages": [USER],
        "chosen_response": {"role": "assistant", "content": f"<TOOLCALL>[{json.dumps(CALL)}]</TOOLCALL>"},
        "rejected_response": {"role": "assistant", "content": "I cannot."},
    },
    "art": {
        "messages_and_choices": [USER, {"finish_reason": "tool_calls", "index": 0, "message": STRUCTURED}],
        "tools": OFFERED,
        "reward": 1.0,
    },
    "apigen-mt": {
        "conversations": [
            {"from": "human", "value": ASKED},
            {"from": "function_call", "value": json.dumps(CALL)},
            {"from": "observation", "value": RESULT},
            {"from": "gpt", "value": TOLD},
        ],
        "tools": json.dumps([WEATHER]),
        "system": "Be brief.",
    },
    "trajectory": {"trajectory": [USER, STRUCTURED], "tools": OFFERED},
    "toolbench": {
        "id": "Step 1",
        "conversations": [
            {"from": "system", "value": f"You can use these tools: {json.dumps(OFFERED)}"},
            {"from": "user", "value": ASKED},
            {"from": "assistant", "value": 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo"}'},
            {"from": "function", "value": RESULT},
            {"from": "assistant", "value": TOLD},
        ],
    },
    "toolbench, as Python writes the tools": {
        "conversations": [
            {"from": "system", "value": f"You have access to the following APIs: {[WEATHER]}"},
            {"from": "user", "value": ASKED},
            {"from": "assistant", "value": 'Thought: I look.\nAction: get_weather\nAction Input: {"city": "Oslo"}'},
            {"from": "function", "value": RESULT},
            {"from": "assistant", "value": TOLD},
        ],
    },
    "llama-factory-v1": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "value": ASKED}], "loss_weight": 0.0},
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "value": "I look."},
                    {"type": "tool_call", "value": json.dumps(CALL)},
                ],
                "loss_weight": 1.0,
            },
            {"role": "tool", "content": [{"type": "text", "value": RESULT}], "loss_weight": 0.0},
            {"role": "assistant", "content": [{"type": "text", "value": TOLD}], "loss_weight": 1.0},
        ],
        "tools": json.dumps([WEATHER]),
    },
    "llama-factory-ranking": {
        "conversations": [{"from": "human", "value": ASKED}],
        "chosen": {"from": "gpt", "value": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"},
        "rejected": {"from": "gpt", "value": "No."},
        "tools": json.dumps([WEATHER]),
    },
    "ms-swift": {
        "messages": [
            USER,
            {"role": "tool_call", "content": json.dumps(CALL)},
            {"role": "tool_response", "content": RESULT},
            {"role": "assistant", "content": TOLD},
        ],
        "tools": json.dumps(OFFERED),
    },
    "smoltalk2": {
        "messages": [USER, {"role": "assistant", "content": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"}],
        "chat_template_kwargs": {"custom_instructions": "", "xml_tools": [json.dumps(WEATHER)], "python_tools": []},
    },
    "verifiers": {
        "prompt": [USER],
        "completion": [STRUCTURED],
        "answer": "",
        "reward": 1.0,
        "info": json.dumps({"oai_tools": OFFERED}),
    },
    "json-texts": {"messages": [USER, STRUCTURED], "tools": [json.dumps(WEATHER)]},
}
PROMPTS: dict[str, dict[str, Any]] = {
    "bfcl": {"id": "simple_0", "question": [[USER]], "function": [GORILLA]},
    "bfcl-live": {"id": "live_0", "question": [USER], "function": GORILLA},
    "verl": {
        "data_source": "tools",
        "prompt": [USER],
        "reward_model": {"style": "rule", "ground_truth": json.dumps([CALL])},
        "extra_info": {"index": 0, "tools": OFFERED},
    },
    "xlam-without-calls": {"query": ASKED, "answers": "[]", "tools": json.dumps([FLAT])},
    "when2call-test": {
        "uuid": "u",
        "question": ASKED,
        "tools": [json.dumps(WEATHER)],
        "correct_answer": "none",
        "answers": {"direct": "It is warm."},
    },
}


def sample_of(row: dict[str, Any]) -> Sample:
    return read_sample(DataRow("a.jsonl", "line 1", 1, row, json.dumps(row).encode()))


def test_a_trajectory_is_read_from_a_table_in_which_a_content_of_null_is_absent() -> None:
    answer = {key: value for key, value in STRUCTURED.items() if key != "content"}
    sample = sample_of({"trajectory": [USER, answer], "tools": OFFERED})
    assert [step.call.name for step in sample.inspection.chain.steps] == ["get_weather"]


@pytest.mark.parametrize("name", WITH_CALL)
def test_a_row_is_read_with_its_call_its_result_and_its_tools(name: str) -> None:
    row = WITH_CALL[name]
    before = json.dumps(row)
    sample = sample_of(row)
    assert [tool.name for tool in sample.offered.tools] == ["get_weather"]
    assert sample.texts(Role.USER) == [ASKED]
    (step,) = sample.inspection.chain.steps
    assert (step.call.name, step.call.arguments) == (CALL["name"], CALL["arguments"])
    has_result = RESULT in before or json.dumps(RESULT)[1:-1] in before
    assert (step.result.content if step.result is not None else None) == (RESULT if has_result else None)
    errors = [diagnostic for diagnostic in lint_sample(sample) if diagnostic.rule.severity is Severity.ERROR]
    assert not errors, errors
    assert json.dumps(row) == before


@pytest.mark.parametrize("name", WITH_CALL)
def test_a_wrong_type_in_a_row_s_call_is_found_by_its_tool_s_schema(name: str) -> None:
    text = json.dumps(WITH_CALL[name])
    for quote in ('"', '\\"', '\\\\\\"'):
        city = f"{quote}city{quote}: "
        text = text.replace(f"{city}{quote}Oslo{quote}", f"{city}5")
    codes = [diagnostic.rule.code for diagnostic in lint_sample(sample_of(json.loads(text)))]
    assert "S202" in codes


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_without_an_answer_is_read_with_its_tools(name: str) -> None:
    sample = sample_of(PROMPTS[name])
    assert sample.texts(Role.USER) == [ASKED]
    assert [tool.name for tool in sample.offered.tools] == ["get_weather"]
    parameters = sample.offered.tools[0].parameters
    assert isinstance(parameters, dict)
    assert parameters["type"] == "object"
    answered = {**PROMPTS[name], "completion": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"}
    candidate = row_candidate(answered)
    assert [turn.role for turn in candidate.trace.turns] == [Role.USER, Role.ASSISTANT]
    passed = weaklink.reward("tool-use")(
        prompts=[ASKED],
        completions=[answered["completion"]],
        tools=[OFFERED],
    )
    assert passed == [1.0]


def test_answers_of_xlam_are_the_reference_of_another_answer() -> None:
    row = WITH_CALL["xlam"]
    for city, passes in (("Oslo", True), ("Rome", False)):
        call = {"name": "get_weather", "arguments": {"city": city}}
        candidate = row_candidate({**row, "completion": f"<tool_call>\n{json.dumps(call)}\n</tool_call>"})
        assert [turn.role for turn in candidate.trace.turns] == [Role.USER, Role.ASSISTANT]
        assert candidate.expected is not None
        assert [wanted_call.tool for wanted_call in candidate.expected] == ["get_weather"]
        made = candidate.expected[0].accepts("city", city)
        assert made is passes


def test_types_of_python_and_java_become_those_of_json_schema() -> None:
    tool = {
        "name": "f",
        "parameters": {
            "type": "dict",
            "properties": {
                "a": {"type": "float"},
                "b": {"type": "array", "items": {"type": "dict", "properties": {"c": {"type": "tuple"}}}},
                "d": {"type": "any"},
                "e": {"type": "List[int]"},
                "type": {"type": "str"},
            },
        },
    }
    sample = sample_of({"question": [[USER]], "function": [tool]})
    parameters = sample.offered.tools[0].parameters
    assert parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "array"}}}},
            "d": {},
            "e": {"type": "array"},
            "type": {"type": "string"},
        },
    }


@pytest.mark.parametrize("name", WITH_CALL)
def test_a_row_that_was_read_is_not_changed_again(name: str) -> None:
    first = public_row(WITH_CALL[name])
    if first is not None:
        again = public_row(first)
        assert again is None or again == first


@pytest.mark.parametrize("name", [name for name in WITH_CALL if not name.startswith(("toolbench", "verifiers"))])
def test_rows_of_every_shape_can_be_converted_and_given_a_fault(name: str) -> None:
    row = WITH_CALL[name]
    converted = convert_row(row, None, find_format("hermes"))
    assert "get_weather" in json.dumps(converted.get("messages", converted.get("conversations")))
    (injected,) = inject_faults(DataRow("a", "line 1", 1, row), seed=1, rates={"wrong-type": 1.0})
    assert isinstance(injected, InjectedRow) is (
        RESULT in json.dumps(row) or json.dumps(RESULT)[1:-1] in json.dumps(row)
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"user_query": "Hi", "calls": [CALL], "functions": [WEATHER]},
            "--map user_query=query,calls=answers,functions=tools",
        ),
        ({"dialog": [USER, STRUCTURED]}, "--map dialog=messages"),
        ({"turns": [{"from": "human", "value": "Hi"}]}, "--map turns=conversations"),
        ({"turns": [{"speaker": "user", "text": "Hi"}]}, "no conversation among `turns`; the nearest"),
        ({"src": "Hi", "tgt": "Hello"}, "--map src=prompt,tgt=completion"),
        ({"question": "Hi", "generation": "Hello"}, "--map question=prompt,generation=completion"),
        ({"a": 1, "b": 2}, "`a`, `b`"),
        ({}, "no members"),
    ],
)
def test_a_refusal_names_the_members_and_the_mapping_that_reads_the_row(row: dict[str, Any], says: str) -> None:
    assert says in refusal(row)
    assert sample_of(row).shape is None or "prompt" in says


def test_names_with_spaces_of_toolace_are_calls() -> None:
    schemas = {"Market Trends API": {"country": {"type": "int"}}, "get.news": {}}
    tools = [
        {"name": name, "description": "It", "parameters": {"type": "dict", "properties": properties}}
        for name, properties in schemas.items()
    ]
    system = f"Here is a list of functions in JSON format that you can invoke:\n{json.dumps(tools)}\nBe brief."
    conversation = [
        {"from": "user", "value": "Trends of 5?"},
        {"from": "assistant", "value": "[Market Trends API(country=5), get.news()]"},
        {"from": "tool", "value": RESULT},
        {"from": "assistant", "value": "[It] is up."},
    ]
    sample = sample_of({"system": system, "conversations": conversation})
    steps = sample.inspection.chain.steps
    assert [step.call.name for step in steps] == [*schemas]
    assert [step.call.arguments for step in steps] == [{"country": 5}, {}]
    assert [turn.role.value for turn in sample.trace.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert [tool.name for tool in sample.offered.tools] == ["Market Trends API", "get.news"]
    conversation[1]["value"] = '[Market Trends API(country="five")]'
    codes = [
        diagnostic.rule.code for diagnostic in lint_sample(sample_of({"system": system, "conversations": conversation}))
    ]
    assert "S202" in codes
    conversation[1]["value"] = "[Market Trend API(country=5), get.news()]"
    diagnostics = lint_sample(sample_of({"system": system, "conversations": conversation}))
    assert any(diagnostic.fault.message.startswith("No tool `Market Trend API`") for diagnostic in diagnostics)
    plain: dict[str, Any] = {"system": system.replace("Market Trends API", "trends"), "conversations": conversation}
    assert public_row(plain) is None


OPENAPI = {
    "openapi": "3.0.0",
    "paths": {
        "/weather": {
            "get": {
                "operationId": "get_weather",
                "summary": "Weather of a city",
                "parameters": [
                    {"name": "city", "in": "query", "required": True, "schema": {"type": "string"}},
                    {"name": "days", "in": "query", "schema": {"type": "integer"}},
                ],
            }
        },
        "/report": {
            "post": {
                "operationId": "report",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"properties": {"text": {"type": "string"}}, "required": ["text"]}
                        }
                    }
                },
            }
        },
    },
}
DESCRIBED = {
    "get_weather": 'Weather of a city.\nParameters: {"city": "Required. String. A city.", "days": "Integer. Days."}\n'
    "Output: The weather.",
    "components": "",
}
INSTANCES = [
    {
        "input": ASKED,
        "intermediate_steps": [
            [["get_weather", '{"city": "Oslo"}', "I look."], f"Status Code: 200. Response: {RESULT}"]
        ],
        "output": TOLD,
    },
    {"input": "And in Rome?", "intermediate_steps": [[["get_weather", '{"city": 5}', ""], RESULT]], "output": TOLD},
    {"input": "Thank you.", "output": "You are welcome."},
]
ALPACA: dict[str, dict[str, Any]] = {
    "documentation": {"Name": "Weather", "Documentation": json.dumps(OPENAPI), "Instances": INSTANCES},
    "descriptions": {"Name": "Weather", "Function_Description": DESCRIBED, "Instances": INSTANCES},
}


@pytest.mark.parametrize("name", ALPACA)
@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
def test_each_conversation_of_a_row_of_toolalpaca_is_a_row(tmp_path: Path, name: str, kind: str) -> None:
    path = str(tmp_path / f"a.{kind}")
    if kind == "parquet":
        with open_row_file(path) as writer:
            writer.write(ALPACA[name])
    else:
        Path(path).write_text(json.dumps(ALPACA[name] if kind == "jsonl" else [ALPACA[name]]), encoding="utf-8")
    samples = [read_sample(row) for row in read_data([path]) if isinstance(row, DataRow)]
    unit = {"jsonl": "line", "json": "entry", "parquet": "row"}[kind]
    assert [linted.record for linted in samples] == [f"{unit} 1, instance {number}" for number in (1, 2, 3)]
    assert [len(linted.inspection.chain.steps) for linted in samples] == [1, 1, 0]
    parameters = samples[0].offered.tools[0].parameters
    assert isinstance(parameters, dict)
    assert parameters["required"] == ["city"]
    codes = [
        {diagnostic.rule.code for diagnostic in lint_sample(linted) if diagnostic.rule.severity is Severity.ERROR}
        for linted in samples
    ]
    assert codes == [set(), {"S202"}, set()]


ANSWER = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
ANSWERED: dict[str, dict[str, Any]] = {
    **{name: {**row, "completion": ANSWER} for name, row in PROMPTS.items()},
    "xlam": {**WITH_CALL["xlam"], "completion": ANSWER},
    "trl, a text after messages": {"prompt": [USER], "completion": ANSWER, "tools": OFFERED},
    "trl, messages after a text": {"prompt": ASKED, "completion": [STRUCTURED], "tools": OFFERED},
    "verl, a message": {**PROMPTS["verl"], "response": STRUCTURED},
}


@pytest.mark.parametrize("name", ANSWERED)
def test_an_answer_that_was_added_to_a_prompt_is_read_by_every_command(name: str) -> None:
    row = ANSWERED[name]
    sample = sample_of(row)
    assert sample.texts(Role.USER) == [ASKED]
    assert [tool.name for tool in sample.offered.tools] == ["get_weather"]
    assert [step.call.arguments for step in sample.inspection.chain.steps] == [{"city": "Oslo"}]
    candidate = row_candidate(row)
    assert [turn.role for turn in candidate.trace.turns] == [turn.role for turn in sample.trace.turns]
    assert candidate.own_from == len(candidate.trace.turns)


def test_answers_that_became_the_answer_are_no_reference() -> None:
    for name in ("xlam", "apigen"):
        assert row_candidate(WITH_CALL[name]).expected is None
        assert score_sample(sample_of(WITH_CALL[name])).mean("accuracy") is None
    answered = {**WITH_CALL["xlam"], "completion": ANSWER.replace("Oslo", "Rome")}
    assert score_sample(sample_of(answered)).mean("accuracy") == 0.0


@pytest.mark.parametrize("name", [*WITH_CALL, *PROMPTS])
def test_nothing_of_a_row_is_written_twice(name: str) -> None:
    converted = convert_row({**WITH_CALL, **PROMPTS}[name], None, find_format("qwen"))
    converted.pop("reward_model", None)
    converted.pop("answers", None)
    conversation = json.dumps([converted.get("messages"), converted.get("conversations")])
    assert conversation.count(ASKED) == 1
    assert json.dumps(converted).count(ASKED) == 1
    assert "celsius" not in json.dumps({**converted, "messages": "", "conversations": ""})


def test_a_rejected_answer_that_is_not_converted_is_named() -> None:
    hermes = find_format("hermes")
    for name, member in (("llama-factory-ranking", "rejected"), ("when2call-preference", "rejected_response")):
        assert f"`{member}`: only the chosen answer is converted." in str(
            convert_row(WITH_CALL[name], None, hermes)["dropped"]
        )


@pytest.mark.parametrize(
    ("name", "row"), [("verifiers", WITH_CALL["verifiers"]), ("trl", ANSWERED["trl, a text after messages"])]
)
def test_rows_of_a_prompt_and_a_completion_get_faults_and_copies_of_one_shape(name: str, row: dict[str, Any]) -> None:
    key = "completion"
    answer = row[key] if isinstance(row[key], list) else [{"role": "assistant", "content": row[key]}]
    result = {"role": "tool", "content": RESULT, **({"tool_call_id": "c"} if name == "verifiers" else {})}
    answered = {**row, key: [*answer, result, {"role": "assistant", "content": TOLD}]}
    data = DataRow("a", "line 1", 1, answered)
    (injected,) = inject_faults(data, seed=1, rates={"wrong-type": 1.0})
    assert isinstance(injected, InjectedRow), injected
    copied: dict[str, Any] = as_listed(data).value
    assert copied.keys() == injected.value.keys() - {"injected"}
    assert "completion" not in copied
    assert len(copied["messages"]) == 4


@pytest.mark.parametrize(
    "row",
    [
        {"user_query": "Hi", "calls": [CALL], "functions": [WEATHER]},
        {"dialog": [USER, STRUCTURED]},
        {"turns": [{"from": "human", "value": "Hi"}]},
        {"turns": [{"speaker": "user", "text": "Hi"}]},
        {"question": "Hi", "generation": "Hello"},
        {"src": "Hi", "tgt": "Hello"},
        {"input": "Hi", "target": "Hello"},
        {"instruction": "Hi", "reply": "Hello"},
        {"history": [USER], "functions": [WEATHER]},
    ],
)
def test_the_mapping_that_a_refusal_names_reads_the_row(row: dict[str, Any]) -> None:
    words = re.search(r"`--map (\S+)`", refusal(row))
    columns = dict(pair.split("=") for pair in words[1].split(",")) if words is not None else {}
    read = sample_of(renamed_members(row, columns))
    assert (read.shape is None) is (words is None)


TALK = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": ANSWER},
    {"role": "tool", "content": RESULT},
]
PREFERRED: dict[str, tuple[dict[str, Any], int]] = {
    "a list and a text": ({"prompt": TALK, "chosen": TOLD, "rejected": "Rain."}, 4),
    "a text and a list": (
        {"prompt": ASKED, "chosen": [{"role": "assistant", "content": ANSWER}], "rejected": [TALK[1]]},
        2,
    ),
    "a prompt that the answer repeats": ({"prompt": ASKED, "chosen": TALK, "rejected": [TALK[0]]}, 3),
    "an instruction": ({"instruction": ASKED, "input": "", "chosen": ANSWER, "rejected": "Rain."}, 2),
    "two texts": ({"prompt": ASKED, "chosen": ANSWER, "rejected": "Rain."}, 2),
}


@pytest.mark.parametrize("name", PREFERRED)
def test_preferences_of_texts_are_read_with_their_chosen_answer(name: str) -> None:
    row, turns = PREFERRED[name]
    sample = sample_of({**row, "tools": OFFERED})
    assert len(sample.trace.turns) == turns
    assert [step.call.name for step in sample.inspection.chain.steps] == ["get_weather"]
    offering: dict[str, Any] = {**row, "tools": OFFERED}
    converted = convert_row(offering, None, find_format("llama3"))
    assert "`rejected`: only the chosen answer is converted." in str(converted["dropped"])
    assert "<tool_call>" not in json.dumps(converted)


@pytest.mark.parametrize(("name", "member"), [("ranking", "rejected"), ("response", "rejected_response")])
def test_rows_that_are_made_of_a_preference_name_the_answer_that_they_leave_out(name: str, member: str) -> None:
    told = {"role": "assistant", "content": TOLD}
    from_talk = [{"from": "human", "value": ASKED}, {"from": "gpt", "value": ANSWER}, {"from": "tool", "value": RESULT}]
    row: dict[str, Any] = (
        {
            "conversations": from_talk,
            "chosen": {"from": "gpt", "value": TOLD},
            "rejected": {"from": "gpt", "value": "No."},
        }
        if name == "ranking"
        else {"messages": TALK, "chosen_response": told, "rejected_response": {"role": "assistant", "content": "No."}}
    )
    offering: dict[str, Any] = {**row, "tools": OFFERED}
    data = DataRow("a", "line 1", 1, offering)
    (injected,) = inject_faults(data, seed=1, rates={"wrong-type": 1.0})
    assert isinstance(injected, InjectedRow), injected
    assert member not in injected.value
    assert injected.value["dropped"] == [f"`{member}`: only the chosen answer is in this row."]
    assert as_listed(data).value == data.value, "a copy keeps both answers"


@pytest.mark.parametrize(
    ("row", "mapping"),
    [
        ({"q": ASKED, "a": ANSWER, "id": "7"}, "q=prompt,a=completion"),
        ({"user_input": ASKED, "model_output": ANSWER}, "user_input=prompt,model_output=completion"),
        ({"id": "7", "log": TALK}, "log=messages"),
        ({"steps": [{"from": "human", "value": ASKED}, {"from": "gpt", "value": ANSWER}]}, "steps=conversations"),
    ],
)
def test_members_with_unknown_names_are_mapped_by_their_contents(row: dict[str, Any], mapping: str) -> None:
    assert f"`--map {mapping}` would read it" in refusal(row)
    columns = dict(pair.split("=") for pair in mapping.split(","))
    sample = sample_of({**DataRow("a", "line 1", 1, row).renamed(columns).value, "tools": OFFERED})
    assert [step.call.name for step in sample.inspection.chain.steps] == ["get_weather"]
