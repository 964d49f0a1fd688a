"""The shapes of Anthropic's messages, streamed or whole, as typed structures.

Sources: Anthropic's API reference (messages, streaming) and the types of anthropic-sdk-python:src/anthropic/types.
"""

from typing import Any

import msgspec

from inspector.model import Usage
from inspector.wire.shapes import NOTHING, ShapeReader


class ContentBlockShape(msgspec.Struct, forbid_unknown_fields=True):
    """A content block of a kind that weaklink reads; a block of another kind is kept as its text."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = NOTHING
    citations: msgspec.Raw = NOTHING
    caller: Any = None
    toolset_name: str | None = None


class BlockKindShape(msgspec.Struct):
    """Of what kind a block is."""

    type: str = ""


class BlockDelta(msgspec.Struct, forbid_unknown_fields=True):
    """What a block, or the message's head, grew by."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: msgspec.Raw = NOTHING
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: msgspec.Raw = NOTHING
    container: Any = None
    estimated_tokens: Any = None
    content: str | None = None
    encrypted_content: str | None = None


class OutputDetails(msgspec.Struct):
    """The parts of the output count."""

    thinking_tokens: int | None = None


class AnthropicUsageShape(msgspec.Struct):
    """Token counts; those of `message_delta` are cumulative, and name only what changed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None

    def after(self, known: "AnthropicUsageShape") -> "AnthropicUsageShape":
        """These counts, and from `known` those that are not named here."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return AnthropicUsageShape(**{name: getattr(known, name) if value is None else value for name, value in pairs})

    def usage(self) -> Usage:
        """The same in weaklink's words: input counts what was read from the cache or written to it."""
        counts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        known = [count for count in counts if count is not None]
        details = self.output_tokens_details or OutputDetails()
        return Usage(
            sum(known) if known else None, self.output_tokens, details.thinking_tokens, self.cache_read_input_tokens
        )


class AnthropicMessageShape(msgspec.Struct):
    """A message: the head of a stream, or the whole answer."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    content: list[msgspec.Raw] | None = None
    stop_reason: str | None = None
    stop_details: msgspec.Raw = NOTHING
    usage: AnthropicUsageShape | None = None


class MessageEvent(AnthropicMessageShape):
    """One event of a stream, or a message that came whole."""

    message: AnthropicMessageShape | None = None
    index: int | None = None
    content_block: msgspec.Raw = NOTHING
    delta: BlockDelta | None = None
    error: Any = None


read_event = ShapeReader(MessageEvent)
read_block = ShapeReader(ContentBlockShape)
read_kind = ShapeReader(BlockKindShape)
