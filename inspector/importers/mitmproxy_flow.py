"""One flow of mitmproxy's as the exchange that it tells of, or what else it is (mitmproxy: mitmproxy/io/compat.py)."""

from dataclasses import dataclass

from inspector.importers.exchanges import OtherTraffic
from inspector.importers.mitmproxy_values import MalformedValueError, Value, value_at
from inspector.importers.source import Skipped
from inspector.sessions.exchange import Exchange, ExchangeEnd, Headers, RequestHead

OLDEST_VERSION = 18
"""The oldest flow format that is read: from it on requests, answers and errors have kept their members."""

NEWEST_VERSION = 21
"""The newest one that is known."""

_OTHER = {"tcp": "TCP connections", "udp": "UDP connections", "dns": "DNS questions"}
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class MitmproxyFlow:
    """A flow that could be read; `content` is None where its format is too old."""

    version: int
    content: Exchange | OtherTraffic | None


def read_flow(raw: bytes, number: int) -> MitmproxyFlow | Skipped:
    """The flow that these bytes are, a dictionary in full; never raises."""
    record = f"flow {number}"
    try:
        members = value_at(raw, 0, len(raw)).members()
        version = _version(members.get("version"))
        return MitmproxyFlow(version, _content(members, record) if version >= OLDEST_VERSION else None)
    except KeyError as error:
        return Skipped(record, f"the flow has no `{error.args[0]}`")
    except MalformedValueError as error:
        return Skipped(record, f"the flow is damaged: {error}")


def _version(value: Value | None) -> int:
    """A flow's format version; those before 4 were lists, and the first had none."""
    return int(value.number()) if value is not None and value.kind == b"#" else 0


def _content(members: dict[str, Value], record: str) -> Exchange | OtherTraffic:
    kind = members["type"].text()
    if kind != "http":
        return OtherTraffic(_OTHER.get(kind, "flows of another kind"))
    if _there(members, "websocket"):
        return OtherTraffic("WebSocket connections")
    return _exchange(members, record)


def _exchange(members: dict[str, Value], record: str) -> Exchange:
    request = members["request"].members()
    response = answered.members() if (answered := _there(members, "response")) else {}
    error = failed.members() if (failed := _there(members, "error")) else {}
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


def _answer(response: dict[str, Value], *, is_over: bool) -> tuple[tuple[None, bytes], ...] | None:
    """The answer's body in one piece; nothing where none began, None where there may have been one."""
    if not response:
        return () if is_over else None
    body = _body(response.get("content"))
    return None if body is None else ((None, body),)


def _end(members: dict[str, Value], message: str) -> ExchangeEnd:
    words = message.lower()
    if words.startswith("client") or "by client" in words:
        return ExchangeEnd.CLIENT_LEFT
    if "timed out" in words or "timeout" in words:
        return ExchangeEnd.TIMED_OUT
    server = there.members() if (there := _there(members, "server_conn")) else {}
    connected = _there(server, "timestamp_tcp_setup") or _there(members, "response")
    return ExchangeEnd.UPSTREAM_DROPPED if connected else ExchangeEnd.NOT_CONNECTED


def _headers(value: Value) -> Headers:
    return tuple((pair[0].text(), pair[1].text()) for one in value.entries() if len(pair := one.entries()) == 2)


def _upstream(request: dict[str, Value]) -> str:
    scheme, host, port = request["scheme"].text(), request["host"].text(), int(request["port"].number())
    return f"{scheme}://{host}" + ("" if port == _PORTS.get(scheme) else f":{port}")


def _client(members: dict[str, Value]) -> str:
    """The client's address without its port, which is another one for each connection; version 18 calls it `address`.

    ``""`` where none was kept, as in flows that were read from a HAR file.
    """
    client = there.members() if (there := _there(members, "client_conn")) else {}
    address = _there(client, "peername") or _there(client, "address")
    place = address.entries() if address else []
    return place[0].text() if place else ""


def _body(value: Value | None) -> bytes | None:
    return None if value is None or value.is_null else value.payload()


def _time(members: dict[str, Value], name: str) -> float | None:
    value = _there(members, name)
    return value.number() if value else None


def _there(members: dict[str, Value], name: str) -> Value | None:
    value = members.get(name)
    return None if value is None or value.is_null else value
