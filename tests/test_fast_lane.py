"""The fast lane reads every text that it takes as the machine does, over every format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import in_the_gate
from tests.mutations import mutated_texts, originals
from tests.test_invariants import EXAMPLES, FORMATS, hostile
from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.checks.whole_text import whole_texts
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.api.parser import may_be_api
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import Role, ToolCall, ToolDefinition
from weaklink.inspector.segmentation import Segmentation, Segmenter, segment, segment_whole
from weaklink.inspector.segmenter.assembler import Readings

pytestmark = pytest.mark.invariants

WORDS = (
    "", "One moment, please: ", "I'll look (at once).\n", "Tromsø — 5 °C\n\n", "a < b and `c`", "[1, 2]", "<b>x</b>\n",
    "<think>\nWhich city?\n</think>\n\n", "<think></think>", "\n", " ",
)  # fmt: skip
TOOLS = (
    ToolDefinition("f", parameters={"type": "object", "properties": {}}),
    ToolDefinition(
        "get_weather",
        parameters={
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    ),
)
CALLS = (*EXAMPLES, make_call("get_weather", {"days": "2"}), make_call("f", {"city": ["a", None, True, -1.5e3]}))


def by_machine(text: str, dialect: Format, tools: tuple[ToolDefinition, ...], role: Role) -> Segmentation:
    segmenter = Segmenter(dialect, tools=tools, role=role)
    segmenter.feed(text)
    segmenter.close()
    return segmenter.segmentation(text)


def check_equal(text: str, dialect: Format, tools: tuple[ToolDefinition, ...], role: Role = Role.ASSISTANT) -> None:
    segmentation = segment_whole(text, dialect, tools=tools, role=role)
    wanted = by_machine(text, dialect, tools, role)
    assert segmentation == wanted
    assert (segmentation.content, segmentation.reasoning) == (wanted.content, wanted.reasoning)


@pytest.mark.one_in(6)
@FORMATS
@in_the_gate(20)
@given(tools=st.sampled_from(((), TOOLS)), role=st.sampled_from(Role), data=st.data())
def test_hostile_texts_are_read_as_by_the_machine(
    dialect: Format, tools: tuple[ToolDefinition, ...], role: Role, data: st.DataObject
) -> None:
    check_equal(data.draw(hostile(dialect.name, 6)), dialect, tools, role)


@pytest.mark.one_in(6)
@FORMATS
@in_the_gate(20)
@given(
    writer=st.none() | st.sampled_from(formats()),
    calls=st.lists(st.sampled_from(CALLS), min_size=1, max_size=3),
    words=st.tuples(*[st.sampled_from(WORDS)] * 3),
    tools=st.sampled_from(((), TOOLS)),
)
def test_calls_of_any_format_between_words_are_read_as_by_the_machine(
    dialect: Format,
    writer: Format | None,
    calls: list[ToolCall],
    words: tuple[str, ...],
    tools: tuple[ToolDefinition, ...],
) -> None:
    writer = writer or dialect
    written = writer.write_calls([call for call in calls if writer.expresses(call)])
    check_equal(f"{words[0]}{words[1]}{written}{words[2]}", dialect, tools)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("writer", formats(), ids=lambda dialect: dialect.name)
def test_a_call_of_one_format_is_read_in_every_other_as_by_the_machine(writer: Format) -> None:
    call = next(filter(writer.expresses, (EXAMPLES[1], make_call("f", {}), make_call("f", {}, id="call_12345"))))
    for dialect in formats():
        check_equal(writer.write_calls([call]), dialect, ())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_cases_and_damaged_texts_are_read_as_by_the_machine(dialect: Format) -> None:
    for mutation in (*originals(dialect.name), *mutated_texts(1, 10, [dialect.name])):
        tools = tuple(read_tools(list(mutation.tools))) if mutation.tools else ()
        check_equal(mutation.text, dialect, tools)


@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_ordinary_answers_take_the_lane(dialect: Format) -> None:
    call = next(filter(dialect.expresses, (*EXAMPLES, make_call("get_weather", {"city": "Oslo"}, id="call_12345"))))
    reader = whole_texts(dialect, Role.ASSISTANT)
    assert reader.read("It is cold in Tromsø: 5 °C, and it'll rain (a little).", OfferedTools(), {}) is not None
    written = dialect.write_calls([call])
    assert may_be_api(written) or reader.read(written, OfferedTools(), {}) is not None


def test_what_is_reported_once_for_all_texts_is_reported_though_the_lane_found_it_first() -> None:
    tools = OfferedTools([ToolDefinition("f", parameters={"type": "object", "properties": {"a": {"type": "strnig"}}})])
    written = find_format("hermes").write_calls([make_call("f", {"a": 1})])
    codes = [
        {diagnostic.rule.code for diagnostic in segment_whole(written, find_format("hermes"), tools=tools).diagnostics}
    ]
    codes += [
        {diagnostic.rule.code for diagnostic in segment_whole(written, find_format("hermes"), tools=tools).diagnostics}
    ]
    assert codes[0] > codes[1]
    assert segment(written, "hermes", tools=tools.definitions).diagnostics


def test_the_lane_takes_a_prompt_that_lists_sound_tools_but_not_one_with_a_faulty_schema() -> None:
    hermes = find_format("hermes")
    definition = '{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}'
    prompt = f"Your tools:\n<tools>\n{definition}\n</tools>"
    for text, is_taken in ((prompt, True), (prompt.replace('"object"', '"text"'), False)):
        reading = whole_texts(hermes, Role.SYSTEM).read(text, OfferedTools(), Readings())
        assert (reading is not None) is is_taken
        assert segment_whole(text, hermes, role=Role.SYSTEM) == by_machine(text, hermes, (), Role.SYSTEM)
