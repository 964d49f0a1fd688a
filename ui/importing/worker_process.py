"""Worker processes that answer through a pipe: started, awaited and stopped in one way, whatever they work on.

A worker is a copy of this process where that is safe, since loading the modules that read logs takes as much CPU time
as reading 5 MB: on Linux, while there is no other thread (a progress bar has one), and if the caller has closed its
databases, whose files SQLite takes for open in the copy, too. Any other worker is spawned. The server process of
`forkserver` would find modules by its own path, not by that of this process, and would fail in a folder with another
`inspector/`.
"""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread, active_count
from typing import Any, TypeAlias

_GC_THRESHOLD = 50_000
_COPIED_HANDLERS = frozenset({signal.SIGTERM})
"""The signals that a copy would answer as its parent does until it has set its own handlers."""

_open_pipes: set[Connection] = set()
"""This process's sides of the pipes; a copy of it closes them, so that a worker notices the end of this process."""
Outbox: TypeAlias = "Queue[bytes | None]"
"""The pickled answers of a worker that wait until the other side of the pipe takes them."""


def available_cores() -> int:
    """The number of processes that can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def collect_rarely() -> None:
    """Make the garbage collector run rarely: traces have no cycles, and it would take a twelfth of the time."""
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


class WorkerProcess:
    """A process that runs `main(*arguments, pipe)`, a function of a module; `pipe` is this side of its pipe.

    `is_copy` allows a copy of this process, with all modules that it has loaded: its databases are closed. Ctrl-C is
    for this process: the worker ignores it, and is terminated by `stop`.
    """

    def __init__(self, main: Callable[..., None], *arguments: object, is_copy: bool = False) -> None:
        is_safe = is_copy and sys.platform == "linux" and active_count() == 1
        context = get_context("fork") if is_safe else get_context("spawn")
        self.pipe, theirs = context.Pipe()
        _open_pipes.add(self.pipe)
        self._process = context.Process(target=_run, args=(main, *arguments, theirs), daemon=True)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the worker inherits
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _COPIED_HANDLERS) if is_safe else None  # until `_run`
        try:
            self._process.start()
        finally:
            if mask is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            signal.signal(signal.SIGINT, before)
        theirs.close()

    def receive(self) -> Any:
        """The next answer. EOFError or OSError if the process has ended."""
        return pickle.loads(self.pipe.recv_bytes())

    def ended(self) -> str:
        """Wait until the process has ended. Returns how, such as `signal 9`."""
        self._process.join()
        code = self._process.exitcode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """Terminate the process, whatever it is doing."""
        _open_pipes.discard(self.pipe)
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _run(main: Callable[..., None], *arguments: object) -> None:
    """In a worker: without what a copy has of its parent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _COPIED_HANDLERS)
    for pipe in _open_pipes:
        pipe.close()
    main(*arguments)


@contextmanager
def outbox_to(pipe: Connection, bound: int) -> Iterator[Outbox]:
    """In a worker: what is put into the queue is sent by a thread; at most `bound` answers wait.

    At the end, everything was sent. The process exits if the other side has closed the pipe.
    """
    collect_rarely()
    outbox: Outbox = Queue(bound)
    sender = Thread(target=_send, args=(outbox, pipe), daemon=True)
    sender.start()
    yield outbox
    outbox.put(None)
    sender.join()


def _send(outbox: Outbox, pipe: Connection) -> None:
    try:
        while (answer := outbox.get()) is not None:
            pipe.send_bytes(answer)
    except OSError:  # the other side is gone
        os._exit(0)
