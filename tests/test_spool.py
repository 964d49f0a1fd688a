"""Records come back as they were put, and the file that they are in has no name."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.spool import RecordSpool


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 100))
def test_records_come_back(records: list[bytes], memory_bytes: int) -> None:
    spool = RecordSpool(memory_bytes)
    places = [spool.put(record) for record in records]
    assert [spool.take(place) for place in reversed(places)] == records[::-1]
    assert places == sorted(places)
    spool.close()


def test_no_file_can_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = RecordSpool(100)
    places = [spool.put(b"a record with a secret in it") for _ in range(10)]
    assert spool._file._rolled  # type: ignore[attr-defined]  # private in the standard library
    assert {spool.take(place) for place in places} == {b"a record with a secret in it"}
    assert list(tmp_path.iterdir()) == []
    spool.close()
