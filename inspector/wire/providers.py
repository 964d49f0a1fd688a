"""The APIs whose answers and requests weaklink reads, and who reads what: the door for everything that records."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from inspector.model import Json
from inspector.text import decode
from inspector.wire import anthropic_messages, gemini, ollama, openai_answer, openai_completions, openai_responses
from inspector.wire.anthropic_request import read_messages_request
from inspector.wire.decoder import Decoder, Framing
from inspector.wire.gemini_request import read_gemini_request
from inspector.wire.json_text import parse_json
from inspector.wire.openai_requests import (
    read_chat_request,
    read_completions_request,
    read_ollama_chat_request,
    read_ollama_generate_request,
)
from inspector.wire.reader import NewReader
from inspector.wire.recognition import (
    OLLAMA,
    api_of_object,
    api_of_path,
    api_of_request,
    framing_of,
    model_of_path,
    streams_by_path,
)
from inspector.wire.request import DecodedRequest, flag_of
from inspector.wire.responses_request import read_responses_request
from inspector.wire.undecided import UndecidedDecoder


@dataclass(frozen=True, slots=True)
class Provider:
    """One API: its name in a generation's facts, who reads its answers, and who reads its requests."""

    api: str
    new_reader: NewReader
    read_request: Callable[[dict[str, Json]], DecodedRequest]


PROVIDERS = (
    Provider(openai_answer.API, openai_answer.ChatReader, read_chat_request),
    Provider(openai_completions.API, openai_completions.CompletionsReader, read_completions_request),
    Provider(openai_responses.API, openai_responses.ResponsesReader, read_responses_request),
    Provider(anthropic_messages.API, anthropic_messages.MessagesReader, read_messages_request),
    Provider(ollama.CHAT, ollama.new_chat_reader, read_ollama_chat_request),
    Provider(ollama.GENERATE, ollama.new_generate_reader, read_ollama_generate_request),
    Provider(gemini.API, gemini.GeminiReader, read_gemini_request),
)
_BY_API = {provider.api: provider for provider in PROVIDERS}


def parse_request(body: bytes) -> Json:
    """A request's body as a JSON value, None for one that is none; never raises."""
    try:
        return parse_json(decode(body).removeprefix("\ufeff"))
    except ValueError:
        return None


def find_api(path: str, request: Json = None) -> str:
    """The API that a request goes to, `""` where neither path nor body name one of ours; the path counts first."""
    return api_of_path(path) or api_of_request(request)


def read_request(path: str, request: Json) -> DecodedRequest | None:
    """A request's decoded body, whose API path or body tell; None where they do not, or it is no JSON object.

    A body with `messages` and a path that tells nothing is read as chat completions, a `prompt` as completions. Never
    raises.
    """
    if not isinstance(request, dict):
        return None
    api = find_api(path, request)
    if not api and request.keys() & {"messages", "prompt"}:
        api = openai_answer.API if "messages" in request else openai_completions.API
    if not api:
        return None
    decoded = _BY_API[api].read_request(request)
    streams = streams_by_path(path) or decoded.streams
    return replace(decoded, model=decoded.model or model_of_path(path), streams=streams)


def decoder_for(path: str = "", request: Json = None, content_type: str = "", *, status: int | None = None) -> Decoder:
    """A decoder for the answer to a request: bytes in, wire events out, whatever API and framing it has.

    `path` is the request's path or address, `request` its decoded body, `content_type` and `status` are the answer's;
    each may be missing. What they leave open is told from the answer's first bytes and first object; an answer that
    tells nothing is read as a chat completion, which keeps it word for word.
    """
    api = find_api(path, request)
    streams = flag_of(request.get("stream")) if isinstance(request, dict) else None
    return UndecidedDecoder(
        partial(framing_of, api=api, content_type=content_type, streams=streams, status=status),
        partial(_find_reader, api),
        new_reader=None if _is_doubtful(api, content_type) else _BY_API[api].new_reader,
        status=status,
    )


def _is_doubtful(api: str, content_type: str) -> bool:
    """Whether the answer itself must tell its API: other servers have a `/api/chat` too, and stream events from it."""
    return not api or (api in OLLAMA and "ndjson" not in content_type)


def _find_reader(api: str, framing: Framing, text: str) -> tuple[Framing, NewReader]:
    found = api_of_object(text)
    if api in OLLAMA and (framing is not Framing.EVENTS or not text):
        found = api
    if framing is Framing.LINES and found not in OLLAMA:
        framing = Framing.WHOLE  # no other API has lines: it is a body that stands in one line
    return framing, _BY_API[found].new_reader
