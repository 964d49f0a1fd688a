"""Injected faults: each kind, in each shape of row, is found again where it was put, and the chain is recovered."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.dataset import json_faults
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.faults_to_inject import KINDS
from weaklink.inspector.dataset.injection import InjectedRow, NotInjected, inject_faults
from weaklink.inspector.dataset.json_faults import JSON_KINDS
from weaklink.inspector.dataset.lint.linting import lint_sample
from weaklink.inspector.dataset.loss_marks import LOSS_MARKS, Trainer, is_left_out
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.verifiers import TOOL_USE, run_verifier
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

TOOLS = [
    {
        "name": name,
        "description": f"Calls {name}",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "query": {"type": "string"},
                "url": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer"},
                "hourly": {"type": "boolean"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    for name in ("get_weather", "web_search")
]
ARGUMENTS: dict[str, Json] = {
    "city": "Beijing",
    "query": "weather forecast",
    "url": "https://www.example.com/w",
    "unit": "celsius",
    "days": 3,
    "hourly": True,
}
RESULT = '{"temperature": 22}'
SHAPES = ("hermes", "wrapped", "openai", "sharegpt", "mistral", "llama3", "thinking")
ONLY_IN_TEXT = {"wrong-format", "drafted-in-reasoning", "malformed-tags"}
WITHOUT_TAGS = ("mistral", "llama3")


def row(shape: str, **more: Any) -> DataRow:
    user, answer = "Weather in Beijing?", "It is 22 degrees."
    made = {"name": "get_weather", "arguments": ARGUMENTS}
    text = f"<tool_call>\n{json.dumps(made)}\n</tool_call>"
    result = RESULT if shape != "wrapped" else f"<tool_response>\n{RESULT}\n</tool_response>"
    if shape in ("mistral", "llama3"):
        call = ToolCall("get_weather", ARGUMENTS, json.dumps(ARGUMENTS), valid=True, range=Range(0, 0))
        text = find_format(shape).write_calls([call])
    if shape == "thinking":
        text = f"[inner_monologue]\nI need the weather.\n[/inner_monologue]\n{text}"
    roles = ("user", "assistant", "tool", "assistant")
    value: dict[str, Any] = {"tools": TOOLS, **more}
    if shape == "sharegpt":
        names = ("human", "gpt", "tool", "gpt")
        value["conversations"] = [
            {"from": name, "value": said} for name, said in zip(names, (user, text, result, answer), strict=True)
        ]
        return DataRow("a.jsonl", "line 1", 1, value)
    messages: list[dict[str, Any]] = [
        {"role": role, "content": said} for role, said in zip(roles, (user, text, result, answer), strict=True)
    ]
    if shape == "openai":
        function = {"name": "get_weather", "arguments": json.dumps(ARGUMENTS)}
        messages[1] = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        }
        messages[2]["tool_call_id"] = "c1"
    value["messages"] = messages
    return DataRow("a.jsonl", "line 1", 1, value)


def assert_found_again(injected: InjectedRow, before: DataRow) -> str:
    """The code of the fault, which is where the row says, in a chain that is recovered from it."""
    told = injected.value["injected"]
    assert isinstance(told, dict)
    sample = read_sample(DataRow("b.jsonl", "line 1", 1, injected.value))
    if injected.kind != "empty-result":
        assert run_verifier(TOOL_USE, row_candidate(injected.value), ignore=["V9"]).diagnostics == ()
    linted = lint_sample(sample)
    matching = [
        diagnostic
        for diagnostic in linted
        if (diagnostic.rule.name, diagnostic.rule.code) == (told["rule"], told["code"])
    ]
    places = [
        (diagnostic.location.turn, diagnostic.location.part, diagnostic.range.start, diagnostic.range.end)
        for diagnostic in matching
    ]
    assert (told["turn"], told["part"], told["start"], told["end"]) in places
    assert sample.inspection.chain.status is (Status.OK if injected.kind == "empty-result" else Status.RECOVERED)
    assert [diagnostic for diagnostic in linted if diagnostic.rule.severity is not Severity.INFO] == []
    key = "messages" if "messages" in before.value else "conversations"
    old, new = before.value[key], injected.value[key]
    assert isinstance(old, list)
    assert isinstance(new, list)
    assert len(new) == len(old) + 2
    assert (new[0], new[4:]) == (old[0], old[2:])
    assert is_left_out(new[1]) is (injected.kind != "timeout")
    assert not any(map(is_left_out, (new[0], *new[2:])))
    return str(told["code"])


@pytest.mark.parametrize("shape", ["hermes", "llama3", "sharegpt"])
def test_a_call_in_another_family_s_syntax_leaves_the_row_in_its_own(shape: str) -> None:
    given_row = row(shape)
    made = [fault for seed in range(12) for fault in inject_faults(given_row, seed=seed, rates={"wrong-format": 1.0})]
    rows = [injection for injection in made if isinstance(injection, InjectedRow)]
    key = "conversations" if shape == "sharegpt" else "messages"
    written = {json.dumps(injected.value[key]) for injected in rows}
    assert len(written) > 2
    for changed_row in rows:
        assert_found_again(changed_row, given_row)
        assert changed_row.value["format"] == read_sample(given_row).wire_format


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_again_in_each_shape(kind: str, shape: str) -> None:
    given_row = row(shape)
    (injected,) = inject_faults(given_row, seed=1, rates={kind: 1.0})
    if shape == "openai" and kind in ONLY_IN_TEXT:
        assert isinstance(injected, NotInjected)
        return
    is_tagless = kind == "malformed-tags" and shape in WITHOUT_TAGS
    assert isinstance(injected, NotInjected) == is_tagless
    if isinstance(injected, InjectedRow):
        assert_found_again(injected, given_row)


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_each_kind_of_malformed_json_is_found_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_faults, "JSON_KINDS", {kind: 1})
    given_row = row("hermes")
    codes = set()
    for seed in range(5):
        (injected,) = inject_faults(given_row, seed=seed, rates={"malformed-json": 1.0})
        if isinstance(injected, InjectedRow):
            codes.add(assert_found_again(injected, given_row))
    assert codes
    assert all(code.startswith("J") for code in codes)


def test_tags_are_wrong_in_every_way_and_json_in_arguments_alone_too() -> None:
    codes = set()
    for seed in range(12):
        (injected,) = inject_faults(row("hermes"), seed=seed, rates={"malformed-tags": 1.0})
        assert isinstance(injected, InjectedRow)
        codes.add(assert_found_again(injected, row("hermes")))
    assert codes == {"F301", "F308", "D712"}
    (injected,) = inject_faults(row("mistral"), seed=0, rates={"malformed-json": 1.0})
    assert isinstance(injected, InjectedRow)
    assert assert_found_again(injected, row("mistral")) == "J103"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("duplicate-key", "J108"),
        ("list-of-calls", "J110"),
        ("arguments-as-string", "J112"),
        ("wrong-arguments-key", "J113"),
        ("not-a-call", "J116"),
        ("stray-key", "J125"),
    ],
)
def test_a_payload_that_is_json_and_no_proper_call_has_its_own_code(
    kind: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_faults, "JSON_KINDS", {kind: 1})
    (injected,) = inject_faults(row("thinking"), seed=3, rates={"malformed-json": 1.0})
    assert isinstance(injected, InjectedRow)
    assert assert_found_again(injected, row("thinking")) == code


@given(st.integers(0, 2**32), st.sampled_from(SHAPES))
def test_a_seed_gives_the_same_faults_and_the_input_stays(seed: int, shape: str) -> None:
    given_row = row(shape, id="x1", type="single_tool_call", tool_call_count=1)
    before = json.dumps(given_row.value)
    first, again = (list(inject_faults(given_row, seed=seed, count=3)) for _ in range(2))
    assert first == again
    assert json.dumps(given_row.value) == before
    kinds = [span.kind for span in first if isinstance(span, InjectedRow)]
    assert len(set(kinds)) == len(kinds) > 0
    for injected in first:
        assert isinstance(injected, InjectedRow)
        assert_found_again(injected, given_row)
        kind = "multi_step_tool_call" if injected.kind == "empty-result" else "error_recovery"
        assert (injected.value["type"], injected.value["tool_call_count"]) == (kind, 2)
        assert injected.value["id"] == f"x1-{injected.kind}"
        told = injected.value["injected"]
        assert isinstance(told, dict)
        assert (told["parent"], told["seed"]) == ("x1", seed)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]},
            "it has no call",
        ),
        ({"messages": "nothing"}, "no conversation"),
        ({"tools": []}, "it offers no tools"),
        ({"tools": [{"name": "other", "parameters": {}}]}, "its chain is recovered, not ok"),
        ({"steps": [{"step_id": 1}]}, "annotated"),
        (
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "tool_use"}]}]},
            "blocks `tool_use`",
        ),
    ],
)
def test_a_row_without_a_place_is_skipped_with_the_reason(change: dict[str, Any], reason: str) -> None:
    given_row = row("hermes")
    (injected,) = inject_faults(DataRow("a", "line 1", 1, {**given_row.value, **change}), seed=0)
    assert isinstance(injected, NotInjected)
    assert reason in injected.reason


@pytest.mark.parametrize(
    ("value", "name", "is_looked_up"),
    [
        ("Beijing", "city", True),
        ("San Francisco", "city", True),
        ("A-12345", "order_id", False),
        (129, "length", False),
        ("129 meters", "length", False),
        ("2024-05-01", "date", False),
        ("https://example.com", "url", False),
        ("Please call me back soon", "message", False),
        ("Hello", "subject", False),
    ],
)
def test_a_tool_lacks_an_entry_only_for_a_name(value: Json, name: str, is_looked_up: bool) -> None:
    assert refuses("get_it", "Gets it", name, value) is is_looked_up


@pytest.mark.parametrize(
    ("tool", "description", "is_looked_up"),
    [
        ("get_address", "Address of a person", True),
        ("find_painting", "Finds a painting", True),
        ("查询地址", "查询某人的地址", True),
        ("add_contact", "Puts a person into the list", False),
        ("createContact", "A new person", False),
        ("contact", "Registers a person.", False),
        ("添加联系人", "添加联系人", False),
        ("contacto", "Añade un contacto", False),
    ],
)
def test_a_tool_that_makes_something_takes_any_name(tool: str, description: str, is_looked_up: bool) -> None:
    assert refuses(tool, description, "name", "Ingrid Solberg") is is_looked_up


def refuses(tool_name: str, description: str, name: str, value: Json) -> bool:
    """Whether `wrong-value` makes a refusal of the tool for this argument."""
    parameters: Json = {"type": "object", "properties": {name: {}}, "required": [name]}
    tool: Json = {"name": tool_name, "description": description, "parameters": parameters}
    call = json.dumps({"name": tool_name, "arguments": {name: value}}, ensure_ascii=False)
    texts = (f"Get {value}.", f"<tool_call>\n{call}\n</tool_call>", RESULT, "It is 22.")
    roles = ("user", "assistant", "tool", "assistant")
    messages: list[Json] = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    given_row = DataRow("a.jsonl", "line 1", 1, {"messages": messages, "tools": [tool]})
    (injected,) = inject_faults(given_row, seed=1, rates={"wrong-value": 1.0})
    return isinstance(injected, InjectedRow)


@pytest.mark.parametrize("trainer", Trainer)
def test_the_fault_has_the_mark_of_the_trainer_or_is_reported(trainer: Trainer) -> None:
    (injected,) = inject_faults(row("hermes"), seed=1, rates={"wrong-type": 1.0}, trainer=trainer)
    assert isinstance(injected, InjectedRow)
    messages = injected.value["messages"]
    assert isinstance(messages, list)
    faulty = messages[1]
    assert isinstance(faulty, dict)
    assert {key: member for key, member in faulty.items() if key not in ("role", "content")} == LOSS_MARKS.get(
        trainer, {}
    )
    codes = [diagnostic.rule.code for diagnostic in lint_sample(read_sample(DataRow("b", "line 1", 1, injected.value)))]
    assert ("D719" in codes) is (trainer is Trainer.NONE)


def llama_factory(*turns: tuple[str, str]) -> DataRow:
    tool = {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    said: list[Any] = [{"from": role, "value": text} for role, text in (("human", "Weather in Oslo and Rome?"), *turns)]
    return DataRow("a", "line 1", 1, {"conversations": said, "tools": json.dumps([tool])})


LLAMA_CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
RESULT_TURN = ("observation", '{"celsius": 18}')
RESULTS_TURN = ("observation", '[{"celsius": 18}, {"celsius": 25}]')
TOLD_TURN = ("gpt", "It is 18 degrees in Oslo.")


@pytest.mark.parametrize("kind", ["wrong-type", "missing-required", "wrong-tool-name", "timeout"])
@pytest.mark.parametrize("thought", ["", "<think>I look it up.</think>\n"])
def test_llama_factory_s_rows_get_every_kind_that_fits(kind: str, thought: str) -> None:
    given_row = llama_factory(("function_call", thought + LLAMA_CALL), RESULT_TURN, TOLD_TURN)
    (injected,) = inject_faults(given_row, seed=1, rates={kind: 1.0})
    assert isinstance(injected, InjectedRow), injected
    listed = injected.value["conversations"]
    assert isinstance(listed, list)
    roles = [record["from"] for record in listed if isinstance(record, dict)]
    assert roles == ["human", *["function_call", "observation"] * 2, "gpt"]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        (
            [("function_call", f"[{LLAMA_CALL}, {LLAMA_CALL.replace('Oslo', 'Rome')}]"), RESULTS_TURN, TOLD_TURN],
            "parallel",
        ),
        ([("function_call", LLAMA_CALL)], "no results"),
        ([TOLD_TURN], "no call"),
    ],
)
def test_the_reason_names_what_the_row_lacks(turns: list[tuple[str, str]], reason: str) -> None:
    (injected,) = inject_faults(llama_factory(*turns), seed=1)
    assert isinstance(injected, NotInjected)
    assert reason in injected.reason


def test_the_reason_says_whether_no_kind_fits_or_the_inspection_disagrees() -> None:
    given_row = llama_factory(("function_call", LLAMA_CALL), RESULT_TURN, TOLD_TURN)
    (injected,) = inject_faults(given_row, seed=1, rates={"enum-violation": 1.0})
    assert isinstance(injected, NotInjected)
    assert injected.reason == "no fault of a selected kind fits its calls"
