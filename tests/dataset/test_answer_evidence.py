"""D710: a claim against a result or without evidence is an info, and headings are no claims."""

import json

import pytest

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.dates import dates_in
from weaklink.inspector.dataset.lint.duplicates import sample_keys
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.model import Json
from weaklink.inspector.rules.rule import Severity

TOOL: Json = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def kinds(result: str, answer: str, asked: str = "How is it in Oslo for 2 of us?", *later: str) -> list[str]:
    call = json.dumps({"name": "get_weather", "arguments": {"city": "Oslo"}})
    texts = (asked, f"<tool_call>\n{call}\n</tool_call>", result, answer, *later)
    roles = ("user", "assistant", "tool", "assistant", *("user", "assistant")[: len(later)])
    messages: list[Json] = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    sample = read_sample(DataRow("a", "line 1", 1, {"messages": messages, "tools": [TOOL]}))
    unsupported = [diagnostic for diagnostic in lint_sample(sample) if diagnostic.rule.code == "D710"]
    assert all(diagnostic.rule.severity is Severity.INFO for diagnostic in unsupported)
    return [AGAINST if "; the result has `" in diagnostic.fault.message else WITHOUT for diagnostic in unsupported]


AGAINST, WITHOUT = "against a result", "without evidence"


@pytest.mark.parametrize(
    ("result", "answer", "expected"),
    [
        ('{"celsius": 17}', "It is 24 °C in Oslo.", [AGAINST]),
        ("17 °C", "It is 24 °C in Oslo.", [AGAINST]),
        ('{"celsius": 17, "wind": 5}', "It is 24 °C, with a wind of 5 m/s.", [AGAINST]),
        ('{"celsius": 17}', "It is 17 °C in Oslo.", []),
        ('{"celsius": 17}', "It is 17 °C, far from the freezing point at -38.83 °C of mercury.", [WITHOUT]),
        ('{"celsius": 17}', "It is 63 °F in Oslo.", []),
        ('{"celsius": 16.8}', "It is about 17 °C in Oslo.", []),
        ('{"price": 129.5}', "For the 2 of you, it is 259 kroner.", []),
        ('{"leaves": "06:45"}', "It leaves at 09:30.", [AGAINST]),
        ('{"leaves": "06:45"}', "It leaves at 6:45.", []),
        ('{"booking": "MOSS-7719"}', "Your booking is MOSS-7718.", [AGAINST]),
        ('{"booking": "MOSS-7719"}', "Your booking is MOSS-7719.", []),
        ('{"celsius": 17}', "It is 17 °C. The coach Vebjørn Selbekk likes that.", [WITHOUT]),
        ('{"celsius": 17}', "## Weather Report Today\nIt is 17 °C.", []),
        ('{"celsius": 17}', "**Current Weather Conditions**\nIt is 17 °C.", []),
        ('{"celsius": 17}', "Here is the Weather Summary Report:\nIt is 17 °C.", []),
        (json.dumps(list(range(100, 120))), "It is 93.71 °C.", [WITHOUT]),
    ],
)
def test_a_claim_is_reported_if_it_contradicts_a_result_or_has_no_evidence(
    result: str, answer: str, expected: list[str]
) -> None:
    assert kinds(result, answer) == expected
    assert kinds(result, answer, "How is it in Oslo for 2 of us?", "Thanks!") == expected
    assert kinds(result, answer, "How is it in Oslo for 2 of us?", "Thanks!", "You are welcome.") == expected


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("On 3 MAY and May 4th", [(5, 4), (5, 3)]),
        ("\u017fep 3", [(9, 3)]),
        ("apr\u0131l 3", []),
        ("2025-06-03, in room 12", [(6, 3)]),
    ],
)
def test_a_date_with_a_months_name_is_found_in_any_case(text: str, days: list[tuple[int, int]]) -> None:
    assert [(date.month, date.day) for _, date in dates_in(text)] == days


def test_keys_of_ascii_texts_are_those_of_other_texts_with_the_same_words() -> None:
    asked = "Show me a_b the weather in Oslo for 2 of us, and in all towns between Oslo and Bergen, at about noon today"

    def keys(text: str) -> object:
        messages: list[Json] = [{"role": "user", "content": text}, {"role": "assistant", "content": "Which day?"}]
        return sample_keys(read_sample(DataRow("a", "line 1", 1, {"messages": messages})))

    assert keys(asked) == keys(asked.replace(",", " \u2026").upper()) != keys(asked.replace("noon", "one"))


DANISH = '{"booking": "BK-7021", "price": 96, "currency": "DKK", "hours": 3}'
FERRITIN = '{"value": 86, "unit": "ng/ml", "taken": "2026-05-30"}'


@pytest.mark.parametrize(
    ("result", "right", "wrong"),
    [
        (DANISH, "It costs 96 DKK.", "It costs 96 EUR."),
        (DANISH, "It costs 96 kr.", "It costs 96 €."),
        (DANISH, "It is booked for three hours.", "It is booked for five hours."),
        (DANISH, "It is free for two hours of the three hours.", "It is free for twelve hours."),
        (FERRITIN, "The value is 86 ng/ml.", "The value is 86 mg/l."),
        (FERRITIN, "The value is 86 µg/l.", "The value is 86 g/l."),
        ('{"degrees": 17, "unit": "celsius"}', "It is 17 °C.", "It is 17 °F."),
        ('{"degrees": 17, "unit": "metric"}', "It is 17 °C.", "It is 24 °C."),
        ('{"km": 20, "load": 3, "unit": "kg"}', "It is 20 km with 3 kg.", "It is 20 km with 3 lbs."),
        (FERRITIN, "Der Wert vom 30. Mai 2026.", "Der Wert vom 3. Mai 2026."),
        (FERRITIN, "El valor del 30 de mayo de 2026.", "El valor del 12 de junio de 2026."),
        (FERRITIN, "La valeur du 30 mai 2026.", "La valeur du 13 mai 2026."),
        (FERRITIN, "O valor de 30 de maio.", "O valor de 13 de maio."),
        (FERRITIN, "Il valore del 30 maggio 2026.", "Il valore del 20 aprile 2026."),
        (FERRITIN, "2026年5月30日的数值。", "2026年5月3日的数值。"),
        (FERRITIN, "Der Wert ist 86.", "Der Wert ist 68."),
        ('{"celsius": 17}', "奥斯陆现在17度。", "奥斯陆现在24度。"),
        ('{"celsius": 17}', "オスロは17度です。", "オスロは24度です。"),
        ('{"celsius": 17}', "오슬로는 17도입니다.", "오슬로는 24도입니다."),
        ('{"people": 400000}', "人口约为40万。", "人口约为47万。"),
        ('{"price": 1234567}', "It costs 1.234.567 euros.", "It costs 1.243.567 euros."),
        ('{"city": "Oslo"}', "Es ist Oslo.", "I'm sorry, no tengo acceso a esos datos."),
        ('{"city": "Oslo"}', "这是奥斯陆。", "抱歉，我无法访问这些数据。"),
    ],
)
def test_quantities_and_dates_of_other_languages_are_compared(result: str, right: str, wrong: str) -> None:
    assert kinds(result, right) == []
    assert kinds(result, wrong) != []


@pytest.mark.parametrize(
    "answer", ["The 2 Mars rovers are there.", "On 5 may occasions it rains.", "5月の天気です。", "It is the 5 mayor."]
)
def test_words_that_may_be_months_are_no_claims(answer: str) -> None:
    assert kinds('{"celsius": 17, "count": 5}', answer) == []
