"""Rewards: none for nothing, one reader of references, and each framework's own signature."""

import json
from typing import Any

import pytest

import weaklink
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.references import reference_of
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.scoring import score_sample
from weaklink.inspector.model import Json

TOOLS: Json = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}, "place": {"type": "object"}},
            "required": ["city"],
        },
    }
]
PROMPT = "How is the weather in Oslo and in Rome?"


def call(**arguments: Json) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'get_weather', 'arguments': arguments})}\n</tool_call>"


OSLO, ROME = call(city="Oslo"), call(city="Rome")
EMPTY: list[Json] = [
    "",
    " \n",
    None,
    [],
    [{"role": "assistant", "content": ""}],
    [{"role": "assistant", "content": None}],
    "<think>Hm.</think>",
    "<think>Hm.",
    [{"role": "assistant", "content": "", "reasoning_content": "Hm."}],
    [{"role": "tool", "content": "17 degrees"}],
]


@pytest.mark.parametrize("verifier", ["tool-use", "answer-format", "reasoning-cap", "multi-step", "schema-adherence"])
@pytest.mark.parametrize("earlier", [[], [{"role": "assistant", "content": "Hello. Which city?"}]])
def test_an_empty_answer_earns_nothing(verifier: str, earlier: list[Json]) -> None:
    reward = weaklink.reward(verifier, tools=TOOLS, format="hermes")
    prompt: Json = [{"role": "user", "content": "Hi."}, *earlier, {"role": "user", "content": PROMPT}]
    assert reward(prompts=[prompt] * len(EMPTY), completions=EMPTY) == [0.0] * len(EMPTY)
    assert [reward(prompt=prompt, completion=answer) for answer in EMPTY] == [0.0] * len(EMPTY)


def test_a_call_is_required_where_the_reference_has_one_or_where_asked_for() -> None:
    answers: list[Json] = ["Hello", OSLO]
    expected = [[{"name": "get_weather", "arguments": {"city": "Oslo"}}]] * 2
    prompts = [PROMPT] * 2

    def rewards(expected: object = None, **options: Any) -> object:
        return weaklink.reward("tool-use", tools=TOOLS, **options)(
            prompts=prompts, completions=answers, expected=expected
        )

    assert rewards() == [1.0, 1.0]
    assert rewards(require_call=True) == [0.0, 1.0]
    assert rewards(expected) == [0.0, 1.0]
    assert rewards(expected, require_call=False) == [1.0, 1.0]
    assert rewards([[], []], require_call=True) == [1.0, 0.0]
    assert (
        weaklink.verify("tool-use", PROMPT, "Hello", tools=TOOLS, require_call=True).diagnostics[0].rule.code == "V902"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "was given nothing"),
        ({"prompts": ["Hi"]}, "needs `completions`"),
        ({"prompt": "Hi"}, "was given `prompt`"),
        ({"data_source": "x", "solution_str": OSLO, "ground_truth": "[]"}, "weaklink.verl_reward"),
        ({"prompts": [PROMPT], "completions": OSLO}, "`completions` must be a list"),
        ({"prompts": PROMPT, "completions": [OSLO]}, "`prompts` must be a list"),
    ],
)
def test_the_arguments_of_another_framework_are_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        weaklink.reward("tool-use", tools=TOOLS)(**arguments)
    with pytest.raises(ValueError, match="1 prompts for 2 completions"):
        weaklink.reward("tool-use", tools=TOOLS)(prompts=[PROMPT], completions=[OSLO, OSLO])


