"""Where a running `weaklink record` takes record events from loggers in other processes."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web
from msgspec import Struct, field

from inspector.capture.event_lines import BATCH, INSTANCE, MAX_BODY_BYTES, SENDER, EventLineError, read_events
from inspector.capture.events import RecordEvent, Sink

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_MOST_SENDERS = 10_000


class _Sender(Struct):
    last: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


def events_route(sink: Sink, *, most_bytes: int = MAX_BODY_BYTES) -> Handler:
    """A handler for `POST /weaklink/events`; who may ask is for the server to decide.

    A web page cannot ask, since a browser sends the header that is wanted only where a server has agreed before.

    It answers 204 when the sink has taken the body's events, or had taken them before: a body bears the number that its
    sender gave it. 409 says that the sender means a server that was here before, 400 that the body is no record events,
    413 that it is longer than `most_bytes`, 503 that the sink takes nothing now.
    """
    return _EventsRoute(sink, most_bytes).answer


class _EventsRoute:
    def __init__(self, sink: Sink, most_bytes: int) -> None:
        self._sink = sink
        self._most_bytes = most_bytes
        self._instance = secrets.token_hex(8)
        self._senders: OrderedDict[str, _Sender] = OrderedDict()

    async def answer(self, request: web.BaseRequest) -> web.Response:
        if request.method != "POST":
            return self._says(405, "Record events are posted.")
        meant = request.headers.get(INSTANCE, self._instance)
        number = request.headers.get(BATCH, "")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            return self._says(400, f"The header `{BATCH}` must be a number.")
        body = await self._body(request)
        if body is None:
            return self._says(413, f"The body is longer than {self._most_bytes} bytes.")
        if meant != self._instance:
            return self._says(409, "This server was started after the one that took the events before.")
        return await self._take(self._sender(request.headers.get(SENDER, "")), int(number), body)

    async def _take(self, sender: _Sender, number: int, body: bytes) -> web.Response:
        async with sender.turn:
            if number <= sender.last:
                return self._says(204)
            try:
                events = await asyncio.to_thread(read_events, body)
            except EventLineError as error:
                return self._says(400, str(error))
            if not self._accepted(events):
                return self._says(503, "The recorder takes nothing now.")
            sender.last = number
            return self._says(204)

    def _accepted(self, events: list[RecordEvent]) -> bool:
        try:
            for event in events:
                self._sink.accept(event)
        except Exception:  # noqa: BLE001  # a foreign sink; the sender keeps the events and is told
            return False
        return True

    async def _body(self, request: web.BaseRequest) -> bytes | None:
        pieces, size = [], 0
        async for piece in request.content.iter_any():
            size += len(piece)
            if size > self._most_bytes:
                return None
            pieces.append(piece)
        return b"".join(pieces)

    def _sender(self, name: str) -> _Sender:
        sender = self._senders.setdefault(name, _Sender())
        self._senders.move_to_end(name)
        if len(self._senders) > _MOST_SENDERS:
            self._senders.popitem(last=False)
        return sender

    def _says(self, status: int, words: str = "") -> web.Response:
        return web.Response(status=status, text=words or None, headers={INSTANCE: self._instance})
