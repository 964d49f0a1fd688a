"""The provider's own answer that tau2-bench keeps beside each generated message, in `raw_data`.

It is the choice of a chat completion (`{"finish_reason", "index", "message"}`), what LiteLLM gave; other agents put the
whole completion there, or Anthropic's message with its `thinking_blocks`.
"""

from dataclasses import dataclass
from functools import cached_property

from inspector.importers.identity import text_of
from inspector.importers.source import JsonObject
from inspector.model import Json


@dataclass(frozen=True)  # no slots: what is asked for often is computed once
class RawAnswer:
    """What `raw_data` tells of an answer; nothing where it is none."""

    value: JsonObject

    @cached_property
    def _choice(self) -> JsonObject:
        return next(iter(objects(self.value.get("choices"))), self.value)

    @cached_property
    def _message(self) -> JsonObject:
        found = self._choice.get("message")
        return found if isinstance(found, dict) else self._choice

    @property
    def model(self) -> str:
        """The model that answered, `""` where it is not said."""
        return text_of(self.value, "model")

    @property
    def finish(self) -> str:
        """Why the answer ended, in the provider's word."""
        return text_of(self._choice, "finish_reason", "stop_reason")

    @property
    def reasoning(self) -> str:
        """The thoughts before the answer."""
        blocks = objects(self._message.get("thinking_blocks"))
        return text_of(self._message, "reasoning_content", "reasoning") or "".join(
            text_of(block, "thinking") for block in blocks
        )

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The exact texts of the calls' arguments, by the calls' ids."""
        calls = objects(self._message.get("tool_calls"))
        texts = ((call.get("id"), _arguments(call.get("function"))) for call in calls)
        return {named: text for named, text in texts if isinstance(named, str) and isinstance(text, str)}


def raw_answer(message: JsonObject) -> RawAnswer:
    """The provider's answer that a message keeps."""
    raw = message.get("raw_data")
    return RawAnswer(raw if isinstance(raw, dict) else {})


def objects(value: Json) -> list[JsonObject]:
    """The entries of a list that are objects; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _arguments(function: Json) -> Json:
    return function.get("arguments") if isinstance(function, dict) else None
