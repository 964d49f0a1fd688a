"""The value of the fixture `weaklink_replay`: a server in a thread that answers from a trace file, or records one."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from weaklink.inspector.capture.client_addresses import client_variables, routes
from weaklink.inspector.capture.event_buffer import IgnoringObserver
from weaklink.inspector.capture.exchange_record import masked_text
from weaklink.inspector.capture.proxy import BoundAddress, Intercept, ProxyConfig, Upstream, running_proxy
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.capture.replay_server import ReplayServer, difference_text, sentence
from weaklink.inspector.capture.trace_file_sink import TraceFileSink
from weaklink.inspector.errors import UnreadableFileError, WeaklinkError
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.replay.matching import ReplayDivergence, Replayer, recording_of
from weaklink.inspector.sessions.exchange import Observes
from weaklink.inspector.trace_file.reading import read_recordings

_ANY_PATH = Upstream("", "http://recording.invalid")  # never contacted


class Replay:
    """One recording that answers requests, or that is being recorded, until `close`.

    `url` is the address of the server; `variables` are the environment variables that point clients at it.
    """

    def __init__(self, path: Path, *, is_recording: bool, upstream: str | None, allow_unused: bool) -> None:
        self._path, self._allow_unused = path, allow_unused
        self._recorder: Recorder | None = None
        self._sink: TraceFileSink | None = None
        self._server: ReplayServer | None = None
        if is_recording:
            routed = routes(os.environ, upstream)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._new = path.with_name(f".{path.name}.new")
            self._new.unlink(missing_ok=True)
            self._sink = TraceFileSink(self._new)
            self._recorder = Recorder(self._sink)
            self._thread = _ServerThread(ProxyConfig(upstreams=routed.upstreams, port=0), self._recorder, None)
        else:
            routed = routes({}, None)
            self._server = _server(path)
            config = ProxyConfig(upstreams=(*routed.upstreams, _ANY_PATH), port=0)
            self._thread = _ServerThread(config, IgnoringObserver(), self._server.intercept)
        self.url = self._thread.address.url
        self.variables = client_variables(self._thread.address, routed.paths, os.environ)

    def close(self, *, is_kept: bool = True) -> str:
        """Stop; returns how the requests differed from the recording, `""` if they did not.

        If `is_kept`, what was recorded replaces the file.
        """
        self._thread.stop()
        if self._recorder is not None and self._sink is not None:
            self._recorder.close()
            self._sink.close()
            if is_kept:
                self._new.replace(self._path)
            else:
                self._new.unlink(missing_ok=True)
        return "" if self._server is None else self._differences(self._server)

    def _differences(self, server: ReplayServer) -> str:
        never_made = () if self._allow_unused or server.divergences else server.replayer.never_made()
        divergences: list[ReplayDivergence] = [*server.divergences, *never_made]
        lines = [
            line
            for divergence in divergences
            for line in (sentence(divergence), *map(difference_text, divergence.differences[1:]))
        ]
        if not lines:
            return ""
        return "\n".join([*lines, f"`pytest --weaklink-record` records {self._path} again."])


def _server(path: Path) -> ReplayServer:
    try:
        recording = recording_of(read_recordings(path))
    except UnreadableFileError as error:
        if path.exists():
            raise
        raise WeaklinkError(f"{path} does not exist; `pytest --weaklink-record` records it") from error
    if any(
        exchange.answer is None and turn is None
        for exchange, turn in zip(recording.exchanges, recording.turns, strict=True)
    ):
        raise WeaklinkError(f"{path} was recorded without content, so it cannot be replayed")
    redactor = Redactor()
    return ReplayServer(Replayer(recording, mask=lambda body: masked_text(body, redactor)), redactor)


class _ServerThread:
    """A proxy in a separate thread; `address` is where it listens. OSError if it cannot listen."""

    def __init__(self, config: ProxyConfig, observes: Observes, intercept: Intercept | None) -> None:
        self._loop = asyncio.new_event_loop()
        self._until = asyncio.Event()
        self._bound: asyncio.Future[BoundAddress] = self._loop.create_future()
        self._main = self._loop.create_task(self._serve(config, observes, intercept))
        self.address = self._loop.run_until_complete(self._bound)
        self._thread = Thread(target=self._run, name="weaklink-replay", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server and its thread."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._until.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._main)
        finally:
            self._loop.close()

    async def _serve(self, config: ProxyConfig, observes: Observes, intercept: Intercept | None) -> None:
        try:
            async with running_proxy(config, observes, intercept=intercept) as address:
                self._bound.set_result(address)
                await self._until.wait()
        except BaseException as error:
            if not self._bound.done():
                self._bound.set_exception(error)
            raise


class WeaklinkReplay:
    """Points clients at a recording for the duration of a test; see `weaklink.pytest_plugin.weaklink_replay`."""

    def __init__(self, folder: Path, set_variable: Callable[[str, str], None], *, is_recording: bool) -> None:
        self._folder, self._set, self._is_recording = folder, set_variable, is_recording
        self._open: list[Replay] = []

    def __call__(self, path: str | Path, *, upstream: str | None = None, allow_unused: bool = False) -> Replay:
        """Answer from the trace file at `path`, which is relative to the test's folder.

        Sets the environment variables that clients read, so create clients afterwards. With `--weaklink-record`,
        requests go to `upstream`, or to where the variables pointed before, and the file is written again once the test
        has passed. `allow_unused`: recorded requests may stay unused. WeaklinkError if the file cannot be replayed.
        """
        replay = Replay(
            self._folder / path, is_recording=self._is_recording, upstream=upstream, allow_unused=allow_unused
        )
        self._open.append(replay)
        for name, value in replay.variables.items():
            self._set(name, value)
        return replay

    def close(self, *, has_passed: bool) -> str:
        """End all; returns the differences, `""` if there are none."""
        differences = [replay.close(is_kept=has_passed) for replay in reversed(self._open)]
        return "\n".join(filter(None, differences))
