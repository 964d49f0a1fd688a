"""Where the dashboard takes what recorders at a distance send: `weaklink record --to` posts record events here."""

import atexit
from collections.abc import AsyncIterator
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from inspector.capture.event_intake import EventIntake
from inspector.capture.event_lines import EVENTS_PATH, INSTANCE
from inspector.errors import StoreError
from storage import StoreSink
from ui.web.options import current_options

_INTAKES: list[EventIntake] = []
_LOCK = Lock()


def collector_route() -> Route:
    """The route, for the server; the guard lets only those in who may write."""
    return Route(EVENTS_PATH, _answer, methods=["POST"])


async def _answer(request: Request) -> Response:
    try:
        intake = _intake()
    except StoreError as error:
        return Response(str(error), 503)
    status, words = await intake.answer(request.headers, _pieces(request))
    return Response(words or None, status, {INSTANCE: intake.instance})


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        yield piece


def _intake() -> EventIntake:
    """What takes the events, with a sink that writes into the database from the first body to the process's end."""
    with _LOCK:
        if not _INTAKES:
            sink = StoreSink(current_options().where)
            atexit.register(sink.close)
            _INTAKES.append(EventIntake(sink))
        return _INTAKES[0]
