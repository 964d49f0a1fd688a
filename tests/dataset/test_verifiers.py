"""Verifiers: what passes, what fails and by which rule, with conversations that are right but for one thing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weaklink
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.verifiers import Verifier, find_verifier, run_verifier, verifier_names
from weaklink.inspector.model import Json

WEATHER: Json = {
    "name": "get_weather",
    "description": "Get weather for a city",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer"},
        },
        "required": ["city"],
    },
}
TOOLS: list[Json] = [WEATHER]
ASKED = "How is the weather in Oslo?"


def call(name: str = "get_weather", **arguments: Json) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def said(*texts: str) -> list[Json]:
    """Messages in turn: the user's, then the assistant's and the tool's, and the assistant's last."""
    roles = ("user", *("assistant", "tool") * len(texts))
    return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]


def codes(verifier: str, messages: Json, completion: Json = None, **options: Any) -> list[str]:
    verdict = weaklink.verify(verifier, messages, completion, **options)
    code = [diagnostic.rule.code for diagnostic in verdict.diagnostics]
    assert verdict.passed is (not code)
    return code


def uses(*texts: str, **options: Any) -> list[str]:
    return codes("tool-use", said(*texts), tools=TOOLS, **options)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (call(city="Oslo"), None),
        (call(city="Oslo").replace("</tool_call>", ""), "F301"),
        (call(city="Oslo").replace('"', "'"), "J103"),
        (call(city="Oslo").replace("arguments", "parameters"), "J113"),
        (call(city=5), "S202"),
        (call(unit="celsius"), "S201"),
        (call(city="Oslo", unit="kelvin"), "S204"),
        (call(city="Oslo", country="Norway"), "S203"),
        (call("get_wether", city="Oslo"), "T401"),
        (call(city="<previous_result>"), "T411"),
        (call(city="Tokyo"), "V904"),
    ],
)
def test_a_call_passes_only_readable_offered_valid_and_supported(answer: str, code: str | None) -> None:
    closed: list[Json] = [
        {**WEATHER, "parameters": {**WEATHER["parameters"], "additionalProperties": False}}  # type: ignore[call-overload,index,dict-item]  # JSON
    ]
    reported = codes("tool-use", ASKED, answer, tools=closed)
    assert (code in reported) if code else not reported


RATE = '{"error": "HTTP 429 too many requests"}'
GONE = '{"error": "city not found"}'


@pytest.mark.parametrize(
    ("asked", "city", "passes"),
    [
        ("Wie ist das Wetter in München?", "Munich", True),
        ("Wetter in Wien bitte", "Vienna", True),
        ("clima para Londres", "London", True),
        ("Weather in La Paz", "Lima", False),
        ("Weather De Moines", "Lima", False),
        ("Wie ist das Wetter in Köln?", "Cologne", True),
        ("¿Qué tiempo hace en Londres?", "London", True),
        ("Che tempo fa a Firenze?", "Florence", True),
        ("Hoe is het weer in Den Haag?", "The Hague", True),
        ("Jaka jest pogoda w Warszawie?", "Warsaw", True),
        ("Hur är vädret i Göteborg?", "Gothenburg", True),
        ("What is the weather in NYC?", "New York", True),
        ("What is the weather in LA?", "Los Angeles", True),
        ("How is the weather?", "London", False),
        ("What is the weather in Oslo?", "Rome", False),
        ("Is it warmer in Las Vegas or Los Angeles?", "Phoenix", False),
        ("Do I need a coat in Oslo?", "Rome", False),
        ("What is the weather in the USA?", "New York", False),
        ("Wie ist das Wetter in München?", "BAV-4471", False),
    ],
)
def test_a_translated_or_abbreviated_name_has_a_source(asked: str, city: str, passes: bool) -> None:  # a table's column
    assert codes("tool-use", asked, call(city=city), tools=TOOLS) == ([] if passes else ["V904"])


def test_an_error_must_be_recovered_from() -> None:
    fine = '{"temperature": 4}'
    assert uses(ASKED, call(city="Oslo"), fine, "It is 4 degrees.") == []
    assert uses(ASKED, call(city=7), GONE, call(city="Oslo"), fine, "It is cold.") == []
    assert "T413" in uses(ASKED, call(city="Oslo"), GONE, "It is sunny in Oslo, so leave the coat at home.")
    assert "T413" in uses(ASKED, call(city="Oslo"), GONE, "Sorry, I could not find that city.")
    assert "S202" in uses(ASKED, call(city=7), fine, "It is cold.")


def test_one_identical_retry_is_allowed_after_a_transient_error_only() -> None:
    fine, again = '{"temperature": 4}', call(city="Oslo")
    assert uses(ASKED, again, RATE, again, fine, "It is 4 degrees.") == []
    assert "T408" in uses(ASKED, again, RATE, again, RATE, again, fine, "It is cold.")
    assert "T408" in uses(ASKED, again, GONE, again, GONE, "I cannot say, sorry.")


def test_without_the_tool_s_definition_only_ids_are_judged() -> None:
    assert codes("tool-use", ASKED, call(city="Tokyo")) == []
    messages = said("Refund my order.", call("refund", order_id="W7731902"), "done", "Done.")
    assert codes("tool-use", messages) == ["T412"]


def test_ids_of_calls_and_results_are_paired() -> None:
    made: Json = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    answer: Json = {"role": "assistant", "content": None, "tool_calls": [made]}
    for id_, code in (("c1", None), ("c2", "T403")):
        result: Json = {"role": "tool", "tool_call_id": id_, "content": "4 degrees"}
        messages: list[Json] = [
            {"role": "user", "content": ASKED},
            answer,
            result,
            {"role": "assistant", "content": "4."},
        ]
        reported = codes("tool-use", messages, tools=TOOLS)
        assert (code in reported) if code else not reported


@given(st.permutations(["Oslo", "Bergen", "Narvik"]), st.sets(st.integers(0, 2)))
def test_expected_calls_match_in_any_order_and_only_whole(made: list[str], left_out: set[int]) -> None:
    expected: list[Json] = [
        {"name": "get_weather", "arguments": {"city": city}} for city in ("Oslo", "Bergen", "Narvik")
    ]
    kept = [city for index, city in enumerate(made) if index not in left_out]
    answer = "\n".join(call(city=city) for city in kept) or "No."
    reported = codes("tool-use", "Weather in Oslo, Bergen, Narvik?", answer, tools=TOOLS, expected=expected)
    assert reported == ["V902"] * len(left_out) or (set(reported) == {"V902"} and len(reported) == 1 <= len(left_out))


def test_rules_can_be_selected_and_ignored() -> None:
    answer = call(city="Tokyo", unit="kelvin")
    assert set(codes("tool-use", ASKED, answer, tools=TOOLS)) == {"S204", "V904"}
    assert codes("tool-use", ASKED, answer, tools=TOOLS, ignore=["V904", "S2"]) == []
    assert codes("tool-use", ASKED, answer, tools=TOOLS, select=["S"]) == ["S204"]


PLACE: list[Json] = [
    {"name": "find", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "count": {}}}}
]


@pytest.mark.parametrize(
    ("user", "value", "passes"),
    [
        ("Key events of German history", "Germany", True),
        ("Estimate the population of pandas", "panda", True),
        ("The weather in Chcicago?", "Chicago", True),
        ("A salon in San Fran?", "San Francisco, CA", True),
        ("A hotel in LA", "Los Angeles, CA", True),
        ("The stock of Apple", "AAPL", True),
        ("London time zone", "Europe/London", True),
        ("给我订一张去纽约的票", "纽约市", True),
        ("帮我查 iPhone 15 Pro Max 在德国的价格", "Germany", True),
        ("An alarm at 5 in the afternoon", "17:00", True),
        ("A train on April 22nd", "04/22/2023", True),
        ("A train on April 22nd", "04/23/2023", False),
        ("A train on April 22nd, 2023", "04/22/2024", False),
        ("An alarm at 5 in the afternoon", "05:00", False),
        ("The weather in Oslo?", "Rome", False),
        ("The weather in San Francisco?", "San Jose", False),
        ("The weather in New York?", "New Jersey", False),
        ("The weather in Oslo?", "TODO", False),
        ("给我订一张去纽约的票", "北京", False),
        ("Movies of the next week", 7, True),
        ("A mix of 3 minutes", 180, True),
        ("A capacitor of 50mH", 0.05, True),
        ("More than 10 guests", 11, True),
        ("It starts from rest", 0, True),
        ("Hosts in February", 2, True),
        ("The meter in February 2026", "2026-02", True),
        ("The meter in February 2026", "2026-03", False),
        ("I am 42, and she is 3 years older", 45, True),
        ("More than 10 guests", 17, False),
        ("Movies of the next week", 9, False),
    ],
)
def test_a_value_one_step_away_from_the_context_has_a_source(user: str, value: Json, passes: bool) -> None:
    name = "city" if isinstance(value, str) else "count"
    reported = codes("tool-use", user, call("find", **{name: value}), tools=PLACE)
    assert (not reported) is passes, reported


SCHEMA: Json = {
    "type": "object",
    "properties": {
        "age": {"type": "integer"},
        "name": {"$ref": "#/$defs/name"},
        "pet": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"kind": {"type": "string"}}}]},
        "tags": {"type": "array", "items": {"type": "object", "properties": {"tag": {"type": "string"}}}},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {},
        "by_pattern": {"type": "object", "patternProperties": {"^x_": {"type": "integer"}}},
        "licence": {"type": "string"},
    },
    "required": ["age"],
    "if": {"properties": {"age": {"minimum": 18}}},
    "then": {"required": ["licence"]},
    "$defs": {"name": {"type": "object", "properties": {"first": {"type": "string"}}, "required": ["first"]}},
}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ('{"age": 3}', None),
        ('\n {"age": 3.0}\n', None),
        ('<think>Three, I guess.</think>\n{"age": 3}', None),
        ('{"age": 3, "name": {"first": "A"}, "pet": {"kind": "cat"}, "tags": [{"tag": "a"}]}', None),
        ('{"age": 3, "more": {"k": 1}, "any": {"k": {"l": 1}}, "by_pattern": {"x_1": 1}}', None),
        ('{"age": 30, "licence": "B"}', None),
        ('{"age": 30}', "S201"),
        ('{"age": "thirty"}', "S202"),
        ('{"age": 3.5}', "S202"),
        ('{"age": 3, "name": {}}', "S201"),
        ('{"age": 3, "extra": 1}', "S203"),
        ('{"age": 3, "name": {"first": "A", "last": "B"}}', "S203"),
        ('{"age": 3, "pet": {"kind": "cat", "name": "Tom"}}', "S203"),
        ('{"age": 3, "tags": [{"tag": "a", "weight": 1}]}', "S203"),
        ('{"age": 3, "by_pattern": {"y": 1}}', "S203"),
        ('```json\n{"age": 3}\n```', "J114"),
        ('Here it is: {"age": 3}', "J101"),
        ('{"age": 3} I hope it helps.', "J109"),
        ('{"age": 3}{"age": 3}', "J109"),
        ('{"age": 3}\n<think>late</think>\nDone', "J109"),
        ('<think>{"age": 3}', "J101"),
        ("{'age': 3}", "J103"),
        ('{"age": 3,}', "J104"),
        ('{"age": 3', "J102"),
        ('{"age": NaN}', "J111"),
        ("", "J101"),
    ],
)
def test_an_answer_adheres_to_its_schema_or_not(answer: str, code: str | None) -> None:
    reported = codes("schema-adherence", "How old?", answer, schema=SCHEMA)
    assert (code in reported) if code else not reported


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def _closed_schema(value: Json) -> Json:
    """The schema that a value is an example of, which names all of its keys."""
    match value:
        case dict():
            return {"type": "object", "properties": {key: _closed_schema(member) for key, member in value.items()}}
        case list():
            return (
                {"type": "array", "prefixItems": [_closed_schema(element) for element in value]}
                if value
                else {"type": "array"}
            )
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
    return {"type": "null"}


def _objects(value: Json) -> list[dict[str, Json]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) else []
    return own + [mapping for element in inner for mapping in _objects(element)]


@given(_VALUES, st.data())
def test_any_value_adheres_to_its_own_schema_until_a_key_is_invented(value: Json, data: st.DataObject) -> None:
    schema = _closed_schema(value)
    assert codes("schema-adherence", "?", json.dumps(value), schema=schema) == []
    holders = _objects(value)
    if holders:
        data.draw(st.sampled_from(holders))["invented"] = 1
        assert "S203" in codes("schema-adherence", "?", json.dumps(value), schema=schema)


@pytest.mark.parametrize(
    ("row", "schema"),
    [
        ({"schema": '{"type": "integer"}'}, {"type": "integer"}),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"a": 1}}}}, {"a": 1}),
        ({"messages": [{"role": "system", "content": 'Use <schema>\n{"b": 1}\n</schema>.'}]}, {"b": 1}),
        ({}, None),
    ],
)
def test_the_schema_of_a_row_is_found(row: dict[str, Json], schema: Json) -> None:
    assert row_candidate({"messages": [{"role": "user", "content": "Hi"}], **row}).schema == schema


def test_rewards_have_the_signatures_of_trl_and_verifiers() -> None:
    right, wrong = call(city="Oslo"), call(city="Rome")
    trl = weaklink.reward("tool-use", tools=TOOLS)
    assert trl.__name__ == "tool_use_reward"
    prompts: list[Json] = [[{"role": "user", "content": ASKED}]] * 2
    answers: list[Json] = [[{"role": "assistant", "content": right}], [{"role": "assistant", "content": wrong}]]
    assert trl(prompts=prompts, completions=answers, completion_ids=[[1], [2]]) == [1.0, 0.0]
    assert trl(prompts=[ASKED] * 2, completions=[right, wrong]) == [1.0, 0.0]
    assert trl(prompts=[ASKED] * 2, completions=[right, right], expected=[[], None]) == [0.0, 1.0]
    assert trl(prompt=prompts[0], completion=answers[0], answer="", state={}, info={"expected": []}) == 0.0
    assert trl(prompt=ASKED, completion=right, answer="", state={}, info={}) == 1.0
    adheres = weaklink.reward("schema-adherence", failed=-1.0)
    assert adheres(completions=["3", '"3"'], prompts=["?", "?"], schema=[{"type": "integer"}] * 2) == [1.0, -1.0]


def test_a_verifier_of_a_user_s_own_is_one_like_ours() -> None:
    def check(reading: weaklink.CandidateReading) -> Any:
        return (diagnostic for diagnostic in reading.diagnostics if "kelvin" in diagnostic.fault.message)

    own = Verifier("no-kelvin", "Nobody uses kelvin.", ("S",), check)
    candidate = row_candidate({"prompt": ASKED, "completion": call(city="Oslo", unit="kelvin"), "tools": TOOLS})
    assert not run_verifier(own, candidate).passed
    assert verifier_names()[:2] == ["schema-adherence", "tool-use"]
    with pytest.raises(weaklink.UnknownVerifierError, match="schema-adherence"):
        find_verifier("schema")


def test_further_verifiers() -> None:
    fine = '{"temperature": 4}'
    assert codes("multi-step", said(ASKED, call(city="Oslo"), fine, "4 degrees."), tools=TOOLS) == ["V902"]
    two = (ASKED, call(city="Oslo"), fine, call(city="Bergen"), fine, "4 degrees.")
    assert codes("multi-step", said(*two), tools=TOOLS) == []
    assert codes("multi-step", said(*two[:-1]), tools=TOOLS) == ["T414"]
    assert codes("reasoning-cap", ASKED, "<think>Short.</think>4") == []
    assert codes("reasoning-cap", ASKED, "<think>Never closed.") == ["F301", "V906"]
    assert codes("reasoning-cap", ASKED, f"<think>Never closed. {call(city='Oslo')}") == ["F301"]
    assert codes("reasoning-cap", ASKED, f"<think>Drafted: {call(city='Oslo')}</think>4") == []
    assert codes("reasoning-cap", ASKED, f"<think>{'hm, well ' * 40_000}</think>4") == ["R601"]
    assert codes("answer-format", "1+1?", "<think>x</think>\\boxed{2}", answer_format=r"\\boxed\{\d+\}") == []
    assert codes("answer-format", "1+1?", "It is \\boxed{2}", answer_format=r"\\boxed\{\d+\}") == ["V905"]


@given(st.lists(st.sampled_from(["user", "assistant", "tool", "system", "x"]), max_size=4), st.data())
def test_nothing_raises_whatever_the_conversation_holds(roles: list[str], data: st.DataObject) -> None:
    contents = st.sampled_from(
        ["", ASKED, call(city="Oslo"), call(city="\ud83d")[:-14], "{", "<think>", "\ud83d", "[]", "7"]
    )
    messages: list[Json] = [{"role": role, "content": data.draw(contents)} for role in roles]
    for name in verifier_names():
        weaklink.verify(name, messages, tools=TOOLS, schema=SCHEMA, answer_format="a+")
