"""Saved views: a page and the state of its address under a name, in a file of the user's data folder.

The file is beside the default database and not in one, since a view belongs to the user and works with every database.
The terminal's list shows the views of the page `traces`.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

from inspector.errors import WeaklinkError

MOST = 200
"""So many views are kept."""

VIEWS_PAGE = "traces"
"""The dashboard's page of that path shows the same list as the terminal."""

_LONGEST_NAME = 80


class SavedView(Struct, frozen=True):
    """A page by its path, and what its address held."""

    name: str
    page: str
    state: dict[str, str]


def views_file() -> Path:
    """Where the views lie."""
    return platformdirs.user_data_path("weaklink", appauthor=False) / "views.json"


def saved_views() -> list[SavedView]:
    """The views by name; none where none were saved. WeaklinkError where the file cannot be read."""
    file = views_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[SavedView])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WeaklinkError(f"the saved views in {file} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise WeaklinkError(f"the saved views in {file} are damaged; move that file away to start again") from error


def save_view(view: SavedView) -> None:
    """Keep a view, in the place of the one of its name. WeaklinkError where that cannot be."""
    name = view.name.strip()[:_LONGEST_NAME]
    if not name:
        raise WeaklinkError("a view is saved under a name")
    others = [one for one in saved_views() if one.name != name]
    if len(others) >= MOST:
        raise WeaklinkError(f"{MOST} views are saved already; forget one first")
    _write([*others, SavedView(name, view.page, view.state)])


def forget_view(name: str) -> None:
    """Drop the view of this name, if there is one."""
    _write([one for one in saved_views() if one.name != name])


def _write(views: list[SavedView]) -> None:
    """Put the new file in the place of the old in one step: whoever reads finds either."""
    file = views_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(prefix="views-", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(msgspec.json.encode(sorted(views, key=lambda one: one.name.casefold())))
            Path(written).replace(file)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(written).unlink()
            raise
    except OSError as error:
        raise WeaklinkError(f"the views cannot be saved in {file}: {error.strerror}") from error
