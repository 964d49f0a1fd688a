"""The files that were imported, with what they were then, so that an unchanged file is not read again.

A row is written once all traces of its file are in the database. It goes with the first of them that is deleted
(`storage.writing.delete_traces`): the next import then reads the file again. No row contains a path or a text of the
file except its report: `place` and `settings` are hashes.
"""

from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa
from msgspec import structs

from weaklink.storage import tables
from weaklink.storage.engine import Database
from weaklink.storage.known_files import ImportedFile
from weaklink.storage.tables import in_groups

_file = tables.imported_file.c


class ImportedFiles:
    """The imported files of a database, as `Store.imported_files`. Every method may raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, paths: Iterable[bytes], settings: bytes) -> Mapping[bytes, ImportedFile]:
        """The files of these paths that were read with these settings, by path."""
        columns = [_file[name] for name in ImportedFile.__struct_fields__]
        with self._database.reading() as connection:
            rows = [
                row
                for group in in_groups(paths)
                for row in connection.execute(
                    sa.select(*columns).where(_file.place.in_(group), _file.settings == settings)
                )
            ]
        return {file.place: file for file in (ImportedFile(*row) for row in rows)}

    def put(self, files: Sequence[tuple[ImportedFile, Sequence[int]]]) -> None:
        """Store files, each with the ids of its traces, in place of what was stored for them.

        A file of which a trace was deleted meanwhile is not stored.
        """
        if not files:
            return
        with self._database.writing() as connection:
            for group in in_groups(file.place for file, _ in files):
                connection.execute(sa.delete(tables.imported_file).where(_file.place.in_(group)))
            for file, ids in files:
                _insert(connection, file, set(ids))


def _insert(connection: sa.Connection, file: ImportedFile, ids: set[int]) -> None:
    stored = sum(
        connection.scalar(sa.select(sa.func.count()).where(tables.trace.c.id.in_(group))) or 0
        for group in in_groups(ids)
    )
    if stored < len(ids):
        return
    row = structs.asdict(file)
    file_id = connection.scalar(sa.insert(tables.imported_file).values(row).returning(_file.id))
    if ids:
        connection.execute(sa.insert(tables.imported_trace), [{"trace_id": id_, "file_id": file_id} for id_ in ids])
