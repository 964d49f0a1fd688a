"""The shapes of Gemini's `generateContent`, streamed or whole, as typed structures.

Sources: the API references of the Gemini API and of Vertex AI (GenerateContentResponse), and the types of
python-genai:google/genai/types.py. Some servers and libraries write the same names in snake_case.
"""

from typing import Any

import msgspec

from inspector.model import Usage
from inspector.wire.shapes import NOTHING, ShapeReader


class FunctionCall(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A call; `args` is an object, not there where it is empty."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw = NOTHING


class ContentPart(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A part of a kind that weaklink reads; a part of another kind is kept as its text."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None


class ContentShape(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What a candidate says."""

    role: str | None = None
    parts: list[msgspec.Raw] | None = None


class ChosenToken(msgspec.Struct, rename="camel"):
    """A token that was chosen; protobuf leaves out an id or a probability of 0."""

    token_id: int = 0
    log_probability: float = 0.0


class LogprobsResult(msgspec.Struct, rename="camel"):
    """The tokens of a chunk."""

    chosen_candidates: list[ChosenToken] | None = None


class Candidate(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One of the answers to a request; requests ask for one, as a rule."""

    index: int = 0
    content: ContentShape | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    citation_metadata: msgspec.Raw = NOTHING
    grounding_metadata: msgspec.Raw = NOTHING
    logprobs_result: LogprobsResult | None = None
    token_count: Any = None
    avg_logprobs: Any = None
    safety_ratings: Any = None
    url_context_metadata: msgspec.Raw = NOTHING


class GeminiUsageShape(msgspec.Struct, rename="camel"):
    """Token counts, cumulative; each event of a stream may bring them."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None

    def usage(self) -> Usage:
        """The same in weaklink's words: output counts thoughts too, input the results of the server's own tools."""
        given = [count for count in (self.prompt_token_count, self.tool_use_prompt_token_count) if count is not None]
        made = [count for count in (self.candidates_token_count, self.thoughts_token_count) if count is not None]
        return Usage(
            sum(given) if given else None,
            sum(made) if made else None,
            self.thoughts_token_count,
            self.cached_content_token_count,
        )


class PromptFeedback(msgspec.Struct, rename="camel"):
    """Why a prompt was not answered."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class GenerateResponse(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One event of a stream, or a body that came whole."""

    candidates: list[Candidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: GeminiUsageShape | None = None
    model_version: str | None = None
    response_id: str | None = None
    create_time: Any = None
    model_status: Any = None
    error: msgspec.Raw = NOTHING
    response: msgspec.Raw = NOTHING
    trace_id: Any = None


def camel_case(key: str) -> str:
    """A name in snake_case as the API itself writes it."""
    first, *others = key.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


read_response = ShapeReader(GenerateResponse, rename=camel_case)
read_part = ShapeReader(ContentPart, rename=camel_case)
