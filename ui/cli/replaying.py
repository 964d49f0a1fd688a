"""A command that a recording answers: what is replayed, and the command's run beside the server."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from inspector.capture.client_addresses import client_variables, routes
from inspector.capture.exchange_record import NO_CONTENT
from inspector.capture.proxy import ProxyConfig, running_proxy
from inspector.capture.replay_server import ReplayServer
from inspector.capture.sinks import is_trace_file
from inspector.errors import StoreError
from inspector.model import Trace
from inspector.model.exchange import RecordedExchange
from inspector.replay.recording import Recording, recording_of
from inspector.sessions.exchange import Observes
from inspector.trace_file.reading import read_recordings
from storage import open_store
from ui.cli.supervisor import CommandEnd, Supervisor
from ui.experiments.serving import ANY_PATH


class Loaded(Struct, frozen=True):
    """A recording with its traces, the id of their run (`""` where there is none), and the traces' ids in the store."""

    recording: Recording
    traces: tuple[tuple[Trace, tuple[RecordedExchange, ...]], ...]
    run: str = ""
    ids: tuple[int, ...] = ()


def load_recording(word: str, where: str | None) -> Loaded:
    """What a word names: a run, a trace, `latest` or the path of a trace file.

    StoreError, UnreadableFileError; StoreError too where nothing can be replayed.
    """
    run, ids = "", tuple[int, ...]()
    if is_trace_file(word) and Path(word).exists():
        found = tuple(read_recordings(word))
    else:
        with open_store(where, create=False) as store:
            kept = store.exchanges.of(word)
            run, ids = kept.run, tuple(kept.traces)
            found = tuple((store.trace(id_), some) for id_, some in kept.traces.items())
    if any(one.withheld == NO_CONTENT for _, some in found for one in some):
        raise StoreError(f"`{word}` was recorded with `--no-content`, so that it cannot be replayed")
    recording = recording_of(found)
    if not recording.exchanges:
        raise StoreError(f"`{word}` has no answers of a model that could be replayed")
    return Loaded(recording, found, run, ids)


class ReplayRun(Struct, frozen=True):
    """One run of a command; requests that go on live go to `upstream`."""

    server: ReplayServer
    supervisor: Supervisor
    command: Sequence[str]
    upstream: str | None

    def wait(self, observes: Observes) -> CommandEnd:
        """Run the command to its end; `observes` is told of the requests that go on live."""
        return asyncio.run(self._supervised(observes))

    async def _supervised(self, observes: Observes) -> CommandEnd:
        paths, upstreams = routes(os.environ if self.upstream else {}, self.upstream)
        config = ProxyConfig(upstreams=upstreams if self.upstream else (*upstreams, ANY_PATH), port=0)
        async with running_proxy(config, observes, intercept=self.server.intercept) as address:
            self.supervisor.launch(self.command, client_variables(address, paths, os.environ))
            return await asyncio.to_thread(self.supervisor.wait)
