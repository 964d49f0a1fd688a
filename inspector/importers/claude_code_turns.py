"""The rows of one of Claude Code's sessions as turns: one row a content block, put together to answers again.

An answer's blocks come in a row each, with the same `message.id` and `requestId`; results of its first calls may stand
between them, and each row repeats the usage, of which the last counts. Input that was no JSON is kept by Claude Code as
`{"__unparsedToolInput": {"raw": ...}}`: the part of such a call is the raw text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import msgspec

from inspector.importers.identity import instant, text_of
from inspector.importers.source import JsonObject
from inspector.model import (
    BodyState,
    ErrorPhase,
    Generation,
    GenerationError,
    Instant,
    Json,
    Part,
    Role,
    Turn,
    TurnFlag,
    Usage,
)
from inspector.wire.anthropic_request import read_turns
from inspector.wire.anthropic_shapes import AnthropicUsageShape
from inspector.wire.finish_reasons import finish_meaning
from inspector.wire.json_text import compact_json

API = "messages"
"""The kind of endpoint that Claude Code talks to."""

SYNTHETIC_MODEL = "<synthetic>"
"""The model of answers that Claude Code wrote itself."""


@dataclass(slots=True)
class PartialClaudeAnswer:
    """One answer as far as its rows came.

    `blocks` are its content, each once; `was_cut` says that Claude Code kept less of a malformed input than there was.
    """

    model: str = ""
    blocks: list[Json] = field(default_factory=list)
    stop_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    ended: Instant | None = None
    error: GenerationError | None = None
    flags: frozenset[TurnFlag] = frozenset()
    was_cut: bool = False
    _known: set[tuple[str, str]] = field(default_factory=set)

    def take(self, message: JsonObject, at: Json = None) -> None:
        """Add a row's blocks, and what the row says of the answer; `at` is when it was written."""
        content = message.get("content")
        for block in content if isinstance(content, list) else [content or ""]:
            known = _key(block)
            if known not in self._known:
                self._known.add(known)
                self.blocks.append(block)
                self.was_cut = self.was_cut or _is_cut(block)
        self.model = text_of(message, "model") or self.model
        self.stop_reason = text_of(message, "stop_reason") or self.stop_reason
        self.usage = usage_of(message.get("usage")) or self.usage
        self.ended = instant(at) or self.ended

    def turn(self) -> Turn:
        """The assistant's turn; one that Claude Code wrote itself has no generation, unless for a request that failed.

        The words of a failure are the error's, not the model's.
        """
        (turn,) = read_turns({"role": "assistant", "content": list(self.blocks)})
        if self.error:
            return Turn(Role.ASSISTANT, (Part("text", ""),), "assistant", generation=self._failed(), flags=self.flags)
        if self.model == SYNTHETIC_MODEL:
            return replace(turn, flags=self.flags | {TurnFlag.SYNTHETIC})
        raws = dict(self._unparsed())
        parts = tuple(Part(part.name, raws.get(part.name, part.text)) for part in turn.parts)
        return replace(turn, parts=parts, generation=self._generation(), flags=self.flags)

    def _unparsed(self) -> Iterator[tuple[str, str]]:
        """The parts of calls whose input was no JSON, each with its raw text."""
        inputs = [one.get("input") for one in self.blocks if isinstance(one, dict) and one.get("type") == "tool_use"]
        for at, given in enumerate(inputs):
            match given:
                case {"__unparsedToolInput": {"raw": str(raw)}}:
                    yield f"call:{at}", raw

    def _generation(self) -> Generation:
        return Generation(
            api=API,
            answered_model=self.model,
            ended=self.ended,
            usage=self.usage,
            finish_reason=self.stop_reason or None,
            finish=finish_meaning(self.stop_reason) if self.stop_reason else None,
        )

    def _failed(self) -> Generation:
        return Generation(api=API, ended=self.ended, error=self.error, body=BodyState.NOT_STORED)


def usage_of(usage: Json) -> Usage | None:
    """Anthropic's token counts; None where there are none that can be read."""
    if not isinstance(usage, dict) or not usage:
        return None
    try:
        return msgspec.convert(usage, AnthropicUsageShape).usage()
    except (msgspec.ValidationError, ValueError):
        return None


def error_of(value: JsonObject, words: str) -> GenerationError:
    """The failure of a request that a row tells of."""
    told = value.get("error")
    inner = told if isinstance(told, dict) else {}
    status = next((one for one in (value.get("apiErrorStatus"), inner.get("status")) if isinstance(one, int)), None)
    code = told if isinstance(told, str) else text_of(inner, "type", "code")
    message = words or text_of(inner, "message") or (compact_json(told) if told else "the request failed")
    return GenerationError(ErrorPhase.HTTP if status else ErrorPhase.TRANSPORT, message, status, code or None)


def words_of(content: Json) -> str:
    """The texts of a message's content, joined by nothing."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(text_of(block, "text") for block in blocks if isinstance(block, dict))


def user_turns(message: Json, flags: frozenset[TurnFlag]) -> Iterator[Turn]:
    """The turns of a user's message: its words, and each result that stands in it."""
    for turn in read_turns({"role": "user", "content": message} if isinstance(message, str) else message):
        read = turn if turn.role in (Role.USER, Role.TOOL) else replace(turn, role=Role.USER, calls=(), result=None)
        yield replace(read, flags=flags) if flags else read


def _key(block: Json) -> tuple[str, str]:
    """What tells a block from the others of its answer: its id or words, or else all of it."""
    if isinstance(block, dict):
        kind, told = text_of(block, "type"), text_of(block, "id", "text", "thinking")
        if told and kind in ("text", "thinking", "tool_use"):
            return kind, told
    return "", compact_json(block)


def _is_cut(block: Json) -> bool:
    match block:
        case {"input": {"__unparsedToolInput": {"raw": str(raw), "len": int(length)}}}:
            return len(raw.encode("utf-16-le", "surrogatepass")) // 2 < length
    return False
