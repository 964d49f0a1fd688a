"""Where a database lies: a file or a server, from what the user wrote, and how to name it in a sentence."""

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import sqlalchemy as sa
from sqlalchemy import exc

from inspector.errors import StoreError

VARIABLE = "WEAKLINK_DB"
"""The environment variable that names the database where the user does not."""


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """Where a database lies; `path` is None where it is a server's."""

    url: sa.URL
    path: Path | None = None

    def __str__(self) -> str:
        """The path, or the URL without its password."""
        if self.path is not None:
            return str(self.path)
        shown = self.url.set(drivername=self.url.get_backend_name(), query={})
        return shown.render_as_string(hide_password=True)


def place_of(where: str | Path | None) -> DatabaseLocation:
    """The place that a path or a database URL names; None asks WEAKLINK_DB, then takes the user's data folder.

    StoreError for a URL that is none, or of a database that weaklink does not know.
    """
    if where is None:
        where = os.environ.get(VARIABLE) or platformdirs.user_data_path("weaklink", appauthor=False) / "weaklink.db"
    text = str(where)
    return _by_url(text) if "://" in text else _by_path(Path(text).expanduser())


def mark_of(place: DatabaseLocation) -> tuple[int, int] | None:
    """What tells the file at a place from any other that may come into its place; None for a server, and no file."""
    try:
        found = place.path.stat() if place.path is not None else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found is not None else None


def _by_url(text: str) -> DatabaseLocation:
    scheme = text.partition("://")[0]
    try:
        url = sa.make_url(text)
        backend = {"postgres": "postgresql"}.get(url.drivername, url.get_backend_name())
    except (exc.ArgumentError, ValueError) as error:
        raise StoreError(f"what begins with `{scheme}://` is no database URL that can be read") from error
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StoreError("a database in memory would forget everything; name a file")
        return _by_path(Path(url.database))
    if backend == "postgresql":
        return DatabaseLocation(url.set(drivername="postgresql+psycopg"))
    raise StoreError(f"weaklink keeps traces in an SQLite file or in PostgreSQL, not in `{scheme}`")


def _by_path(path: Path) -> DatabaseLocation:
    path = path.absolute()
    return DatabaseLocation(sa.URL.create("sqlite", database=str(path)), path)
