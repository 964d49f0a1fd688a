"""Records what httpx-based SDK clients send and receive, in the process that uses them.

Recorded transports pass everything on unchanged and notify an observer. A client asserts that bodies are streams of its
own module (httpx or httpx2), so the classes are created for each module and neither module is imported here.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from weaklink.inspector.capture.events import Sink
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.redacting import Redacts
from weaklink.inspector.capture.safeguards import CloseOnce, ErrorCounters, guarded_as, now_s
from weaklink.inspector.capture.sinks import open_sink
from weaklink.inspector.sessions.exchange import ExchangeEnd, ExchangeObserver, Headers, Observes, RequestHead

# By the names of the exceptions' classes, which httpx and httpx2 share; the first match counts.
_ENDS = (
    (frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}), ExchangeEnd.NOT_CONNECTED),
    (frozenset({"TimeoutException"}), ExchangeEnd.TIMED_OUT),
    (frozenset({"TransportError"}), ExchangeEnd.UPSTREAM_DROPPED),
)

_INNER, _TRANSPORT, _MOUNTS = "_client", "_transport", "_mounts"  # private names, but the same in all versions
_MAX_DEPTH = 4
_MEMBERS = ("client", "root_client", "async_client", "root_async_client")
"""Where models of smolagents, LangChain and others keep the SDK's client, for the message about such a model."""
Client = TypeVar("Client")
_running: WeakKeyDictionary[Any, tuple[CloseOnce, object]] = WeakKeyDictionary()
"""The object that closes the recording of each HTTP client, and the sink or place that it is recorded in."""


def record(
    client: Client, place_or_sink: str | Path | Sink | None = None, *, redactor: Redacts | None = None
) -> Client:
    """Record the requests and answers of a client from now on; returns the same client.

        client = record(openai.OpenAI(), "runs.db")

    `client` is a client of openai, anthropic or ollama, any other that keeps an httpx or httpx2 client in `_client`, or
    such an HTTP client itself; synchronous or asynchronous. Clients that share an HTTP client, like those that openai's
    `with_options` returns and those of all models of LangChain with one address, are recorded together: recording a
    second one in the same place does nothing. `place_or_sink` is a place for `open_sink` (None: the default
    database), or a sink, which several clients may share and which stays open. `redactor` replaces secrets before
    anything is kept (None: a `Redactor` that also knows this process's secret variables). Request headers are read for
    the session that they name, and never kept.

    The traffic of the client is not changed, and nothing waits for the recording. It ends with `unrecord`, when the
    HTTP client is garbage-collected, or with the process; a process that is forked from it calls `record` again.
    TypeError for any other client, ValueError for one that is recorded already in another place, SinkError and
    StoreError for a place that cannot be opened.
    """
    inner, _ = http_client(client)
    owns_sink = place_or_sink is None or isinstance(place_or_sink, str | Path)
    target = Path(place_or_sink).absolute() if isinstance(place_or_sink, str | Path) else place_or_sink
    if inner in _running and not _running[inner][0].process.is_current:
        unrecord(client)
    if is_observed(client) and inner in _running and _running[inner][1] == target:
        return client
    recordable(client)
    mistakes = ErrorCounters()
    sink = open_sink(place_or_sink) if owns_sink else place_or_sink  # type: ignore[arg-type]  # owns_sink says which
    recorder = Recorder(sink, redactor=redactor)  # type: ignore[arg-type]  # the same

    def close() -> None:
        try:
            recorder.close()
            if owns_sink:
                sink.close()  # type: ignore[union-attr]  # the same
        except Exception as error:  # noqa: BLE001  # a third-party sink, a full disk; the error is counted
            mistakes.note("record", error)

    try:
        observe(client, recorder, mistakes)
    except BaseException:
        close()
        raise
    _running[inner] = CloseOnce(inner, close), target
    return client


def unrecord(client: object) -> None:
    """Stop recording a client; waits until the sink has everything that was recorded."""
    unobserve(client)
    running = _running.pop(http_client(client)[0], None)
    if running is not None:
        running[0].now()


@contextmanager
def recorded(
    client: Client, place_or_sink: str | Path | Sink | None = None, *, redactor: Redacts | None = None
) -> Iterator[Client]:
    """Record the client, as `record` does, until the end of the `with`."""
    record(client, place_or_sink, redactor=redactor)
    try:
        yield client
    finally:
        unrecord(client)


