"""Dashboards that really run, as `weaklink web` starts them, for tests that drive a real browser."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from threading import Thread
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import urlopen

from tests.ui.conftest import START, environment

_TIMEOUT_S = 60.0
ended: set[int] = set()
"""Ports whose dashboard was stopped: an open page of it reports that it cannot reconnect."""
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # letters as wide as on a screen
)


def free_port() -> int:
    """A port on loopback that nobody listens on at this moment."""
    with create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard that runs: the address it printed, its port, its process, and the lines it wrote so far."""

    address: str
    port: int
    process: "subprocess.Popen[str]"
    said: list[str]


@contextmanager
def dashboard(home: Path, database: Path, *options: str) -> Iterator[str]:
    """The address of a dashboard over the database, until the block ends."""
    with running(home, database, *options) as process:
        yield process.address


@contextmanager
def running(home: Path, database: Path | str, *options: str, first: str = "", port: int = 0) -> Iterator[Dashboard]:
    """A dashboard over the database, until the block ends; `first` is Python that its process runs before."""
    with _running(home, "--db", str(database), *options, first=first, port=port) as process:
        yield process


@contextmanager
def results_dashboard(home: Path, results: str) -> Iterator[str]:
    """The address of a dashboard over results in Parquet, until the block ends."""
    with _running(home, "--on", results) as process:
        yield process.address


@contextmanager
def _running(home: Path, *options: str, first: str = "", port: int = 0) -> Iterator[Dashboard]:
    port = port or free_port()
    ended.discard(port)
    start = [START[0], "-P", "-c", f"{first}\n{START[-1]}"]
    command = [*start, "web", "--port", str(port), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=home, env=environment(home), text=True
    ) as process:
        said: list[str] = []
        assert process.stdout is not None
        listener = Thread(target=said.extend, args=(process.stdout,), daemon=True)
        listener.start()
        try:
            _wait_for(process, f"http://127.0.0.1:{port}/_stcore/health", said)
            address = re.search(r"http://\S+", "".join(said))
            assert address, said
            yield Dashboard(address[0], port, process, said)
        finally:
            ended.add(port)
            process.terminate()
            try:
                process.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            listener.join(_TIMEOUT_S)


def _wait_for(process: "subprocess.Popen[str]", address: str, said: list[str]) -> None:
    until = monotonic() + _TIMEOUT_S
    while monotonic() < until:
        assert process.poll() is None, said
        try:
            with urlopen(address):
                return
        except URLError as error:
            if getattr(error, "code", 0) == 401:  # it runs, and wants its token
                return
            sleep(0.1)
    raise AssertionError(f"the dashboard did not answer: {said}")
