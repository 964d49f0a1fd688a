"""Puts recorded transports into a client of httpx or httpx2, whichever SDK holds it, and takes them out again."""

import sys
from typing import Any, TypeVar

from inspector.capture.clients.transports import RecordedAsyncTransport, RecordedTransport
from inspector.capture.mistakes import Mistakes
from inspector.sessions.exchange import Observes

Client = TypeVar("Client")

_INNER, _TRANSPORT, _MOUNTS = "_client", "_transport", "_mounts"  # private names, but the same in all their versions
_RECORDED = (RecordedTransport, RecordedAsyncTransport)
_DEEPEST = 4


def observe(client: Client, observes: Observes, mistakes: Mistakes) -> Client:
    """The same client, each of whose exchanges is told to `observes` from now on; `mistakes` counts what that raises.

    `client` is a client of openai, anthropic or ollama, or any other that keeps one of httpx or httpx2 in `_client`, or
    such a client itself; synchronous or asynchronous. What it sends and gets is not changed. TypeError for anything
    else, ValueError for a client that is observed already.
    """
    inner, module = recordable(client)
    is_async = isinstance(inner, sys.modules[module].AsyncClient)
    stands_for = RecordedAsyncTransport if is_async else RecordedTransport
    setattr(inner, _TRANSPORT, stands_for(getattr(inner, _TRANSPORT), observes, mistakes, module))
    mounts = getattr(inner, _MOUNTS)
    for pattern, transport in mounts.items():
        if transport is not None:  # None: not by way of a proxy
            mounts[pattern] = stands_for(transport, observes, mistakes, module)
    return client


def recordable(client: object) -> tuple[Any, str]:
    """The client of httpx within, and the name of its module; raises what `observe` does."""
    if is_observed(client):
        raise ValueError(f"This {type(client).__name__} is recorded already; `unrecord` ends that.")
    return http_client(client)


def is_observed(client: object) -> bool:
    """Whether the client is told of."""
    return isinstance(getattr(http_client(client)[0], _TRANSPORT), _RECORDED)


def unobserve(client: object) -> None:
    """Nothing more is told of the client; an exchange that has begun is told to its end."""
    inner, _ = http_client(client)
    setattr(inner, _TRANSPORT, _without(getattr(inner, _TRANSPORT)))
    mounts = getattr(inner, _MOUNTS)
    for pattern, transport in mounts.items():
        mounts[pattern] = _without(transport)


def _without(transport: Any) -> Any:
    return transport.inner if isinstance(transport, _RECORDED) else transport


def http_client(client: object) -> tuple[Any, str]:
    """The client of httpx within, and the name of its module. TypeError where there is none."""
    found: object = client
    for _ in range(_DEEPEST):
        if hasattr(found, _TRANSPORT) and hasattr(found, _MOUNTS) and (module := _module_of(found)):
            return found, module
        found = getattr(found, _INNER, None)
    raise TypeError(
        f"A {type(client).__name__} cannot be recorded: it is no client of httpx or httpx2 and keeps none in `_client`."
    )


def _module_of(client: object) -> str:
    names = (kind.__module__.partition(".")[0] for kind in type(client).__mro__)
    return next((name for name in names if hasattr(sys.modules.get(name), "AsyncByteStream")), "")
