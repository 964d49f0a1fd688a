"""Opens the database that a command works on."""

import os
from pathlib import Path

from platformdirs import user_data_path

from inspector.errors import StoreError
from storage import Store, open_store


def opened(where: str | None) -> Store:
    """The store at a path or URL, or the user's own where neither an option nor WEAKLINK_DB names one.

    Raises StoreError.
    """
    if where and "://" in where:
        return open_store(where)
    path = Path(where).expanduser() if where else user_data_path("weaklink") / "weaklink.db"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder of {path}: {error.strerror or error}") from error
    return open_store(os.fspath(path))
