"""A real HTTP server of aiohttp in a thread of its own, which can be stopped and started again on its port."""

import asyncio
from threading import Thread

from aiohttp import web

from inspector.capture.event_lines import EVENTS_PATH
from inspector.capture.events import Sink
from inspector.capture.proxy.server import Handler, events_route


class EventsServer:
    """Takes record events at `url`, for a sink or with a handler of the test's own; a context manager."""

    def __init__(self, handler: Sink | Handler, *, port: int = 0, prefix: str = "") -> None:
        self._handler = handler if callable(handler) else events_route(handler)
        self._prefix = prefix
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}{self._prefix}"

    def __enter__(self) -> "EventsServer":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_post(self._prefix + EVENTS_PATH, self._handler)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
