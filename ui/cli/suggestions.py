"""Commands that the output of a command suggests to try next."""

import shlex
from typing import TYPE_CHECKING

from weaklink.storage.database_file import database_file

if TYPE_CHECKING:
    from weaklink.storage.engine import DatabaseLocation


def suggested(command: str, where: "str | DatabaseLocation | None") -> str:
    """A command to try next as it reads the same database: with `--db` unless that is the user's own."""
    database = _shown(where) if where is None or isinstance(where, str) else str(where)
    return f"weaklink {command}" if database == _shown(None) else f"weaklink {command} --db {shlex.quote(database)}"


def _shown(where: str | None) -> str:
    """The path of a database, or its URL without the password."""
    path = database_file(where)
    if path is not None:
        return str(path)
    from weaklink.storage.engine import location_of  # noqa: PLC0415  # loads SQLAlchemy, and most databases are files

    return str(location_of(where))
