"""Connections to upstreams on which an answer's head is handed on before the body that came in the same piece is read.

aiohttp 3.14 (`client_proto.py`, `data_received`) parses each piece as a whole: where good chunks are followed by bytes
that are no HTTP, all of it is dropped, the head with it, and the client would get an error in place of what came.
"""

import asyncio
import re
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_LONGEST_END = 4


class HeadFirstConnector(aiohttp.TCPConnector):
    """aiohttp's connector with `HeadFirstHandler` for a protocol."""

    def __init__(self, *, keepalive_timeout: float) -> None:
        super().__init__(limit=0, limit_per_host=0, keepalive_timeout=keepalive_timeout)
        handler: type[ResponseHandler] = HeadFirstHandler
        self._factory = partial(handler, loop=asyncio.get_running_loop())


class HeadFirstHandler(ResponseHandler):
    """Feeds heads to the parser on their own; where a stream is cut makes no difference to what it parses."""

    _last = b""
    _before: StreamReader | None = None

    def set_response_params(self, **params: Any) -> None:
        """A request is about to be sent, so that a head is the next to come."""
        self._before, self._last = self._payload, b""
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """A piece came."""
        while self._awaits_head and (end := self._end_of_head(data)) is not None:
            head, data = data[:end], data[end:]
            super().data_received(head)
            self._last = b""
            if not data:
                return
        super().data_received(data)

    @property
    def _awaits_head(self) -> bool:
        """Whether no body has begun since the request was sent: heads of status 1xx come before the last one."""
        return self._payload in (None, EMPTY_PAYLOAD, self._before)

    def _end_of_head(self, data: bytes) -> int | None:
        """Where in the piece a head ends that may have begun in an earlier one; None where none does."""
        before = self._last
        found = _END_OF_HEAD.search(before + data)
        self._last = (before + data)[1 - _LONGEST_END :]
        return max(found.end() - len(before), 0) if found is not None else None
