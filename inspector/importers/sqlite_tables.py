"""Reads the tables of an SQLite log database without ever touching it, within a bound of memory.

The agent that writes a database may have it open. Opening it too, even read-only, would create files beside it (`-shm`,
`-wal`), hold back its checkpoints or fail in a read-only folder; ignoring its locks (`immutable`) would read pages that
change meanwhile, and would miss the write-ahead log, where a running session is. So a copy is read: the file and its
logs, in a folder of this user, once for a `SourceFile`; it goes with that. Only a database of more than `COPIED_BYTES`
is opened in place, read-only.
"""

import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from weaklink.inspector.importers.compression import unpacked_zstd
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.records import NotJsonError, kind_of_json, parse_json_bytes
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.json_text import objects_of
from weaklink.inspector.memory import RECORD_BYTES, RECORD_MEMORY, TOO_MANY_ROWS, text_memory
from weaklink.inspector.model import Json
from weaklink.inspector.text import decode

MAGIC = b"SQLite format 3\0"
"""How a database file begins."""

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged database raises; SQLite's messages quote broken names unchanged."""

OLD_SCHEMA = frozenset({"conversations", "responses"})
NEW_SCHEMA = frozenset({"threads", "turns", "messages", "parts"})
VALUE_BYTES = RECORD_BYTES // 2
"""The longest value, and the longest stored row, that may be read."""

HELD_BYTES = RECORD_MEMORY // 2
"""The largest database that is read into memory, for a file that SQLite cannot open directly."""

COPIED_BYTES = 1 << 30
"""The largest database that is copied; copying that takes about a second."""

_COPY_ATTEMPTS = 5
_copies: weakref.WeakKeyDictionary[SourceFile, Path] = weakref.WeakKeyDictionary()

_ROW_BYTES, _NUMBERS_BYTES = 2_000, 150
"""The memory that a row takes as a turn of a trace, and that a row of two numbers takes."""

_INDEXED = {
    "tool_calls": "response_id",
    "tool_results": "response_id",
    "tool_responses": "response_id",
    "prompt_fragments": "response_id",
    "system_fragments": "response_id",
    "prompt_attachments": "response_id",
    "parts": "message_hash",
    "part_fragments": "part_id",
    "part_attachments": "part_id",
    "turn_tools": "turn_id",
}

_NAMED = ("fragments", "tools")


