"""Writes a model of 0.7 MB that always calls `get_weather` for Oslo, as a GGUF file for llama.cpp's own server.

    python -m tests.probe.tiny_model GGUF_PY TEMPLATE FILE

The model is a table of what follows each token: token t has the unit vector t as its embedding, attention and feed
forward write zeros, and column t of the output matrix has the scores of the tokens after t. The whole call is one token
of the vocabulary, so it needs no training: every token is followed by the call, and the call by the end of the turn.
`GGUF_PY` is the folder of llama.cpp's package `gguf`, `TEMPLATE` a chat template of a Qwen 2.5 model.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
_SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>", CALL)
_WIDTH, _HEADS, _FORWARD, _CONTEXT = 320, 4, 32, 65536
_LIKELY = {CALL: 10.0, '"': 8.0, "}": 7.0, "]": 6.8, "0": 5.0, "a": 3.0}
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4


def byte_tokens() -> list[str]:
    """The 256 bytes as the letters that GPT-2's tokenizer writes for them."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def write_model(gguf: Any, template: str, path: str) -> None:
    """Write the model with `gguf`, llama.cpp's package."""
    tokens = [*byte_tokens(), *_SPECIAL]
    types = [_NORMAL] * 256 + [_CONTROL] * 3 + [_USER_DEFINED] * 3
    end, count = tokens.index("<|im_end|>"), len(tokens)
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in {
        "context_length": _CONTEXT,
        "embedding_length": _WIDTH,
        "block_count": 1,
        "feed_forward_length": _FORWARD,
        "head_count": _HEADS,
        "head_count_kv": _HEADS,
        "layer_norm_rms_eps": 1e-5,
        "rope_dimension_count": _WIDTH // _HEADS,
        "vocab_size": count,
        "tokenizer_model": "gpt2",
        "tokenizer_pre": "default",
        "token_list": tokens,
        "token_types": types,
        "token_merges": ["a b"],
        "eos_token_id": end,
        "bos_token_id": tokens.index("<|endoftext|>"),
        "add_bos_token": False,
        "chat_template": template,
    }.items():
        getattr(writer, f"add_{name}")(value)
    embedding, output = np.eye(count, _WIDTH, dtype=np.float32), np.zeros((count, _WIDTH), np.float32)
    for token, score in _LIKELY.items():
        output[tokens.index(token)] = score / _WIDTH**0.5  # the norm makes a unit vector longer by this factor
    output[:, tokens.index(CALL)] = 0
    output[end, tokens.index(CALL)] = 10 / _WIDTH**0.5
    tensors = {"token_embd": embedding, "output_norm": np.ones(_WIDTH, np.float32), "output": output}
    square = np.zeros((_WIDTH, _WIDTH), np.float32)
    tensors |= {f"blk.0.attn_{name}": square for name in ("q", "k", "v", "output")}
    tensors |= {f"blk.0.{name}_norm": np.ones(_WIDTH, np.float32) for name in ("attn", "ffn")}
    tensors |= {f"blk.0.ffn_{name}": np.zeros((_FORWARD, _WIDTH), np.float32) for name in ("gate", "up")}
    tensors["blk.0.ffn_down"] = np.zeros((_WIDTH, _FORWARD), np.float32)
    for name, values in tensors.items():
        writer.add_tensor(f"{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import gguf  # type: ignore[import-not-found]  # part of llama.cpp's sources

    write_model(gguf, Path(sys.argv[2]).read_text(encoding="utf-8"), sys.argv[3])
