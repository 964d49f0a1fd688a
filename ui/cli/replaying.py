"""The run of a command against a recording, and the report at the end."""

import asyncio
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from weaklink.inspector.capture.client_addresses import client_variables, routes
from weaklink.inspector.capture.exchange_record import NO_CONTENT
from weaklink.inspector.capture.proxy import ProxyConfig, running_proxy
from weaklink.inspector.capture.replay_server import ReplayServer, difference_text, sentence
from weaklink.inspector.capture.sinks import is_trace_file
from weaklink.inspector.errors import StoreError
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.replay.canonical import BodyDifference
from weaklink.inspector.replay.matching import Recording, ReplayDivergence, recording_of
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.sessions.exchange import Observes
from weaklink.inspector.text import Range
from weaklink.inspector.trace_file.reading import read_recordings
from weaklink.storage.store import open_store
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.supervisor import CommandEnd, Supervisor
from weaklink.ui.experiments.serving import ANY_PATH
from weaklink.ui.json_types.runs import ReplayDifferenceJson, ReplayDivergenceJson, ReplayJson
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, counted, visible_line

_MAX_DIFFERENCES = 20
_MAX_NEVER_MADE = 3  # the first ones show where a command ended; a run of many traces has hundreds


class LoadedRecording(Struct, frozen=True):
    """A recording with its traces, the id of their run (`""` if there is none), and the traces' ids in the store."""

    recording: Recording
    traces: tuple[tuple[Trace, tuple[RecordedExchange, ...]], ...]
    run: str = ""
    ids: tuple[int, ...] = ()


def load_recording(word: str, where: str | None) -> LoadedRecording:
    """Load the recording that a word names: a run, a trace, `latest` or the path of a trace file.

    Raises UnreadableFileError, and StoreError, also if nothing can be replayed.
    """
    run, ids = "", tuple[int, ...]()
    if is_trace_file(word) and Path(word).exists():
        recordings = tuple(read_recordings(word))
    else:
        with open_store(where, create=False) as store:
            kept = store.exchanges.of(word)
            run, ids = kept.run, tuple(kept.traces)
            for sentence in kept.damage:
                print_notice(sentence)
            recordings = tuple((store.trace(id_), exchanges) for id_, exchanges in kept.traces.items())
    if any(exchange.withheld == NO_CONTENT for _, exchanges in recordings for exchange in exchanges):
        raise StoreError(f"`{word}` was recorded with `--no-content`, so it cannot be replayed")
    recording = recording_of(recordings)
    if not recording.exchanges:
        raise StoreError(f"`{word}` contains no answers of a model that could be replayed")
    return LoadedRecording(recording, recordings, run, ids)


class ReplayRun(Struct, frozen=True):
    """One run of a command; requests that go on live go to `upstream`."""

    server: ReplayServer
    supervisor: Supervisor
    command: Sequence[str]
    upstream: str | None

    def wait(self, observes: Observes, own: Callable[[], int] = lambda: 0) -> CommandEnd:
        """Run the command to its end; `observes` receives the requests that go on live.

        `own` is as for `Supervisor.wait`.
        """
        return asyncio.run(self._supervised(observes, own))

    async def _supervised(self, observes: Observes, own: Callable[[], int]) -> CommandEnd:
        upstreams = routes(os.environ if self.upstream else {}, self.upstream)
        config = ProxyConfig(
            upstreams=upstreams.upstreams if self.upstream else (*upstreams.upstreams, ANY_PATH), port=0
        )
        async with running_proxy(config, observes, intercept=self.server.intercept) as address:
            self.supervisor.launch(self.command, client_variables(address, upstreams.paths, os.environ))
            return await asyncio.to_thread(self.supervisor.wait, own)


class KeptDivergence(NamedTuple):
    """Where both requests of a divergence are saved: trace and turn of the recorded one, and of the live one.

    `database` is the database, if commands must name it.
    """

    trace: int
    turn: int
    live_trace: int
    live_turn: int
    database: str = ""

    def commands(self) -> tuple[str, str]:
        """The commands that show both side by side, on stdout and in the TUI."""
        option = f" --db {shlex.quote(self.database)}" if self.database else ""
        turns = f"--requests {self.turn},{self.live_turn}"
        return (
            f"weaklink diff {self.trace} {self.live_trace} {turns}{option}",
            f"weaklink tui {self.trace} --against {self.live_trace}{option}",
        )