class ExchangeNotifier:
    """Reports one exchange to an observer: reports its end only once, and counts what the observer raises.

    `request` is a request of httpx or httpx2.
    """

    def __init__(self, observes: Observes, mistakes: ErrorCounters, request: Any) -> None:
        self._mistakes = mistakes
        self._observer: ExchangeObserver | None = None
        self._ended = False
        self._missing: int | None = None
        self._begin(observes, request)

    @property
    def mistakes(self) -> ErrorCounters:
        """The errors that the observer raised."""
        return self._mistakes

    @guarded_as("record")
    def request_arrived(self, raw: bytes) -> None:
        """More of the request's body."""
        if self._observer is not None:
            self._observer.request_arrived(raw)

    @guarded_as("record")
    def answer_began(self, response: Any) -> None:
        """The answer's head arrived."""
        headers = _headers(response)
        length = next((value for name, value in headers if name.lower() == "content-length"), "")
        self._missing = int(length) if length.isascii() and length.isdigit() else None
        if self._observer is not None:
            self._observer.answer_began(response.status_code, headers, now_s())

    @guarded_as("record")
    def answer_arrived(self, raw: bytes) -> None:
        """More of the answer's body, as it was sent."""
        if self._missing is not None:
            self._missing -= len(raw)
        if self._observer is not None and raw:
            self._observer.answer_arrived(raw, now_s())

    def completed(self) -> None:
        """The answer's body is complete."""
        self._end(ExchangeEnd.COMPLETE)

    def closed(self) -> None:
        """The client closed the answer; that is a complete answer if all announced bytes had arrived."""
        self._end(ExchangeEnd.COMPLETE if self._missing == 0 else ExchangeEnd.CLIENT_LEFT)

    def failed(self, error: BaseException) -> None:
        """The request or its answer broke off."""
        self._end(_end_of(error), f"{type(error).__name__}: {error}".removesuffix(": "))

    @guarded_as("record")
    def _begin(self, observes: Observes, request: Any) -> None:
        url = request.url
        head = RequestHead(
            request.method,
            url.raw_path.decode("ascii", "surrogateescape"),
            _headers(request),
            f"{url.scheme}://{url.netloc.decode('ascii', 'surrogateescape')}",
            f"process {os.getpid()}",
            now_s(),
        )
        self._observer = observes.began(head)

    @guarded_as("record")
    def _end(self, end: ExchangeEnd, message: str = "") -> None:
        if self._ended or self._observer is None:
            return
        self._ended = True
        self._observer.ended(end, now_s(), message)


def _headers(message: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message.headers.raw)


def _end_of(error: BaseException) -> ExchangeEnd:
    names = {kind.__name__ for kind in type(error).__mro__}
    for class_names, end in _ENDS:
        if class_names & names:
            return end
    return ExchangeEnd.UPSTREAM_DROPPED if isinstance(error, Exception) else ExchangeEnd.CLIENT_LEFT


class _RecordedBase:
    """What both transports share; all other attributes are those of the wrapped transport."""

    def __init__(self, inner: Any, observes: Observes, mistakes: ErrorCounters, module: str) -> None:
        self.inner = inner
        self._observes = observes
        self._mistakes = mistakes
        self._module = module

    def _body(self, inner: Any, notifier: ExchangeNotifier, *, is_request: bool = False) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _observe_request(self, request: Any) -> ExchangeNotifier:
        notifier = ExchangeNotifier(self._observes, self._mistakes, request)
        if hasattr(request, "_content"):
            notifier.request_arrived(request.content)
        else:
            request.stream = self._body(request.stream, notifier, is_request=True)
        return notifier

    def _observe_answer(self, response: Any, notifier: ExchangeNotifier) -> Any:
        notifier.answer_began(response)
        if hasattr(response, "_content"):  # complete already, from a transport without a network
            notifier.answer_arrived(response.content)
            notifier.completed()
        else:
            response.stream = self._body(response.stream, notifier)
        return response


class RecordedTransport(_RecordedBase):
    """Wraps a synchronous transport."""

    def _body(self, inner: Any, notifier: ExchangeNotifier, *, is_request: bool = False) -> Any:
        return _recorded_body_class(self._module, _SyncBody, "SyncByteStream")(inner, notifier, is_request=is_request)

    def handle_request(self, request: Any) -> Any:
        """The inner transport's response; its body is reported while it is read."""
        notifier = self._observe_request(request)
        try:
            response = self.inner.handle_request(request)
        except BaseException as error:
            notifier.failed(error)
            raise
        return self._observe_answer(response, notifier)

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inner.__exit__(kind, error, trace)


class RecordedAsyncTransport(_RecordedBase):
    """Wraps an asynchronous transport."""

    def _body(self, inner: Any, notifier: ExchangeNotifier, *, is_request: bool = False) -> Any:
        return _recorded_body_class(self._module, _AsyncBody, "AsyncByteStream")(inner, notifier, is_request=is_request)

    async def handle_async_request(self, request: Any) -> Any:
        """The inner transport's response; its body is reported while it is read."""
        notifier = self._observe_request(request)
        try:
            response = await self.inner.handle_async_request(request)
        except BaseException as error:
            notifier.failed(error)
            raise
        return self._observe_answer(response, notifier)

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.inner.__aexit__(kind, error, trace)


