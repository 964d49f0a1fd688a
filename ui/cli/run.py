"""`weaklink run -- COMMAND`: a command whose requests to models are recorded, without changing it."""

import asyncio
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from msgspec.structs import replace

from inspector.capture.client_addresses import client_variables, routes
from inspector.capture.event_lines import EVENTS_PATH
from inspector.capture.events import RecordEvent, TraceStarted
from inspector.capture.events_route import events_route
from inspector.capture.proxy import ProxyConfig, running_proxy
from inspector.capture.recorder import Recorder
from inspector.capture.redacting import Redacts
from inspector.errors import StoreError, WeaklinkError
from inspector.model import ExternalId, ParentTrace
from storage import StoreSink, TraceSummary, open_store
from storage.exchanges import RUN_ID
from ui.cli.console import print_lines
from ui.cli.redaction_options import redactor_of
from ui.cli.request_lines import SUMMED, RequestLines, farewell, lost_messages
from ui.cli.supervisor import CommandEnd, Supervisor
from ui.views.styled_text import Line, Run, Style, visible_line
from ui.views.trace_list import break_words, listed_status, listed_title
from ui.views.wording import counted

FAILED = 125
"""The exit code where weaklink itself failed."""

_MOST_LINES = 20
_TITLE = 60


class RunSink:
    """Gives every trace the id of the run, and a parent where it has none."""

    def __init__(self, sink: StoreSink, run_id: str, parent: ParentTrace | None = None) -> None:
        self._sink, self._id, self._parent = sink, ExternalId(RUN_ID, run_id), parent

    def accept(self, event: RecordEvent) -> None:
        """Take one event."""
        if isinstance(event, TraceStarted):
            trace = event.trace
            ids = (*trace.external_ids, self._id)
            event = replace(event, trace=replace(trace, external_ids=ids, parent=trace.parent or self._parent))
        self._sink.accept(event)

    def close(self) -> None:
        """Write out what is held."""
        self._sink.close()


def run(
    command: tuple[str, ...],
    upstream: str | None,
    patterns: tuple[str, ...],
    where: str | None,
    *,
    run_id: str | None,
    check: bool,
    quiet: bool,
    no_redact: bool,
    no_content: bool,
    color: str,
) -> None:
    """`weaklink run`; see its help."""
    run_command(
        command,
        upstream,
        where,
        redactor_of(patterns, no_redact=no_redact, no_content=no_content),
        run_id=run_id,
        check=check,
        quiet=quiet,
        color=color,
    )


def run_command(
    command: Sequence[str],
    upstream: str | None,
    where: str | None,
    redactor: Redacts,
    *,
    run_id: str | None = None,
    check: bool,
    quiet: bool,
    color: str,
) -> NoReturn:
    """Run a command, record it, say how it went, and exit with its code."""
    try:
        paths, upstreams = routes(os.environ, upstream)
        supervisor = Supervisor()
        run_id = run_id or secrets.token_hex(6)
        with open_store(where) as store:
            sink = StoreSink(store)
            lines = RequestLines(lambda line: None, is_quiet=True)
            recorder = Recorder(RunSink(sink, run_id), redactor=redactor, watch=lines)
            try:
                config = ProxyConfig(upstreams=upstreams, port=0)
                ended = asyncio.run(_supervised(config, recorder, sink, supervisor, command=command, paths=paths))
            finally:
                recorder.close()
                sink.close()
            with suppress(StoreError):
                store.statistics.sum_pending(limit=SUMMED)
            found = store.traces(f"session:{run_id}", limit=_MOST_LINES + 1)
            is_broken = store.paging().count(f"session:{run_id} status:broken") > 0
            place = str(store.place)
    except (WeaklinkError, OSError) as error:
        sys.stderr.write(f"weaklink: {visible_line(str(error))}\n")
        raise SystemExit(FAILED) from error
    if ended.problem:
        sys.stderr.write(f"weaklink: cannot run `{visible_line(command[0])}`: {ended.problem}\n")
    elif not quiet:
        said = [
            *farewell(lines.requests, lines.others, redactor.count, lost=list(lost_messages(recorder, sink))),
            *session_lines(found, place if where else ""),
        ]
        print_lines(said if lines.requests else _no_requests(lines.others), color=color, stream=sys.stderr)
    raise SystemExit(1 if check and not ended.code and is_broken else ended.code)


async def _supervised(
    config: ProxyConfig,
    recorder: Recorder,
    sink: StoreSink,
    supervisor: Supervisor,
    *,
    command: Sequence[str],
    paths: Mapping[str, str],
) -> CommandEnd:
    """Run the command while the proxy serves it."""
    async with running_proxy(config, recorder, own_routes={EVENTS_PATH: events_route(sink)}) as address:
        supervisor.launch(command, client_variables(address, paths, os.environ))
        return await asyncio.to_thread(supervisor.wait)


def session_lines(found: Sequence[TraceSummary], where: str) -> Iterator[Line]:
    """A line for each session of a run: status, title, break, and the command that shows it."""
    for one in found[:_MOST_LINES]:
        words: list[Run] = [listed_status(one), Run(f"  {visible_line(listed_title(one)[:_TITLE])}")]
        if one.broken is not None:
            words += [Run("  "), *break_words(one.broken)]
        words.append(Run(f"  weaklink show {one.id}{f' --db {where}' if where else ''}", Style.DIM))
        yield tuple(words)
    if len(found) > _MOST_LINES:
        yield (Run(f"and more: weaklink list session:{dict(found[0].external_ids)[RUN_ID]}", Style.DIM),)


def _no_requests(others: int) -> Iterator[Line]:
    passed = f" ({counted(others, 'request')} of another kind passed through)" if others else ""
    yield (
        Run(
            f"weaklink: no request to a model came through the proxy{passed}: the command made none, or it has an "
            "address of its own in its code or settings and does not read the environment."
        ),
    )
