"""One line that records what a client of an SDK sends and gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from inspector.capture.clients.observing import http_client, observe, recordable, unobserve
from inspector.capture.closing import Closing
from inspector.capture.events import Sink
from inspector.capture.mistakes import Mistakes
from inspector.capture.recorder import Recorder
from inspector.capture.redacting import Redacts
from inspector.capture.sinks import open_sink

Client = TypeVar("Client")

_running: WeakKeyDictionary[Any, Closing] = WeakKeyDictionary()
"""What closes the recording of each HTTP client."""


def record(
    client: Client, place_or_sink: str | Path | Sink | None = None, *, redactor: Redacts | None = None
) -> Client:
    """The same client, whose requests and answers are recorded from now on.

        client = record(openai.OpenAI(), "runs.db")

    `client` is one of openai, anthropic or ollama, or any that keeps a client of httpx or httpx2 in `_client`, or such
    a client itself, synchronous or asynchronous. Clients that share an HTTP client, as openai's `with_options` makes
    them, are recorded together. `place_or_sink` is what `open_sink` takes (None: the default database), or a sink,
    which several clients may share and which stays open. `redactor` replaces secrets before anything is kept
    (None: a `Redactor`, which knows the shapes of keys); headers are read for the session that a request names, and
    never kept.

    What the client sends and gets is not changed, and nothing waits for the record. It ends with `unrecord`, when
    nobody holds the HTTP client any more, or with the process. TypeError for what is no such client, ValueError for one
    that is recorded already, SinkError and StoreError for a place that cannot be opened.
    """
    inner, _ = recordable(client)
    mistakes = Mistakes()
    owns_sink = place_or_sink is None or isinstance(place_or_sink, str | Path)
    sink = open_sink(place_or_sink) if owns_sink else place_or_sink  # type: ignore[arg-type]  # owns_sink says which
    recorder = Recorder(sink, redactor=redactor)  # type: ignore[arg-type]  # the same

    def close() -> None:
        try:
            recorder.close()
            if owns_sink:
                sink.close()  # type: ignore[union-attr]  # the same
        except Exception as error:  # noqa: BLE001  # a foreign sink, a full disk; it is noted
            mistakes.note("record", error)

    try:
        observe(client, recorder, mistakes)
    except BaseException:
        close()
        raise
    _running[inner] = Closing(inner, close)
    return client


def unrecord(client: object) -> None:
    """Nothing more of the client is recorded; waits until what was is where it belongs."""
    unobserve(client)
    closing = _running.pop(http_client(client)[0], None)
    if closing is not None:
        closing.now()


@contextmanager
def recorded(
    client: Client, place_or_sink: str | Path | Sink | None = None, *, redactor: Redacts | None = None
) -> Iterator[Client]:
    """The client, recorded as `record` does, to the end of the `with`."""
    record(client, place_or_sink, redactor=redactor)
    try:
        yield client
    finally:
        unrecord(client)
