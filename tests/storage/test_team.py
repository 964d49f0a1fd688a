"""Several recorders and readers on one PostgreSQL database: every chunk that was sent is there, once."""

import pytest

from benchmarks.team import run_team
from weaklink.storage.store import open_store


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_recorders_beside_readers_lose_nothing(postgresql_database: str) -> None:
    with open_store(postgresql_database):
        pass
    done = run_team(postgresql_database, recorders=3, seconds=10)
    assert done.sessions >= 3 * 20
    assert (done.lost_sessions, done.lost_chunks, done.doubled) == (0, 0, 0)
    assert all(done.pages_s.values())
