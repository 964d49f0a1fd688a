"""Decodes event streams, HTTP responses and lines of bare API captures, and finds where each answer begins and ends."""

import hashlib
from dataclasses import dataclass

import msgspec

from inspector.apis import ollama
from inspector.apis.anthropic import messages as anthropic_messages
from inspector.apis.gemini import generate_content as gemini
from inspector.apis.openai import chat as openai_answer
from inspector.apis.openai import completions as openai_completions
from inspector.apis.openai import responses as openai_responses
from inspector.apis.openai.chat_captures import MAX_ANSWER_BYTES, STATUS_LINE, CapturedAnswer
from inspector.apis.providers import decoder_for
from inspector.importers.identity import instant
from inspector.importers.source import JsonObject
from inspector.json_members import word_of
from inspector.model import Json
from inspector.wire.decoder import DONE, Decoder
from inspector.wire.events import TurnAssembly, WireEvent
from inspector.wire.provider_json import parse_json
from inspector.wire.sse import ServerSentEvent, SseDecoder

_GEMINI_KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata", "usage_metadata", "prompt_feedback"})
_TEXT_CHOICE = frozenset({"text", "finish_reason"})
_BLANK = "\ufeff\r\n\t "
_STREAM_STARTS = ("data:", "event:", "id:", "retry:", ":")
_BODY_STARTS = ("{", "[")

_PATHS = {
    openai_completions.API: "/v1/completions",
    openai_responses.API: "/v1/responses",
    anthropic_messages.API: "/v1/messages",
    gemini.API: "/v1/models/x:streamGenerateContent",
    ollama.CHAT: "/api/chat",
    ollama.GENERATE: "/api/generate",
}


@dataclass(frozen=True, slots=True)
class ObjectHead:
    """What one object of an answer says of it.

    `api` is the kind of endpoint, `""` for an error that any may send. `is_whole`: it is a whole answer by itself.
    `begins`: no answer before it can go on with it; `ends`: none goes on behind it. `finishes`: the model is done, and
    only what bears the same `id` still belongs to it. `created` is the server's time, as it stands.
    """

    api: str
    is_whole: bool = False
    begins: bool = False
    ends: bool = False
    finishes: bool = False
    id: str = ""
    created: Json = None


_ERROR = ObjectHead("", finishes=True)
_ANTHROPIC_ERROR = ObjectHead(anthropic_messages.API, is_whole=True, finishes=True)


