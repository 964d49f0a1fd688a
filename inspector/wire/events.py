"""What every provider's decoder says about an answer while its bytes arrive."""

from typing import TypeAlias

import msgspec

from inspector.model import BodyState, FinishReason, GenerationError, Instant, Usage
from inspector.rules.rule import Rule

WIRE_PREFIX = "wire:"
"""What the names of parts begin with that only the wire knows and that are no part of the answer."""

UNREAD_PART = f"{WIRE_PREFIX}unread"
"""The part that keeps, word for word, what the decoder did not understand and what was cut off."""

ERROR_PART = f"{WIRE_PREFIX}error"
"""The part that keeps, word for word, what the server sent as its error."""

COMMENTS_PART = f"{WIRE_PREFIX}comments"
"""The part that keeps the comment lines of an event stream (keep-alives such as `: OPENROUTER PROCESSING`)."""

PROMPT_TOKENS_PART = f"{WIRE_PREFIX}prompt_token_ids"
"""The part that keeps, as JSON text, the token ids of the prompt, where the server sent them (vLLM)."""

PROMPT_PART = f"{WIRE_PREFIX}prompt"
"""The part that keeps the end of the raw prompt, where it was recorded: what it left open belongs to the answer."""

REUSED_INDEX_PART = f"{WIRE_PREFIX}reused_index"
"""The part that keeps, word for word, each event that opened a call under the index of an earlier one."""


class PartGrew(msgspec.Struct, frozen=True, gc=False):
    """Text arrived for one part; several may arrive in one event of the wire.

    Parts are `text`, `reasoning`, `refusal` and `call:N` (N counts the answer's calls from 0). What is not the model's
    answer stands apart: `wire:...` holds what only the wire knows, `choice1:...` a second answer to the same request.
    `at_s` is the time that the decoder was told with the bytes. Made for every chunk, hence a msgspec structure.
    """

    part: str
    text: str
    at_s: float | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class CallNamed(msgspec.Struct, frozen=True):
    """The call whose arguments are in `part` began, or told more of itself; None says nothing new.

    `custom` says that its tool takes a free text instead of JSON.
    """

    part: str
    name: str | None = None
    id: str | None = None
    custom: bool = False


class FactsLearned(msgspec.Struct, frozen=True):
    """Something about the generation became known; None says nothing new, and a later word replaces an earlier one.

    `started` and `ended` are what the server says of its own times. Where it also dates each piece, and nobody else
    did, `clock_start_s` is the generation's start on the clock of the pieces.
    """

    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    finish: FinishReason | None = None
    body: BodyState | None = None
    started: Instant | None = None
    ended: Instant | None = None
    clock_start_s: float | None = None


class GenerationFailed(msgspec.Struct, frozen=True):
    """The server said that it failed, in the answer's body."""

    error: GenerationError


class FaultSeen(msgspec.Struct, frozen=True):
    """The recording has a fault: it lies on the last `covers` code points that `part` has so far."""

    part: str
    rule: Rule
    message: str
    hint: str | None = None
    covers: int = 0


WireEvent: TypeAlias = PartGrew | CallNamed | FactsLearned | GenerationFailed | FaultSeen