def report_lines(
    server: ReplayServer, never_made: tuple[ReplayDivergence, ...], kept: KeptDivergence | None = None
) -> Iterator[Line]:
    """The report for a terminal; hostile characters in the texts of requests are made visible."""
    replayer = server.replayer
    text = f"weaklink: replayed {replayer.used} of {counted(len(replayer.exchanges), 'recorded request')}"
    text += f"; {counted(server.live_requests, 'request')} went upstream" if server.live_requests else ""
    yield (Run(f"{text}."),)
    ignored = replayer.ignored
    if ignored:
        yield (Run(f"weaklink: ignored {counted(len(ignored), 'difference')}:"),)
        for number, difference in ignored[:_MAX_DIFFERENCES]:
            yield (Run(f"  request {number}, {visible_line(difference_text(difference))}", Style.DIM),)
        if len(ignored) > _MAX_DIFFERENCES:
            yield (Run(f"  and {len(ignored) - _MAX_DIFFERENCES} more", Style.DIM),)
    yield from _divergence_lines(server.divergences, never_made)
    if kept is not None:
        yield (Run("weaklink: both requests side by side:"),)
        for command in kept.commands():
            yield (Run(f"  {visible_line(command)}", Style.DIM),)


def _divergence_lines(diverged: Sequence[ReplayDivergence], never_made: Sequence[ReplayDivergence]) -> Iterator[Line]:
    """The first divergences of each kind, and how many more there are."""
    for divergence in (*diverged[:_MAX_DIFFERENCES], *never_made[:_MAX_NEVER_MADE]):
        yield (Run(f"{GLYPHS[Severity.ERROR]} {visible_line(sentence(divergence))}", Style.ERROR),)
        for difference in divergence.differences[1:_MAX_DIFFERENCES]:
            yield (Run(f"  also {visible_line(difference_text(difference))}", Style.DIM),)
    if (more := len(diverged) - _MAX_DIFFERENCES) > 0:
        yield (Run(f"  and {counted(more, 'more request')}", Style.DIM),)
    if (more := len(never_made) - _MAX_NEVER_MADE) > 0:
        yield (Run(f"  and {counted(more, 'more recorded request')}, never made", Style.DIM),)
    if never_made and not diverged:
        yield (Run("weaklink: `--allow-unused` accepts recorded requests that are never made."),)


def report_json(
    server: ReplayServer, never_made: tuple[ReplayDivergence, ...], exit_code: int, kept: KeptDivergence | None = None
) -> ReplayJson:
    """The report as JSON; ranges are `[start, end]` in code points of the decoded text."""
    replayer = server.replayer
    return {
        "recorded": len(replayer.exchanges),
        "replayed": replayer.used,
        "requests": replayer.requests + max(0, server.live_requests - len(server.divergences)),
        "live": server.live_requests,
        "ignored": [{"request": number, **_difference(difference)} for number, difference in replayer.ignored],
        "divergences": [_divergence(divergence) for divergence in (*server.divergences, *never_made)],
        "traces": None if kept is None else {"recorded": kept.trace, "live": kept.live_trace},
        "exit_code": exit_code,
    }


def _divergence(divergence: ReplayDivergence) -> ReplayDivergenceJson:
    return {
        "kind": divergence.kind.value,
        "request": divergence.number,
        "method": divergence.method,
        "path": divergence.path,
        "recorded_request": divergence.exchange or None,
        "turn": divergence.turn or None,
        "differences": [_difference(difference) for difference in divergence.differences],
    }


def _difference(difference: BodyDifference) -> ReplayDifferenceJson:
    return {
        "kind": difference.kind.value,
        "pointer": difference.pointer,
        "message": difference.message,
        "tool": difference.tool,
        "recorded": difference.recorded,
        "live": difference.live,
        "recorded_range": _range(difference.recorded_range),
        "live_range": _range(difference.live_range),
    }


def _range(where: Range | None) -> list[int] | None:
    return None if where is None else [where.start, where.end]
