"""Ends of an upstream's connection that aiohttp does not tell the reader of a body, so that it would wait for good.

aiohttp 3.14, `_http_parser.pyx`: bytes that are no HTTP within a body (a chunk without a length) close the connection
and set an error on the protocol, but the body that somebody reads is dropped without a word. And where only the end of
the connection ends a body, a reset is told as that end.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from aiohttp import ClientOSError, ClientResponse
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

_RETRIEVED: "WeakSet[asyncio.Future[None]]" = WeakSet()


@contextmanager
def told_of_its_end(answer: ClientResponse) -> Iterator[ResponseHandler | None]:
    """While this is entered, reading the answer's body fails where its connection failed; gives that connection."""
    protocol = answer.connection.protocol if answer.connection is not None else None
    closed = protocol.closed if protocol is not None else None
    if protocol is None or closed is None:
        yield protocol
        return

    def tell(_: "asyncio.Future[None]") -> None:
        fault = protocol.exception()
        if isinstance(fault, HttpProcessingError) and not answer.content.is_eof() and not answer.content.exception():
            answer.content.set_exception(fault)

    if closed not in _RETRIEVED:  # else asyncio complains of an error that nobody looked at
        _RETRIEVED.add(closed)
        closed.add_done_callback(lambda future: future.exception())
    closed.add_done_callback(tell)
    try:
        yield protocol
    finally:
        closed.remove_done_callback(tell)


def unclean_end(protocol: ResponseHandler | None) -> ClientOSError | None:
    """The error behind an end that looked clean."""
    fault = protocol.exception() if protocol is not None else None
    return fault if isinstance(fault, ClientOSError) else None
