"""HAR files (HTTP Archive 1.2) of browsers and proxies: each entry is an exchange (`har_document` reads the files).

Source: http://www.softwareishard.com/blog/har-12-spec.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator

from weaklink.inspector.importers.archives import ZIP
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.identity import instant, text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.proxies.exchanges import OtherTraffic, ProxyFile, ProxyRecord, SeenExchange
from weaklink.inspector.importers.proxies.har_document import HarContent, HarDocument, open_har
from weaklink.inspector.importers.records import (
    Element,
    NotJsonError,
    parse_json_bytes,
)
from weaklink.inspector.importers.source import HEAD_BYTES, FileSample, JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.json_text import list_of, object_of, objects_of, word_of
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead, header_of
from weaklink.inspector.wire.framing import SseDecoder

_LOG = re.compile(rb'"log"\s*:\s*\{')
_OF_A_LOG = re.compile(rb'"entries"\s*:\s*\[|"creator"\s*:\s*\{')

_LOST_ANSWERS = (
    "the HAR contains no response body: the response was cut off, the proxy dropped it, or the file was saved without"
    " contents"
)

_LOST_REQUESTS = "the HAR contains no request body"
_URL = lazy_pattern(r"(?P<upstream>[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?(?P<target>.*)", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LOOKED_AT = 256
_LOST = lazy_pattern(r"abort|cancel|client", re.IGNORECASE)
_LATE = lazy_pattern(r"timed.?out|timeout", re.IGNORECASE)
_NO_CHUNKS = "the HAR contains no chunk times: an answer has only a start and an end time"
_UNPACKED = "the HAR contains unpacked bodies: their original compression is unknown"
_REBUILT = "an answer without a body was assembled from the events that the browser recorded, with their times"


def _beginning_of(file: SourceFile) -> bytes:
    """The first bytes of the HAR document that a file may contain; `b""` if it cannot contain one."""
    if not file.head.startswith(ZIP):
        return file.head
    try:
        with open_har(file) as har:
            return har.stream.read1(HEAD_BYTES)
    except DamagedDataError:
        return b""


def _score(sample: FileSample) -> float:
    """By a `log` with its creator or entries at the document's beginning."""
    head = _beginning_of(sample.file)
    log = _LOG.search(head) if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else None
    return 1.0 if log and _OF_A_LOG.search(head, log.end()) else 0.0


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    proxy = ProxyFile("entries", _LOST_REQUESTS, _LOST_ANSWERS)
    return proxy.traces(until_damage(_records(file, proxy)))


def _records(file: SourceFile, proxy: ProxyFile) -> Iterator[ProxyRecord]:
    with open_har(file) as har:
        document = HarDocument(har.stream)
        proxy.source_version = _version(document.log)
        for element in document.entries():
            yield element if isinstance(element, Skipped) else _entry(element, har)


def _entry(element: Element, har: HarContent) -> ProxyRecord:
    record = f"entry {element.number}"
    try:
        value = parse_json_bytes(element.raw)
    except NotJsonError as error:
        return Skipped(record, str(error), error.offset, start=element.offset)
    entry = read_entry(object_of(value), record, har.body)
    return entry or Skipped(record, "the entry has no `request` with a `url`", start=element.offset)


def _version(log: JsonObject) -> str:
    """The format's version and the program that wrote it: `1.2 (mitmproxy 12.2.3)`."""
    writer = f"{text_at(log, 'creator.name')} {text_at(log, 'creator.version')}".strip()
    return f"{text_of(log, 'version')} ({writer})" if writer else text_of(log, "version")


Pieces = tuple[tuple[float | None, bytes], ...]


def read_entry(
    value: JsonObject, record: str, body_beside: Callable[[str], bytes | None]
) -> SeenExchange | OtherTraffic | None:
    """The exchange in an entry, None if it has no request; never raises. `body_beside` returns a body by its name."""
    request, response = object_of(value.get("request")), object_of(value.get("response"))
    url = text_of(request, "url")
    if not url:
        return None
    if url.lower().startswith(("ws:", "wss:")) or value.get("_webSocketMessages"):
        return OtherTraffic("WebSocket connections")
    posted = _HarBody(object_of(request.get("postData")), tuple(_headers(request.get("headers"))), body_beside)
    answered = _HarBody(object_of(response.get("content")), tuple(_headers(response.get("headers"))), body_beside)
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
    warnings = {_NO_CHUNKS: not pieces, _UNPACKED: answered.was_unpacked or posted.was_unpacked, _REBUILT: is_rebuilt}
    return SeenExchange(exchange, tuple(warning for warning, applies in warnings.items() if applies))


