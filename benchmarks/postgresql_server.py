"""A PostgreSQL server of one's own, started as a user who may run one and stopped again with all it holds."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

NOT_INSTALLED = "PostgreSQL is not installed: no `initdb` on the path nor in /usr/lib/postgresql/*/bin"
_STARTS_WITHIN_S = 60


def programs() -> Path | None:
    """The folder of the server's programs; None where there are none."""
    initdb = shutil.which("initdb")
    if initdb is not None:
        return Path(initdb).resolve().parent
    return max((path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


@contextmanager
def running_server(programs: Path) -> Iterator[str]:
    """The URL of a server, without a database's name; it forgets everything. RuntimeError where it does not start."""
    # Not below a folder that only root may enter: a server refuses to run as root.
    home = Path(tempfile.mkdtemp(prefix="weaklink-postgresql-"))
    try:
        data, port, user = home / "data", _free_port(), _other_user(home)
        _run([*user, str(programs / "initdb"), "-D", str(data), "-U", "weaklink", "-A", "trust", "-E", "UTF8"])
        settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={home} -c fsync=off"
        quick = "-c synchronous_commit=off -c full_page_writes=off"
        with (home / "log").open("wb") as log:
            command = [*user, str(programs / "postgres"), "-D", str(data), *settings.split(), *quick.split()]
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=home)
        url = f"postgresql://weaklink@127.0.0.1:{port}"
        try:
            _wait_for(server, url, home / "log")
            yield url
        finally:
            server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            server.wait(_STARTS_WITHIN_S)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def new_database(server: str, *, template: str | None = None) -> Iterator[str]:
    """The URL of a database on a server, empty or a copy of `template`; it is dropped at the end."""
    name = f"weaklink_{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        copied = sql.Identifier(template or "template1")
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), copied))
        yield f"{server}/{name}"
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def frozen_server(database: str) -> Iterator[None]:
    """The server of this database, whose URL may run as its superuser, answers nobody until the block ends."""
    with psycopg.connect(database) as connection:
        (pid_file,) = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone() or ("",)
        first = int(pid_file.split()[0])
        others = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True, check=True)
        with frozen_processes([first, *map(int, others.stdout.split())]):
            yield


@contextmanager
def frozen_processes(pids: Iterable[int]) -> Iterator[None]:
    """These processes stand still until the block ends."""
    stopped = list(pids)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _other_user(home: Path) -> list[str]:
    """The words that run a command as a user who may run a server; none where that is this user."""
    if os.geteuid() != 0:
        return []
    shutil.chown(home, "nobody", "nogroup")
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")


def _wait_for(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until and server.poll() is None:
        with suppress(psycopg.OperationalError), psycopg.connect(f"{url}/postgres"):
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}")
