"""Background work of screens: store queries in threads, and workers that replace earlier ones of the same group."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar

from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.worker import Worker

from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.storage.engine import file_identity, location_of
from weaklink.storage.schema import DatabaseGoneError, NoDatabaseYetError
from weaklink.storage.store import Store, open_store

_MAX_THREADS = 6  # concurrent queries, including those whose caller no longer waits
_TIMEOUT_S = 5.0  # how long a mark waits for another program that writes
_Answer = TypeVar("_Answer")


class StoreAccess:
    """Opens the store on first use, and again if its file was replaced.

    A temporary database, with the records of a file, is deleted when the program ends: no command or link leads to it.
    Threads are daemons: a slow query does not delay the end of the program.
    """

    def __init__(self, where: str | None, *, is_temporary: bool = False) -> None:
        self.where = where
        self.is_temporary = is_temporary
        self._store: Store | None = None
        self._was_open = False
        self._lock = Lock()
        self._room = asyncio.Semaphore(_MAX_THREADS)
        self._room_for_traces = asyncio.Semaphore(1)

    @property
    def name(self) -> str:
        """The database as users name it, without a password."""
        return str(location_of(self.where))

    async def query(self, query: Callable[[Store], _Answer]) -> _Answer:
        """Run a query on the store in a thread. Raises WeaklinkError if the store cannot be opened or refuses.

        If the task that waits is cancelled, the thread ends by itself.
        """
        return await self._run_query(query, self._room)

    async def query_trace(self, query: Callable[[Store], _Answer]) -> _Answer:
        """Like `query`, for whole traces, which may take much memory: one query after the other.

        The result of a cancelled query is released before the next one runs.
        """
        return await self._run_query(query, self._room_for_traces)

    async def _run_query(self, query: Callable[[Store], _Answer], room: asyncio.Semaphore) -> _Answer:
        await room.acquire()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_Answer] = loop.create_future()
        outcomes: list[tuple[_Answer | None, BaseException | None]] = []  # emptied before the next query runs

        def settle() -> None:
            room.release()
            answer, error = outcomes.pop()
            if answered.cancelled():
                return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(answer)  # type: ignore[arg-type]  # None is an answer if there is no error

        def run() -> None:
            try:
                outcomes.append((query(self._opened()), None))
            except Exception as raised:  # noqa: BLE001  # the caller gets any exception
                outcomes.append((None, raised))
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop has ended, so no caller waits
                return

        Thread(target=run, name="weaklink-store", daemon=True).start()
        return await answered

    def forget(self) -> None:
        """Close the store; the next query opens it again."""
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
                self._store = self._open()
                self._was_open = True
            return self._store

    def _open(self) -> Store:
        try:
            return open_store(self.where, create=False, busy_timeout_s=_TIMEOUT_S)
        except NoDatabaseYetError as error:
            location = location_of(self.where)
            if self._was_open and file_identity(location) is None:
                raise DatabaseGoneError(location) from error
            raise


def error_sentence(error: WeaklinkError, database: str = "") -> str:
    """What went wrong, and what to do about it; leaves out the name of the database if it is `database`."""
    text = str(error).removeprefix(f"{database}: ").rstrip(".")
    has_advice = "`" in text or "try again" in text
    again = "" if has_advice or not isinstance(error, StoreError) else " `ctrl+r` tries again."
    is_word = text.partition(" ")[0].isalpha()  # not a path or an address
    return f"{text[:1].upper() if is_word else text[:1]}{text[1:]}.{again}"


def start_work(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, supersedes: bool = True
) -> None:
    """Start work that ends with its node; with `supersedes`, cancel earlier work of the node in this group.

    Work that is superseded at once never runs, so pass a function, not a coroutine.
    """
    begun: Worker[None] = node.run_worker(partial(_work_on, node, work), group=group, exclusive=supersedes)
    assert begun.node is node


async def _work_on(node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run work; end quietly on a closed screen, whose widgets are removed shortly before its work is cancelled."""
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
