"""Records come back as they were put, and the file that they are in has no name."""

import errno
import io
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
    assert [spool.get(position) for position in reversed(places)] == records[::-1]
    assert places == sorted(places)
    spool.close()


def test_no_file_can_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = RecordSpool(100)
    places = [spool.put(b"a record with a secret in it") for _ in range(10)]
    assert spool._file._rolled  # type: ignore[attr-defined]  # private in the standard library
    assert {spool.get(position) for position in places} == {b"a record with a secret in it"}
    assert list(tmp_path.iterdir()) == []
    spool.close()


@pytest.mark.parametrize("size", [100, 20_000])
def test_a_full_disk_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A short record stays in the buffer of the file until the next one is read."""

    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def readable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return True

        def seek(self, offset: int, whence: int = 0) -> int:
            return offset

        def tell(self) -> int:
            return 0

        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: io.BufferedRandom(Full()))
    spool = RecordSpool(10)
    with pytest.raises(OSError, match="No space left on device") as raised:
        spool.get(spool.put(bytes(size)))
    assert raised.value.errno == errno.ENOSPC
    assert f"{tmp_path} (TMPDIR names another folder)" in str(raised.value.strerror)
    spool.close()