class _ObservedBody:
    """A body that is reported while it is read."""

    def __init__(self, inner: Any, notifier: ExchangeNotifier, *, is_request: bool = False) -> None:
        self._inner = inner
        self._notifier = notifier
        self._is_request = is_request

    def _arrived(self, raw: bytes) -> None:
        if self._is_request:
            self._notifier.request_arrived(raw)
        else:
            self._notifier.answer_arrived(raw)

    def _ended(self) -> None:
        if not self._is_request:
            self._notifier.completed()

    def _failed(self, error: BaseException) -> None:
        if not self._is_request:
            self._notifier.failed(error)

    def _closed(self) -> None:
        if not self._is_request:
            self._notifier.closed()


class _SyncBody(_ObservedBody):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for raw in self._inner:
                self._arrived(raw)
                yield raw
        except GeneratorExit:
            raise  # the reader left, and closes the body
        except BaseException as error:
            self._failed(error)
            raise
        self._ended()

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._closed()


class _AsyncBody(_ObservedBody):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for raw in self._inner:
                self._arrived(raw)
                yield raw
        except GeneratorExit:
            raise  # the reader left, and closes the body
        except BaseException as error:
            self._failed(error)
            raise
        self._ended()

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._closed()


@cache
def _recorded_body_class(module: str, ours: type[_ObservedBody], theirs: str) -> Any:
    return type(ours.__name__, (ours, getattr(sys.modules[module], theirs)), {})


_RECORDED = (RecordedTransport, RecordedAsyncTransport)


def observe(client: Client, observes: Observes, mistakes: ErrorCounters) -> Client:
    """Report each exchange of a client to `observes` from now on; returns the same client.

    `mistakes` counts the errors of `observes`. `client` is a client of openai, anthropic or ollama, any other that
    keeps an httpx or httpx2 client in `_client`, or such an HTTP client itself; synchronous or asynchronous. Its
    traffic is not changed. TypeError for anything else, ValueError for a client that is observed already.
    """
    inner, module = recordable(client)
    is_async = isinstance(inner, sys.modules[module].AsyncClient)
    recorded_class = RecordedAsyncTransport if is_async else RecordedTransport
    setattr(inner, _TRANSPORT, recorded_class(getattr(inner, _TRANSPORT), observes, mistakes, module))
    mounts = getattr(inner, _MOUNTS)
    for pattern, transport in mounts.items():
        if transport is not None:  # None: without a proxy
            mounts[pattern] = recorded_class(transport, observes, mistakes, module)
    return client


def recordable(client: object) -> tuple[Any, str]:
    """The httpx client within, and the name of its module; raises as `observe` does."""
    if is_observed(client):
        raise ValueError(f"This {type(client).__name__} is already recorded; `unrecord` stops it.")
    return http_client(client)


def is_observed(client: object) -> bool:
    """Whether the client's requests are reported."""
    return isinstance(getattr(http_client(client)[0], _TRANSPORT), _RECORDED)


def unobserve(client: object) -> None:
    """Report no new exchanges of the client; an exchange that has begun is reported to its end."""
    inner, _ = http_client(client)
    setattr(inner, _TRANSPORT, _unwrapped(getattr(inner, _TRANSPORT)))
    mounts = getattr(inner, _MOUNTS)
    for pattern, transport in mounts.items():
        mounts[pattern] = _unwrapped(transport)


def _unwrapped(transport: Any) -> Any:
    return transport.inner if isinstance(transport, _RECORDED) else transport


def http_client(client: object) -> tuple[Any, str]:
    """The httpx client within, and the name of its module. TypeError if there is none."""
    if (within := _http_client_within(client)) is not None:
        return within
    members = vars(client) if hasattr(client, "__dict__") else {}
    named = next((name for name in _MEMBERS if _http_client_within(members.get(name)) is not None), None)
    raise TypeError(
        f"A {type(client).__name__} cannot be recorded: it is not an httpx or httpx2 client and has none in `_client`"
        + (f"; its member `{named}` can be recorded." if named else ".")
    )


def _http_client_within(client: object) -> tuple[Any, str] | None:
    for _ in range(_MAX_DEPTH):
        if hasattr(client, _TRANSPORT) and hasattr(client, _MOUNTS) and (module := _module_of(client)):
            return client, module
        client = getattr(client, _INNER, None)
    return None


def _module_of(client: object) -> str:
    names = (kind.__module__.partition(".")[0] for kind in type(client).__mro__)
    return next((name for name in names if hasattr(sys.modules.get(name), "AsyncByteStream")), "")
