"""The APIs that weaklink reads, recognised by path, request, headers, first bytes or object; and their readers."""

import re
from collections.abc import Callable
from functools import partial

from msgspec import Struct, structs

from weaklink.inspector.apis import gemini, ollama
from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.openai import chat, completions, responses
from weaklink.inspector.apis.openai.messages import read_chat_request
from weaklink.inspector.json_text import flag_of, object_of, objects_of, word_of
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode
from weaklink.inspector.wire.answer_reader import NewReader
from weaklink.inspector.wire.decoder import Decoder, Framing, UndecidedDecoder
from weaklink.inspector.wire.events import DecodedRequest
from weaklink.inspector.wire.provider_json import try_parse_json

_CHAT = chat.API
_COMPLETIONS = completions.API
_RESPONSES = responses.API
_MESSAGES = anthropic.API
OLLAMA = frozenset({ollama.CHAT, ollama.GENERATE})
"""The kinds of endpoint that stream lines of JSON."""
# The ends of paths; deployments, versions and gateways come before them.
_PATHS = (
    (lazy_pattern(r"/chat/completions"), _CHAT),
    (lazy_pattern(r"/completions"), _COMPLETIONS),
    (lazy_pattern(r"/responses"), _RESPONSES),
    (lazy_pattern(r"(?<!/threads)(?:/v\d+|/anthropic|\A)/messages|:(?:streamRawPredict|rawPredict)"), _MESSAGES),
    (lazy_pattern(r"/api/chat"), ollama.CHAT),
    (lazy_pattern(r"/api/generate"), ollama.GENERATE),
    (lazy_pattern(r":(?:streamGenerateContent|generateContent)"), gemini.API),
)
_MODEL = lazy_pattern(r"/(?:models|deployments)/([^/:?#]+)")
_STREAM = lazy_pattern(r":stream(?:GenerateContent|RawPredict)(?![A-Za-z])")
_QUERY = lazy_pattern(r"/*(?:[?#].*)?\Z", re.DOTALL)
_ORIGIN = lazy_pattern(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_LINE_TYPES = ("ndjson", "jsonl", "json-lines", "jsonlines", "json-seq")
_EVENT_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_ENOUGH = 16  # bytes after leading white space; no others are read
_PRETTY = re.compile(rb"\{[ \t\r]*\n")


def api_of_path(path: str) -> str:
    """The kind of endpoint that a request's path, or whole URL, names; `""` if it names none of ours."""
    bare = _ORIGIN.sub("", path, count=1) if "://" in path else path
    bare = bare[: _QUERY.search(bare).start()]  # type: ignore[union-attr] # the end always matches
    for pattern, api in _PATHS:
        for match in pattern.finditer(bare):
            if match.end() == len(bare):
                return api
    return ""


def model_of_path(path: str) -> str:
    """The model, or its deployment, that a request's path names; `""` if it names none."""
    match = _MODEL.search(path)
    return match[1] if match else ""


def streams_by_path(path: str) -> bool:
    """Whether a request's path requests a stream, as Google's do."""
    return _STREAM.search(path) is not None


def api_of_request(request: Json) -> str:
    """The kind of endpoint that a request's body is for, `""` if several are possible (`messages`, `prompt`)."""
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
    """The kind of endpoint that sent an answer, by its first JSON object; chat completions if that does not show it."""
    document = try_parse_json(text)
    return _api_of_members(document) if isinstance(document, dict) else _CHAT


def _api_of_members(document: dict[str, Json]) -> str:
    kind, named = str(document.get("type", "")), document.get("object")
    choices = document.get("choices")
    if named == "text_completion" or (isinstance(choices, list) and any(_is_text_choice(choice) for choice in choices)):
        return _COMPLETIONS
    if isinstance(choices, list):
        return _CHAT
    if named == "response" or kind.startswith("response."):
        return _RESPONSES
    if kind in {"message", "ping", "error"} or kind in anthropic.STREAM_EVENTS:
        return _MESSAGES
    if document.keys() & gemini.RESPONSE_KEYS:
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
    """How a body that starts with these bytes is framed; None if more of it must come first.

    `content_type` is its header, `streams` whether a stream was requested, None if the request does not contain that.
    The bytes decide if they can: headers are wrong more often, above all in errors.
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


class Provider(Struct, frozen=True):
    """One API: its name in a generation's facts, the reader of its answers, and the reader of its requests."""

    api: str
    new_reader: NewReader
    read_request: Callable[[dict[str, Json]], DecodedRequest]


PROVIDERS = (
    Provider(chat.API, chat.ChatReader, read_chat_request),
    Provider(completions.API, completions.CompletionsReader, completions.read_completions_request),
    Provider(responses.API, responses.ResponsesReader, responses.read_responses_request),
    Provider(anthropic.API, anthropic.MessagesReader, anthropic.read_messages_request),
    Provider(ollama.CHAT, ollama.new_chat_reader, ollama.read_ollama_chat_request),
    Provider(ollama.GENERATE, ollama.new_generate_reader, ollama.read_ollama_generate_request),
    Provider(gemini.API, gemini.GeminiReader, gemini.read_gemini_request),
)

_BY_API = {provider.api: provider for provider in PROVIDERS}


def parse_request(body: bytes) -> Json:
    """A request's body as a JSON value, None if it is no JSON; never raises."""
    return try_parse_json(decode(body).removeprefix("\ufeff"))


def find_api(path: str, request: Json = None) -> str:
    """The API that a request goes to, `""` if neither path nor body names one of ours; the path counts first."""
    return api_of_path(path) or api_of_request(request)


def read_request(path: str, request: Json) -> DecodedRequest | None:
    """Decode a request whose path or body shows its API; None if neither does, or the body is no JSON object.

    If the path does not show the API, a body with `messages` is read as chat completions, and a body with a `prompt` as
    completions. Never raises.
    """
    if not isinstance(request, dict):
        return None
    api = find_api(path, request)
    if not api and request.keys() & {"messages", "prompt"}:
        api = _CHAT if "messages" in request else _COMPLETIONS
    if not api:
        return None
    decoded = _BY_API[api].read_request(request)
    streams = streams_by_path(path) or decoded.streams
    return structs.replace(decoded, model=decoded.model or model_of_path(path), streams=streams)


def decoder_for(path: str = "", request: Json = None, content_type: str = "", *, status: int | None = None) -> Decoder:
    """A decoder for the answer to a request: bytes in, wire events out, whatever API and framing it has.

    `path` is the request's path or address, `request` its decoded body, `content_type` and `status` are the answer's;
    each may be missing. What they leave open is detected from the answer's first bytes and first object; an answer that
    does not show its API is read as a chat completion, which keeps it word for word.
    """
    streams = flag_of(request.get("stream")) if isinstance(request, dict) else None
    return decoder_of(find_api(path, request), content_type, streams=streams, status=status)


def decoder_of(api: str, content_type: str = "", *, streams: bool | None = None, status: int | None = None) -> Decoder:
    """A decoder for an answer of this kind of endpoint, of any if it is empty; the rest is as in `decoder_for`."""
    return UndecidedDecoder(
        partial(framing_of, api=api, content_type=content_type, streams=streams, status=status),
        partial(_find_reader, api),
        new_reader=None if _is_ambiguous(api, content_type) else _BY_API[api].new_reader,
        status=status,
    )


def _is_ambiguous(api: str, content_type: str) -> bool:
    """Whether the API must be detected in the answer: other servers have an `/api/chat` too, and stream events."""
    return not api or (api in OLLAMA and "ndjson" not in content_type)


def _find_reader(api: str, framing: Framing, text: str) -> tuple[Framing, NewReader]:
    name = api_of_object(text)
    if api in OLLAMA and (framing is not Framing.EVENTS or not text):
        name = api
    if framing is Framing.LINES and name not in OLLAMA:
        framing = Framing.WHOLE  # no other API has lines: it is a whole body in one line
    return framing, _BY_API[name].new_reader


class ObjectHead(Struct, frozen=True, gc=False):
    """What one object of an answer shows about the answer.

    `api` is the kind of endpoint, `""` for an error that any may send. `is_whole`: it is a whole answer by itself.
    `begins`: no earlier answer can continue with it; `ends`: its answer does not continue after it. `finishes`: the
    model is done, and only objects with the same `id` still belong to the answer. `names_role`: it has the role of the
    answer, as a first chunk does. `created` is the server's time, as it was sent.
    """

    api: str
    is_whole: bool = False
    begins: bool = False
    ends: bool = False
    finishes: bool = False
    names_role: bool = False
    id: str = ""
    created: Json = None


_ERROR = ObjectHead("", finishes=True)

_ANTHROPIC_ERROR = ObjectHead(anthropic.API, is_whole=True, finishes=True)


def head_of(value: Json) -> ObjectHead | None:
    """What an object shows about its answer; None if it is no answer of an API that weaklink knows."""
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
    if gemini.RESPONSE_KEYS & value.keys() or (isinstance(inner, dict) and gemini.RESPONSE_KEYS & inner.keys()):
        return _of_gemini(inner if isinstance(inner, dict) else value)
    if isinstance(value.get("done"), bool) and {"model", "created_at"} <= value.keys():
        return _of_ollama(value)
    return _ERROR if value.get("error") else None


def _of_event(kind: str, value: dict[str, Json]) -> ObjectHead | None:
    if kind in anthropic.STREAM_EVENTS:
        return ObjectHead(anthropic.API, begins=kind == "message_start", ends=kind == "message_stop")
    if kind == "message" and value.get("role") == "assistant" and "stop_reason" in value:
        return ObjectHead(anthropic.API, is_whole=True, begins=True, ends=True)
    if kind.startswith("response."):
        response = value.get("response")
        created = response.get("created_at") if isinstance(response, dict) else None
        is_first, is_last = kind == "response.created", kind in responses.END_EVENTS
        return ObjectHead(responses.API, begins=is_first, ends=is_last, created=created)
    if kind == "error":
        return _ANTHROPIC_ERROR if isinstance(value.get("error"), dict) else _ERROR
    return None


def _of_choices(value: dict[str, Json], choices: list[Json]) -> ObjectHead:
    is_text = value.get("object") == "text_completion"
    finishes = has_message = names_role = False
    listed = [choice for choice in choices if isinstance(choice, dict)]
    for choice in listed:  # in one pass: a capture has an object for each chunk
        is_text = is_text or ("text" in choice and "finish_reason" in choice)
        finishes = finishes or bool(choice.get("finish_reason"))
        has_message = has_message or "message" in choice
        names_role = names_role or bool(object_of(choice.get("delta")).get("role"))
    has_only_usage = not listed and "object" not in value  # usage alone, of either kind
    return ObjectHead(
        completions.API if is_text else "" if has_only_usage else chat.API,
        is_whole=has_message or (is_text and finishes and bool(value.get("usage"))),
        ends=has_message,
        finishes=finishes,
        names_role=names_role,
        id=word_of(value.get("id")),
        created=value.get("created"),
    )


def _of_gemini(value: dict[str, Json]) -> ObjectHead:
    listed = objects_of(value.get("candidates"))
    finishes = any(candidate.get("finishReason") or candidate.get("finish_reason") for candidate in listed)
    id_ = word_of(value.get("responseId") or value.get("response_id"))
    return ObjectHead(gemini.API, is_whole=finishes, finishes=finishes, id=id_, created=value.get("createTime"))


def _of_ollama(value: dict[str, Json]) -> ObjectHead:
    api = ollama.GENERATE if "response" in value else ollama.CHAT
    is_last = value["done"] is True
    return ObjectHead(api, is_whole=is_last, ends=is_last, created=value.get("created_at"))
