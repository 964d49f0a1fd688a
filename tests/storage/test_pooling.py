"""Connections to a server: a store has so many and no more, and one that is broken is replaced."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from sqlalchemy import event

from benchmarks.postgresql_server import frozen_processes, frozen_server
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.errors import StoreError
from weaklink.storage.engine import CONNECTIONS
from weaklink.storage.listing import Order
from weaklink.storage.store import Store, open_store

_OF_OTHERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_VISITORS = 40
_TIMEOUT_S = 300.0
"""How long a visitor waits for a connection on a loaded machine."""


@pytest.fixture
def database(postgresql_database: str) -> str:
    return postgresql_database


@pytest.fixture
def server(postgresql_database: str, store: Store) -> Iterator[psycopg.Connection]:
    """A connection beside those of the store, which has some traces."""
    store.save(
        inspected(
            *(trace(f"s{index}", BAD_CALL if index % 3 else GOOD_CALL, started_s=float(index)) for index in range(9))
        )
    )
    with psycopg.connect(postgresql_database, autocommit=True) as opened:
        yield opened


def _visit(store: Store) -> int:
    """What a visitor of the first pages asks for."""
    pages = store.paging()
    listed = pages.page("", Order.BROKEN, limit=100)
    store.statistics.figures(by=(GroupKey.MODEL,))
    store.inspected(listed[0].summary.id)
    return len(listed) + sum(pages.status_counts().values())


@pytest.mark.slow
def test_many_visitors_share_a_few_connections(store: Store) -> None:
    connections, most = set[int](), 0

    def note_opened(opened: object, _: object) -> None:
        nonlocal most
        connections.add(id(opened))
        most = max(most, len(connections))

    def note_closed(closed: object, _: object) -> None:
        connections.discard(id(closed))

    store.save(
        inspected(
            *(trace(f"s{index}", BAD_CALL if index % 3 else GOOD_CALL, started_s=float(index)) for index in range(9))
        )
    )
    with open_store(store.location.address, busy_timeout_s=_TIMEOUT_S) as shared:
        event.listen(shared._database.engine, "connect", note_opened)
        event.listen(shared._database.engine, "close", note_closed)
        with ThreadPoolExecutor(_VISITORS) as visitors:
            seen = list(visitors.map(lambda _: _visit(shared), range(5 * _VISITORS)))
    assert seen == [18] * (5 * _VISITORS)
    assert 1 < most <= CONNECTIONS


def test_a_connection_that_the_server_ended_is_replaced(store: Store, server: psycopg.Connection) -> None:
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(store._database.reading()).exec_driver_sql("SELECT 1")
    pids = {pid for (pid,) in server.execute(_OF_OTHERS).fetchall()}
    assert len(pids) >= 3
    for pid in pids:
        server.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))
    assert _visit(store) == 18
    store.save(inspected(trace("later", GOOD_CALL)))
    assert not pids & {pid for (pid,) in server.execute(_OF_OTHERS).fetchall()}


def test_who_gets_no_connection_is_told_why(store: Store, server: psycopg.Connection) -> None:
    with open_store(store.location.address, busy_timeout_s=0.05) as busy, ExitStack() as held:
        for _ in range(CONNECTIONS):
            held.enter_context(busy._database.reading())
        with pytest.raises(StoreError, match="all 10 connections of this program to the server are in use"):
            busy.traces()


def test_a_connection_without_an_answer_is_replaced(store: Store, server: psycopg.Connection) -> None:
    assert _visit(store) == 18
    with frozen_processes(pid for (pid,) in server.execute(_OF_OTHERS).fetchall()):
        assert _visit(store) == 18


def test_a_server_that_does_not_answer_is_said_and_holds_nobody_for_ever(
    store: Store, server: psycopg.Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")  # the shortest that psycopg knows
    with open_store(store.location.address) as opened:
        assert _visit(opened) == 18
        with frozen_server(database):
            for visit in (_visit, lambda frozen: open_store(frozen.location.address)):
                with pytest.raises(StoreError, match=r"the server does not answer; try again when it does"):
                    visit(opened)
        assert _visit(opened) == 18
