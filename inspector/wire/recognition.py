"""Which API an answer comes from and how its body is framed, told from path, request, headers and first bytes."""

import re

from inspector.model import Json
from inspector.wire import anthropic_messages, gemini, ollama, openai_answer, openai_completions, openai_responses
from inspector.wire.decoder import Framing
from inspector.wire.json_text import parse_json

_CHAT = openai_answer.API
_COMPLETIONS = openai_completions.API
_RESPONSES = openai_responses.API
_MESSAGES = anthropic_messages.API

OLLAMA = frozenset({ollama.CHAT, ollama.GENERATE})
"""The kinds of endpoint that stream lines of JSON."""

# The ends of paths; deployments, versions and gateways stand before them.
_PATHS = (
    (re.compile(r"/chat/completions"), _CHAT),
    (re.compile(r"/completions"), _COMPLETIONS),
    (re.compile(r"/responses"), _RESPONSES),
    (re.compile(r"(?<!/threads)(?:/v\d+|/anthropic|\A)/messages|:(?:streamRawPredict|rawPredict)"), _MESSAGES),
    (re.compile(r"/api/chat"), ollama.CHAT),
    (re.compile(r"/api/generate"), ollama.GENERATE),
    (re.compile(r":(?:streamGenerateContent|generateContent)"), gemini.API),
)
_MODEL = re.compile(r"/(?:models|deployments)/([^/:?#]+)")
_STREAM = re.compile(r":stream(?:GenerateContent|RawPredict)(?![A-Za-z])")
_QUERY = re.compile(r"/*(?:[?#].*)?\Z", re.DOTALL)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_LINE_TYPES = ("ndjson", "jsonl", "json-lines", "jsonlines", "json-seq")
_EVENT_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_ENOUGH = 16  # bytes behind leading white space, all that is looked at
_PRETTY = re.compile(rb"\{[ \t\r]*\n")


def api_of_path(path: str) -> str:
    """The kind of endpoint that a request's path, or whole address, names; `""` for one that names none of ours."""
    bare = _ORIGIN.sub("", path, count=1) if "://" in path else path
    bare = bare[: _QUERY.search(bare).start()]  # type: ignore[union-attr] # the end always matches
    for pattern, api in _PATHS:
        for match in pattern.finditer(bare):
            if match.end() == len(bare):
                return api
    return ""


def model_of_path(path: str) -> str:
    """The model, or its deployment, that a request's path names; `""` where it names none."""
    match = _MODEL.search(path)
    return match[1] if match else ""


def streams_by_path(path: str) -> bool:
    """Whether a request's path asks for a stream, as Google's do."""
    return _STREAM.search(path) is not None


def api_of_request(request: Json) -> str:
    """The kind of endpoint that a request's body is for, `""` where several may be meant (`messages`, `prompt`)."""
    if not isinstance(request, dict):
        return ""
    inner = request.get("request")
    if "contents" in request or (isinstance(inner, dict) and "contents" in inner):
        return gemini.API
    if "anthropic_version" in request or _has_anthropic_tools(request.get("tools")):
        return _MESSAGES
    if "input" in request and ("instructions" in request or not isinstance(request["input"], str)):
        return _RESPONSES
    return ""


def _has_anthropic_tools(tools: Json) -> bool:
    return isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)


def api_of_object(text: str) -> str:
    """The kind of endpoint that the first JSON object of an answer comes from, chat completions where nothing tells."""
    try:
        document = parse_json(text)
    except ValueError:
        return _CHAT
    return _api_of_members(document) if isinstance(document, dict) else _CHAT


def _api_of_members(document: dict[str, Json]) -> str:
    kind, named = str(document.get("type", "")), document.get("object")
    choices = document.get("choices")
    if named == "text_completion" or (isinstance(choices, list) and any(_is_text_choice(one) for one in choices)):
        return _COMPLETIONS
    if isinstance(choices, list):
        return _CHAT
    if named == "response" or kind.startswith("response."):
        return _RESPONSES
    if kind in {"message", "message_start", "ping", "error", "content_block_start", "content_block_delta"}:
        return _MESSAGES
    if document.keys() & {"candidates", "promptFeedback", "usageMetadata", "usage_metadata"}:
        return gemini.API
    if "done" in document and "response" in document:
        return ollama.GENERATE
    if "done" in document or isinstance(document.get("message"), dict):
        return ollama.CHAT
    return _CHAT


def _is_text_choice(choice: Json) -> bool:
    return isinstance(choice, dict) and "text" in choice and "delta" not in choice and "message" not in choice


def framing_of(
    start: bytes, *, api: str = "", content_type: str = "", streams: bool | None = None, status: int | None = None
) -> Framing | None:
    """How a body that starts with these bytes is framed; None where more of it must come first.

    `content_type` is its header, `streams` what the request asked for, None where it did not say. The bytes decide
    where they can: headers are wrong more often, in errors above all.
    """
    kind = content_type.partition(";")[0].strip().lower()
    is_error = status is not None and status >= 400
    if kind == "text/event-stream" and not is_error:
        return Framing.EVENTS
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if any(text.startswith(begin) for begin in _EVENT_STARTS):
        return Framing.EVENTS
    if len(text) < _ENOUGH:
        return None
    text = text[:_ENOUGH]
    if text.startswith(b"["):
        return Framing.ARRAY if api in {"", gemini.API} else Framing.WHOLE
    if text.startswith(b"{"):
        may_be_lines = (not api or api in OLLAMA) and streams is not False and kind != "application/json"
        is_lines = any(word in kind for word in _LINE_TYPES) or may_be_lines
        return Framing.LINES if is_lines and not _PRETTY.match(text) else Framing.WHOLE
    return Framing.EVENTS if not kind and not is_error else Framing.WHOLE