SINGLE: Json = [{"name": "get_weather", "arguments": {"city": "Rome"}}]
POSSIBLE: Json = [{"get_weather": {"city": ["Rome", "Roma"], "unit": ["celsius", ""]}}]
REFERENCES: list[Any] = [
    {column: form}
    for column in ("expected", "expected_calls", "ground_truth", "possible_answer", "answers")
    for form in (
        SINGLE,
        POSSIBLE,
        json.dumps(SINGLE),
        json.dumps(POSSIBLE),
        {"name": "get_weather", "parameters": {"city": "Rome"}},
        [json.dumps({"name": "get_weather", "arguments": {"city": "Rome"}})],
        [{"get_weather": {"city": "Rome"}}],
    )
] + [
    {"reward_model": {"style": "rule", "ground_truth": form}}
    for form in (SINGLE, POSSIBLE, json.dumps(SINGLE), f"<think>Rome.</think>\n{ROME}")
]


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_verify_score_and_reward_read_the_same_references(reference: dict[str, Json]) -> None:
    for answer, passes in ((ROME, True), (OSLO, False)):
        row: dict[str, Json] = {"prompt": PROMPT, "completion": answer, "tools": TOOLS, **reference}
        verifier = weaklink.reward("tool-use", tools=TOOLS)
        assert verifier(prompt=PROMPT, completion=answer, info=reference) == float(passes)
        columns: dict[str, object] = {name: [value] for name, value in reference.items()}
        assert verifier(prompts=[PROMPT], completions=[answer], **columns) == [float(passes)]
        assert row_candidate(row).expected == reference_of(reference)
        messages: Json = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": answer}]
        sample = read_sample(DataRow("f", "line 1", 1, {"messages": messages, "tools": TOOLS, **reference}))
        assert (score_sample(sample).overall == 1.0) is passes


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        ({"city": "ROMA", "place": {"code": "IT-1", "parts": ["A b", 2]}}, True),
        ({"city": "Rome", "place": {"code": "IT-1", "parts": ["A b", 2], "note": "x"}}, True),
        ({"city": "Rome", "place": {"code": "IT-2", "parts": ["A b", 2]}}, False),
        ({"city": "Rome", "place": {"code": "IT-1", "parts": ["A b", 3]}}, False),
        ({"city": "Rome", "place": {"code": "IT-1", "parts": ["A b", True]}}, False),
        ({"city": "Rome", "place": {"parts": ["A b", 2]}}, False),
        ({"city": "Rome", "place": {"code": "IT-1", "parts": ["A b", 2], "other": 1}}, False),
        ({"city": "Rome"}, False),
    ],
)
def test_possible_answers_may_be_nested(given: dict[str, Json], passes: bool) -> None:
    address: Json = {"code": ["IT-1"], "parts": [["A-b", 2]], "note": ["x", ""]}
    expected: Json = [{"get_weather": {"city": ["Rome", "Roma"], "place": [address]}}]
    reward = weaklink.reward("tool-use", tools=TOOLS)
    assert reward(prompts=["?"], completions=[call(**given)], ground_truth=[expected]) == [float(passes)]


@pytest.mark.parametrize("reference", ["42", "Rome", [["get_weather(city='Rome')"]], "[{]", ""])
def test_a_reference_that_is_no_list_of_calls_is_refused_and_not_ignored(reference: Json) -> None:
    reward = weaklink.reward("tool-use", tools=TOOLS)
    with pytest.raises(ValueError, match=r"ground_truth|an expected call"):
        reward(prompts=[PROMPT], completions=[OSLO], ground_truth=[reference])
    assert weaklink.reward("reasoning-cap")(prompts=["?"], completions=["Rome"], ground_truth=[reference]) == [1.0]


def test_an_empty_list_of_tools_offers_no_tool() -> None:
    empty: list[Json] = [[], "[]"]
    for tools in empty:
        verdict = weaklink.verify("tool-use", PROMPT, OSLO, tools=tools)
        assert [diagnostic.rule.code for diagnostic in verdict.diagnostics] == ["T401"]
        assert weaklink.reward("tool-use", tools=tools)(prompts=[PROMPT], completions=[OSLO]) == [0.0]
        assert weaklink.verify("tool-use", PROMPT, "Hello.", tools=tools).passed
    in_prompt = f"<tools>\n{json.dumps({'type': 'function', 'function': TOOLS[0]})}\n</tools>"  # type: ignore[index]  # JSON
    messages: Json = [{"role": "system", "content": in_prompt}, {"role": "user", "content": PROMPT}]
    assert weaklink.verify("tool-use", messages, OSLO, tools=[], format="hermes").passed


