"""What spoils training: faults planted into good rows, each with the rule that finds it and its severity."""

import json
from typing import Any

import pytest

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.samples import read_sample

TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
USER = {"role": "user", "content": "How is the weather in Oslo?"}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
CALLED = {"role": "assistant", "content": CALL}
RESULT = {"role": "tool", "content": "rain"}
ANSWER = {"role": "assistant", "content": "It rains."}
TOKENS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "<|im_start|>", "</s>", "<｜end▁of▁sentence｜>")


def said(text: str | None) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


PLANTED: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "good": ([USER, CALLED, RESULT, ANSWER], []),
    "good, ends with the call": ([USER, CALLED], []),
    "good, html": ([USER, CALLED, RESULT, said("It <s>snows</s> rains.")], []),
    **{f"{token} in the answer": ([USER, CALLED, RESULT, said(f"Rain.{token}")], ["D713 error"]) for token in TOKENS},
    "token in the user's message": ([{**USER, "content": "Oslo <|endoftext|>"}, ANSWER], ["D713 error"]),
    "empty answer": ([USER, CALLED, RESULT, said("")], ["D701 error"]),
    "blank answer in the middle": ([USER, said(" "), USER, CALLED, RESULT, ANSWER], ["D701 error"]),
    "no answer after the result": ([USER, CALLED, RESULT], ["D706 warning"]),
    "ends with the user": ([USER, CALLED, RESULT, ANSWER, USER], ["D706 warning"]),
    "prompt alone": ([USER], []),
    "two user turns": ([USER, USER, CALLED, RESULT, ANSWER], ["D706 info"]),
    "two answers": ([USER, CALLED, RESULT, ANSWER, ANSWER], ["D706 info"]),
    "answer first": ([said("Hello."), USER, CALLED, RESULT, ANSWER], ["D706 info"]),
    "system prompt in the middle": (
        [USER, CALLED, RESULT, {"role": "system", "content": "Be brief."}, ANSWER],
        ["D706 warning"],
    ),
    "good, two system prompts": (
        [{"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Be kind."}, USER, ANSWER],
        [],
    ),
    "empty question": ([{"role": "user", "content": " "}, ANSWER], ["D701 error"]),
    "misspelt role": ([{**USER, "role": "usr"}, CALLED, RESULT, ANSWER], ["D701 error"]),
    "good, role of its own": ([{"role": "context", "content": "Oslo."}, USER, CALLED, RESULT, ANSWER], ["D706 info"]),
    "placeholder that a prompt has without brackets": (
        [
            {"role": "system", "content": "Ask for the city."},
            USER,
            said(CALL.replace("Oslo", "<city>")),
            RESULT,
            ANSWER,
        ],
        ["D709 error"],
    ),
    "address of a reserved domain": (
        [USER, said(CALL.replace("Oslo", "mail@example.com")), RESULT, ANSWER],
        ["D709 error"],
    ),
    "good, the user's address of a reserved domain": (
        [{**USER, "content": "mail@example.com"}, said(CALL.replace("Oslo", "mail@example.com")), RESULT, ANSWER],
        [],
    ),
    "no reasoning where the prompt demands it": (
        [{"role": "system", "content": "Always reason inside <think> first."}, USER, CALLED, RESULT, ANSWER],
        ["R602 warning"],
    ),
    "reasoning missing in one answer": (
        [
            {"role": "system", "content": "You must put your reasoning into <think> tags."},
            *(USER, said(f"<think>I look.</think>{CALL}"), RESULT, ANSWER),
        ],
        ["R602 warning"],
    ),
    "good, reasoning is optional": (
        [{"role": "system", "content": "You may use <think> to reason."}, USER, CALLED, RESULT, ANSWER],
        [],
    ),
    "good, reasoning in a field": (
        [
            {"role": "system", "content": "Always reason inside <think> first."},
            *(USER, {**CALLED, "reasoning_content": "I look."}, RESULT, {**ANSWER, "reasoning_content": "Rain."}),
        ],
        [],
    ),
    "action without a call": ([USER, said("I have sent the email.")], ["D710 info"]),
    "good, no action": ([USER, said("I can send the email if you like.")], []),
    "action in progress without a call": ([USER, said("I'm now playing Blue Train.")], ["D710 info"]),
    "announced call that never comes": ([USER, said("Sure, let me check that with the tool.")], ["D710 info"]),
    "good, announced under a condition": ([USER, said("I will check that once you name the city.")], []),
    "good, announced with a question": ([USER, said("Let me check that. Which city?")], []),
    "rendered turn in the user's message": (
        [{**USER, "content": "<|start_header_id|>user<|end_header_id|>\n\nHow is the weather?"}, ANSWER],
        ["D713 error"],
    ),
    "the user's words in the answer": (
        [USER, CALLED, RESULT, said("It rains.\nUser: Thanks!\nAssistant: You are welcome.")],
        ["D713 warning"],
    ),
    "a result in the answer": ([USER, CALLED, RESULT, said("Observation: rain\nIt rains.")], ["D713 warning"]),
    "good, a dialogue was asked for": (
        [{**USER, "content": "Write a dialogue."}, said("User: Hi\nAssistant: Hello.")],
        [],
    ),
    "good, an observation": ([USER, CALLED, RESULT, said("It rains. Observation: bring a coat.")], []),
    "no user": ([ANSWER], ["D706 info"]),
    "other surname behind a title": (
        [USER, CALLED, {**RESULT, "content": "Dr. Haugen is free."}, said("It rains, says Dr. Berg.")],
        ["D710 info"],
    ),
    "good, surname behind a title": (
        [USER, CALLED, {**RESULT, "content": "Kari Haugen is free."}, said("It rains, says Dr. Haugen.")],
        [],
    ),
    "other name of the same kind": (
        [USER, CALLED, {**RESULT, "content": '{"name": "Hotel Turia"}'}, said("Rain at your Hotel Alameda.")],
        ["D710 info"],
    ),
    "other number beside a date": (
        [USER, CALLED, {**RESULT, "content": '{"flight": "HAT109", "date": "2024-05-22"}'}, said("Your card is 3321.")],
        ["D710 info"],
    ),
    "other time": (
        [{**USER, "content": "Rain in Oslo on 2025-05-12 at 09:30 UTC?"}, CALLED, RESULT, said("Rain at 10:30 UTC.")],
        ["D710 info"],
    ),
    "good, time after a duration": (
        [{**USER, "content": "Rain at 09:30, and in 1 hour?"}, CALLED, RESULT, said("Rain until 10:30.")],
        [],
    ),
    "good, time with an offset": (
        [USER, CALLED, {**RESULT, "content": "2025-05-12T09:30:00+01:00"}, said("Rain until 10:30.")],
        [],
    ),
    "answer in German": (
        [USER, CALLED, RESULT, said("In Oslo regnet es gerade, und der Wind weht ziemlich stark aus Westen.")],
        ["D718 warning"],
    ),
    "unmentioned argument": (
        [USER, said(CALL.replace('"Oslo"', '"Oslo", "mood": "good"')), RESULT, ANSWER],
        ["S203 info"],
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_found_and_a_good_row_has_none(case: str) -> None:
    messages, expected = PLANTED[case]
    row: dict[str, Any] = {"messages": messages, "tools": [TOOL]}
    diagnostics = lint_sample(read_sample(DataRow("a", "line 1", 1, json.loads(json.dumps(row)))))
    assert [f"{diagnostic.rule.code} {diagnostic.rule.severity.value}" for diagnostic in diagnostics] == expected


@pytest.mark.parametrize("extra", [True, {}, {"type": "string"}])
def test_a_schema_that_allows_other_arguments_has_none_unmentioned(extra: Any) -> None:
    parameters = {**TOOL["parameters"], "additionalProperties": extra}  # type: ignore[dict-item]  # an object
    text = CALL.replace('"Oslo"', '"Oslo", "mood": "good"')
    row: dict[str, Any] = {"messages": [USER, said(text)], "tools": [{**TOOL, "parameters": parameters}]}
    assert lint_sample(read_sample(DataRow("a", "line 1", 1, row))) == []


DATED = '{"city": "Porto", "ordered": "2025-01-22", "flight": "SK803", "arrives_in_days": 5}'
CLAIMS = {
    "It was ordered on January 22, 2025.": [],
    "It was ordered on 22 Jan.": [],
    "It arrives on 2025-01-27.": [],
    "It was ordered on January 29, 2025.": ["info: January 29, 2025"],
    "It was ordered on 2025-02-22.": ["info: 2025-02-22"],
    "Your flight is SK803.": [],
    "Your flight is DY1302.": ["info: DY1302"],
    "The weather in Porto is fine.": [],
    "The weather in Madrid is fine.": ["info: Madrid"],
    "Das Wetter in der Stadt ist im Moment Regen.": [],
}


@pytest.mark.parametrize("text", CLAIMS)
def test_a_date_an_identifier_or_a_name_in_place_of_the_results_is_reported(text: str) -> None:
    row: dict[str, Any] = {"messages": [USER, CALLED, {**RESULT, "content": DATED}, said(text)], "tools": [TOOL]}
    sample = read_sample(DataRow("a", "line 1", 1, row))
    unsupported = [diagnostic for diagnostic in lint_sample(sample) if diagnostic.rule.code == "D710"]
    assert [f"{diagnostic.rule.severity.value}: {diagnostic.range.of(text)}" for diagnostic in unsupported] == CLAIMS[
        text
    ]


LLAMA_FACTORY = {
    "good": (["human", "function_call", "observation", "gpt"], 0),
    "good, a thought before the call": (["human", "thought", "observation", "gpt"], 0),
    "two results": (["human", "function_call", "observation", "observation", "gpt"], 1),
    "the user after a result": (["human", "function_call", "observation", "human", "gpt"], 1),
    "the answer first": (["gpt", "human", "function_call", "observation", "gpt"], 1),
}
VALUES = {
    "human": "Weather in Oslo?",
    "function_call": '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "thought": '<think>I look.</think>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "observation": "rain",
    "gpt": "It rains.",
}


@pytest.mark.parametrize("case", LLAMA_FACTORY)
def test_the_order_of_roles_is_that_which_llama_factory_requires(case: str) -> None:
    roles, errors = LLAMA_FACTORY[case]
    turns = [{"from": "function_call" if role == "thought" else role, "value": VALUES[role]} for role in roles]
    row: dict[str, Any] = {"conversations": turns, "tools": json.dumps([TOOL])}
    reported = [
        diagnostic
        for diagnostic in lint_sample(read_sample(DataRow("a", "line 1", 1, row)))
        if diagnostic.rule.severity.value == "error"
    ]
    orders = [diagnostic for diagnostic in reported if "LLaMA-Factory" in diagnostic.fault.message]
    assert len(orders) == errors
    assert {diagnostic.rule.code for diagnostic in reported} <= {"D706"}


@pytest.mark.parametrize(
    ("tools", "severity", "says"),
    [
        ([TOOL, TOOL], "warning", "two tools with the name `get_weather`"),
        ([TOOL, {"type": "function", "function": {**TOOL, "name": ""}}], "error", "tool 2 in `tools` has no name"),
    ],
)
def test_a_list_in_which_a_name_says_no_tool_is_reported(tools: list[Any], severity: str, says: str) -> None:
    row: dict[str, Any] = {"messages": [USER, said("Hello.")], "tools": tools}
    (diagnostics,) = lint_sample(read_sample(DataRow("a", "line 1", 1, row)))
    assert (diagnostics.rule.code, diagnostics.rule.severity.value) == ("D708", severity)
    assert says in diagnostics.fault.message


@pytest.mark.parametrize(
    ("question", "answer", "is_reported"),
    [
        ("Quel temps fait-il à Lyon demain ?", "Tomorrow in Lyon it will be sunny with a high of 24 degrees.", True),
        ("How much is a ticket to Milano?", "Un biglietto per Milano costa 34 euro in seconda classe.", True),
        (
            "Añade una tarea para comprar pintura antes del 2025-04-02, con prioridad alta.",
            "I have added the task Comprar pintura with high priority, and it is due on 2025-04-02.",
            True,
        ),
        ("Find hotels in Valencia", "I found Hotel Turia, Casa Azul and Palacio de Santa Clara in Valencia.", False),
        (
            "Play something by Édith Piaf",
            "Now playing La Vie en Rose by Édith Piaf from the album Chansons Parisiennes.",
            False,
        ),
        (
            "Zeig mir die Top 3 Songs",
            "1. Blinding Lights - The Weeknd 2. Shape of You - Ed Sheeran 3. Someone Like You - Adele",
            False,
        ),
    ],
)
def test_the_answer_to_a_short_question_is_in_its_language(question: str, answer: str, *, is_reported: bool) -> None:
    row: dict[str, Any] = {"messages": [{**USER, "content": question}, said(answer)], "tools": [TOOL]}
    diagnostics = lint_sample(read_sample(DataRow("a", "line 1", 1, row)))
    assert ("D718" in {diagnostic.rule.code for diagnostic in diagnostics}) is is_reported
