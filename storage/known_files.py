"""The imported files of an SQLite database, read without SQLAlchemy, whose loading took most of an import of nothing.

`storage.imported_files` writes them, and reads them of any database.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from weaklink.storage.database_file import REVISIONS, VERSION_TABLE, database_file, open_file

_BUSY_TIMEOUT_S = 0.1
_AT_ONCE = 500  # paths in one statement


class ImportedFile(Struct, frozen=True):
    """A file as it was imported. `place` identifies it, `settings` how it was read; both are hashes by the caller.

    `modified_ns` is None if the file may have changed since without another time of change: then only `sha256`
    decides. `report` is the caller's.
    """

    place: bytes
    settings: bytes
    size_bytes: int
    modified_ns: int | None
    sha256: bytes
    report: bytes


def known_files(
    where: str | Path | None, paths: Iterable[bytes], settings: bytes
) -> Mapping[bytes, ImportedFile] | None:
    """The files of these paths that were read with these settings, by path.

    None if the database needs more than to be read, or cannot be read as it is: it is on a server, does not exist, has
    other tables than this version of weaklink, keeps no write-ahead log yet, has traces that the text index lacks, is
    locked or damaged.
    """
    path = database_file(where)
    if path is None:
        return None
    try:
        with closing(open_file(path, _BUSY_TIMEOUT_S, read_only=False)) as connection:
            return _read(connection, paths, settings)
    except (sqlite3.Error, ValueError):  # ValueError: a path that no file can have
        return None


def _read(
    connection: sqlite3.Connection, paths: Iterable[bytes], settings: bytes
) -> Mapping[bytes, ImportedFile] | None:
    connection.execute("BEGIN")
    (version,) = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone() or ("",)
    (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
    (has_pending,) = connection.execute("SELECT EXISTS (SELECT 1 FROM search_pending)").fetchone()
    if version != REVISIONS[-1] or journal != "wal" or has_pending:
        return None
    columns = ", ".join(ImportedFile.__struct_fields__)
    files: dict[bytes, ImportedFile] = {}
    listed = list(paths)
    for start in range(0, len(listed), _AT_ONCE):
        group = listed[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(group))
        query = f"SELECT {columns} FROM imported_file WHERE settings = ? AND place IN ({marks})"
        files |= {row[0]: ImportedFile(*row) for row in connection.execute(query, (settings, *group))}
    return files
