"""Records come back as they were put, and what is in the file is nothing that anybody can read."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import sealed_spool
from inspector.sealed_spool import EncryptedSpool


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 100))
def test_records_come_back(records: list[bytes], room: int) -> None:
    spool = EncryptedSpool(room)
    places = [spool.put(record) for record in records]
    assert [spool.take(place) for place in reversed(places)] == records[::-1]
    assert places == sorted(places)
    spool.close()


def test_no_record_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def named() -> object:
        made.append(tmp_path / "spool")
        return tempfile._TemporaryFileWrapper(made[0].open("w+b"), str(made[0]), delete=False)

    monkeypatch.setattr(sealed_spool, "TemporaryFile", named)
    spool = EncryptedSpool(100)
    record = b"a record with a secret in it, twice the same"
    places = [spool.put(record) for _ in range(10)]
    assert [spool.take(place) for place in places] == [record] * 10
    spool.close()
    written = made[0].read_bytes()
    assert len(written) == 8 * len(record)
    assert b"secret" not in written
    assert len({written[at : at + len(record)] for at in range(0, len(written), len(record))}) == 8
