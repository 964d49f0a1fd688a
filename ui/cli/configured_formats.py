"""The formats that weaklink.toml registers, for every command.

    [formats]
    my-model = "formats/my-model.toml"

The key is the format's name, the value a table that `weaklink formats --derive` wrote, relative to weaklink.toml.
"""

import tomllib
from pathlib import Path

from msgspec import structs

from weaklink.inspector.errors import FormatTableError
from weaklink.inspector.formats.format_table import FormatTable, format_of, read_format_table
from weaklink.inspector.formats.registry import register_format
from weaklink.ui.cli.files import read_text

WEAKLINK_TOML = "weaklink.toml"
_tables: dict[str, FormatTable] = {}


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


def register_table(table: FormatTable, origin: str) -> str:
    """Register the format of a table in this process, and return its name. Raises FormatTableError."""
    format = format_of(table)
    try:
        register_format(format)
    except ValueError as error:
        raise FormatTableError(f"{origin}: {error}; choose another name") from error
    _tables[format.name] = table
    return format.name


def registered_tables() -> tuple[FormatTable, ...]:
    """The tables whose formats are registered in this process."""
    return tuple(_tables.values())


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
