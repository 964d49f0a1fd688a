"""The request in a row of LiteLLM's logs: put together again from its parts, or as the proxy got it."""

from dataclasses import dataclass

from inspector.importers.gateway_values import body_of, object_of, parsed
from inspector.importers.identity import text_of
from inspector.importers.litellm_anthropic import as_chat
from inspector.importers.source import JsonObject
from inspector.model import Json

_REDACTED = "redacted-by-litellm"
_NO_REQUEST = "the row holds no messages: SpendLogs keep them only with `store_prompts_in_spend_logs`"
_NOT_KEPT = "the payload holds no messages, so nobody knows what was asked"
_IS_REDACTED = "LiteLLM redacted the messages before it logged them (`turn_off_message_logging`)"
_AS_CHAT = "requests to the endpoint `messages` stand as chat completions, as LiteLLM logs the answers to them"

_TARGETS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "completions": "/v1/completions",
}
_WORDS = {"chat": "messages", "messages": "messages", "responses": "input", "completions": "prompt"}
_ANY_WORDS = frozenset({"messages", "input", "prompt", "contents"})


@dataclass(frozen=True, slots=True)
class LiteLLMRequest:
    """A request: the path that its shape belongs to, its body, whether it asked for a stream, and what to warn of."""

    target: str
    body: bytes
    streams: bool
    warnings: tuple[str, ...] = ()


def request_in(row: JsonObject, answer: Json, call_type: str) -> LiteLLMRequest | str:
    """What the row's client asked; why nobody knows, as words."""
    kind = _kind(answer, call_type)
    body = _as_sent(row)
    if body is None:
        messages = parsed(row.get("messages"))
        if _is_redacted(messages):
            return _IS_REDACTED
        if not messages:
            return _NO_REQUEST if "spend" in row else _NOT_KEPT
        settings = object_of(row.get("model_parameters"))
        body = {"model": text_of(row, "model_group", "model"), _WORDS[kind]: _words(messages, kind), **settings}
    warnings: tuple[str, ...] = ()
    if kind == "chat" and (call_type.endswith("anthropic_messages") or "messages" not in body):
        body, warnings = as_chat(body), (_AS_CHAT,) if call_type.endswith("anthropic_messages") else ()
    return LiteLLMRequest(_TARGETS[kind], body_of(body), body.get("stream") is True, warnings)


def _as_sent(row: JsonObject) -> JsonObject | None:
    """The body that the proxy got, as newer SpendLogs keep it; None where they do not."""
    held = object_of(row.get("proxy_server_request"))
    body = object_of(held.get("body")) or held
    return body if any(body.get(key) for key in _ANY_WORDS) else None


def _kind(answer: Json, call_type: str) -> str:
    """Whose shape the answer has; what the call's type says where there is none."""
    if isinstance(answer, dict):
        choices = answer.get("choices")
        if isinstance(choices, list):
            is_text = any(isinstance(one, dict) and "text" in one and "message" not in one for one in choices)
            return "completions" if is_text else "chat"
        if isinstance(answer.get("output"), list):
            return "responses"
        if answer.get("type") == "message":
            return "messages"
    named = call_type.removeprefix("a") if call_type != "anthropic_messages" else call_type
    return {"anthropic_messages": "messages", "responses": "responses", "text_completion": "completions"}.get(
        named, "chat"
    )


def _words(messages: Json, kind: str) -> Json:
    """What was asked, in the shape of its endpoint: a text is one message, and prompts are texts."""
    if kind == "completions" and isinstance(messages, list):
        texts = [one.get("content") if isinstance(one, dict) else one for one in messages]
        return texts[0] if len(texts) == 1 else texts
    if isinstance(messages, str) and kind in ("chat", "messages"):
        return [{"role": "user", "content": messages}]
    return messages


def _is_redacted(messages: Json) -> bool:
    if isinstance(messages, list):
        return bool(messages) and all(isinstance(one, dict) and one.get("content") == _REDACTED for one in messages)
    return messages == _REDACTED
