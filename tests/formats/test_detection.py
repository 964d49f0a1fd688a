"""Which format is taken: by the model's name, by the text, by both, and what is said of it."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.formats import registry
from weaklink.inspector.formats.detection import bare_name, detect_format
from weaklink.inspector.formats.format import DetectionPatterns, literal_beginning, literals_of, required_literals
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

NAMES = Path(__file__).parents[1] / "cases" / "detection" / "model_names.txt"
XML_CALL = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
HERMES_CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
BUILT_IN = {known.name for known in formats()}


def named() -> list[tuple[str, str]]:
    lines = NAMES.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" -> ") for line in lines if line and not line.startswith("#")]
    return [(model, expected) for model, expected in pairs]


@pytest.mark.parametrize(("model", "expected"), named())
def test_a_model_is_known_by_the_names_that_people_use(model: str, expected: str) -> None:
    detection = detect_format(model=model)
    assert detection.format.name == expected
    assert detection.confidence >= 0.7
    assert f"`{model}`" in detection.reason


def test_every_pattern_matches_a_name_without_its_provider() -> None:
    names = {re.sub(r"\[.*?\]", "5", pattern.strip("*")) for known in formats() for pattern in known.models}
    assert {name for name in names if bare_name(name) != name} == set()


def test_every_format_is_somebodys() -> None:
    assert {expected for _, expected in named()} <= BUILT_IN
    without = BUILT_IN - {expected for _, expected in named()}
    assert without <= {"react", "json_schema", "generic_json", "beam", "code_action"}, "these name no model on purpose"


@pytest.mark.parametrize(
    ("model", "bare"),
    [
        ("openrouter/nousresearch/hermes-4-70b:free", "hermes-4-70b"),
        ("hf.co/unsloth/Qwen3_8B-GGUF:Q4_K_M", "qwen3-8b-gguf"),
        ("/models/Llama-3.1 8B/", "llama-3.1-8b"),
        ("C:\\models\\Mistral.gguf", "mistral-gguf"),
        ("claude-3-haiku@20240307", "claude-3-haiku"),
        ("", ""),
    ],
)
def test_a_name_is_freed_of_provider_tag_and_separators(model: str, bare: str) -> None:
    assert bare_name(model) == bare


def test_calls_in_the_text_outweigh_a_name_that_says_otherwise() -> None:
    detection = detect_format(HERMES_CALL, "mistral-small")
    assert (detection.format.name, detection.confidence) == ("hermes", 0.9)
    assert "though the model's name `mistral-small` suggests `mistral`" in detection.reason


def test_the_name_chooses_among_formats_that_share_a_syntax() -> None:
    assert detect_format(HERMES_CALL, "Qwen3-8B").format.name == "qwen"
    assert detect_format(HERMES_CALL, "granite-4.0-h-small").format.name == "granite4"
    assert detect_format(HERMES_CALL).format.name == "hermes"


def test_a_resemblance_does_not_outweigh_a_name() -> None:
    assert detect_format("<think>Hm.</think>Hi.", "mistral-small").format.name == "mistral"


def test_a_thought_before_code_that_an_agent_runs_is_no_thought_of_react() -> None:
    text = "Thought: I know it.\n\nCode:\n```py\nfinal_answer(3)\n```<end_code>\n"
    assert detect_format(text).format.name == "hermes"
    assert "".join(span.inner.of(text) for span in segment(text).spans if span.kind is SpanKind.TEXT) == text
    assert detect_format(f"{text}Thought: I look.\nAction: f\nAction Input: {{}}").format.name == "react"
    assert detect_format("Thought: I know it.\nIt is 3.").format.name == "react"


@pytest.mark.parametrize(
    "text",
    [
        "Thought: I know it.\n\n<code>\nfinal_answer(3)\n</code>",
        "<code>\ntotal = 1 + 2\nfinal_answer(total)\n</code>",
        "Thought: I look.\nIt may be there.\n<code>\nprint(look())\n",
        "THOUGHT: I look.\n\n```mswea_bash_command\nls\n```",
        "I look.\n<mswea_bash_command>ls</mswea_bash_command>",
    ],
)
def test_the_code_that_an_agent_runs_is_an_action_whatever_the_models_name(text: str) -> None:
    assert {detect_format(text, model).format.name for model in ("", "Qwen3-8B", "gpt-oss-20b")} == {"code_action"}


@pytest.mark.parametrize(
    "text",
    [
        "Put it into a block:\n<pre>\n<code>\nprint('x')\n</code>\n</pre>",
        "<code>\nls -la\n</code>\nlists the files.",
        "Thought: use <code>final_answer(3)</code> at the end.",
        "Run it:\n```bash\nls\n```",
        "Thought: I know it.\nAction: f\nAction Input: {}\n",
    ],
)
def test_code_that_is_shown_is_no_action(text: str) -> None:
    assert detect_format(text, "Qwen3-8B").format.name != "code_action"
    assert detect_format(text).format.name != "code_action"


def test_nothing_to_go_by_is_said() -> None:
    detection = detect_format()
    assert (detection.format.name, detection.confidence) == ("hermes", 0.0)
    assert detection.reason == "Nothing indicates a format; `hermes` is the default."
    unknown = detect_format(model="my-model")
    assert unknown.reason.startswith("No format lists the model `my-model`;")
    assert not unknown.fits_model
    assert not detect_format(HERMES_CALL, "my-model").fits_model
    assert not detect_format(HERMES_CALL, "mistral-small").fits_model
    assert detect_format(HERMES_CALL, "hermes-4").fits_model
    assert detect_format("Hi.", "mistral-small").fits_model
    assert detect_format(HERMES_CALL).fits_model


M1_CALLS = '<tool_calls>\n{"name": "get_horoscope", "arguments": {"sign": "Leo"}}\n</tool_calls>'
V3_CALLS = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜>"
)


@pytest.mark.parametrize(
    ("text", "model", "format", "code"),
    [
        (M1_CALLS, "MiniMaxAI/MiniMax-M2", "minimax_m2", "F309"),
        (V3_CALLS, "deepseek-ai/DeepSeek-V3.1", "deepseek_v31", "F313"),
    ],
)
def test_a_model_that_writes_calls_of_another_version_is_reported(
    text: str, model: str, format: str, code: str
) -> None:
    detection = detect_format(text, model)
    assert (detection.format.name, detection.fits_model) == (format, False)
    assert f"`{format}`" not in detection.reason
    assert "although the text contains calls of" in detection.reason
    assert code in {diagnostic.rule.code for diagnostic in segment(text, model=model).diagnostics}


def test_a_name_without_a_version_does_not_outweigh_calls() -> None:
    assert detect_format(V3_CALLS, "my-deepseek").format.name == "deepseek_v3"
    assert detect_format(XML_CALL, "Qwen-of-mine").format.name == "qwen3_coder"


SHARED_SYNTAX = {
    "hermes": {"qwen", "ernie45", "granite4"},
    "jamba": {"apriel", "hunyuan"},
    "phi4": {"firefunction"},
    "qwen3_coder": {"step3p5"},
    "json_schema": {"xlam"},
}
"""By the format that is detected without a name: those that write the same text."""


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_no_format_is_mistaken_for_another(name: str) -> None:
    known = registry.find_format(name)
    call = ToolCall("get_weather", {"city": "Oslo"}, "", valid=True, range=Range(0, 0))
    assert known.expresses(call)
    detection = detect_format(known.write_calls([call]))
    assert name in {detection.format.name, *SHARED_SYNTAX.get(detection.format.name, ())}
    assert detection.confidence >= 0.7


PATTERNS = [form.confidence for form in formats() if isinstance(form.confidence, DetectionPatterns)]
SIGNS = sorted({sign for pattern in PATTERNS for sign in pattern._weighed})


OTHERS = (
    r"a[(]|b[)]",
    r"ab?c",
    r"a\.{0,2}",
    r"a(?:b|c)",
    r"(?i)ab",
    r"a[]|]b",
    r"(?:ab|c)?de*",
    r"a{2}b",
    r"(a\)b)c+d",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("sign", [*SIGNS, *OTHERS])
@settings(max_examples=8)
@given(data=st.data())
def test_the_literals_of_a_pattern_are_in_all_its_matches(sign: str, data: st.DataObject) -> None:
    match = re.search(sign, data.draw(st.from_regex(sign)))
    assert match is not None
    assert match[0].startswith(literal_beginning(sign))
    assert all(literal in match[0] for literal in literals_of(sign))
    assert any(literal in match[0] for literal in required_literals(sign))


@pytest.mark.parametrize(
    ("sign", "literals"),
    [
        (r"<a>|\[b\]", ("<a>", "[b]")),
        (r"\bto=(?:f\.)?[\w]{1,80}<\|message\|>", ("<|message|>",)),
        (r"(?m)^Final: ", ("Final: ",)),
        (r"abc|\w", ("",)),
        (r"abc?d", ("ab",)),
    ],
)
def test_a_pattern_requires_its_longest_literals(sign: str, literals: tuple[str, ...]) -> None:
    assert required_literals(sign) == literals


@given(texts())
def test_the_confidence_is_that_of_the_weightiest_pattern_found(text: str) -> None:
    for pattern in PATTERNS:
        assert pattern(text) == max(
            (weight for sign, weight in pattern._weighed.items() if re.search(sign, text)), default=0.0
        )


def test_each_name_in_the_table_is_its_formats_own() -> None:
    assert {name: registry._built_in(name).name for name in registry._BUILT_IN} == {
        name: name for name in registry._BUILT_IN
    }
