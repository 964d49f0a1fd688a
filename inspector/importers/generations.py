"""The facts of an answer, as logs store them beside its text."""

from collections.abc import Iterable

from msgspec import structs

from weaklink.inspector.apis.openai.chat import stored_usage
from weaklink.inspector.apis.openai.messages import first_choice
from weaklink.inspector.importers.identity import instant, text_of
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import count_of, member_at
from weaklink.inspector.model import (
    Generation,
    GenerationError,
    Instant,
    Json,
    Role,
    ToolDefinition,
    ToolsOrigin,
    Turn,
    Usage,
)
from weaklink.inspector.wire.answer_reader import finish_meaning

PARSED_ARGUMENTS = (
    "the source stores the arguments of calls parsed: that a session shows no malformed call does not mean that there "
    "was none"
)
"""What a source that keeps no raw arguments does not keep."""

_NO_USAGE = Usage()


def stored_generation(
    *,
    api: str = "",
    requested_model: str = "",
    answered_model: str = "",
    parameters: str = "",
    tools: tuple[ToolDefinition, ...] = (),
    started: Json | Instant = None,
    ended: Json | Instant = None,
    usage: Usage | None = None,
    finish: str = "",
    error: GenerationError | None = None,
    response_id: str = "",
) -> Generation:
    """The facts that a source stores of an answer; times and `finish`, the finish reason, may be as in the log.

    `tools` are those that the request offered.
    """
    return Generation(
        api=api,
        requested_model=requested_model,
        answered_model=answered_model,
        parameters=parameters,
        tools=tools,
        tools_origin=ToolsOrigin.REQUEST if tools else None,
        started=started if isinstance(started, Instant) else instant(started),
        ended=ended if isinstance(ended, Instant) else instant(ended),
        usage=usage or _NO_USAGE,
        finish_reason=finish or None,
        finish=finish_meaning(finish) if finish else None,
        error=error,
        response_id=response_id,
    )


def response_generation(
    response: JsonObject,
    *,
    api: str = "chat.completions",
    requested_model: str = "",
    tools: tuple[ToolDefinition, ...] = (),
    ended: Json = None,
) -> Generation:
    """The facts of a provider's response as a log stores it, of chat completions or Responses; empty if it is none."""
    return stored_generation(
        api=api,
        requested_model=requested_model,
        answered_model=text_of(response, "model"),
        tools=tools,
        ended=ended,
        usage=stored_usage(response.get("usage")),
        finish=text_of(first_choice(response), "finish_reason"),
    )


def usage_of(counts: JsonObject, inputs: str, outputs: str, *, cached: str = "", reasoning: str = "") -> Usage:
    """The counts of an answer, by the paths (`cache.read`) that the source has for them, or by several (`a b`)."""
    return Usage(_count(counts, inputs), _count(counts, outputs), _count(counts, reasoning), _count(counts, cached))


def _count(counts: JsonObject, paths: str) -> int | None:
    known = (count for path in paths.split() if (count := count_of(member_at(counts, path))) is not None)
    return next(known, None)


def answered_with(turns: Iterable[Turn], generation: Generation) -> tuple[Turn, ...]:
    """The turns, each of the assistant's with the same facts: what the source stores for all answers together."""
    return tuple(
        structs.replace(turn, generation=generation) if turn.role is Role.ASSISTANT else turn for turn in turns
    )
