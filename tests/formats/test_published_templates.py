"""Our templates write what the families' own libraries write, where these are installed: `make test-templates`."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.rendering import render_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.formats.registry import find_format

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def call(city: str, call_id: str) -> dict[str, Any]:
    made = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return {"id": call_id, "type": "function", "function": made}


def conversation() -> list[dict[str, Any]]:
    first, second = "abcdefghi", "abcdefghj"
    return [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Weather in Tromsø and Øst?"},
        {"role": "assistant", "content": None, "tool_calls": [call("Tromsø", first), call("Øst", second)]},
        {"role": "tool", "tool_call_id": first, "content": '{"degrees": -4}'},
        {"role": "tool", "tool_call_id": second, "content": "no such city"},
        {"role": "assistant", "content": "It is -4 degrees."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "You are welcome."},
    ]


def ours(messages: Any, format: str) -> str:
    row = DataRow("a.jsonl", "line 1", 1, {"tools": TOOLS, "messages": messages})
    (rendered,) = render_sample(read_sample(row), [find_format(format)])
    return str(rendered.value["text"])


def test_mistral_rows_are_what_mistral_common_writes(tmp_path: Path) -> None:
    library = pytest.importorskip("mistral_common")
    base = pytest.importorskip("mistral_common.tokens.tokenizers.base")
    tokenizers = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    requests = pytest.importorskip("mistral_common.protocol.instruct.request")
    # The library's own vocabulary, under the version whose text is wanted: it ships those up to v7.
    model = json.loads((files(library) / "data" / "tekken_240911.json").read_text(encoding="utf-8"))
    count = model["config"]["default_num_special_tokens"]
    names = [token.value for token in base.SpecialTokens]
    names += [f"<SPECIAL_{index}>" for index in range(count - len(names))]
    model["config"]["version"] = "v11"
    model["special_tokens"] = [
        {"rank": index, "token_str": name, "is_control": True} for index, name in enumerate(names)
    ]
    path = tmp_path / "tekken_made.json"
    path.write_text(
        json.dumps({key: member for key, member in model.items() if key not in ("image", "multimodal", "audio")})
    )
    tokenizer = tokenizers.MistralTokenizer.from_file(str(path))
    given = conversation()[:-1]  # the library answers a user
    request = requests.ChatCompletionRequest.from_openai(messages=given, tools=TOOLS, model="mistral")
    tokens = tokenizer.encode_chat_completion(request).tokens
    text = tokenizer.decode(tokens, special_token_policy=base.SpecialTokenPolicy.KEEP)
    tools = text[text.index("[AVAILABLE_TOOLS]") : text.index("[/AVAILABLE_TOOLS]") + len("[/AVAILABLE_TOOLS]")]
    written = ours(conversation(), "mistral")
    assert tools in written
    # The library puts the tools before the last user's words, a training row before the first.
    assert written.replace(tools, "") == text.replace(tools, "") + "You are welcome.</s>"
