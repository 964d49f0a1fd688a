"""mitmproxy's flow files, format version 18 and later, read one flow after another.

A flow contains a request and its answer with their bodies as they were sent, still encoded, and the times at which they
began and ended; the pieces of an answer have no times. Sources: mitmproxy:mitmproxy/io/compat.py and tnetstring.py.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.proxies.exchanges import OtherTraffic, ProxyFile, ProxyRecord, SeenExchange
from weaklink.inspector.importers.proxies.tnetstrings import (
    MalformedValueError,
    StoredFlow,
    TnetString,
    read_flows,
    value_at,
)
from weaklink.inspector.importers.source import Skipped, SourceFile, until_damage
from weaklink.inspector.model import Trace
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead

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
"""The beginning of a flow: the length of a dictionary, and of its first key, one of those that a flow has."""

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
