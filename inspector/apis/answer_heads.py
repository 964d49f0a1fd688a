"""What one object of an answer says of it: which API it comes from, whether the answer begins or ends with it."""

from msgspec import Struct

from inspector.apis import ollama
from inspector.apis.anthropic import messages
from inspector.apis.gemini import generate_content
from inspector.apis.openai import chat, completions, responses
from inspector.json_members import objects_of, word_of
from inspector.model import Json

_GEMINI_KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata", "usage_metadata", "prompt_feedback"})
_TEXT_CHOICE = frozenset({"text", "finish_reason"})


class ObjectHead(Struct, frozen=True):
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
_ANTHROPIC_ERROR = ObjectHead(messages.API, is_whole=True, finishes=True)


def head_of(value: Json) -> ObjectHead | None:
    """What an object says of its answer; None for what is no answer of an API that weaklink knows."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if isinstance(kind, str) and (head := _of_event(kind, value)):
        return head
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        created = value.get("created_at")
        return ObjectHead(responses.API, is_whole=True, begins=True, ends=True, created=created)
    if isinstance(choices := value.get("choices"), list):
        return _of_choices(value, choices)
    inner = value.get("response")
    if _GEMINI_KEYS & value.keys() or (isinstance(inner, dict) and _GEMINI_KEYS & inner.keys()):
        return _of_gemini(inner if isinstance(inner, dict) else value)
    if isinstance(value.get("done"), bool) and {"model", "created_at"} <= value.keys():
        return _of_ollama(value)
    return _ERROR if value.get("error") else None


def _of_event(kind: str, value: dict[str, Json]) -> ObjectHead | None:
    if kind in messages.STREAM_EVENTS:
        return ObjectHead(messages.API, begins=kind == "message_start", ends=kind == "message_stop")
    if kind == "message" and value.get("role") == "assistant" and "stop_reason" in value:
        return ObjectHead(messages.API, is_whole=True, begins=True, ends=True)
    if kind.startswith("response."):
        response = value.get("response")
        created = response.get("created_at") if isinstance(response, dict) else None
        is_first, is_last = kind == "response.created", kind in responses.END_EVENTS
        return ObjectHead(responses.API, begins=is_first, ends=is_last, created=created)
    if kind == "error":
        return _ANTHROPIC_ERROR if isinstance(value.get("error"), dict) else _ERROR
    return None


def _of_choices(value: dict[str, Json], choices: list[Json]) -> ObjectHead:
    listed = objects_of(choices)
    is_text = value.get("object") == "text_completion" or any(choice.keys() >= _TEXT_CHOICE for choice in listed)
    finishes = any(choice.get("finish_reason") for choice in listed)
    says_nothing = not listed and "object" not in value  # usage alone, of either kind
    return ObjectHead(
        completions.API if is_text else "" if says_nothing else chat.API,
        is_whole=any("message" in choice for choice in listed) or (is_text and finishes and bool(value.get("usage"))),
        ends=any("message" in choice for choice in listed),
        finishes=finishes,
        id=word_of(value.get("id")),
        created=value.get("created"),
    )


def _of_gemini(value: dict[str, Json]) -> ObjectHead:
    listed = objects_of(value.get("candidates"))
    finishes = any(one.get("finishReason") or one.get("finish_reason") for one in listed)
    id_ = word_of(value.get("responseId") or value.get("response_id"))
    return ObjectHead(
        generate_content.API, is_whole=finishes, finishes=finishes, id=id_, created=value.get("createTime")
    )


def _of_ollama(value: dict[str, Json]) -> ObjectHead:
    api = ollama.GENERATE if "response" in value else ollama.CHAT
    is_last = value["done"] is True
    return ObjectHead(api, is_whole=is_last, ends=is_last, created=value.get("created_at"))
