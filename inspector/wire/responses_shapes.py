"""The shapes of OpenAI's Responses, streamed or whole, as typed structures.

Sources: OpenAI's API reference (responses, streaming events) and the types of
openai-python:src/openai/types/responses.
"""

from typing import Any

import msgspec

from inspector.model import Usage
from inspector.wire.openai_shapes import TokenDetails, TokenLogprob
from inspector.wire.shapes import NOTHING, ShapeReader


class ContentPiece(msgspec.Struct):
    """A text of a message, a reasoning text, or a summary of one."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None
    logprobs: list[TokenLogprob] | None = None
    annotations: msgspec.Raw = NOTHING


class Item(msgspec.Struct):
    """An item of the output, of a kind that weaklink reads; an item of another kind is kept as its text."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    content: list[ContentPiece] | None = None
    summary: list[ContentPiece] | None = None
    encrypted_content: str | None = None


class ResponsesUsageShape(msgspec.Struct):
    """Token counts; they come with the last event."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: TokenDetails | None = None
    output_tokens_details: TokenDetails | None = None

    def usage(self) -> Usage:
        """The same in weaklink's words."""
        given = self.input_tokens_details or TokenDetails()
        made = self.output_tokens_details or TokenDetails()
        return Usage(self.input_tokens, self.output_tokens, made.reasoning_tokens, given.cached_tokens)


class IncompleteDetails(msgspec.Struct):
    """Why a response is incomplete."""

    reason: str | None = None


class Response(msgspec.Struct):
    """A response: as an event tells of it, or the whole answer."""

    id: str | None = None
    object: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: ResponsesUsageShape | None = None
    error: Any = None
    incomplete_details: IncompleteDetails | None = None


class ResponseEvent(Response):
    """One event of a stream, or a response that came whole."""

    type: str | None = None
    response: Response | None = None
    item: msgspec.Raw = NOTHING
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    text: str | None = None
    arguments: str | None = None
    input: str | None = None
    refusal: str | None = None
    annotation: msgspec.Raw = NOTHING
    logprobs: list[TokenLogprob] | None = None


read_event = ShapeReader(ResponseEvent)
read_item = ShapeReader(Item)
