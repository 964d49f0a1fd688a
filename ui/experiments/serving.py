"""Serves a recording on this machine."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from weaklink.inspector.capture.client_addresses import routes
from weaklink.inspector.capture.event_buffer import IgnoringObserver
from weaklink.inspector.capture.proxy import ProxyConfig, Upstream, running_proxy
from weaklink.inspector.capture.replay_server import ReplayServer, diverged_trace, sentence
from weaklink.inspector.model import Trace
from weaklink.inspector.rules.rule import Severity
from weaklink.ui.views.context import request_pair_lines
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

ANY_PATH = Upstream("", "http://recording.invalid")
"""Matches every path; never contacted, because the recording answers."""


@asynccontextmanager
async def serving(server: ReplayServer, port: int, upstream: str | None = None) -> AsyncIterator[dict[str, str]]:
    """Run the server on 127.0.0.1 and yield the environment variables that point clients at it.

    Requests that continue live (see `ReplayServer.fork_after`) go to `upstream`.
    """
    upstreams = routes(os.environ if upstream else {}, upstream)
    config = ProxyConfig(upstreams=upstreams.upstreams if upstream else (*upstreams.upstreams, ANY_PATH), port=port)
    async with running_proxy(config, IgnoringObserver(), intercept=server.intercept) as address:
        yield {name: f"{address.url}{path}" for name, path in upstreams.paths.items()}


def serving_lines(server: ReplayServer, variables: dict[str, str], trace: Trace, width: int) -> Iterator[Line]:
    """The variables for clients, and a summary of the requests so far; `trace` is the recorded one.

    Without variables, the server has stopped. The first diverging request is shown next to the recorded one in `width`
    cells.
    """
    if not variables:
        yield (Run("The server has stopped."),)
    for name, value in variables.items():
        yield (Run(f"{name}=", Style.KEY), Run(value))
    replayer = server.replayer
    yield (Run(f"{replayer.used} of {counted(len(replayer.exchanges), 'recorded request')} answered.", Style.STRONG),)
    if server.live_requests:
        yield (Run(f"{counted(server.live_requests, 'request')} went upstream."),)
    for parting in server.divergences[:20]:
        yield (Run(f"{GLYPHS[Severity.ERROR]} {visible_line(sentence(parting))}", Style.ERROR),)
    first = next((divergence for divergence in server.divergences if divergence.turn), None)
    live = diverged_trace(first) if first is not None else None
    if first is not None and live is not None:
        yield from request_pair_lines((trace, first.turn), (live, len(live.turns)), width)