class LogTables:
    """The tables of an open database. Every method may raise sqlite3.Error or UnicodeDecodeError if it is damaged.

    sqlite3.DataError also if the rows of one trace would take more than `RECORD_MEMORY`. `damage` are the values that
    could not be read since it was last taken.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._left = RECORD_MEMORY
        self.damage: list[Skipped] = []
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        cursor = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.names = frozenset(str(name) for (name,) in cursor)

    def begin_trace(self) -> None:
        """Begin another trace: the following rows may again take `RECORD_MEMORY`."""
        self._left = RECORD_MEMORY

    def reject_generated_columns(self, tables: Iterable[str]) -> None:
        """Raise sqlite3.DataError if one of these tables has a generated column.

        There a few stored bytes may give a text of any length (https://sqlite.org/gencol.html); no program writes its
        logs that way.
        """
        for table in sorted(self.names.intersection(tables)):
            for column in self._connection.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden > 1", (table,)):
                raise sqlite3.DataError(f"the column `{column[0]}` of the table `{table}` is generated, not stored")

    def rows(self, query: str, *parameters: Json) -> Iterator[JsonObject]:
        """The rows of a query, as they are read: column names to values; blobs are left out."""
        return self._rows(query, parameters, _ROW_BYTES)

    def numbers(self, query: str) -> Iterator[JsonObject]:
        """The rows of a query that returns a few numbers each; the caller may keep many of them."""
        return self._rows(query, (), _NUMBERS_BYTES)

    def _rows(self, query: str, parameters: tuple[Json, ...], row_bytes: int) -> Iterator[JsonObject]:
        cursor = self._connection.execute(query, tuple(map(_bound, parameters)))
        names = [column[0] for column in cursor.description]
        for row in cursor:
            self._left -= row_bytes + sum(text_memory(value) for value in row if isinstance(value, str))
            if self._left < 0:
                raise sqlite3.DataError(TOO_MANY_ROWS)
            yield {name: value for name, value in zip(names, row, strict=True) if not isinstance(value, bytes)}

    def json_object(self, row: JsonObject, column: str, record: str, *, is_optional: bool = False) -> JsonObject | None:
        """The object in a column of JSON text. None if there is none, which is damage of the row that `record` names.

        NULL, and JSON's, is no damage if the column `is_optional`.
        """
        value = self._json_value(row.get(column), column, record, dict, is_optional=is_optional)
        return value if isinstance(value, dict) else None

    def json_objects(
        self, row: JsonObject, column: str, record: str, *, is_optional: bool = False
    ) -> list[JsonObject] | None:
        """As `json_object`, for a list of objects; any other element of the list is damage."""
        value = self._json_value(row.get(column), column, record, list, is_optional=is_optional)
        if not isinstance(value, list):
            return None
        elements = objects_of(value)
        if len(elements) < len(value):
            number = next(number for number, element in enumerate(value, 1) if not isinstance(element, dict))
            self.damage.append(Skipped(record, f"`{column}`: element {number} is no object"))
        return elements

    def _json_value(self, text: Json, column: str, record: str, kind: type, *, is_optional: bool) -> Json:
        if is_optional and text in (None, "null"):
            return None
        reason = "no text that can be read"
        if isinstance(text, str):
            try:
                value = parse_json_bytes(text.encode("utf-8", "surrogatepass"))
            except NotJsonError as error:
                reason = str(error)
            else:
                if isinstance(value, kind):
                    return value
                reason = f"expected {kind_of_json(kind())}, found {kind_of_json(value)}"
        self.damage.append(Skipped(record, f"`{column}`: {reason}"))
        return None

    def take_damage(self) -> list[Skipped]:
        """The damage since the last call."""
        damage, self.damage = self.damage, []
        return damage

    def index(self) -> None:
        """Build the indexes that `of` needs, in a temporary database: the tables have none."""
        self.reject_generated_columns((*OLD_SCHEMA, *NEW_SCHEMA, *_INDEXED, *_NAMED))
        for table, column in _INDEXED.items():
            if table in self.names:
                self._connection.execute(
                    f"CREATE TEMP TABLE by_{table} AS SELECT {column} AS owner, rowid AS at FROM main.{table}"
                )
                self._connection.execute(f"CREATE INDEX temp.index_{table} ON by_{table} (owner)")

    def of(self, table: str, owner: Json) -> list[JsonObject]:
        """The rows of a table that belong to a response, turn, message or part, in order; empty without the table."""
        if table not in self.names:
            return []
        query = (
            f"SELECT t.* FROM temp.by_{table} b JOIN main.{table} t ON t.rowid = b.at WHERE b.owner = ? ORDER BY b.at"
        )
        return list(self.rows(query, owner))

    def by_key(self, table: str, column: str, keys: Iterable[Json]) -> list[JsonObject]:
        """The rows with these primary keys, in the keys' order."""
        if table not in self.names:
            return []
        query = f"SELECT * FROM main.{table} WHERE {column} = ?"
        return [row for key in keys for row in self.rows(query, key)]


def unread_rest(error: Exception) -> Skipped:
    """What follows the sessions that could be read of a damaged database."""
    return Skipped("database", f"the rest of the database cannot be read: {error}")


def _bound(value: Json) -> Json:
    """A value as a query parameter. Text that is not Unicode matches no key."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


@contextmanager
def open_tables(file: SourceFile) -> Iterator[LogTables]:
    """The tables of a database as they are when a file is opened first; errors as for `LogTables`.

    A compressed database, or one that is not a file, is read into memory: SQLite would need a readable copy on disk.
    sqlite3.DataError if it is larger than `HELD_BYTES`.
    """
    connection = _on_disk(file) if file.is_whole_on_disk else _in_memory(file)
    try:
        connection.text_factory = decode
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.create_function("zstd_text", 1, _zstd_text, deterministic=True)
        yield LogTables(connection)
    finally:
        connection.close()


def _zstd_text(value: object) -> str | None:
    """The text in a compressed value, for queries; NULL for any other."""
    raw = unpacked_zstd(value, VALUE_BYTES) if isinstance(value, bytes) else None
    return None if raw is None else decode(raw)


def _on_disk(file: SourceFile) -> sqlite3.Connection:
    if file.path.stat().st_size > COPIED_BYTES:
        return sqlite3.connect(f"{file.path.absolute().as_uri()}?mode=ro", uri=True)
    path = _copies.get(file)
    if path is None:
        folder = tempfile.mkdtemp(prefix="weaklink-")
        weakref.finalize(file, shutil.rmtree, folder, ignore_errors=True)
        path = _copies[file] = _copied(file.path, Path(folder))
    return sqlite3.connect(path)


def _copied(path: Path, folder: Path) -> Path:
    """Copy a database with its logs. sqlite3.OperationalError if it is written faster than it can be copied.

    The log is copied after the file. If the file is then as it was before, no checkpoint moved pages of the log into
    it meanwhile, and both belong together; transactions that end while the log is copied are in it or not, as a whole.
    """
    copy = folder / "copy.db"
    for _ in range(_COPY_ATTEMPTS):
        before = path.stat()
        shutil.copyfile(path, copy)
        for suffix in ("-wal", "-journal"):
            beside = copy.with_name(copy.name + suffix)
            beside.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", beside)
        after = path.stat()
        if (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns):
            return copy
    raise sqlite3.OperationalError("it is written faster than it can be copied; import it again later")


def _in_memory(file: SourceFile) -> sqlite3.Connection:
    with file.open() as stream:
        image = bytearray(stream.read(HELD_BYTES + 1))
    if len(image) > HELD_BYTES:
        reason = "a compressed or streamed database may have at most"
        raise sqlite3.DataError(f"{reason} {HELD_BYTES >> 20} MiB; import the database file itself")
    image[18:20] = b"\1\1"  # turns off write-ahead logging, which an in-memory database cannot have
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def tables_score(sample: FileSample, schemas: Iterable[Set[str]], columns: Iterable[bytes]) -> float:
    """The confidence in a database with all tables of one of the schemas; in a damaged one, by columns in its head."""
    if not sample.head.startswith(MAGIC):
        return 0.0
    try:
        with open_tables(sample.file) as tables:
            return 0.9 if any(tables.names >= schema for schema in schemas) else 0.0
    except DAMAGE:
        return 0.5 if any(column in sample.head for column in columns) else 0.0


def has_columns(sample: FileSample, table: str, columns: Iterable[str]) -> bool:
    """Whether a file is an SQLite database with these columns in a table."""
    if not sample.head.startswith(MAGIC):
        return False
    try:
        with open_tables(sample.file) as tables:
            found = {text_of(row, "name") for row in tables.rows("SELECT name FROM pragma_table_info(?)", table)}
            return found >= set(columns)
    except DAMAGE:
        return False
