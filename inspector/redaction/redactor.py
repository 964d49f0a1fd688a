"""Removes secrets, or all content, from what is about to be written to disk; every text keeps its length."""

import json
import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from weaklink.inspector import model
from weaklink.inspector.model.exchange import RecordedExchange, RecordedTrace, compacted, expanded
from weaklink.inspector.redaction.exact_values import ExactValues, is_named_secret, secret_variables
from weaklink.inspector.redaction.finding import FILLER, Finder, find_secrets, pattern_secrets, replaced, secrets_of
from weaklink.inspector.redaction.masking import (
    ContentStream,
    KeptWords,
    SecretStream,
    TextStream,
    kept_words,
    mask_content,
    with_members,
)
from weaklink.inspector.text import digest_of
from weaklink.inspector.wire.events import TOKENS_PART

_MAX_CLEAN_TEXTS = 262_144  # texts that were found clean, of which a digest is kept: those of long sessions
_DIGEST_BYTES = 32
_LONG = range(16_384, 4_194_304)  # characters of a text that is remembered, as requests repeat those before
_MAX_LONG_TEXTS = 8
_MAX_CLEAN_TOOLS = 4_096  # that were found clean: every request offers the same ones again
_VALUES = frozenset({"default", "const", "example", "examples", "enum"})
_CONTENT = {
    model.Trace: ("name",),
    RecordedTrace: ("name",),
    model.RecordedRun: ("arguments", "result"),
    model.Generation: ("parameters",),
    model.GenerationError: ("message",),
    model.ToolDefinition: ("description", "raw"),
}
"""The fields with words of the content, which a recording without content masks; of others, it replaces secrets."""

_Value = TypeVar("_Value")
_AnyStruct = TypeVar("_AnyStruct", bound=Struct)


