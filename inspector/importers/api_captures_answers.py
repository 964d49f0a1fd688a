"""Which answer an object of a bare capture belongs to: what single objects of every API say of beginnings and ends."""

from dataclasses import dataclass

from inspector.importers.source import JsonObject
from inspector.model import Json
from inspector.wire import anthropic_messages, gemini, ollama, openai_answer, openai_completions, openai_responses

_MESSAGE_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
_RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_GEMINI_KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata", "usage_metadata", "prompt_feedback"})


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


_TEXT_CHOICE = frozenset({"text", "finish_reason"})
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
    if kind in _MESSAGE_EVENTS:
        return ObjectHead(anthropic_messages.API, begins=kind == "message_start", ends=kind == "message_stop")
    if kind == "message" and value.get("role") == "assistant" and "stop_reason" in value:
        return ObjectHead(anthropic_messages.API, is_whole=True, begins=True, ends=True)
    if kind.startswith("response."):
        response = value.get("response")
        created = response.get("created_at") if isinstance(response, dict) else None
        is_first, is_last = kind == "response.created", kind in _RESPONSE_ENDS
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
        id=_word(value.get("id")),
        created=value.get("created"),
    )


def _of_gemini(value: JsonObject) -> ObjectHead:
    candidates = value.get("candidates")
    listed = [one for one in candidates if isinstance(one, dict)] if isinstance(candidates, list) else []
    finishes = any(one.get("finishReason") or one.get("finish_reason") for one in listed)
    id_ = _word(value.get("responseId") or value.get("response_id"))
    return ObjectHead(gemini.API, is_whole=finishes, finishes=finishes, id=id_, created=value.get("createTime"))


def _of_ollama(value: JsonObject) -> ObjectHead:
    api = ollama.GENERATE if "response" in value else ollama.CHAT
    is_last = value["done"] is True
    return ObjectHead(api, is_whole=is_last, ends=is_last, created=value.get("created_at"))


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""


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
