"""One entry of a HAR document as the exchange that it tells of (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec).

Who writes HAR files differs in what they make of a body: its text, already unpacked (browsers, mitmproxy, Charles);
base64 of what was unpacked, or of what was not (BrowserMob). A browser may keep a stream's events beside it or instead,
each with its time (Chromium's `_eventSourceMessages`). Fields that begin with an underscore are the writers' own.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator

from inspector.importers.exchanges import OtherTraffic, SeenExchange
from inspector.importers.identity import instant, text_of
from inspector.importers.source import JsonObject
from inspector.model import Json
from inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead, header_of
from inspector.wire.sse import SseDecoder

_URL = re.compile(r"(?P<upstream>[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?(?P<target>.*)", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LOOKED_AT = 256
_LOST = re.compile(r"abort|cancel|client", re.IGNORECASE)
_LATE = re.compile(r"timed.?out|timeout", re.IGNORECASE)
_NO_CHUNKS = "the HAR keeps no times of chunks: an answer has a beginning and an end"
_UNPACKED = "the HAR keeps bodies unpacked: how they were compressed on their way is lost"
_REBUILT = "an answer without a text was put together from the events that the browser noted, with their times"

Pieces = tuple[tuple[float | None, bytes], ...]


def read_entry(
    value: JsonObject, record: str, body_beside: Callable[[str], bytes | None]
) -> SeenExchange | OtherTraffic | None:
    """What an entry holds, None where it has no request; never raises. `body_beside` finds a body by its name."""
    request, response = _object(value.get("request")), _object(value.get("response"))
    url = text_of(request, "url")
    if not url:
        return None
    if url.lower().startswith(("ws:", "wss:")) or value.get("_webSocketMessages"):
        return OtherTraffic("WebSocket connections")
    posted = _HarBody(_object(request.get("postData")), _headers(request.get("headers")), body_beside)
    answered = _HarBody(_object(response.get("content")), _headers(response.get("headers")), body_beside)
    events = tuple(_events(value.get("_eventSourceMessages")))
    status = _status(response.get("status"))
    is_rebuilt = bool(events) and not answered.raw
    pieces = events if is_rebuilt else _timed(answered.raw or b"", events)
    message = text_of(response, "_error") or text_of(value, "_error")
    exchange = Exchange(
        _head(value, request, url, posted.headers),
        posted.raw,
        status=status,
        headers=answered.headers,
        answer=pieces or _answer(answered.raw, status),
        end=_end(message, status) if message or status is None else ExchangeEnd.COMPLETE,
        ended_s=_ended_s(value),
        message=message,
        record=record,
    )
    said = {_NO_CHUNKS: not pieces, _UNPACKED: answered.was_unpacked or posted.was_unpacked, _REBUILT: is_rebuilt}
    return SeenExchange(exchange, tuple(warning for warning, holds in said.items() if holds))


class _HarBody:
    """A body and the headers that fit it: that of its encoding is left out where it was unpacked already.

    `raw` is None where the HAR does not keep it.
    """

    def __init__(self, content: JsonObject, headers: Headers, body_beside: Callable[[str], bytes | None]) -> None:
        text = content.get("text")
        self.raw = _bytes_of(text, content) if isinstance(text, str) else body_beside(text_of(content, "_file"))
        is_encoded = bool(header_of(headers, "content-encoding"))
        self.was_unpacked = bool(is_encoded and self.raw and _is_text(self.raw))
        self.headers = headers
        if self.was_unpacked:
            self.headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")


def _bytes_of(text: str, content: JsonObject) -> bytes:
    if text_of(content, "encoding").lower() == "base64":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):  # it stands as it is, and whoever decodes it tells
            pass
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _is_text(raw: bytes) -> bool:
    """Whether a body is text, which no compressed one is, if perhaps looked at up to the middle of a character."""
    start = raw[:_LOOKED_AT]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(start)


def _head(value: JsonObject, request: JsonObject, url: str, headers: Headers) -> RequestHead:
    place = _URL.match(url)
    assert place is not None, "every text has a target"
    began = instant(value.get("startedDateTime"))
    return RequestHead(
        text_of(request, "method"),
        place["target"] or "/",
        headers,
        upstream=place["upstream"] or "",
        at_s=began.at_s if began else None,
    )


def _headers(value: Json) -> Headers:
    return tuple(_pairs(value)) if isinstance(value, list) else ()


def _pairs(headers: list[Json]) -> Iterator[tuple[str, str]]:
    for header in headers:
        if isinstance(header, dict):
            yield text_of(header, "name"), text_of(header, "value")
        elif isinstance(header, list) and len(header) == 2:  # as Slack writes them
            yield str(header[0]), str(header[1])


def _answer(raw: bytes | None, status: int | None) -> Pieces | None:
    """The answer's body; None for one that must have been there, as no model says nothing and calls it well done."""
    if status is None:
        return ()
    if raw:
        return ((None, raw),)
    return () if status >= 400 and raw is not None else None


def _events(messages: Json) -> Iterator[tuple[float | None, bytes]]:
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict) or not isinstance(data := message.get("data"), str):
            continue
        at = instant(message.get("time"))
        name = text_of(message, "eventName")
        named = f"event: {name}\n" if name not in {"", "message"} else ""
        lines = "".join(f"data: {line}\n" for line in data.split("\n"))
        yield (at.at_s if at else None), f"{named}{lines}\n".encode("utf-8", "surrogatepass")


def _timed(raw: bytes, events: Pieces) -> Pieces:
    """A stream's body cut where the browser noted its events, each with its time; nothing where they do not agree."""
    if not events:
        return ()
    decoder, noted = SseDecoder(), SseDecoder()
    found = [*decoder.feed(raw), *decoder.close()]
    told = [event for _, piece in events for event in noted.feed(piece)]
    if [event.data for event in found if event.data is not None] != [event.data for event in told]:
        return ()
    times = (at_s for at_s, _ in events)
    return tuple(
        (None if event.data is None else next(times), event.raw.encode("utf-8", "surrogateescape")) for event in found
    )


def _status(value: Json) -> int | None:
    """None for what is none: 0 stands where no answer came."""
    return value if isinstance(value, int) and 100 <= value <= 999 else None


def _end(message: str, status: int | None) -> ExchangeEnd:
    if _LOST.search(message):
        return ExchangeEnd.CLIENT_LEFT
    if _LATE.search(message):
        return ExchangeEnd.TIMED_OUT
    return ExchangeEnd.NOT_CONNECTED if status is None else ExchangeEnd.UPSTREAM_DROPPED


def _ended_s(value: JsonObject) -> float | None:
    began, lasted_ms = instant(value.get("startedDateTime")), value.get("time")
    if began is None or isinstance(lasted_ms, bool) or not isinstance(lasted_ms, int | float):
        return None
    return began.at_s + lasted_ms / 1000 if 0 <= lasted_ms < 1e12 else None


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
