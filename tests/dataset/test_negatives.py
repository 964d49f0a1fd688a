"""Samples without a call: what is made of which sample, and that a tool that may fit is never overlooked."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.lint.texts import language_of
from weaklink.inspector.dataset.negatives import (
    KINDS,
    NegativeOptions,
    NegativeRow,
    NoNegative,
    has_call,
    make_negative,
    tool_fits,
    tool_pool,
)
from weaklink.inspector.dataset.no_tool_answers import NO_TOOL_ANSWERS, language_of_question, no_tool_answer
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.verifiers import TOOL_USE, run_verifier
from weaklink.inspector.model import Json, ToolDefinition
from weaklink.inspector.rules.rule import Severity


def tool(name: str, description: str, *required: str) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in required}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool("get_weather", "Current weather of a city", "city")
INVOICE = tool("create_invoice", "Creates an invoice for a customer", "customer", "amount")
FORECAST = tool("weather_forecast", "Forecast for the coming days", "place")
POPULATION = tool("get_population", "Number of inhabitants", "city")
SEARCH = tool("web_search", "Searches the web", "query")
ALARM = tool("set_alarm", "Sets an alarm clock", "hour")


def sample(*tools: dict[str, Any], system: bool = False, **more: Any) -> Any:
    call = json.dumps({"name": "get_weather", "arguments": {"city": "Oslo"}})
    said = [("user", "What is the weather in Oslo?"), ("assistant", f"<tool_call>\n{call}\n</tool_call>")]
    said += [("tool", '{"temperature": 4}'), ("assistant", "It is 4 degrees.")]
    value: dict[str, Any] = {"id": "s1", "messages": [{"role": role, "content": text} for role, text in said], **more}
    if system:
        listed = "\n".join(json.dumps(definition) for definition in tools)
        value["messages"].insert(0, {"role": "system", "content": f"Use these.\n<tools>\n{listed}\n</tools>"})
    else:
        value["tools"] = list(tools)
    return read_sample(DataRow("a.jsonl", "line 1", 1, value))


def names(row: NegativeRow) -> list[str]:
    return [offered.name for offered in read_sample(DataRow("b", "line 1", 1, row.value)).offered.tools]


@pytest.mark.parametrize("system", [False, True])
def test_the_needed_tool_is_removed_and_the_answer_says_that_none_fits(system: bool) -> None:
    given_sample = sample(WEATHER, INVOICE, ALARM, system=system, type="single_tool_call", tool_call_count=1)
    before = json.dumps(given_sample.row.value)
    negative = make_negative(given_sample, NegativeOptions(1, ("tool-removed",)))
    assert isinstance(negative, NegativeRow)
    assert names(negative) == ["create_invoice", "set_alarm"]
    assert negative.value["negative"] == {
        "kind": "tool-removed", "tool": "get_weather", "synthetic": True, "open": False, "seed": 1, "parent": "s1",
    }  # fmt: skip
    assert (negative.value["type"], negative.value["tool_call_count"], negative.value["id"]) == (
        "no_tool_call",
        0,
        "s1-tool-removed",
    )
    messages = negative.value["messages"]
    assert isinstance(messages, list)
    assert isinstance(messages[-1], dict)
    assert messages[-1]["role"] == "assistant"
    assert run_verifier(TOOL_USE, row_candidate(negative.value)).passed
    again = read_sample(DataRow("b.jsonl", "line 1", 1, negative.value))
    assert [diagnostic for diagnostic in lint_sample(again) if diagnostic.rule.severity is not Severity.INFO] == []
    assert json.dumps(given_sample.row.value) == before
    left_open = make_negative(given_sample, NegativeOptions(1, ("tool-removed",), leave_open=True))
    assert isinstance(left_open, NegativeRow)
    assert left_open.value["messages"] == messages[:-1]


def test_a_call_that_went_well_in_a_chain_that_did_not_is_no_reason() -> None:
    given = sample(WEATHER, INVOICE)
    messages: Any = given.row.value["messages"]
    row = {**given.row.value, "messages": messages[:-1]}
    negative = make_negative(read_sample(DataRow("b.jsonl", "line 1", 1, row)), NegativeOptions(1))
    assert isinstance(negative, NoNegative)
    assert negative.reason == "its chain is unknown, not ok"


@pytest.mark.parametrize("other", [FORECAST, POPULATION, SEARCH, tool("oslo_guide", "Tells about Oslo")])
def test_nothing_is_made_where_another_tool_may_fit(other: dict[str, Any]) -> None:
    negative = make_negative(sample(WEATHER, INVOICE, other), NegativeOptions(1, ("tool-removed",)))
    assert isinstance(negative, NoNegative)
    assert "may fit" in negative.reason


def test_an_answer_that_is_given_already_needs_no_call() -> None:
    negative = make_negative(sample(WEATHER, INVOICE), NegativeOptions(1, ("already-given",)))
    assert isinstance(negative, NegativeRow)
    messages = negative.value["messages"]
    assert isinstance(messages, list)
    assert [message["role"] for message in messages if isinstance(message, dict)] == ["user", "assistant"]
    assert '{"temperature": 4}' in str(messages[0])
    assert names(negative) == ["get_weather", "create_invoice"]
    assert run_verifier(TOOL_USE, row_candidate(negative.value)).passed


@pytest.mark.parametrize("kind", ["already-given", "tool-removed"])
def test_the_turns_of_calls_of_llama_factory_are_answers(kind: str) -> None:
    said = [("human", "What is the weather in Oslo?")]
    said += [("function_call", '{"name": "get_weather", "arguments": {"city": "Oslo"}}')]
    said += [("observation", '{"temperature": 4}'), ("gpt", "It is 4 degrees.")]
    turns = [{"from": role, "value": text} for role, text in said]
    value: dict[str, Any] = {"conversations": turns, "tools": json.dumps([WEATHER["function"], ALARM["function"]])}
    read = read_sample(DataRow("a.jsonl", "line 1", 1, value))
    made = make_negative(read, NegativeOptions(1, (kind,)))
    assert isinstance(made, NegativeRow)
    conversations: Any = made.value["conversations"]
    assert [turn["from"] for turn in conversations] == ["human", "gpt"]


def test_the_result_is_only_given_in_a_conversation_of_one_question_and_of_a_tool_that_reads() -> None:
    longer = sample(WEATHER, INVOICE)
    messages = [*longer.row.value["messages"], {"role": "user", "content": "And you?"}]
    messages.append({"role": "assistant", "content": "I have no weather."})
    value = {**longer.row.value, "messages": messages}
    options = NegativeOptions(1, ("already-given",))
    negative = make_negative(read_sample(DataRow("a", "line 1", 1, value)), options)
    assert isinstance(negative, NoNegative)
    assert "longer conversation" in negative.reason
    for name, description, answer in (
        ("send_mail", "Sends a mail", "Done."),
        ("mailer", "Sends a mail", "Done."),
        ("get_weather", "Current weather", "The mail has been sent."),
    ):
        call = json.dumps({"name": name, "arguments": {"city": "Oslo"}})
        texts = ("Mail Oslo.", f"<tool_call>\n{call}\n</tool_call>", '{"id": 4}', answer)
        roles = ("user", "assistant", "tool", "assistant")
        listed: list[Json] = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        row = DataRow("a", "line 1", 1, {"messages": listed, "tools": [tool(name, description, "city")]})
        negative = make_negative(read_sample(row), options)
        assert isinstance(negative, NoNegative), name
        assert "acts" in negative.reason


@pytest.mark.parametrize("style", ["lines", "array", "indented", "alone"])
@pytest.mark.parametrize("needed", [0, 1, 2])
def test_of_the_set_s_system_prompt_only_the_definitions_change(style: str, needed: int) -> None:
    tools = [INVOICE, ALARM]
    tools.insert(needed, WEATHER)
    if style == "alone":
        tools = [WEATHER]
    listed = {
        "lines": "\n".join(json.dumps(definition) for definition in tools),
        "array": json.dumps(tools),
        "indented": json.dumps(tools, indent=2),
        "alone": json.dumps(tools),
    }[style]
    given_sample = sample(*tools)
    value = dict(given_sample.row.value)
    value.pop("tools")
    before, after = "You are Bo, a bot.\nTools: <tools>\n", "\n</tools>\nAnswer {briefly}."
    value["messages"] = [{"role": "system", "content": f"{before}{listed}{after}"}, *value["messages"]]
    pool = (
        ToolDefinition("create_invoice", "Creates an invoice for a customer", {"type": "object", "properties": {}}),
    )
    options = NegativeOptions(1, ("tool-removed",), pool=pool)
    negative = make_negative(read_sample(DataRow("a", "line 1", 1, value)), options)
    assert isinstance(negative, NegativeRow), negative
    text = str(negative.value["messages"][0]["content"])  # type: ignore[index,call-overload]  # JSON
    assert text.startswith(before)
    assert text.endswith(after)
    assert "get_weather" not in text
    assert names(negative) == [definition["function"]["name"] for definition in tools if definition is not WEATHER] or [
        "create_invoice"
    ]
    if style != "alone":
        assert all(json.dumps(answer)[1:-1] in text for answer in (INVOICE, ALARM)) or style == "indented"


def test_small_talk_is_offered_unrelated_tools_of_the_set() -> None:
    talk: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Good morning!"}, {"role": "assistant", "content": "Morning!"}]
    }
    rows = [
        DataRow("a", "line 1", 1, {**talk, "tools": [INVOICE, SEARCH]}),
        DataRow("a", "line 2", 2, {**talk, "tools": [ALARM]}),
    ]
    pool = tool_pool(iter(rows))
    assert [definition.name for definition in pool] == ["create_invoice", "web_search", "set_alarm"]
    plain = read_sample(DataRow("a", "line 3", 3, talk))
    negative = make_negative(plain, NegativeOptions(1, pool=pool))
    assert isinstance(negative, NegativeRow)
    assert sorted(names(negative)) == ["create_invoice", "set_alarm"]
    alarmed: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Alarms scare me."}, {"role": "assistant", "content": "Oh."}]
    }
    other = make_negative(read_sample(DataRow("a", "line 4", 4, alarmed)), NegativeOptions(1, pool=pool))
    assert isinstance(other, NegativeRow)
    assert names(other) == ["create_invoice"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("both cities", "list_city"),
        ("the boxes", "open_box"),
        ("a booking", "book_seat"),
        ("a translation", "translate"),
    ],
)
def test_words_are_compared_without_grammatical_endings(said: str, name: str) -> None:
    assert tool_fits(ToolDefinition(name), said)


QUESTIONS = {
    "en": ("What is the weather in Oslo?", "Can you book a table for two please", "How much is 20 USD in EUR?"),
    "es": ("¿Qué tiempo hace en Madrid?", "Quiero reservar una mesa para dos por favor"),
    "fr": ("Quel temps fait-il à Paris ?", "Combien coûte un billet pour Lyon ?", "Réserve une table pour deux"),
    "de": ("Wie wird das Wetter in Berlin?", "Was kostet ein Zug nach Wien?", "Bitte buche mir einen Tisch"),
    "pt": ("Qual é a previsão do tempo em Lisboa?", "Quanto custa uma passagem para o Porto?"),
    "it": ("Che tempo fa a Roma?", "Quanto costa il treno per Milano?"),
    "ja": ("東京の天気は？", "明日の予定を教えてください"),
    "ko": ("서울 날씨 어때?", "내일 일정을 알려줘"),
    "zh": ("北京天气怎么样？",),
    "ru": ("Какая погода в Москве?", "Сколько стоит билет на поезд?"),
    "ar": ("ما هو الطقس في القاهرة؟", "كم سعر التذكرة إلى دبي؟"),
    "hi": ("दिल्ली में मौसम कैसा है?", "मुझे मुंबई के लिए टिकट चाहिए"),
}
OTHERS = (
    "Wat is het weer in Oslo?",
    "Hur är vädret i Stockholm?",
    "Hvad er vejret i Aarhus?",
    "Hva er været i Bergen?",
    "Jaka jest pogoda w Krakowie?",
    "Jaké je počasí v Praze?",
    "Milyen az idő Budapesten?",
    "Oslo'da hava nasıl?",
    "Bagaimana cuaca di Jakarta?",
    "Яка погода в Києві?",
    "Какво е времето в София?",
    "هوا در تهران چگونه است؟",
    "لاہور میں موسم کیسا ہے؟",
    "मुंबईमध्ये हवामान कसे आहे?",
    "Weather Oslo",
    "12 + 30",
)


@pytest.mark.parametrize(
    ("code", "question"), [(code, question) for code, asked in QUESTIONS.items() for question in asked]
)
def test_the_answer_is_in_the_language_of_the_question(code: str, question: str) -> None:
    answers = {no_tool_answer(question, Random(seed)) for seed in range(20)}
    assert answers == set(NO_TOOL_ANSWERS[code])


@pytest.mark.parametrize("question", OTHERS)
def test_a_language_without_a_text_gets_none_in_another(question: str) -> None:
    assert no_tool_answer(question, Random(1)) is None


@pytest.mark.parametrize("code", NO_TOOL_ANSWERS)
def test_each_text_is_in_the_language_that_it_is_listed_under(code: str) -> None:
    for text in NO_TOOL_ANSWERS[code]:
        assert language_of(text, fewest_letters=20, certain=0.5) == code


@pytest.mark.parametrize("city", ["Lima", "Oslo", "Rome"])
def test_a_short_english_question_is_no_pidgin(city: str) -> None:
    assert language_of(f"Weather in {city} for 3 days?", fewest_letters=12, certain=0.5) == "en"


@given(st.text(max_size=80))
def test_any_question_gets_a_text_of_the_table_or_none(question: str) -> None:
    answer = no_tool_answer(question, Random(1))
    assert answer is None or answer in NO_TOOL_ANSWERS[language_of_question(question) or ""]


@given(st.integers(0, 2**32), st.sampled_from(KINDS))
def test_a_seed_gives_the_same_row_without_a_call(seed: int, kind: str) -> None:
    made = [make_negative(sample(WEATHER, INVOICE, ALARM), NegativeOptions(seed, (kind,))) for _ in range(2)]
    assert made[0] == made[1]
    if isinstance(made[0], NegativeRow):
        assert not has_call(read_sample(DataRow("b", "line 1", 1, made[0].value)))


WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=8)


@example("aate", "aaaa", "plural")
@example("aaie", "aaaa", "plural")
@given(WORD, WORD, st.sampled_from(["name", "description", "parameter", "plural"]))
def test_a_tool_that_shares_a_telling_word_with_the_request_always_fits(word: str, other: str, part: str) -> None:
    telling = f"zq{word}"
    named = f"set_{telling}" if part == "name" else f"set_zk{other}"
    described = f"Sets the {telling}." if part == "description" else "Sets it."
    properties: dict[str, Json] = {telling if part == "parameter" else "z": {}}
    candidate = ToolDefinition(named, described, {"type": "object", "properties": properties})
    said = f"Please change my {telling}{'s' if part == 'plural' else ''} now."
    if part == "plural":
        candidate = ToolDefinition(f"set_{telling}", "Sets it.", None)
    assert tool_fits(candidate, said)


def test_a_result_in_the_user_s_turn_is_no_second_question() -> None:
    used = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Oslo"}}
    returned = {"type": "tool_result", "tool_use_id": "t1", "content": '{"temperature": 4}'}
    messages: list[Any] = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [returned]},
        {"role": "assistant", "content": "It is 4 degrees."},
    ]
    tools: Json = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]
    read = read_sample(DataRow("a.jsonl", "line 1", 1, {"messages": messages, "tools": tools}))
    made = make_negative(read, NegativeOptions(1, ("already-given",)))
    assert isinstance(made, NegativeRow)
    written: Any = made.value["messages"]
    assert [record["role"] for record in written] == ["user", "assistant"]
    assert written[0]["content"].endswith('{"temperature": 4}')


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("member", ["expected", "ground_truth", "answers", "reward_model"])
def test_a_negative_has_no_reference_that_needs_the_call(member: str, as_text: bool) -> None:
    calls: Any = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
    reference = json.dumps(calls) if as_text else calls
    held = {"style": "rule", "ground_truth": reference} if member == "reward_model" else reference
    given: dict[str, Any] = {member: held}
    made = make_negative(sample(WEATHER, ALARM, **given), NegativeOptions(1, ("tool-removed",)))
    assert isinstance(made, NegativeRow), made
    assert run_verifier(TOOL_USE, row_candidate(made.value)).passed
    assert type(made.value[member]) is type(given[member])


def test_a_reference_that_is_no_call_stays() -> None:
    made = make_negative(sample(WEATHER, ALARM, answers=["4 degrees"]), NegativeOptions(1, ("tool-removed",)))
    assert isinstance(made, NegativeRow), made
    assert made.value["answers"] == ["4 degrees"]


def test_a_row_that_ends_with_its_only_call_gives_a_negative() -> None:
    ending: dict[str, Any] = sample(WEATHER, ALARM).row.value
    row = {**ending, "messages": ending["messages"][:2]}
    made = make_negative(read_sample(DataRow("a.jsonl", "line 1", 1, row)), NegativeOptions(1, ("tool-removed",)))
    assert isinstance(made, NegativeRow), made
    messages: Any = made.value["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
