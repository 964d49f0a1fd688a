"""The file of a database on this machine: where it is, how it is opened, and the versions that its tables may have.

Nothing here needs SQLAlchemy, which takes half a second of CPU time to load when the machine is busy.
"""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from weaklink.inspector.user_folder import user_folder

VARIABLE = "WEAKLINK_DB"
"""The environment variable with the database to use if the user names none."""

VERSION_TABLE = "weaklink_version"
REVISIONS = tuple(f"v{number:04}" for number in range(6, 21))
"""Every version of the tables, oldest first; a new one needs a step in `storage.migrations`."""


def named_database(where: str | Path | None) -> str:
    """The path or URL that names the database: `where`, or WEAKLINK_DB, or a file in the user's data folder."""
    return str(where if where is not None else os.environ.get(VARIABLE) or user_folder() / "weaklink.db")


def database_file(where: str | Path | None) -> Path | None:
    """The absolute path of the database that `where` names (see `named_database`); None if that is a URL."""
    named = named_database(where)
    return None if "://" in named else Path(os.path.expanduser(named)).absolute()  # noqa: PTH111 - a Path raises for an unknown user


def open_file(path: Path, busy_timeout_s: float, *, read_only: bool) -> sqlite3.Connection:
    """A connection to an SQLite file, which must exist; any thread may use it, but never two at the same time."""
    address = f"file:{quote(str(path))}?mode={'ro' if read_only else 'rw'}"
    return sqlite3.connect(address, busy_timeout_s, uri=True, check_same_thread=False)
