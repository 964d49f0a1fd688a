"""A raw transcript becomes turns, and nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from weaklink.inspector.formats.transcript import read_transcript, split_turns


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


def test_harmony_messages_of_a_model_in_a_row_are_one_turn_and_results_are_another() -> None:
    text = (
        "<|start|>developer<|message|>Be brief.<|end|><|start|>user<|message|>Hi<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.f json<|message|>{}<|call|>"
        "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Ho<|return|>"
    )
    assert roles(text) == ["system", "user", "assistant", "tool", "assistant"]


def test_a_deepseek_system_prompt_and_results_have_no_header_but_are_turns() -> None:
    call = "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
    text = (
        "<｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜></think>"
        f"<｜tool▁calls▁begin｜>{call}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>1<｜tool▁output▁end｜>"
        "<｜tool▁output▁begin｜>2<｜tool▁output▁end｜><｜tool▁outputs▁end｜>Ho<｜end▁of▁sentence｜>"
    )
    assert roles(text) == ["system", "user", "assistant", "tool", "assistant"]
    assert split_turns(text)[3].range.of(text).startswith("<｜tool▁outputs▁begin｜>")


def test_functionary_headers_begin_turns() -> None:
    v2 = (
        "<|from|>user\n<|recipient|>all\n<|content|>Hi\n<|from|>assistant\n<|recipient|>all\n<|content|>Wait.\n"
        "<|from|>assistant\n<|recipient|>f\n<|content|>{}<|stop|>\n<|from|>f\n<|recipient|>all\n<|content|>1"
    )
    v1 = "system:\nBe brief.<|END_OF_SYSTEM|>\nuser:\nHi<|END_OF_USER|>\nassistant:\nHo<|END_OF_ASSISTANT|>"
    assert roles(v2) == ["user", "assistant", "tool"]
    assert roles(v1) == ["system", "user", "assistant"]


def test_a_header_in_an_argument_begins_no_turn() -> None:
    text = '<|im_start|>assistant\n<tool_call>{"name": "f", "arguments": {"t": "<|im_start|>user\\n"}}</tool_call>'
    assert roles(text) == ["assistant"]
    text = '<|start|>assistant to=functions.f<|channel|>commentary<|message|>{"t": "<|start|>user<|message|>"}<|call|>'
    assert roles(text) == ["assistant"]


def test_a_bare_completion_is_one_assistant_turn() -> None:
    assert roles("Hello.") == ["assistant"]
    assert roles("") == []


HEADERS = st.sampled_from(
    ("<|start|>", "<|start|>user<|message|>", "<|start|>functions.f", "<|end|>", "<｜User｜>", "<｜Assistant｜>",
     "<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>", "<｜end▁of▁sentence｜>", "<|from|>f\n<|recipient|>all\n",
     "<|from|>user\n<|recipient|>all\n<|content|>", "<|END_OF_USER|>", "function name=f:\n", "assistant:\n")
)  # fmt: skip


@given(st.lists(HEADERS | texts(max_size=3), max_size=20).map("".join))
def test_the_turns_add_up_to_the_transcript(text: str) -> None:
    trace = read_transcript(text)
    assert "".join(part.text for turn in trace.turns for part in turn.parts) == text
