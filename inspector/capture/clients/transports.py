"""Transports and streams that pass everything on as it is and tell of it: for httpx and httpx2, importing neither.

A client asserts that bodies are streams of its own module, so the classes of ours are made for each module.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from types import TracebackType
from typing import Any, Self

from inspector.capture.clients.telling import Telling
from inspector.capture.mistakes import Mistakes
from inspector.sessions.exchange import Observes


class _Recorded:
    """What the two transports share: whatever else is asked of them goes to the one they stand for."""

    def __init__(self, inner: Any, observes: Observes, mistakes: Mistakes, module: str) -> None:
        self.inner = inner
        self._observes = observes
        self._mistakes = mistakes
        self._module = module

    def _body(self, inner: Any, telling: Telling, *, is_request: bool = False) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _tell(self, request: Any) -> Telling:
        telling = Telling(self._observes, self._mistakes, request)
        if hasattr(request, "_content"):
            telling.request_arrived(request.content)
        else:
            request.stream = self._body(request.stream, telling, is_request=True)
        return telling

    def _answered(self, response: Any, telling: Telling) -> Any:
        telling.answer_began(response)
        if hasattr(response, "_content"):  # made whole by a transport that is no network
            telling.answer_arrived(response.content)
            telling.completed()
        else:
            response.stream = self._body(response.stream, telling)
        return response


class RecordedTransport(_Recorded):
    """Stands for a synchronous transport."""

    def _body(self, inner: Any, telling: Telling, *, is_request: bool = False) -> Any:
        return _body_class(self._module, _SyncBody, "SyncByteStream")(inner, telling, is_request=is_request)

    def handle_request(self, request: Any) -> Any:
        """What the inner transport answers, its body told while it is read."""
        telling = self._tell(request)
        try:
            response = self.inner.handle_request(request)
        except BaseException as error:
            telling.failed(error)
            raise
        return self._answered(response, telling)

    def __enter__(self) -> Self:
        self.inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inner.__exit__(kind, error, trace)


class RecordedAsyncTransport(_Recorded):
    """Stands for an asynchronous transport."""

    def _body(self, inner: Any, telling: Telling, *, is_request: bool = False) -> Any:
        return _body_class(self._module, _AsyncBody, "AsyncByteStream")(inner, telling, is_request=is_request)

    async def handle_async_request(self, request: Any) -> Any:
        """What the inner transport answers, its body told while it is read."""
        telling = self._tell(request)
        try:
            response = await self.inner.handle_async_request(request)
        except BaseException as error:
            telling.failed(error)
            raise
        return self._answered(response, telling)

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.inner.__aexit__(kind, error, trace)


class _ObservedBody:
    """A body that is told while somebody reads it."""

    def __init__(self, inner: Any, telling: Telling, *, is_request: bool = False) -> None:
        self._inner = inner
        self._telling = telling
        self._is_request = is_request

    def _came(self, raw: bytes) -> None:
        if self._is_request:
            self._telling.request_arrived(raw)
        else:
            self._telling.answer_arrived(raw)

    def _ended(self) -> None:
        if not self._is_request:
            self._telling.completed()

    def _failed(self, error: BaseException) -> None:
        if not self._is_request:
            self._telling.failed(error)

    def _closed(self) -> None:
        if not self._is_request:
            self._telling.closed()


class _SyncBody(_ObservedBody):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for raw in self._inner:
                self._came(raw)
                yield raw
        except GeneratorExit:
            raise  # whoever read it leaves, and closes it
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
                self._came(raw)
                yield raw
        except GeneratorExit:
            raise  # whoever read it leaves, and closes it
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
def _body_class(module: str, ours: type[_ObservedBody], theirs: str) -> Any:
    return type(ours.__name__, (ours, getattr(sys.modules[module], theirs)), {})
