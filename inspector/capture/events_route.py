"""Where a running `weaklink record` takes record events from loggers in other processes."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from aiohttp import web

from inspector.capture.event_lines import INSTANCE, MAX_BODY_BYTES, EventIntake
from inspector.capture.events import Sink

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def events_route(sink: Sink, *, most_bytes: int = MAX_BODY_BYTES) -> Handler:
    """A handler for `POST /weaklink/events`, which answers as `EventIntake` says; 405 for any other method."""
    intake = EventIntake(sink, most_bytes=most_bytes)

    async def answer(request: web.BaseRequest) -> web.Response:
        status, words = 405, "Record events are posted."
        if request.method == "POST":
            status, words = await intake.answer(request.headers, request.content.iter_any())
        return web.Response(status=status, text=words or None, headers={INSTANCE: intake.instance})

    return answer
