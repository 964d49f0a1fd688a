"""What an exchange's request asks for, if it asks a model for words at all."""

from dataclasses import dataclass

from inspector.model import Json
from inspector.sessions.exchange import RequestHead, header_of
from inspector.sessions.requests import request_of
from inspector.wire.content_encoding import ContentDecoder
from inspector.wire.providers import find_api, parse_request
from inspector.wire.request import DecodedRequest


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model. `body` and `json` are what it was read from; `missing` says what of it was not kept."""

    request: DecodedRequest
    body: bytes = b""
    json: Json = None
    missing: str = ""


def read_asked(head: RequestHead, sent: bytes, *, lost_bytes: int = 0) -> ModelRequest | None:
    """A request as it was sent, from its head and body; None where it asks no model for an answer.

    Without `lost_bytes` the body is whole. One that cannot be read, but goes where a model answers, is a request of
    which only the path is known. Never raises.
    """
    if lost_bytes:
        return _by_path(head, b"", f"The request's body was not kept: {lost_bytes} bytes of it were dropped.")
    content = ContentDecoder(header_of(head.headers, "content-encoding"))
    body = content.feed(sent) + content.close()
    json = parse_request(body)
    request = request_of(head, json)
    if request is not None:
        return ModelRequest(request, body, json, content.fault)
    return _by_path(head, body, content.fault or "The request's body is no JSON object.") if sent else None


def _by_path(head: RequestHead, body: bytes, missing: str) -> ModelRequest | None:
    api = find_api(head.target) if head.method.upper() == "POST" else ""
    return ModelRequest(DecodedRequest(api, "", ()), body, None, missing) if api else None
