"""A thousand recorders that send to one `weaklink web` at once: bodies a second, how long one waits, what is lost."""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import create_server

import aiohttp

from benchmarks.postgresql_server import new_database, programs, running_server
from benchmarks.timing import say
from inspector.capture.event_lines import BATCH, EVENTS_PATH, PACKED_TYPE, SENDER, pack_body
from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.model import Chunk, Part, Role, Trace, Turn
from storage import open_store
from storage.access_tokens import TokenRole

_RECORDERS = int(os.environ.get("WEAKLINK_BENCH_RECORDERS", "1000"))
_SECONDS = float(os.environ.get("WEAKLINK_BENCH_SECONDS", "60"))
_PAUSE_S = 4.0  # between the bodies of one recorder
_CHUNKS = 20
_LOST_ANSWERS = 0.02


class _Counts:
    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.took_s: list[float] = []
        self.sessions = 0
        self.repeated = 0


def collector() -> None:
    """The run over SQLite, and over PostgreSQL where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        _run("SQLite", str(Path(folder) / "team.db"))
    found = programs()
    if found is None:
        say("collector: no PostgreSQL")
        return
    with running_server(found) as server, new_database(server) as where:
        _run("PostgreSQL", where)


def _run(kind: str, where: str) -> None:
    with open_store(where) as store:
        token = store.tokens.create("recorders", TokenRole.WRITE)
    counts = _Counts()
    with _serving(where) as port:
        began_s = time.monotonic()
        asyncio.run(_send(f"http://127.0.0.1:{port}{EVENTS_PATH}", token, counts))
        took_s = time.monotonic() - began_s
        with open_store(where, read_only=True) as store:
            deadline_s = time.monotonic() + 300
            while (kept := store.maintenance.stats().traces) < counts.sessions and time.monotonic() < deadline_s:
                time.sleep(0.5)
        behind_s = time.monotonic() - began_s - took_s
    bodies, taken = sum(counts.statuses.values()), counts.statuses[204]
    waits = sorted(counts.took_s)
    say(f"collector: {_RECORDERS:,} recorders for {took_s:.0f} s into {kind}, {_CHUNKS} chunks a body")
    say(f"  {bodies:,} bodies, {taken / took_s:,.0f} taken a second ({taken * _CHUNKS / took_s:,.0f} chunks)")
    median, p99 = (waits[len(waits) * share // 100] * 1e3 for share in (50, 99))
    say(f"  an answer after {median:,.0f} ms in the median, p99 {p99:,.0f} ms")
    say(f"  {counts.statuses[503]:,} told to wait, {counts.repeated:,} sent again after a lost answer")
    differ = abs(counts.sessions - kept)
    say(f"  {counts.sessions:,} sessions sent, {kept:,} kept {behind_s:.1f} s later; lost or doubled: {differ:,}")


@contextmanager
def _serving(where: str) -> Iterator[int]:
    with create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "weaklink", "web", "--tokens", "--db", where, "--port", str(port)]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        stack.callback(process.terminate)
        deadline_s = time.monotonic() + 60
        while time.monotonic() < deadline_s:
            try:
                asyncio.run(_probe(port))
                break
            except aiohttp.ClientError:
                time.sleep(0.2)
        yield port


async def _probe(port: int) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/"):
        pass


async def _send(url: str, token: str, counts: _Counts) -> None:
    until_s = time.monotonic() + _SECONDS
    connections = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": PACKED_TYPE, "Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(connector=connections, headers=headers) as session:
        await asyncio.gather(*(_Recorder(session, url, name, counts).run(until_s) for name in range(_RECORDERS)))


class _Recorder:
    def __init__(self, session: aiohttp.ClientSession, url: str, name: int, counts: _Counts) -> None:
        self._session, self._url, self._name, self._counts = session, url, name, counts
        self._seed = random.Random(name)
        self._number = 0

    async def run(self, until_s: float) -> None:
        """Send sessions one after the other, each in four bodies, until the time is over."""
        made = 0
        await asyncio.sleep(self._seed.random() * _PAUSE_S)
        while time.monotonic() < until_s:
            made += 1
            for body in _bodies(f"{self._name}-{made}"):
                await self._post(pack_body(body))
                await asyncio.sleep(_PAUSE_S * (0.5 + self._seed.random()))
            self._counts.sessions += 1

    async def _post(self, body: bytes) -> None:
        self._number += 1
        headers = {SENDER: str(self._name), BATCH: str(self._number)}
        repeats = self._seed.random() < _LOST_ANSWERS
        while True:
            began_s = time.monotonic()
            async with self._session.post(self._url, data=body, headers=headers) as answer:
                await answer.read()
            self._counts.took_s.append(time.monotonic() - began_s)
            self._counts.statuses[answer.status] += 1
            if answer.status != 204:
                await asyncio.sleep(1.0)
            elif repeats:
                self._counts.repeated += 1
                repeats = False
            else:
                return


def _bodies(key: str) -> Iterator[list[RecordEvent]]:
    words = [f"word{at} " for at in range(3 * _CHUNKS)]
    asked = Turn(Role.USER, (Part("text", f"What is {key}?"),))
    beginning: list[RecordEvent] = [TraceStarted(key, Trace((), name=key)), TurnEnded(key, 1, asked)]
    yield [*beginning, TurnStarted(key, 2, Role.ASSISTANT)]
    for piece in range(3):
        places = range(piece * _CHUNKS, (piece + 1) * _CHUNKS)
        came = tuple(Chunk(at, "text", words[at], at / 10) for at in places)
        chunks: list[RecordEvent] = [ChunksArrived(key, 2, came)]
        if piece == 2:
            chunks += [TurnEnded(key, 2, Turn(Role.ASSISTANT, (Part("text", "".join(words)),))), TraceEnded(key)]
        yield chunks
