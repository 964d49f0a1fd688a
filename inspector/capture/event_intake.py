"""Takes bodies of record events from senders in other processes, each of them once, and hands the events to a sink."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from inspector.capture.event_lines import (
    BATCH,
    INSTANCE,
    MAX_BODY_BYTES,
    PACKED_TYPE,
    SENDER,
    EventLineError,
    read_events,
    unpack_body,
)
from inspector.capture.events import RecordEvent, Sink

IntakeAnswer: TypeAlias = tuple[int, str]
"""A status of HTTP, and a sentence, "" with 204."""

_MOST_SENDERS = 10_000


class _Sender(Struct):
    last: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class EventIntake:
    """What answers `POST /weaklink/events`, in whatever server; who may ask is for that server to decide.

    A web page cannot ask, since a browser sends the header that is wanted only where a server has agreed before.

    It answers 204 when the sink has taken the body's events, or had taken them before: a body bears the number that its
    sender gave it. 409 says that the sender means a server that was here before, 400 that the body is no record events,
    413 that it is longer than `most_bytes`, packed or not, 503 that the sink takes nothing now; a sink with `is_full`
    is asked that first.
    """

    def __init__(self, sink: Sink, *, most_bytes: int = MAX_BODY_BYTES) -> None:
        self._sink = sink
        self._most_bytes = most_bytes
        self.instance = secrets.token_hex(8)
        self._senders: OrderedDict[str, _Sender] = OrderedDict()
        self._taking = asyncio.Lock()

    async def answer(self, headers: Mapping[str, str], pieces: AsyncIterable[bytes]) -> IntakeAnswer:
        """Take one body; the names of `headers` are found in any case."""
        number = headers.get(BATCH, "")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            return 400, f"The header `{BATCH}` must be a number."
        body = await self._body(pieces)
        if body is None:
            return 413, f"The body is longer than {self._most_bytes} bytes."
        if headers.get(INSTANCE, self.instance) != self.instance:
            return 409, "This server was started after the one that took the events before."
        is_packed = headers.get("Content-Type", "") == PACKED_TYPE
        return await self._take(self._sender(headers.get(SENDER, "")), int(number), body, is_packed=is_packed)

    async def _take(self, sender: _Sender, number: int, body: bytes, *, is_packed: bool) -> IntakeAnswer:
        async with sender.turn:
            if number <= sender.last:
                return 204, ""
            async with self._taking:  # else many bodies at once would find room for one
                answer = await self._hand_on(body, is_packed=is_packed)
            if answer[0] == 204:
                sender.last = number
            return answer

    async def _hand_on(self, body: bytes, *, is_packed: bool) -> IntakeAnswer:
        if getattr(self._sink, "is_full", False):
            return 503, "The recorder is behind; it takes more later."
        try:
            events = await asyncio.to_thread(self._events, body, is_packed=is_packed)
        except EventLineError as error:
            return 400, str(error)
        if events is None:
            return 413, f"The body is longer than {self._most_bytes} bytes."
        return (204, "") if self._accepted(events) else (503, "The recorder takes nothing now.")

    def _events(self, body: bytes, *, is_packed: bool) -> list[RecordEvent] | None:
        """The events of a body; None where it is too long."""
        plain = unpack_body(body, self._most_bytes) if is_packed else body
        return None if plain is None else read_events(plain)

    def _accepted(self, events: list[RecordEvent]) -> bool:
        try:
            for event in events:
                self._sink.accept(event)
        except Exception:  # noqa: BLE001  # a foreign sink; the sender keeps the events and is told
            return False
        return True

    async def _body(self, pieces: AsyncIterable[bytes]) -> bytes | None:
        taken, size = [], 0
        async for piece in pieces:
            size += len(piece)
            if size > self._most_bytes:
                return None
            taken.append(piece)
        return b"".join(taken)

    def _sender(self, name: str) -> _Sender:
        sender = self._senders.setdefault(name, _Sender())
        self._senders.move_to_end(name)
        if len(self._senders) > _MOST_SENDERS:
            self._senders.popitem(last=False)
        return sender