class _HarBody:
    """A body with its matching headers: the content encoding is left out if the body is already unpacked.

    `raw` is None if the HAR does not contain it.
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
        except (binascii.Error, ValueError):  # kept unchanged; decoding it reports the fault
            pass
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _is_text(raw: bytes) -> bool:
    """Whether a body is text, which no compressed body is; the checked prefix may end within a character."""
    start = raw[:_LOOKED_AT]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(start)


def _head(value: JsonObject, request: JsonObject, url: str, headers: Headers) -> RequestHead:
    match = _URL.match(url)
    assert match is not None, "every text has a target"
    began = instant(value.get("startedDateTime"))
    return RequestHead(
        text_of(request, "method"),
        match["target"] or "/",
        headers,
        upstream=match["upstream"] or "",
        at_s=began.at_s if began else None,
    )


def _headers(value: Json) -> Iterator[tuple[str, str]]:
    """The headers in a list of objects or pairs (as of Slack), or in an object of values and lists of them (VCR)."""
    for name, listed in object_of(value).items():
        yield from ((name, word_of(one)) for one in (listed if isinstance(listed, list) else [listed]))
    for header in list_of(value):
        if isinstance(header, dict):
            yield text_of(header, "name"), text_of(header, "value")
        elif isinstance(header, list) and len(header) == 2:
            yield str(header[0]), str(header[1])


def _answer(raw: bytes | None, status: int | None) -> Pieces | None:
    """The answer's body; None if it must be missing: a successful answer of a model is never empty."""
    if status is None:
        return ()
    if raw:
        return ((None, raw),)
    return () if status >= 400 and raw is not None else None


def _events(messages: Json) -> Iterator[tuple[float | None, bytes]]:
    for message in objects_of(messages):
        if not isinstance(data := message.get("data"), str):
            continue
        at = instant(message.get("time"))
        name = text_of(message, "eventName")
        named = f"event: {name}\n" if name not in {"", "message"} else ""
        lines = "".join(f"data: {line}\n" for line in data.split("\n"))
        yield (at.at_s if at else None), f"{named}{lines}\n".encode("utf-8", "surrogatepass")


def _timed(raw: bytes, events: Pieces) -> Pieces:
    """A stream's body split at the events that the browser recorded, each with its time; empty if they do not match."""
    if not events:
        return ()
    decoder, event_decoder = SseDecoder(), SseDecoder()
    found = [*decoder.feed(raw), *decoder.close()]
    recorded = [event for _, piece in events for event in event_decoder.feed(piece)]
    if [event.data for event in found if event.data is not None] != [event.data for event in recorded]:
        return ()
    times = (at_s for at_s, _ in events)
    return tuple(
        (None if event.data is None else next(times), event.raw.encode("utf-8", "surrogateescape")) for event in found
    )


def _status(value: Json) -> int | None:
    """The status; None for any other value, such as the 0 that marks a missing answer."""
    return value if isinstance(value, int) and 100 <= value <= 999 else None


def _end(message: str, status: int | None) -> ExchangeEnd:
    if _LOST.search(message):
        return ExchangeEnd.CLIENT_LEFT
    if _LATE.search(message):
        return ExchangeEnd.TIMED_OUT
    return ExchangeEnd.NOT_CONNECTED if status is None else ExchangeEnd.UPSTREAM_DROPPED


def _ended_s(value: JsonObject) -> float | None:
    began, duration_ms = instant(value.get("startedDateTime")), value.get("time")
    if began is None or isinstance(duration_ms, bool) or not isinstance(duration_ms, int | float):
        return None
    return began.at_s + duration_ms / 1000 if 0 <= duration_ms < 1e12 else None


HAR = LogSource(name="har", signs="a `log` with `entries`, plain or in an archive", score=_score, reader=_traces)
"""The traces of exchanges with models, and what `ProxyFile` skips; one entry, of 64 MiB at most, is in memory."""
