"""One conversation as each family's chat template presents it; what is rendered reads back as it was."""

from pathlib import Path

import pytest

from weaklink.inspector.formats.completion import CompletionCalls, CompletionPiece, CompletionReasoning, CompletionText
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.formats.templates.registry import TEMPLATES, find_template
from weaklink.inspector.formats.templates.template import Template, TemplateMessage
from weaklink.inspector.model import Role, ToolCall, ToolDefinition, ToolResult
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

CASES = Path(__file__).parent.parent / "cases" / "templates"
ELEVEN = {
    "hermes", "mistral", "llama3", "qwen", "functionary", "openai", "claude", "gemini", "pythonic", "react",
    "json_schema",
}  # fmt: skip
NOWHERE = Range(0, 0)
IDS = {"mistral": ("call00000", "call00001"), "openai": ("call_0", "call_1")}
TOOLS = (
    ToolDefinition(
        "get_weather",
        "The weather of a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city's name."},
                "days": {"type": "integer"},
                "unit": {"type": "string", "enum": ["C", "F"]},
            },
            "required": ["city"],
        },
    ),
    ToolDefinition("get_time", "The time of day.", {"type": "object", "properties": {}}),
)
TOLD = {"hermes", "qwen", "claude", "pythonic"}
"""The formats whose dialects read their templates' tool definitions."""
WITHOUT_TURN_TOKENS = {"claude", "react"}
"""The formats whose transcripts are plain text."""
NAMED = {"claude", "openai"}
"""The formats whose results are more than their content, so that a reader must take them apart."""


def call(name: str, arguments: dict[str, object], call_id: str | None) -> ToolCall:
    return ToolCall(name, arguments, "", valid=True, range=NOWHERE, id=call_id)  # type: ignore[arg-type]  # plain JSON


def conversation(case: str) -> tuple[TemplateMessage, ...]:
    first, second = IDS.get(case, (None, None))
    pieces: tuple[CompletionPiece, ...] = (
        CompletionReasoning("The user wants two cities, so two calls."),
        CompletionCalls((call("get_weather", {"city": "Tromsø", "unit": "C"}, first), call("get_time", {}, second))),
    )
    results = (
        ToolResult('{"sky": "clear", "degrees": -4}', NOWHERE, first, "get_weather"),
        ToolResult('{"time": "12:00"}', NOWHERE, second, "get_time"),
    )
    return (
        TemplateMessage(Role.SYSTEM, "You help with the weather."),
        TemplateMessage(Role.USER, "Weather and time in Tromsø?"),
        TemplateMessage(Role.ASSISTANT, pieces=pieces),
        TemplateMessage(Role.TOOL, results=results),
        TemplateMessage(Role.ASSISTANT, pieces=(CompletionText("It is noon, clear and -4 °C."),)),
    )


def with_template() -> list[tuple[str, Format, Template]]:
    """The registered formats that have a template, by the case's name."""
    return [(form.name, form, TEMPLATES[form.name]) for form in formats() if form.name in TEMPLATES]


@pytest.mark.parametrize(
    ("case", "form", "template"), with_template(), ids=lambda form: form if isinstance(form, str) else ""
)
def test_a_conversation_is_rendered_as_the_family_presents_it(
    case: str, form: Format, template: Template, update_goldens: bool
) -> None:
    rendered = template.transcript(conversation(case), TOOLS, form)
    path = CASES / f"{case}.txt"
    if update_goldens:
        path.write_text(rendered, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == rendered, f"mend with: pytest {__file__} --update-goldens"


@pytest.mark.parametrize("form", [form_ for form_ in formats() if find_template(form_)], ids=lambda form_: form_.name)
def test_a_rendered_conversation_reads_back_as_it_was(form: Format) -> None:
    template = find_template(form)
    assert template is not None
    messages = conversation(form.name)
    headless = form.name in WITHOUT_TURN_TOKENS  # there, a system's words are not told from the model's
    text = template.transcript(messages[1:] if headless else messages, () if headless else TOOLS, form)
    segmentation = segment(text, form.name)
    calls = [
        written
        for message in messages
        for piece in message.pieces
        if isinstance(piece, CompletionCalls)
        for written in piece.calls
    ]
    assert [(read_call.name, read_call.arguments, read_call.valid) for read_call in segmentation.calls] == [
        (written.name, written.arguments, True) for written in calls
    ]
    assert "It is noon, clear and -4 °C." in segmentation.content
    if form.name in TOLD:
        system = segment(template.join("Be brief.", template.tools(TOOLS)), form.name, role=Role.SYSTEM)
        for definitions in (system.definitions, () if headless else segmentation.definitions):
            assert [definition.name for definition in definitions] in ([], [tool.name for tool in TOOLS])
        assert system.definitions[0].parameters == TOOLS[0].parameters
    results = [result.content for message in messages for result in message.results]
    read = [result.content for result in segmentation.results]
    assert len(read) == len(results)
    assert all(content in result_text or form.name in NAMED for content, result_text in zip(results, read, strict=True))


def test_every_one_of_the_eleven_has_a_template() -> None:
    assert set(TEMPLATES) == ELEVEN
    assert [form.name for form in formats() if form.name in ELEVEN and find_template(form) is None] == []


def test_a_family_without_reasoning_says_what_it_drops() -> None:
    rendered = TEMPLATES["hermes"].transcript(conversation("hermes"), (), find_format("hermes"))
    assert "so two calls." in rendered
    assert "<tools>" not in rendered


def test_tools_without_a_system_turn_get_one() -> None:
    messages = (TemplateMessage(Role.USER, "Time?"),)
    rendered = TEMPLATES["qwen"].transcript(messages, TOOLS, find_format("hermes"))
    assert rendered.startswith("<|im_start|>system\n# Tools\n")
    assert rendered.endswith("<|im_end|>\n<|im_start|>user\nTime?<|im_end|>\n")


@pytest.mark.parametrize("case", sorted(TEMPLATES))
def test_a_family_finds_its_own_block_of_tools(case: str) -> None:
    template = TEMPLATES[case]
    if template.offered is not None:
        assert template.tools(TOOLS) == ""
        assert template.offered(TOOLS)
    elif template.tools_block is not None:
        block = template.tools(TOOLS)
        match = template.tools_block.search(f"Be brief.\n\n{block}\n\nBe kind.")
        assert match is not None
        assert match[0] == block