class Redactor:
    """Replaces secrets by `*`: keys of known shapes, and the values of names like `api_key`.

    `patterns` are a user's own regular expressions: their first group is replaced too, or the whole match if they have
    none. `values` are known secrets, such as `secret_variables` of the recorded process; they are matched exactly.
    Without `keep_content` every word is masked as well (see `masking`): only structure, sizes and times remain.
    Texts keep their length in code points, so that every range stays valid; chunks whose text changes lose their token
    ids and logprobs. Redacting twice changes nothing more. Raises ValueError, with a sentence, for a pattern that is no
    regular expression or matches the empty text. Not thread-safe.
    """

    def __init__(self, patterns: Sequence[str] = (), *, keep_content: bool = True, values: Iterable[str] = ()) -> None:
        self._patterns = tuple(map(_compiled, patterns))
        self._values = ExactValues(values)
        self.keeps_content = keep_content
        self._clean: set[bytes] = set()
        self._long: deque[Finder] = deque(maxlen=_MAX_LONG_TEXTS)
        self._clean_tools: dict[int, model.ToolDefinition] = {}  # held, so that no other one has its id
        self.count = 0
        """Secrets replaced so far."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> "Redactor":
        """A redactor that also knows the secrets of an environment; by default, of this process's."""
        return cls(values=secret_variables(environment))

    def text(self, text: str) -> str:
        """The text, of the same length, without secrets."""
        return self._text(text, self._kept(()))

    def url(self, url: str) -> str:
        """An address, or a path with its query, without secrets."""
        return self._secrets(url)

    def turn(self, turn: model.Turn) -> model.Turn:
        """A turn: its parts, the headers of its calls and result, and its generation's facts."""
        tools = turn.generation.tools if turn.generation else ()
        texts: list[str] = []
        _collect((turn,), texts, {id(tool) for tool in tools if id(tool) in self._clean_tools})
        if self.keeps_content and not self._have_secrets(texts):
            if len(self._clean_tools) > _MAX_CLEAN_TOOLS:
                self._clean_tools.clear()
            self._clean_tools.update((id(tool), tool) for tool in tools)
            return turn
        return self._redacted(turn, self._kept(tools))

    def trace(self, trace: model.Trace) -> model.Trace:
        """A trace with all its turns."""
        whole = expanded(trace)
        if self.keeps_content and not self._have_secrets(texts_of(whole)):
            return trace
        kept = self._kept(tool for turn in trace.turns if turn.generation for tool in turn.generation.tools)
        turns = tuple(
            turn if self.keeps_content and not self._have_secrets(texts_of(turn)) else self._redacted(turn, kept)
            for turn in whole.turns
        )
        redacted = self._fields(whole, kept, turns=turns)
        if not (redacted.external_ids or self.keeps_content):  # others may have the same masked texts
            digest = model.ExternalId("content_digest", digest_of(texts_of(trace)))
            redacted = replace(redacted, external_ids=(digest,))
        return compacted(redacted)

    def new_turn(self, tools: Iterable[model.ToolDefinition] = ()) -> "TurnRedactor":
        """A redactor for a turn whose chunks are still arriving; `tools` are those that its request offered."""
        return TurnRedactor(self, self._kept(tools))

    def new_stream(self, kept: KeptWords | None = None) -> TextStream:
        """A redactor for one part's text, piece by piece."""
        return SecretStream(self._patterns, self._values) if kept is None else ContentStream(kept)

    def _have_secrets(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts has a secret; those that are known to have none are remembered."""
        keys = {text: key for text in dict.fromkeys(texts) if (key := _key(text)) not in self._clean}
        if self._values.are_in("\0".join(keys)) or any(pattern_secrets(text, self._patterns) for text in keys):
            return True
        for text, secrets in secrets_of(keys):
            if secrets:
                return True
            self._remember(keys[text])
        return False

    def _kept(self, tools: Iterable[model.ToolDefinition]) -> KeptWords | None:
        return None if self.keeps_content else kept_words(tools)

    def _text(self, text: str, kept: KeptWords | None) -> str:
        return self._secrets(text) if kept is None else mask_content(text, kept)

    def _secrets(self, text: str) -> str:
        if not text or (key := _key(text)) in self._clean:  # names, settings, system prompts and tools repeat
            return text
        known = self._values.replaced(text)
        if len(text) in _LONG:
            finder = Finder(known)
            finder.share(self._long)
            finder.scan(is_final=True)
            self._long.append(finder)
            secrets = finder.found()
        else:
            secrets = find_secrets(known)
        secrets += pattern_secrets(known, self._patterns)
        clean = replaced(known, secrets)
        if clean != text:
            self.count += len(secrets) + (known != text)
        if clean == text:
            self._remember(key)
        return clean

    def _remember(self, key: bytes) -> None:
        if len(self._clean) >= _MAX_CLEAN_TEXTS:
            self._clean.clear()
        self._clean.add(key)

    def _redacted(self, value: _Value, kept: KeptWords | None) -> _Value:
        """A value of the model with its texts redacted, at any depth."""
        changed: object = value
        match value:
            case model.Turn() | model.SentMessage():
                changed = self._fields(value, kept, parts=self._parts(value, kept))
            case model.RecordedRun() if kept and value.result:
                result = self._text(value.result, with_members(kept, value.result))
                changed = self._fields(value, kept, result=result)
            case model.ToolDefinition():
                changed = self._fields(value, kept, parameters=self._json(value.parameters, kept, ""))
            case model.ExternalId():
                changed = self._id(value)
            case Struct() if type(value) not in _NO_TEXTS:
                changed = self._fields(value, kept)
            case tuple() if type(value) is tuple:
                changed = tuple(self._redacted(item, kept) for item in value)
            case str() if type(value) is str:
                changed = self._secrets(value)
        return cast("_Value", changed)

    def _fields(self, value: _AnyStruct, kept: KeptWords | None, **known: object) -> _AnyStruct:
        """A struct with its fields redacted, except for those that are `known`."""
        content = _CONTENT.get(type(value), ())
        for name in value.__struct_fields__:
            if name not in known:
                field = getattr(value, name)
                known[name] = self._text(field, kept) if field and name in content else self._redacted(field, kept)
        return replace(value, **known)

    def _parts(self, message: model.Turn | model.SentMessage, kept: KeptWords | None) -> tuple[Struct, ...]:
        """The parts; token strings are emptied if any text changes, because they would reveal the old text."""
        is_live = kept is None or message.role is model.Role.ASSISTANT  # a model's text is redacted as in a live stream
        parts: Sequence[model.Part | model.SentPart] = message.parts
        redacted: list[model.Part | model.SentPart] = []
        for part in parts:
            text = self._text(part.text, kept if is_live or kept is None else with_members(kept, part.text))
            clean = replace(part, name=self._secrets(part.name), text=text)
            if isinstance(clean, model.Part) and clean.chunks is not None and text != part.text:
                clean = replace(clean, chunks=_without_changed_details(clean.chunks, part.text, text))
            redacted.append(clean)
        if all(new.text == old.text for new, old in zip(redacted, parts, strict=True)):
            return tuple(redacted)
        return tuple(type(part)(part.name, "") if part.name.endswith(TOKENS_PART) else part for part in redacted)

    def _json(self, value: model.Json, kept: KeptWords | None, name: str) -> model.Json:
        """A schema with its texts redacted; in the names of members only secrets are replaced.

        `name` is the property whose schema this is: what it gives as a value is a secret if the name introduces one.
        """
        if isinstance(value, str):
            clean = self._text(value, kept)
            return FILLER * len(value) if clean == value and is_named_secret(name, value) else clean
        if isinstance(value, list):
            return [self._json(item, kept, name) for item in value]
        if isinstance(value, dict):
            return {
                self._secrets(key): self._json(inner, kept, name if key in _VALUES else key)
                for key, inner in value.items()
            }
        return value

    def _id(self, external_id: model.ExternalId) -> model.ExternalId:
        value = self._secrets(external_id.value)
        if value != external_id.value:  # the ids of two sessions stay different
            value = f"{value}#{digest_of([external_id.value])[:8]}"
        return model.ExternalId(self._secrets(external_id.name), value)


class TurnRedactor:
    """Redacts the chunks of one turn as they arrive, in the order of their sequence over all parts.

    A chunk is held back while its text may be part of an incomplete secret, and so are the chunks after it. In the end,
    each part's text is the result of `Redactor.text`, except for matches of a user's pattern longer than
    `masking.PATTERN_TAIL`, which the whole turn, redacted at its end, no longer has.
    """

    def __init__(self, redactor: Redactor, kept: KeptWords | None) -> None:
        self._redactor = redactor
        self._kept = kept
        self._parts: dict[str, _RedactedPart] = {}
        self._waiting: list[model.Chunk] = []

    def feed(self, chunks: Sequence[model.Chunk]) -> tuple[model.Chunk, ...]:
        """The chunks that are certain now, redacted."""
        arrived: dict[str, list[str]] = {}
        for chunk in chunks:
            arrived.setdefault(chunk.part, []).append(chunk.text)
        for name, pieces in arrived.items():
            if name not in self._parts:
                stream = self._redactor.new_stream(self._kept)
                self._parts[name] = _RedactedPart(stream, self._redactor.url(name))
            part, text = self._parts[name], "".join(pieces)
            part.ready += part.stream.feed(text)
            if len(arrived) == 1 and not self._waiting and part.ready == text and part.name == name:
                part.ready = ""
                return tuple(chunks)  # as most chunks are: certain, and without a secret
        self._waiting += chunks
        return self._released()

    def close(self) -> tuple[model.Chunk, ...]:
        """The remaining chunks, redacted."""
        for part in self._parts.values():
            part.ready += part.stream.close()
            self._redactor.count += part.stream.count
        return self._released()

    def _released(self) -> tuple[model.Chunk, ...]:
        released = []
        for chunk in self._waiting:
            part = self._parts[chunk.part]
            end = part.taken + len(chunk.text)
            if end > len(part.ready):
                break
            text = part.ready[part.taken : end]
            part.taken = end
            is_same = text == chunk.text and part.name == chunk.part
            released.append(chunk if is_same else model.Chunk(chunk.sequence, part.name, text, chunk.offset_s))
        del self._waiting[: len(released)]
        for part in self._parts.values():
            part.ready, part.taken = part.ready[part.taken :], 0
        return tuple(released)


class _RedactedPart(Struct):
    """One part: its stream, its redacted name, and the stream's output, of which chunks have taken so much."""

    stream: TextStream
    name: str
    ready: str = ""
    taken: int = 0


def _without_changed_details(chunks: model.Chunks, before: str, after: str) -> model.Chunks:
    """The chunks of a redacted text, without token ids and logprobs of changed ones: they would reveal the old text."""
    if chunks.token_ids is None and chunks.logprobs is None:
        return chunks
    ends = tuple(chunks.ends)
    same = [before[start:end] == after[start:end] for start, end in pairwise((0, *ends))]
    return model.Chunks(
        ends, chunks.sequences, chunks.offsets_s, _where(same, chunks.token_ids), _where(same, chunks.logprobs)
    )


def _where(same: Sequence[bool], values: Iterable[_Value | None] | None) -> tuple[_Value | None, ...] | None:
    if values is None:
        return None
    return tuple(value if is_same else None for is_same, value in zip(same, values, strict=True))


def _key(text: str) -> bytes:
    """What stands for a text in the cache: itself if it is short, or a digest."""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded if len(encoded) <= _DIGEST_BYTES else blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"`{pattern}` is not a valid regular expression: {error}") from error
    if compiled.match(""):
        raise ValueError(f"`{pattern}` matches the empty string, so it would redact nothing or everything")
    return compiled


