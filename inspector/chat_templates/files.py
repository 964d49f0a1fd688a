"""Reads a chat template from a file: Jinja, tokenizer_config.json, chat_template.json, or the metadata of a GGUF file.

A tokenizer_config.json has the template as `chat_template`: a string, or a list of named ones, of which `tool_use` is
the one for tools; `response_template`, formerly `response_schema`, is how transformers reads answers. A GGUF file
begins with its metadata, pairs of a key and a typed value, before any tensor (source: ggml:docs/gguf.md); only these
are read. Every length in it is checked against the file's size.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from weaklink.inspector.chat_templates.renderer import ChatTemplate
from weaklink.inspector.errors import ChatTemplateError
from weaklink.inspector.model import Json

MAX_TEMPLATE_BYTES = 64 << 20
_MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


def read_chat_template(path: Path) -> ChatTemplate:
    """The chat template in a file, recognised by its content. Raises ChatTemplateError and OSError."""
    with path.open("rb") as stream:
        size = path.stat().st_size
        if stream.read(4) == _MAGIC:
            return _of_gguf(_Gguf(stream, size), path.name)
        if size > MAX_TEMPLATE_BYTES:
            raise ChatTemplateError(f"{path.name} is too large for a chat template.")
        stream.seek(0)
        content = stream.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ChatTemplateError(f"{path.name} is not text in UTF-8, byte {error.start}.") from error
    if text.lstrip()[:1] != "{" or text.lstrip()[:2] in ("{%", "{{", "{#"):
        neighbour = path.with_name("tokenizer_config.json")
        config = _json_object(neighbour.read_text("utf-8"), neighbour.name) if neighbour.is_file() else {}
        return _with_config(text, path.name, config)
    return _of_config(_json_object(text, path.name), path.name)


def served_chat_template(properties: bytes, name: str) -> ChatTemplate:
    """The chat template in what llama.cpp's server returns for `/props`. Raises ChatTemplateError."""
    return _of_config(_json_object(properties.decode("utf-8", "replace"), name), name)


def _json_object(text: str, name: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChatTemplateError(f"{name} is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ChatTemplateError(f"{name} is not a JSON object.")
    return value


def _of_config(config: dict[str, Json], name: str) -> ChatTemplate:
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {item.get("name"): item.get("template") for item in template if isinstance(item, dict)}
        template = named.get("tool_use") or named.get("default")
    if not template and _response(config):
        return _with_config("", name, config)
    if not isinstance(template, str) or not template:
        raise ChatTemplateError(f"{name} has no `chat_template`.")
    return _with_config(template, name, config)


def _with_config(source: str, name: str, config: dict[str, Json]) -> ChatTemplate:
    tokens = {key: text for key in _TOKENS if (text := _token_text(config.get(key))) is not None}
    return ChatTemplate(source, name, tokens, _response(config))


def _response(config: dict[str, Json]) -> Json:
    return config.get("response_template") or config.get("response_schema")


def _token_text(token: Json) -> str | None:
    """The text of a special token, which a configuration writes as a string or as an object with `content`."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


class _Gguf(Struct):
    """Reads values from a GGUF file."""

    stream: BinaryIO
    size: int

    def scalar(self, kind: int) -> int | float | bool:
        """The next value of a fixed size."""
        code = _SCALARS.get(kind)
        if code is None:
            raise ChatTemplateError("The GGUF file has a value of an unknown type.")
        read: int | float | bool = struct.unpack(f"<{code}", self.bytes(struct.calcsize(f"<{code}")))[0]
        return read

    def length(self) -> int:
        """The next length."""
        return int(self.scalar(10))

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        if count > self.size - self.stream.tell():
            raise ChatTemplateError("The GGUF file ends within its metadata.")
        return self.stream.read(count)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip the next value."""
        if kind == _STRING:
            self.bytes(self.length())
        elif kind != _ARRAY:
            self.scalar(kind)
        elif depth > 4:
            raise ChatTemplateError("The GGUF file nests its metadata too deeply.")
        else:
            item, count = int(self.scalar(4)), self.length()
            if item in _SCALARS:
                self.bytes(count * struct.calcsize(f"<{_SCALARS[item]}"))
            else:
                for _ in range(count):
                    self.skip(item, depth + 1)


def _of_gguf(gguf: _Gguf, name: str) -> ChatTemplate:
    texts = dict(_texts(gguf))
    source = texts.get("tokenizer.chat_template.tool_use") or texts.get("tokenizer.chat_template")
    if not source:
        raise ChatTemplateError(f"The metadata of {name} has no `tokenizer.chat_template`.")
    return ChatTemplate(source, name)


def _texts(gguf: _Gguf) -> Iterator[tuple[str, str]]:
    """The keys and values of the metadata whose values are chat templates."""
    gguf.scalar(4)  # the version
    gguf.length()  # the number of tensors
    for _ in range(gguf.length()):
        key = gguf.bytes(gguf.length()).decode("utf-8", "replace")
        kind = int(gguf.scalar(4))
        if kind == _STRING and key.startswith("tokenizer.chat_template"):
            yield key, gguf.bytes(gguf.length()).decode("utf-8", "replace")
        else:
            gguf.skip(kind)
