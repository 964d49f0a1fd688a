"""A SQLite database that has the tables and no rows, created once."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from weaklink.storage.store import open_store


def put_empty_database(path: Path) -> Path:
    """Write such a database to `path`, which `open_store` then opens as it is; the same path."""
    path.write_bytes(_empty_database())
    return path


@cache
def _empty_database() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weaklink.db"
        open_store(path).close()
        assert list(Path(folder).iterdir()) == [path]
        return path.read_bytes()
