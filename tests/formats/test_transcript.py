"""A raw transcript becomes turns, and nothing of it is lost."""

from hypothesis import given

from inspector.formats.transcript import read_transcript, split_turns
from tests.strategies import texts


def roles(text: str) -> list[str]:
    return [turn.role.value for turn in split_turns(text)]


def test_chatml_and_llama_3_headers_begin_turns() -> None:
    chatml = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo"
    llama = (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>ipython<|end_header_id|>\n\n{}<|eot_id|>"
    )
    assert roles(chatml) == ["system", "user", "assistant"]
    assert roles(llama) == ["user", "tool"]


def test_a_header_in_an_argument_begins_no_turn() -> None:
    text = '<|im_start|>assistant\n<tool_call>{"name": "f", "arguments": {"t": "<|im_start|>user\\n"}}</tool_call>'
    assert roles(text) == ["assistant"]


def test_a_bare_completion_is_one_assistant_turn() -> None:
    assert roles("Hello.") == ["assistant"]
    assert roles("") == []


@given(texts(max_size=20))
def test_the_turns_add_up_to_the_transcript(text: str) -> None:
    trace = read_transcript(text)
    assert "".join(part.text for turn in trace.turns for part in turn.parts) == text
