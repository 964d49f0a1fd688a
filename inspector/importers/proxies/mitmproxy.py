"""mitmproxy's flow files, format version 18 and later, read one flow after another.

A flow contains a request and its answer with their bodies as they were sent, still encoded, and the times at which they
began and ended; the pieces of an answer have no times. Sources: mitmproxy:mitmproxy/io/compat.py and tnetstring.py.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import BinaryIO, Final

from msgspec import Struct

from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.proxies.exchanges import OtherTraffic, ProxyFile, ProxyRecord, SeenExchange
from weaklink.inspector.importers.source import Skipped, SourceFile, until_damage
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.model import Trace
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead
from weaklink.inspector.text import decode

_MOST_DIGITS = 12
_BLOCK = 1 << 20
_CUT = "the file ends in the middle of this flow"
_NO_FLOW = "not a flow: the file is damaged, or several programs wrote it at once; the rest was not read"
MAX_ENTRIES = 10_000
"""The most entries of a dictionary or list that are read: no flow has so many, and each costs more than its bytes."""

_LENGTH = re.compile(rb"(\d{1,12}):")

_KINDS: Final = {
    b",": "bytes",
    b";": "a string",
    b"#": "an integer",
    b"^": "a number",
    b"!": "a boolean",
    b"~": "null",
    b"}": "a dictionary",
    b"]": "a list",
}

_QUOTED = 20
OLDEST_VERSION = 18
"""The oldest flow format that is read: since then requests, answers and errors have the same members."""

NEWEST_VERSION = 21
"""The newest known flow format."""

_OTHER = {"tcp": "TCP connections", "udp": "UDP connections", "dns": "DNS queries"}
_PORTS = {"http": 80, "https": 443}

_FIRST_KEYS = re.compile(
    rb"\d{1,12}:\d{1,2}:(?:backup|client_conn|comment|error|id|intercepted|is_replay|marked|messages|metadata|mode"
    rb"|request|response|server_conn|timestamp_created|type|version|websocket)[,;]"
)

_NO_TIMES = "mitmproxy does not store chunk times: an answer has only a start and an end time"

_LOST_ANSWERS = (
    "mitmproxy did not store a response body: it drops those that were cut off or had not ended, and all with"
    " `stream_large_bodies`"
)

_LOST_REQUESTS = "mitmproxy did not store the request's body (`stream_large_bodies` without `store_streamed_bodies`)"

_TOO_OLD = (
    f"an older mitmproxy wrote them, in a format before {OLDEST_VERSION}: convert them with "
    "`mitmdump --no-server --rfile OLD --save-stream-file NEW` of a current mitmproxy"
)


class StoredFlow(Struct, frozen=True):
    """A flow's number from 1, the position of its first byte, and its bytes: a dictionary, with length and type tag."""

    number: int
    start: int
    raw: bytes


