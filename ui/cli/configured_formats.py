"""The formats that weaklink.toml registers, for every command.

    [formats]
    my-model = "formats/my-model.toml"

The key is the format's name, the value a table that `weaklink formats --derive` wrote, relative to weaklink.toml.
"""

import tomllib
from pathlib import Path

from msgspec import structs

from weaklink.inspector.errors import FormatTableError
from weaklink.inspector.formats.format_table import read_format_table, register_table
from weaklink.ui.cli.declaring import WEAKLINK_TOML
from weaklink.ui.cli.files import read_text


def register_configured_formats(folder: Path) -> None:
    """Register the formats of the nearest weaklink.toml, from `folder` upwards, that has a table `formats`.

    A file that is not TOML is left to the command that needs it. Raises FormatTableError and UnreadableFileError.
    """
    for place in (folder, *folder.parents):
        path = place / WEAKLINK_TOML
        named = _formats(path) if path.is_file() else None
        if named is not None:
            for name, file in named.items():
                _register(path, name, file)
            return


def _formats(path: Path) -> dict[str, object] | None:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("formats")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return None
    if found is not None and not isinstance(found, dict):
        raise FormatTableError(f"{path}: `formats` must be a table of names and files")
    return found


def _register(path: Path, name: str, file: object) -> None:
    if not isinstance(file, str) or not file.endswith(".toml"):
        raise FormatTableError(f"{path}: `formats.{name}` must be the path of a table that `formats --derive` wrote")
    origin = f"{path}: `formats.{name}`"
    table = read_format_table(read_text(str(path.parent / file)), file)
    register_table(structs.replace(table, name=name), origin)
