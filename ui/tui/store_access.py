"""Background work of screens: store queries in threads, and workers that replace earlier ones of the same group."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar

from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.worker import Worker

from inspector.errors import StoreError, WeaklinkError
from storage import Store, open_store
from storage.engine import place_of

_MAX_THREADS = 6  # questions that are being asked at a time; those that nobody waits for any more count too
_PATIENCE_S = 5.0  # how long a mark waits for another program that writes
_Answer = TypeVar("_Answer")


class StoreAccess:
    """Opens the store when it is first asked for, and again where its file went away and came back.

    Threads are daemons: a slow question does not hold up the end of the program.
    """

    def __init__(self, where: str | None) -> None:
        self.where = where
        self._store: Store | None = None
        self._lock = Lock()
        self._room = asyncio.Semaphore(_MAX_THREADS)
        self._room_for_traces = asyncio.Semaphore(1)

    @property
    def name(self) -> str:
        """The database as people name it, without a password."""
        return str(place_of(self.where))

    async def ask(self, question: Callable[[Store], _Answer]) -> _Answer:
        """The answer of the store; WeaklinkError where it cannot be opened or refuses.

        Whoever no longer waits (its task is cancelled) leaves the thread to end by itself.
        """
        return await self._asked(question, self._room)

    async def ask_for_trace(self, question: Callable[[Store], _Answer]) -> _Answer:
        """Like `ask`, of whole traces, which may take much memory: one question after the other.

        The answer to one that is no longer waited for is gone before the next is asked.
        """
        return await self._asked(question, self._room_for_traces)

    async def _asked(self, question: Callable[[Store], _Answer], room: asyncio.Semaphore) -> _Answer:
        await room.acquire()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_Answer] = loop.create_future()
        found: list[tuple[_Answer | None, BaseException | None]] = []  # which the thread lets go of before the next ask

        def settle() -> None:
            room.release()
            answer, error = found.pop()
            if answered.cancelled():
                return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(answer)  # type: ignore[arg-type]  # None is an answer where there is no error

        def run() -> None:
            try:
                found.append((question(self._opened()), None))
            except Exception as raised:  # noqa: BLE001  # whatever it is, whoever asked is told
                found.append((None, raised))
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop has ended, and with it everybody who could wait
                return

        Thread(target=run, name="weaklink-store", daemon=True).start()
        return await answered

    def forget(self) -> None:
        """Let go of the store; the next question opens it again."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def _opened(self) -> Store:
        with self._lock:
            if self._store is not None and self._store.is_gone():
                self._store.close()
                self._store = None
            if self._store is None:
                self._store = open_store(self.where, create=False, busy_timeout_s=_PATIENCE_S)
            return self._store


def error_sentence(error: WeaklinkError, place: str = "") -> str:
    """What went wrong, and what to do about it; the database need not be named where it is the one at `place`."""
    said = str(error).removeprefix(f"{place}: ").rstrip(".")
    is_told = "`" in said or "try again" in said
    again = "" if is_told or not isinstance(error, StoreError) else " `ctrl+r` tries again."
    return f"{said[:1].upper()}{said[1:]}.{again}"


def start_work(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, supersedes: bool = True
) -> None:
    """Begin work that ends with its node; what the node began before in the group is left, if this `supersedes` it.

    Nothing of it runs where it is superseded at once, so hand over a function, not a coroutine.
    """
    begun: Worker[None] = node.run_worker(partial(_work_on, node, work), group=group, exclusive=supersedes)
    assert begun.node is node


async def _work_on(node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run work; it ends quietly on a screen that was left, whose parts are gone a moment before work is cancelled."""
    try:
        await work()
    except NoMatches:
        if _is_on_screen(node):
            raise


def _is_on_screen(node: DOMNode) -> bool:
    try:
        return node.screen in node.app.screen_stack
    except NoScreen:
        return False
