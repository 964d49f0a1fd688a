"""The shapes of Ollama's chat and generate, streamed or whole, as typed structures."""

from datetime import datetime
from typing import Any

import msgspec

from inspector.model import Usage
from inspector.wire.openai_shapes import TokenLogprob
from inspector.wire.shapes import NOTHING, ShapeReader, raw_text

_TIMES = ("created_at", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


class Function(msgspec.Struct, forbid_unknown_fields=True):
    """A call's name and its arguments, an object."""

    index: int | None = None
    name: str | None = None
    arguments: msgspec.Raw = NOTHING


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A call; older servers give it no id."""

    id: str | None = None
    type: str | None = None
    function: Function | None = None


class OllamaMessageShape(msgspec.Struct, forbid_unknown_fields=True):
    """What the answer grew by, or the whole of it."""

    role: str | None = None
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Call] | None = None


class OllamaLineShape(msgspec.Struct, forbid_unknown_fields=True):
    """One line of a stream, or a body that came whole; `response` is the word of generate, `message` that of chat."""

    model: str | None = None
    created_at: msgspec.Raw = NOTHING
    message: OllamaMessageShape | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    done_reason: str | None = None
    total_duration: msgspec.Raw = NOTHING
    load_duration: msgspec.Raw = NOTHING
    prompt_eval_count: int | None = None
    prompt_eval_duration: msgspec.Raw = NOTHING
    eval_count: int | None = None
    eval_duration: msgspec.Raw = NOTHING
    context: msgspec.Raw = NOTHING
    logprobs: list[TokenLogprob] | None = None
    remote_model: Any = None
    remote_host: Any = None
    error: Any = None

    def usage(self) -> Usage | None:
        """The counts in weaklink's words, None where there are none."""
        if self.prompt_eval_count is None and self.eval_count is None:
            return None
        return Usage(self.prompt_eval_count, self.eval_count)

    def created_s(self) -> float | None:
        """When the line was made, by the server's clock, in seconds since 1970; None where it does not say."""
        text = raw_text(self.created_at).strip('"')
        try:
            created = datetime.fromisoformat(text)
            return created.timestamp() if created.tzinfo is not None else None
        except (ValueError, OverflowError):
            return None

    def took_s(self) -> float | None:
        """How long the whole took, in seconds; None where it does not say."""
        text = raw_text(self.total_duration)
        return int(text) / 1e9 if text.isascii() and text.isdigit() and len(text) < 19 else None

    def times(self) -> str:
        """What the line says of times, as a JSON object of the texts that stood there; `""` without durations."""
        texts = [(name, raw_text(getattr(self, name))) for name in _TIMES]
        if not any(text for name, text in texts[1:]):
            return ""
        return "{" + ",".join(f'"{name}":{text}' for name, text in texts if text) + "}"


read_line = ShapeReader(OllamaLineShape)