def read_flows(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[StoredFlow | Skipped]:
    """The flows of a file, which are consecutive tnetstrings; a flow of more than `limit` bytes is a Skipped.

    After bytes that begin no flow, no other flow can be found, so the file ends there.
    """
    start = 0
    for number in count(1):
        prefix = _length_prefix(stream)
        if not prefix:
            return
        length = _LENGTH.fullmatch(prefix)
        if length is None:
            is_cut = prefix.isdigit() and len(prefix) <= _MOST_DIGITS
            yield Skipped(f"flow {number}", _CUT if is_cut else _NO_FLOW, start=start)
            return
        left = int(length[1]) + 1  # the type tag follows
        if left > limit + 1:
            yield Skipped(f"flow {number}", too_long(limit), start=start)
            while left and (block := stream.read(min(left, _BLOCK))):
                left -= len(block)
        else:
            raw = prefix + stream.read(left)
            if len(raw) < len(prefix) + left:
                yield Skipped(f"flow {number}", f"{_CUT} ({len(raw)} of {len(prefix) + left} bytes)", start=start)
                stream.read(1)  # raises if compressed data is damaged here
                return
            yield StoredFlow(number, start, raw)
        start += len(prefix) + int(length[1]) + 1


def _length_prefix(stream: BinaryIO) -> bytes:
    """The digits up to the colon, or as many bytes as show that there is no length."""
    prefix = b""
    while len(prefix) <= _MOST_DIGITS and not prefix.endswith(b":") and (byte := stream.read(1)):
        prefix += byte
    return prefix


class MalformedValueError(ValueError):
    """The bytes are not a tnetstring, or not of the expected kind; the message gives the reason."""


class TnetString(Struct, frozen=True):
    """One value: its payload is `raw[start:end]`, `kind` the type tag after it. The payload is not parsed yet."""

    raw: bytes
    start: int
    end: int
    kind: bytes

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self.kind == b"~"

    def payload(self) -> bytes:
        """The bytes of a value that is bytes or a text."""
        self._must_be(b",", b";")
        return self.raw[self.start : self.end]

    def text(self) -> str:
        """The payload as text."""
        return decode(self.payload())

    def number(self) -> float:
        """A finite integer or float."""
        self._must_be(b"#", b"^")
        try:
            number = float(self.raw[self.start : min(self.end, self.start + 64)])
        except ValueError:
            number = float("inf")
        if not -1e300 < number < 1e300:
            raise MalformedValueError(f"{_KINDS[self.kind]} at byte {self.start} is invalid or out of range")
        return number

    def entries(self) -> "list[TnetString]":
        """The entries of a list, at most `MAX_ENTRIES`."""
        self._must_be(b"]")
        return self._within()

    def members(self) -> "dict[str, TnetString]":
        """The members of a dictionary, at most half of `MAX_ENTRIES`; the last of several with the same name."""
        self._must_be(b"}")
        strings = self._within()
        if len(strings) % 2:
            raise MalformedValueError(f"the dictionary at byte {self.start} ends with a key that has no value")
        return {key.text(): value for key, value in zip(strings[::2], strings[1::2], strict=True)}

    def _within(self) -> "list[TnetString]":
        strings: list[TnetString] = []
        at = self.start
        while at < self.end:
            if len(strings) == MAX_ENTRIES:
                raise MalformedValueError(f"{_KINDS[self.kind]} has more than {MAX_ENTRIES} entries")
            strings.append(value_at(self.raw, at, self.end))
            at = strings[-1].end + 1
        return strings

    def _must_be(self, *kinds: bytes) -> None:
        if self.kind not in kinds:
            raise MalformedValueError(f"found {_KINDS[self.kind]} at byte {self.start}, expected {_KINDS[kinds[0]]}")


def value_at(raw: bytes, at: int, end: int) -> TnetString:
    """The value that begins at `at` and ends before `end`; MalformedValueError if there is none."""
    length = _LENGTH.match(raw, at, end)
    if length is None:
        found = decode(raw[at : min(at + _QUOTED, end)])
        raise MalformedValueError(f"expected a length at byte {at}, found {found!r}")
    start, stop = length.end(), length.end() + int(length[1])
    kind = raw[stop : stop + 1]
    if stop >= end or kind not in _KINDS:
        raise MalformedValueError(f"the value at byte {at} does not match its length")
    return TnetString(raw, start, stop, kind)


class MitmproxyFlow(Struct, frozen=True):
    """A flow that could be read; `content` is None if its format is too old."""

    version: int
    content: Exchange | OtherTraffic | None


def read_flow(stored: StoredFlow) -> MitmproxyFlow | Skipped:
    """A flow, whose bytes are a complete dictionary; never raises."""
    record = f"flow {stored.number}"
    try:
        members = value_at(stored.raw, 0, len(stored.raw)).members()
        version = _version(members.get("version"))
        return MitmproxyFlow(version, _content(members, record) if version >= OLDEST_VERSION else None)
    except KeyError as error:
        return Skipped(record, f"the flow has no `{error.args[0]}`", start=stored.start)
    except MalformedValueError as error:
        return Skipped(record, f"the flow is damaged: {error}", start=stored.start)


def _version(value: TnetString | None) -> int:
    """A flow's format version; formats before 4 were lists, and the first had no version."""
    return int(value.number()) if value is not None and value.kind == b"#" else 0


def _content(members: dict[str, TnetString], record: str) -> Exchange | OtherTraffic:
    kind = members["type"].text()
    if kind != "http":
        return OtherTraffic(_OTHER.get(kind, "flows of another kind"))
    if _present(members, "websocket"):
        return OtherTraffic("WebSocket connections")
    return _exchange(members, record)


def _exchange(members: dict[str, TnetString], record: str) -> Exchange:
    request = members["request"].members()
    response = answered.members() if (answered := _present(members, "response")) else {}
    error = failed.members() if (failed := _present(members, "error")) else {}
    message = error["msg"].text() if error else ""
    return Exchange(
        RequestHead(
            request["method"].text(),
            request["path"].text(),
            _headers(request["headers"]),
            _upstream(request),
            _client(members),
            _time(request, "timestamp_start"),
        ),
        _body(request.get("content")),
        status=int(response["status_code"].number()) if response else None,
        headers=_headers(response["headers"]) if response else (),
        answer=_answer(response, is_over=bool(error)),
        end=_end(members, message) if error else ExchangeEnd.COMPLETE,
        ended_s=_time(response, "timestamp_end") or _time(error, "timestamp"),
        message=message,
        record=record,
    )


def _answer(response: dict[str, TnetString], *, is_over: bool) -> tuple[tuple[None, bytes], ...] | None:
    """The answer's body in one piece; an empty tuple if no answer began, None if one may be missing."""
    if not response:
        return () if is_over else None
    body = _body(response.get("content"))
    return None if body is None else ((None, body),)


def _end(members: dict[str, TnetString], message: str) -> ExchangeEnd:
    words = message.lower()
    if words.startswith("client") or "by client" in words:
        return ExchangeEnd.CLIENT_LEFT
    if "timed out" in words or "timeout" in words:
        return ExchangeEnd.TIMED_OUT
    server = string.members() if (string := _present(members, "server_conn")) else {}
    connected = _present(server, "timestamp_tcp_setup") or _present(members, "response")
    return ExchangeEnd.UPSTREAM_DROPPED if connected else ExchangeEnd.NOT_CONNECTED


def _headers(value: TnetString) -> Headers:
    return tuple((pair[0].text(), pair[1].text()) for entry in value.entries() if len(pair := entry.entries()) == 2)


def _upstream(request: dict[str, TnetString]) -> str:
    scheme, host, port = request["scheme"].text(), request["host"].text(), int(request["port"].number())
    return f"{scheme}://{host}" + ("" if port == _PORTS.get(scheme) else f":{port}")


def _client(members: dict[str, TnetString]) -> str:
    """The client's address without its port, which differs for each connection; version 18 calls it `address`.

    ``""`` if none was kept, as in flows that were read from a HAR file.
    """
    client = string.members() if (string := _present(members, "client_conn")) else {}
    address = _present(client, "peername") or _present(client, "address")
    pair = address.entries() if address else []
    return pair[0].text() if pair else ""


def _body(value: TnetString | None) -> bytes | None:
    return None if value is None or value.is_null else value.payload()


def _time(members: dict[str, TnetString], name: str) -> float | None:
    value = _present(members, name)
    return value.number() if value else None


def _present(members: dict[str, TnetString], name: str) -> TnetString | None:
    value = members.get(name)
    return None if value is None or value.is_null else value


def _traces(file: SourceFile) -> Iterator[Trace | Skipped]:
    proxy = ProxyFile("flows", _LOST_REQUESTS, _LOST_ANSWERS, warnings=[_NO_TIMES])
    return proxy.traces(_records(file, proxy))


def _records(file: SourceFile, proxy: ProxyFile) -> Iterator[ProxyRecord]:
    too_old = newest = 0
    with file.open() as stream:
        for stored in until_damage(read_flows(stream)):
            flow = stored if isinstance(stored, Skipped) else read_flow(stored)
            if isinstance(flow, Skipped):
                yield flow
            elif flow.content is None:
                too_old += 1
            else:
                newest = max(newest, flow.version)
                proxy.source_version = str(newest)
                yield flow.content if isinstance(flow.content, OtherTraffic) else SeenExchange(flow.content)
    if newest > NEWEST_VERSION:
        proxy.warnings.append(f"flows of format {newest} were read as those of format {NEWEST_VERSION}")
    if too_old:
        yield Skipped(f"{too_old} of the flows", _TOO_OLD)


MITMPROXY = LogSource(
    name="mitmproxy",
    signs="a flow in mitmproxy's file format, with its `version`",
    score=lambda sample: 1.0 if _FIRST_KEYS.match(sample.head) else 0.0,
    reader=_traces,
)
"""The traces of exchanges with models, and what `ProxyFile` skips; one flow, of 64 MiB at most, is in memory."""