def test_a_value_that_the_reference_has_needs_no_other_source() -> None:
    answer = call(city="Narvik")
    expected: Json = [{"name": "get_weather", "arguments": {"city": "Narvik"}}]
    assert not weaklink.verify("tool-use", PROMPT, answer, tools=TOOLS).passed
    assert weaklink.verify("tool-use", PROMPT, answer, tools=TOOLS, expected=expected).passed
    todo = call(city="TODO")
    assert not weaklink.verify("tool-use", PROMPT, todo, tools=TOOLS).passed
    expected = [{"name": "get_weather", "arguments": {"city": "TODO"}}]
    assert weaklink.verify("tool-use", PROMPT, todo, tools=TOOLS, expected=expected).passed


class Array(list[Json]):
    """What verl makes of a Parquet list: an array with `tolist`."""

    def tolist(self) -> list[Json]:
        return list(self)


def test_verl_calls_compute_score() -> None:
    compute_score = weaklink.verl_reward("tool-use", tools=TOOLS, format="hermes")
    assert compute_score.__name__ == "tool_use_reward"
    assert compute_score("tools", ROME, json.dumps(SINGLE), {"index": 1}) == 1.0
    assert compute_score("tools", OSLO, Array([{"name": "get_weather", "arguments": {"city": "Rome"}}])) == 0.0
    arguments: dict[str, Any] = {"data_source": "tools", "ground_truth": POSSIBLE, "extra_info": {"prompt": PROMPT}}
    router: dict[str, Any] = {"reward_router_address": None, "reward_model_tokenizer": None}
    assert compute_score(solution_str=ROME, **arguments, **router) == 1.0
    assert compute_score(solution_str="", **arguments) == 0.0
    with pytest.raises(TypeError):
        compute_score([PROMPT], [ROME])  # type: ignore[call-arg,arg-type]  # TRL's arguments
    with pytest.raises(ValueError, match="neither a list of calls"):
        compute_score("gsm8k", "72", "seventy-two")


def test_atropos_calls_compute() -> None:
    compute = weaklink.atropos_reward("tool-use", tools=TOOLS, format="hermes")
    assert compute([ROME, OSLO, ""], prompt=PROMPT, ground_truth=[SINGLE, SINGLE, SINGLE]) == [1.0, 0.0, 0.0]
    assert compute([], prompt=PROMPT, tools=[]) == []
    with pytest.raises(TypeError):
        compute(ROME)
    with pytest.raises(TypeError):
        weaklink.trl_reward("tool-use", tool=TOOLS)  # type: ignore[call-arg]  # what a user may mistype


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_list_of_calls_is_the_reference_of_each_completion_of_an_atropos_group(count: int) -> None:
    compute = weaklink.atropos_reward("tool-use", tools=TOOLS, format="hermes")
    cities = ("Rome", "Oslo")
    both = "\n".join(call(city=city) for city in cities)
    expected: Json = [{"name": "get_weather", "arguments": {"city": city}} for city in cities]
    assert compute([both] * count, prompt="The weather in Rome and Oslo?", expected=expected) == [1.0] * count


def test_a_partial_reward_is_the_mean_of_the_four_scores() -> None:
    reward = weaklink.reward("tool-use", tools=TOOLS, format="hermes", partial=True)
    expected: Json = [{"name": "get_weather", "arguments": {"city": "Rome", "unit": "celsius"}}]
    answers: list[Json] = [
        call(city="Rome", unit="celsius"),
        call(city="Oslo", unit="celsius"),
        call(unit="celsius"),
        "I do not know.",
        "",
        None,
    ]
    prompts = [PROMPT] * len(answers)
    rewards = reward(prompts=prompts, completions=answers, ground_truth=[expected] * len(answers))
    assert rewards == [1.0, (1 + 0.5 + 1 + 1) / 4, (0 + 0.5 + 1 + 1) / 4, 0.0, 0.0, 0.0]
    assert weaklink.verl_reward(tools=TOOLS, partial=True, passed=2.0, failed=-1.0)("x", "No.", expected) == -1.0
    assert reward(prompts=[PROMPT] * 2, completions=["No need.", ""], expected=[[], []]) == [1.0, 0.0]
    with pytest.raises(ValueError, match="needs a reference"):
        reward(prompts=[PROMPT], completions=[ROME])
    with pytest.raises(ValueError, match="no partial rewards"):
        weaklink.reward("reasoning-cap", partial=True)
