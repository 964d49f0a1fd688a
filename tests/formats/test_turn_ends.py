"""The token with which a model ends its turn is no text, neither after an answer nor after a call."""

import pytest

from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import ToolCall
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

ENDS = {
    "apriel": ("<|end|>",),
    "cohere": ("<|END_OF_TURN_TOKEN|>", "<EOS_TOKEN>"),
    "deepseek_v3": ("<｜end▁of▁sentence｜>",),
    "dots": ("<|endofassistant|>", "<|endofresponse|>"),
    "ernie45": ("<|end_of_sentence|>",),
    "functiongemma": ("<end_of_turn>", "<eos>"),
    "gemini": ("<end_of_turn>", "<eos>"),
    "gemma4": ("<turn|>", "<eos>"),
    "glm45": ("<|user|>", "<|observation|>", "<|role_end|>", "</assistant>"),
    "harmony": ("<|return|>", "<|endoftext|>"),
    "hunyuan": ("<|eos|>",),
    "hy_v3": ("<|eos|>",),
    "jamba": ("<|eom|>",),
    "kimi_k2": ("<|im_end|>", "[EOS]", "[EOT]"),
    "longcat": ("</longcat_s>",),
    "minimax_m1": ("<end_of_sentence>", "[e~["),
    "minimax_m2": ("[e~[",),
    "nemotron_json": ("<SPECIAL_12>",),
    "phi4": ("<|end|>", "<|endoftext|>"),
    "plamo3": ("<|plamo:tag|>", "<|plamo:eos|>"),
    "pythonic": ("<|eot|>", "<eos>"),
    "step3": ("<｜end▁of▁sentence｜>", "<|EOT|>"),
}
"""The end tokens of the models whose outputs a format reads, from their tokenizers and chat templates."""

CALL = ToolCall("find", {"text": "a"}, '{"text": "a"}', valid=True, range=Range(0, 0))
PAIRS = [(name, token) for name, tokens in ENDS.items() for token in tokens]


@pytest.mark.parametrize(("name", "token"), PAIRS)
def test_a_token_that_ends_a_turn_is_no_text(name: str, token: str) -> None:
    format_ = find_format(name)
    written = format_.write_calls([CALL])
    called = segment(written + token, name)
    assert [(call.name, call.arguments) for call in called.calls] == [("find", {"text": "a"})]
    assert called.content.strip() == ""
    assert segment(f"Well done.{token}", name).content.strip() == "Well done."