def texts_of(value: object) -> list[str]:
    """Every text of a trace, or of another value of the model, that is redacted; tools of several turns once."""
    texts: list[str] = []
    _collect((value,), texts, set())
    return texts


_NO_TEXTS: set[type] = {int, float, bool, model.Chunks, model.Instant, model.Usage, RecordedExchange}
"""Types of values without texts, or whose texts are redacted already."""


def _collect(values: Iterable[object], texts: list[str], tools: set[int]) -> None:
    """Add the texts of values; names of members come before their values. `tools` are the ids of those passed over."""
    for value in values:
        kind = type(value)
        if kind is str:
            texts.append(value)  # type: ignore[arg-type]  # its type is str
        elif not value or kind in _NO_TEXTS:
            continue
        elif isinstance(value, model.ToolDefinition):
            if id(value) not in tools:
                tools.add(id(value))
                raw = value.raw or json.dumps(value.parameters)
                _collect((value.name, value.description, raw, value.parameters), texts, tools)
        elif isinstance(value, Struct):
            _collect(astuple(value), texts, tools)
        elif kind is tuple or isinstance(value, list):
            _collect(value, texts, tools)  # type: ignore[arg-type]  # a list or a tuple
        elif isinstance(value, dict):
            texts += value
            _collect(value.values(), texts, tools)
        else:
            _NO_TEXTS.add(kind)