def head_of(value: Json) -> ObjectHead | None:
    """What an object says of its answer; None for what is no answer of an API that weaklink knows."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if isinstance(kind, str) and (head := _of_event(kind, value)):
        return head
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        created = value.get("created_at")
        return ObjectHead(openai_responses.API, is_whole=True, begins=True, ends=True, created=created)
    if isinstance(choices := value.get("choices"), list):
        return _of_choices(value, choices)
    inner = value.get("response")
    if _GEMINI_KEYS & value.keys() or (isinstance(inner, dict) and _GEMINI_KEYS & inner.keys()):
        return _of_gemini(inner if isinstance(inner, dict) else value)
    if isinstance(value.get("done"), bool) and {"model", "created_at"} <= value.keys():
        return _of_ollama(value)
    return _ERROR if value.get("error") else None


def _of_event(kind: str, value: JsonObject) -> ObjectHead | None:
    if kind in anthropic_messages.STREAM_EVENTS:
        return ObjectHead(anthropic_messages.API, begins=kind == "message_start", ends=kind == "message_stop")
    if kind == "message" and value.get("role") == "assistant" and "stop_reason" in value:
        return ObjectHead(anthropic_messages.API, is_whole=True, begins=True, ends=True)
    if kind.startswith("response."):
        response = value.get("response")
        created = response.get("created_at") if isinstance(response, dict) else None
        is_first, is_last = kind == "response.created", kind in openai_responses.END_EVENTS
        return ObjectHead(openai_responses.API, begins=is_first, ends=is_last, created=created)
    if kind == "error":
        return _ANTHROPIC_ERROR if isinstance(value.get("error"), dict) else _ERROR
    return None


def _of_choices(value: JsonObject, choices: list[Json]) -> ObjectHead:
    listed = [choice for choice in choices if isinstance(choice, dict)]
    is_text = value.get("object") == "text_completion" or any(choice.keys() >= _TEXT_CHOICE for choice in listed)
    finishes = any(choice.get("finish_reason") for choice in listed)
    says_nothing = not listed and "object" not in value  # usage alone, of either kind
    return ObjectHead(
        openai_completions.API if is_text else "" if says_nothing else openai_answer.API,
        is_whole=any("message" in choice for choice in listed) or (is_text and finishes and bool(value.get("usage"))),
        ends=any("message" in choice for choice in listed),
        finishes=finishes,
        id=word_of(value.get("id")),
        created=value.get("created"),
    )


def _of_gemini(value: JsonObject) -> ObjectHead:
    candidates = value.get("candidates")
    listed = [one for one in candidates if isinstance(one, dict)] if isinstance(candidates, list) else []
    finishes = any(one.get("finishReason") or one.get("finish_reason") for one in listed)
    id_ = word_of(value.get("responseId") or value.get("response_id"))
    return ObjectHead(gemini.API, is_whole=finishes, finishes=finishes, id=id_, created=value.get("createTime"))


def _of_ollama(value: JsonObject) -> ObjectHead:
    api = ollama.GENERATE if "response" in value else ollama.CHAT
    is_last = value["done"] is True
    return ObjectHead(api, is_whole=is_last, ends=is_last, created=value.get("created_at"))


class AnswerBounds:
    """Tells, object by object, where one answer of a capture ends and the next begins.

    `is_framed` is whether the capture itself holds answers together, as a JSON array or an event stream does; where it
    does not (lines), an object without an id behind a finish is another answer's.
    """

    def __init__(self, *, is_framed: bool) -> None:
        self._is_framed = is_framed
        self._is_empty, self._has_ended, self._is_finished = True, False, False
        self._id = self._api = ""

    @property
    def has_ended(self) -> bool:
        """Whether the answer has what ends it, so that what says nothing belongs to none."""
        return self._has_ended

    def take(self, head: ObjectHead | None) -> bool:
        """Take the next object, None for one that says nothing; False where another answer begins with it."""
        belongs = self._belongs(head)
        if not belongs:
            self._has_ended, self._is_finished, self._id, self._api = False, False, "", ""
        self._is_empty = False
        if head is not None:
            self._has_ended = self._has_ended or head.ends
            self._is_finished = self._is_finished or head.finishes
            self._id, self._api = self._id or head.id, self._api or head.api
        return belongs

    def end(self) -> None:
        """What ends an answer by itself came: `[DONE]`."""
        self._has_ended = not self._is_empty

    def _belongs(self, head: ObjectHead | None) -> bool:
        if self._is_empty:
            return True
        if self._has_ended or (head is not None and (head.begins or self._is_another(head.api))):
            return False
        if not self._is_finished:
            return True
        if head is None:
            return self._is_framed
        if head.id and self._id:
            return head.id == self._id
        return self._is_framed

    def _is_another(self, api: str) -> bool:
        return bool(api and self._api) and api != self._api


def api_decoder(api: str, *, status: int | None = None) -> Decoder:
    """A decoder for an answer of this kind of endpoint, however it is framed; of any where `api` is empty."""
    return decoder_for(_PATHS.get(api, ""), status=status)


class ArrivingCapture:
    """An answer while its bytes come, which `decoder` reads; of more than `limit` bytes nothing is kept."""

    def __init__(self, decoder: Decoder, *, limit: int = MAX_ANSWER_BYTES) -> None:
        self._decoder = decoder
        self._left = limit
        self._assembly: TurnAssembly | None = None
        self._sha256 = hashlib.sha256()
        self._created: Json = None

    def take(self, raw: bytes, head: ObjectHead | None = None) -> None:
        """Take bytes of the answer; `head` is that of the object in them."""
        self._sha256.update(raw)
        self._left -= len(raw)
        self._created = self._created or (head.created if head else None)
        if self._left >= 0:
            self._extend(self._decoder.feed(raw))
        else:
            self._assembly = None

    def captured(self, number: int) -> CapturedAnswer:
        """The answer, now that it has ended."""
        digest = self._sha256.hexdigest()[:16]
        if self._left < 0:
            return CapturedAnswer(number, None, None, digest)
        self._extend(self._decoder.close())
        assembly = self._assembly or TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        created = instant(self._created)
        return CapturedAnswer(number, assembly.decoded(), created.at_s if created else None, digest)

    def _extend(self, events: list[WireEvent]) -> None:
        if events and self._assembly is None:
            self._assembly = TurnAssembly(self._decoder.api, streamed=self._decoder.streamed)
        if self._assembly is not None:
            self._assembly.extend(events)


class ApiCaptureDecoder:
    """Cuts a capture into answers and decodes each; never raises, and where the bytes are cut does not matter.

    Answers are event streams, bodies of JSON or of lines of it, or all by turns, with the header lines of HTTP before
    them or without; headers are read for the status and not kept. It holds the answer that has not ended, of at most
    64 MiB, and one event of the stream beside it.
    """

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._number = 0
        self._status: int | None = None
        self._answer: ArrivingCapture | None = None
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = self._goes_on = False

    def feed(self, raw: bytes) -> list[CapturedAnswer]:
        """The answers that are known to have ended."""
        return self._take(self._sse.feed(raw))

    def close(self) -> list[CapturedAnswer]:
        """The end of the capture: the last answer."""
        found = self._take(self._sse.close())
        self._begin(None, found, at_end=True)
        return found

    def _take(self, events: list[ServerSentEvent]) -> list[CapturedAnswer]:
        found: list[CapturedAnswer] = []
        for event in events:
            head = STATUS_LINE.search(event.raw) if "HTTP/" in event.raw else None
            if head:
                if before := event.raw[: head.start()].strip(_BLANK):
                    self._add(before, None)
                self._begin(int(head["status"]), found)
            elif self._goes_on:
                self._add(event.raw, None)
            else:
                self._take_event(event, found)
            self._goes_on = not event.complete
        return found

    def _take_event(self, event: ServerSentEvent, found: list[CapturedAnswer]) -> None:
        start = event.raw.lstrip(_BLANK)
        is_body = start.startswith(_BODY_STARTS)
        head: ObjectHead | None = None
        if event.data == DONE:
            self._bounds.end()
        elif event.data is not None or is_body:
            head = head_of(_value(event.raw if event.data is None else event.data))
            begins = not self._bounds.take(head)
            if begins or (self._is_whole and (is_body or start.startswith(_STREAM_STARTS))):
                self._begin(None, found)
                self._bounds.take(head)
        if self._answer is None:
            is_error_page = self._status is not None and self._status >= 400
            self._is_whole = is_body or (is_error_page and not start.startswith(_STREAM_STARTS))
        self._add(event.raw, head)

    def _add(self, text: str, head: ObjectHead | None) -> None:
        if self._answer is None:
            if not text.strip(_BLANK):
                return
            self._answer = ArrivingCapture(api_decoder(head.api if head else "", status=self._status))
        self._answer.take(text.encode("utf-8", "surrogateescape"), head)

    def _begin(self, status: int | None, found: list[CapturedAnswer], *, at_end: bool = False) -> None:
        """Hand out the answer so far, if it is one: what only forwards or announces (1xx, 3xx, a tunnel) is none."""
        known = self._status
        if self._answer is None and known is not None and (known >= 400 or (at_end and known < 300)):
            self._answer = ArrivingCapture(api_decoder("", status=known))
        if self._answer is not None and (known is None or 200 <= known < 300 or known >= 400):
            self._number += 1
            found.append(self._answer.captured(self._number))
        self._answer, self._status = None, status
        self._bounds = AnswerBounds(is_framed=True)
        self._is_whole = False


def _value(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _parse_slowly(text)
    return value


def _parse_slowly(text: str) -> Json:
    try:
        return parse_json(text.lstrip("\ufeff"))
    except ValueError:
        return None
