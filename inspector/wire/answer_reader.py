"""What the readers of all APIs share: their interface, error objects, finish reasons, and faults as wire events."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from weaklink.inspector.json_text import compact_json
from weaklink.inspector.model import BodyState, ErrorPhase, FinishReason, GenerationError, Json, Usage
from weaklink.inspector.rules import recording
from weaklink.inspector.wire import events
from weaklink.inspector.wire.provider_json import parse_json

_INDEX = re.compile(r"\[\d+\]")
_MAX_QUOTE = 60
_MAX_WORDS = 500  # of a body that is no error object, such as a proxy's HTML page

_WORDS = {
    FinishReason.STOP: "stop eos eos_token end_turn stop_sequence stop_token complete completed finished STOP eosFound",
    FinishReason.TOOL_CALLS: "tool_calls tool_call function_call tool_use tool-calls toolUse toolCalls",
    FinishReason.LENGTH: "length max_tokens max_output_tokens model_length model_context_window_exceeded MAX_TOKENS",
    FinishReason.FILTER: (
        "content_filter refusal safety SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
    ),
    FinishReason.ERROR: (
        "error failed MALFORMED_FUNCTION_CALL malformed_function_call UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS "
        "MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE"
    ),
}


class AnswerFaults:
    """Collects the faults of one answer, whichever API it comes from. Never raises.

    `status` is the HTTP status, None if unknown; from 400 on, an error is the whole answer (C505), below that it is one
    inside an answer that began well (C508). If `whole` is True, an error of unknown status is the whole answer too.
    What cannot be read is kept word for word in `wire:unread`, an error in `wire:error`; each kind of oddity is flagged
    once. `last_part` is the part that grew last; the reader that has this object sets it.
    """

    __slots__ = ("_flagged", "_is_http_error", "_status", "failed", "last_part")

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self._status = status
        self._is_http_error = whole if status is None else status >= 400
        self._flagged: set[str] = set()
        self.last_part = "text"
        self.failed = False  # whether an error came

    def read_error(
        self, text: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent], *, certain: bool = False
    ) -> bool:
        """Append the events of an error object; False if `text` is none. `certain`: the wire marked it as an error."""
        try:
            document = parse_json(text)
        except ValueError:
            document = text if certain else None
        error = error_in(document) or (document if certain else None)
        if error is None:
            return False
        self.fail(error, raw, at_s, wire_events)
        return True

    def fail(
        self, error: Json, raw: str, at_s: float | None, wire_events: list[events.WireEvent], *, in_answer: bool = False
    ) -> None:
        """Append an error, its exact text on the wire, and its fault.

        `in_answer`: the answer itself contains it (as its finish reason, say), so it is no HTTP error.
        """
        is_http_error = self._is_http_error and not in_answer
        phase = ErrorPhase.HTTP if is_http_error else ErrorPhase.IN_STREAM
        rule = recording.UPSTREAM_ERROR if is_http_error else recording.ERROR_INSIDE_200
        read = read_error(error, phase, status=self._status if is_http_error else None)
        message = aborted_message(read)
        if is_http_error:
            message = f"The server answered {f'with status {self._status}: ' if self._status else ''}{_words(read)}."
        self.failed = True
        if raw:
            wire_events.append(events.PartGrew(events.ERROR_PART, raw, at_s))
        wire_events += (events.GenerationFailed(read), events.FaultSeen(self.last_part, rule, message))

    def keep(self, raw: str, oddities: dict[str, str], at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Keep the exact text on the wire; flag the kinds of oddity (kind: words to quote) that are new."""
        wire_events.append(events.PartGrew(events.UNREAD_PART, raw, at_s))
        fresh = oddities.keys() - self._flagged
        self._flagged |= fresh
        if fresh:
            words = ", ".join(f"`{_quoted(oddities[kind])}`" for kind in sorted(fresh)[:5])
            message = f"This decoder does not know what {words} means here."
            wire_events.append(
                events.FaultSeen(events.UNREAD_PART, recording.UNKNOWN_WIRE_EVENT, message, covers=len(raw))
            )

    def keep_contradiction(
        self, keys: list[str], raw: str, at_s: float | None, wire_events: list[events.WireEvent]
    ) -> None:
        """Keep, word for word, the complete texts of `keys` that differ from their pieces before; flag each time."""
        words = ", ".join(f"`{_quoted(key)}`" for key in keys[:5])
        message = f"The complete text of {words} differs from the pieces before it; the answer contains the pieces."
        wire_events += (
            events.PartGrew(events.UNREAD_PART, raw, at_s),
            events.FaultSeen(events.UNREAD_PART, recording.UNKNOWN_WIRE_EVENT, message, covers=len(raw)),
        )

    def keep_reused(self, index: int, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Keep, word for word, what opened a call under the index of an earlier one; flag the first."""
        wire_events.append(events.PartGrew(events.REUSED_INDEX_PART, raw, at_s))
        if events.REUSED_INDEX_PART not in self._flagged:
            self._flagged.add(events.REUSED_INDEX_PART)
            message = f"A new call has index `{index}`, which an earlier call has too; expected a new index."
            wire_events.append(
                events.FaultSeen(events.REUSED_INDEX_PART, recording.REUSED_CALL_INDEX, message, covers=len(raw))
            )

    def keep_repeated_name(self, name: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Keep, word for word, and flag the first event that sends the name of a call again."""
        if events.REPEATED_NAME_PART not in self._flagged:
            self._flagged.add(events.REPEATED_NAME_PART)
            wire_events.append(events.PartGrew(events.REPEATED_NAME_PART, raw, at_s))
            message = f"The name `{_quoted(name)}` of the same call comes again; clients that join pieces double it."
            wire_events.append(
                events.FaultSeen(events.REPEATED_NAME_PART, recording.REPEATED_CALL_NAME, message, covers=len(raw))
            )

    def end(self, finish: str, wire_events: list[events.WireEvent], *, aborted: str) -> None:
        """Append what is wrong with the end: `finish` is the server's finish reason, `""` if none came.

        `aborted` is a sentence if the body was truncated, else empty. After an error there is nothing to add.
        """
        if self.failed:
            return
        if aborted:
            wire_events += (
                events.FactsLearned(body=BodyState.TRUNCATED),
                events.FaultSeen(self.last_part, recording.ABORTED_STREAM, aborted),
            )
        match finish_meaning(finish):
            case FinishReason.LENGTH:
                wire_events.append(
                    events.FaultSeen(self.last_part, recording.CUT_OFF_BY_LENGTH, cut_off_message(finish))
                )
            case FinishReason.ERROR:
                self.fail(f"finish reason {finish}", finish, None, wire_events, in_answer=True)


def aborted_message(error: GenerationError) -> str:
    """The sentence for an error inside an answer (C508)."""
    return f"The server aborted the answer with {_words(error)}."


def cut_off_message(finish: str) -> str:
    """The sentence for an answer that its length limit ended (C503); `finish` is the server's finish reason."""
    return f"The answer was stopped here by the length limit (finish reason `{_quoted(finish)}`)."


def _words(error: GenerationError) -> str:
    return f"`{_quoted(error.message)}`" if error.message else "an error without a message"


def _quoted(text: str) -> str:
    return text if len(text) <= _MAX_QUOTE else text[: _MAX_QUOTE - 1] + "…"


class AnswerReader(Protocol):
    """Reads the JSON objects of one answer: many events of a stream, or one body that came whole. Never raises."""

    @property
    def api(self) -> str:
        """The kind of endpoint, as in `Generation.api`."""
        ...

    @property
    def unended(self) -> str:
        """The sentence for a stream without the event that ends a stream of this API."""
        ...

    @property
    def faults(self) -> AnswerFaults:
        """The faults so far, and the methods to add others."""
        ...

    @property
    def finish(self) -> str:
        """The server's finish reason, `""` if none has come yet."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether the end of the answer has come."""
        ...

    def read(self, text: str, raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> bool:
        """Append the events of one object, `text`; `raw` is its text on the wire. False if it is no answer at all."""
        ...


class ObjectReader:
    """What the readers of most APIs share: the facts about an answer, which are appended only when they are new.

    `_learn_head`, `_learn_usage` and `_learn_finish` append a fact; the first id and model stay. `_keep` keeps an
    object whose members at some paths could not be read.
    """

    __slots__ = ("_model", "_response_id", "_usage", "faults", "finish")

    def __init__(self, *, status: int | None = None, whole: bool = False) -> None:
        self.faults = AnswerFaults(status=status, whole=whole)
        self.finish = ""  # the server's finish reason
        self._response_id = ""
        self._model = ""
        self._usage: UsageShape | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the finish reason came."""
        return bool(self.finish)

    def _learn_head(self, response_id: str | None, model: str | None, wire_events: list[events.WireEvent]) -> None:
        if (response_id and not self._response_id) or (model and not self._model):
            self._response_id = self._response_id or response_id or ""
            self._model = self._model or model or ""
            wire_events.append(events.FactsLearned(self._response_id or None, self._model or None))

    def _learn_usage(self, usage: "UsageShape | None", wire_events: list[events.WireEvent]) -> None:
        if usage is not None and usage != self._usage:
            self._usage = usage
            wire_events.append(events.FactsLearned(usage=usage.usage()))

    def _learn_finish(self, finish: str, wire_events: list[events.WireEvent]) -> FinishReason:
        self.finish = finish
        meaning = finish_meaning(finish)
        wire_events.append(events.FactsLearned(finish_reason=finish, finish=meaning))
        return meaning

    def _keep(self, strange: list[str], raw: str, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        if strange:
            self.faults.keep(raw, {_INDEX.sub("", path): path for path in strange}, at_s, wire_events)


class ChoiceParts:
    """The parts of one of the answers to a request, as its pieces come.

    Choice 0 is the turn. Any other is kept separately, in parts that begin with `choice1:`. Its calls are not reported
    as calls, since they were not run: their names, their ids and the finish reason are parts too, such as
    `choice1:call:0:name`. `last_part` is the part that grew last; `has_grown`: a text or a call came.
    """

    __slots__ = ("_token_texts", "has_grown", "last_part", "prefix")

    def __init__(self, index: int = 0) -> None:
        self.prefix = f"choice{index}:" if index else ""
        self.last_part = f"{self.prefix}text"
        self.has_grown = False
        self._token_texts = events.TokenTexts()

    def grow(self, part: str, text: str, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Append a text of `part`, a name without the prefix."""
        self.last_part = name = self.prefix + part if self.prefix else part
        self.has_grown = True
        wire_events.append(events.PartGrew(name, text, at_s))

    def keep(self, part: str, text: str, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Append what the server says beside the answer."""
        wire_events.append(events.PartGrew(self.prefix + part, text, at_s))

    def name_call(self, call: events.CallNamed, at_s: float | None, wire_events: list[events.WireEvent]) -> None:
        """Append the header of a call; the name of its part has the prefix."""
        self.last_part = call.part
        self.has_grown = True
        if not self.prefix:
            wire_events.append(call)
            return
        header_texts = (("name", call.name), ("id", call.id))
        wire_events += [events.PartGrew(f"{call.part}:{what}", word, at_s) for what, word in header_texts if word]

    def add_tokens(
        self, tokens: "ChunkTokens", at_s: float | None, wire_events: list[events.WireEvent], *, since: int
    ) -> None:
        """Add tokens to the first text from `wire_events[since]` on, or to an empty text if the server held it back."""
        if tokens.ids is None and tokens.logprobs is None:
            return
        index = next((n for n in range(since, len(wire_events)) if isinstance(wire_events[n], events.PartGrew)), None)
        grew = events.PartGrew(self.last_part, "", at_s) if index is None else wire_events[index]
        assert isinstance(grew, events.PartGrew)
        with_tokens = events.PartGrew(grew.part, grew.text, grew.at_s, tokens.ids, tokens.logprobs)
        wire_events[len(wire_events) if index is None else index : len(wire_events) if index is None else index + 1] = [
            with_tokens
        ]
        if tokens.logprobs is not None:
            self._token_texts.keep(with_tokens, tokens.texts, wire_events)


class ChunkTokens(NamedTuple):
    """The tokens that came with a chunk: their texts, ids and log probabilities, as far as the server sends them."""

    texts: Sequence[str]
    ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


_TOKEN_ID = "token_id:"  # vLLM with `return_tokens_as_token_ids` writes this instead of the text


def ids_and_texts(tokens: Iterable[str]) -> tuple[tuple[int, ...] | None, list[str]]:
    """The token ids that vLLM writes as words, None if there are none, and the other tokens."""
    ids: list[int] = []
    texts: list[str] = []
    for token in tokens:
        if not token.startswith(_TOKEN_ID):
            texts.append(token)
        elif (word := token.removeprefix(_TOKEN_ID)).isascii() and word.isdigit() and len(word) < 19:
            ids.append(int(word))
    return tuple(ids) or None, texts


class UsageShape(Protocol):
    """Token counts as an API sends them."""

    def usage(self) -> Usage:
        """The counts as `Usage`."""
        ...


class NewReader(Protocol):
    """Creates a reader for one answer of HTTP status `status`; `whole`: its body came in one piece."""

    def __call__(self, *, status: int | None = None, whole: bool = False) -> AnswerReader:
        """A new reader."""
        ...


def error_in(document: Json) -> Json:
    """The error that a JSON document reports, or None.

    `{"error": {...}}` (OpenAI and its kin), `{"error": "words"}` (Ollama), `{"type": "error", "error": {...}}`
    (Anthropic), `{"object": "error", "message": ...}` (vLLM before 0.10), `{"detail": ...}` alone (FastAPI).
    """
    if not isinstance(document, dict):
        return None
    if document.get("error"):
        return document["error"]
    if document.get("object") == "error" or document.get("type") == "error":
        return document
    return document["detail"] if set(document) == {"detail"} else None


def read_error(error: Json, phase: ErrorPhase, *, status: int | None = None) -> GenerationError:
    """An error object, or any text, as an error that ended a generation; never raises.

    `status` is the HTTP status, if it is known; else a `code` or `status` from 400 to 599 is used.
    """
    if not isinstance(error, dict):
        words = error.strip()[:_MAX_WORDS] if isinstance(error, str) else compact_json(error)
        return GenerationError(phase, words, status)
    message = error.get("message", error.get("detail"))
    words = message if isinstance(message, str) else compact_json(error)
    named = (error.get(key) for key in ("code", "type", "status"))
    code = next((str(word) for word in named if word and isinstance(word, str | int)), None)
    return GenerationError(phase, words, status or _status(error), code)


def _status(error: dict[str, Json]) -> int | None:
    for word in (error.get("code"), error.get("status")):
        if isinstance(word, int) and 400 <= word < 600:
            return word
    return None


_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}


def finish_meaning(word: str) -> FinishReason:
    """What a server's finish reason means; OTHER for an unknown word.

    Sources: the API references of OpenAI, Anthropic and Google; text-generation-inference (`eos_token`), Mistral
    (`model_length`), OpenLLMetry (`tool_call`); Gemini's API for clients of OpenAI
    (`function_call_filter: MALFORMED_FUNCTION_CALL`).
    """
    return _MEANINGS.get(word.rpartition(": ")[2], FinishReason.OTHER)
