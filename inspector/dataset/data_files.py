"""The files that a path of training data refers to: a file, a URL, a pattern, or a folder with or without a card.

A data set of the Hugging Face Hub has a card: the `configs` in the YAML head of its README.md name the files of each
config and split. The convention is that of huggingface/datasets ("Manual Configuration" in the Hub's documentation;
`utils/metadata.py`, `data_files.py`): a config has a `config_name`, and `data_files`, which is a pattern or a list of
patterns (both are split `train`), a list of `{split, path}`, or an object of splits with patterns; a `path` is a
pattern or a list of them. Patterns count from the folder, or from the config's `data_dir`; a config without
`data_files` has all files there, and names no split.

`load_dataset` loads one config; here a folder means all of its configs and splits, each file once, and
`FOLDER#CONFIG/SPLIT` selects one. A card is untrusted input: a pattern that points outside the folder is an error.
"""

import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from msgspec import Struct, structs

from weaklink.inspector.errors import UnreadableFileError, WeaklinkError
from weaklink.inspector.importers.remote import find_remote_files
from weaklink.inspector.importers.source import JsonObject, is_url, local_path
from weaklink.inspector.model import Json
from weaklink.inspector.text import decode

_JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
_PACKED = (".gz", ".zst")
_TABLE_SUFFIXES = (".parquet", ".arrow")
_NO_DATA = frozenset({"dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"})
_READ = "JSON lines, JSON, Parquet or Arrow file"
_CARD = "README.md"
_CARD_BYTES = 1 << 20  # the head is at its beginning
_CONFIGS = re.compile(r"^configs[ \t]*:", re.MULTILINE)
_MAX_PATTERNS = 10_000  # YAML aliases can expand a small file to a huge value
_TRAIN, _DEFAULT = "train", "default"
_ANYWHERE = re.compile(r"\*\*(?:/+\*\*)+")


def find_data_files(paths: Iterable[str]) -> list[str]:
    """The files that the paths refer to, in order, each once.

    A path is a file, a URL (see `inspector.importers.remote`), a pattern as in `data_files` (`data/train-*.parquet`,
    `**/*.jsonl`), or a folder: a data set or a `DatasetDict` that Hugging Face's `save_to_disk` wrote, a folder whose
    README.md has `configs`, or any other folder, which is searched for JSON, Parquet and Arrow files.
    `FOLDER#CONFIG/SPLIT` is one split of a config, `FOLDER#CONFIG` all of them, `FOLDER#/SPLIT` that split of every
    config, or of a `DatasetDict`. Raises UnreadableFileError if there is no such file, config or split, a card cannot
    be read, or a folder or pattern has no file, and MissingLibraryError if a card needs PyYAML and it is not installed.
    """
    unique: dict[str, str] = {}
    for path in paths:
        files = list(_files_of(path))
        if not files:
            raise UnreadableFileError(f"{path}: no {_READ} found")
        for file in files:
            unique.setdefault(file if is_url(file) else os.path.abspath(file), file)  # noqa: PTH100  # links stay links
    return list(unique.values())


def find_set_files(path: str) -> list[str] | None:
    """The files of a data set that lists its files: `FOLDER`, or a selection as in `find_data_files`.

    None if the folder does not list its files, or the path is not a folder. Raises the errors of `find_data_files`.
    """
    chosen = _Chosen.of(path)
    if chosen is None:
        return None
    return list(dict.fromkeys(_described(chosen) or ())) if chosen.is_described else None


class _Chosen(Struct, frozen=True):
    """A folder with the selected config and split; "" means all. `path` is the path as the user wrote it."""

    path: str
    folder: Path
    config: str = ""
    split: str = ""

    @classmethod
    def of(cls, path: str) -> "_Chosen | None":
        """The folder that a path names; None for any other path."""
        if Path(path).is_dir():
            return cls(path, Path(path))
        folder, sign, rest = path.rpartition("#")
        if not sign or os.path.lexists(path) or not Path(folder).is_dir():
            return None
        config, _, split = rest.partition("/")
        return cls(path, Path(folder), config, split)

    @property
    def is_chosen(self) -> bool:
        return bool(self.config or self.split)

    @property
    def is_described(self) -> bool:
        """Whether the folder lists its files, or the user selected some of them."""
        names = ("dataset_dict.json", "state.json")
        return self.is_chosen or any((self.folder / name).is_file() for name in names) or _head(self.folder) is not None


def _files_of(path: str) -> Iterator[str]:
    path = local_path(path)
    if is_url(path):
        for file in find_remote_files(path):
            if file.url == path or _is_data(Path(file.url)):
                yield file.url
        return
    file_path = Path(path)
    if (chosen := _Chosen.of(path)) is not None:
        yield from _files_in(chosen)
    elif file_path.is_fifo():
        raise UnreadableFileError(f"cannot read {path}: this is a named pipe (FIFO); write its rows to a file first")
    elif file_path.exists():
        yield path
    elif glob.has_magic(path):
        for match in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207  # patterns are `glob`'s, also absolute
            if Path(match).is_file() and _is_data(Path(match)):
                yield match
    else:
        is_input = path == "-"
        why = (
            "standard input is read once only; write its rows to a file first" if is_input else "there is no such file"
        )
        raise UnreadableFileError(f"cannot read {path}: {why}")


def _files_in(chosen: _Chosen) -> Iterator[str]:
    described = _described(chosen)
    yield from _found_below(chosen.folder) if described is None else described


def _described(chosen: _Chosen) -> Iterator[str] | None:
    """The files that the folder or its card lists; None if neither lists any."""
    folder = chosen.folder
    splits = _member(folder / "dataset_dict.json", "splits")
    if isinstance(splits, list):
        return _of_splits(chosen, [split for split in splits if isinstance(split, str)])
    listed = _member(folder / "state.json", "_data_files")
    if isinstance(listed, list) and not chosen.is_chosen:
        names = (entry.get("filename") for entry in listed if isinstance(entry, dict))
        return (str(folder / name) for name in names if isinstance(name, str) and (folder / name).is_file())
    head = _head(folder)
    if head is not None:
        return _of_card(chosen, tuple(_configs(folder, head)))
    if chosen.is_chosen:
        raise UnreadableFileError(f"{chosen.path}: {folder} has no {_CARD} with `configs`, and is not a DatasetDict")
    return None


def _of_splits(chosen: _Chosen, splits: Sequence[str]) -> Iterator[str]:
    """The files of a `DatasetDict`."""
    if chosen.config:
        raise UnreadableFileError(f"{chosen.path}: a DatasetDict has no configs; write `{chosen.folder}#/SPLIT`")
    if chosen.split:
        _require(chosen, "split", chosen.split, splits)
    for split in splits:
        if chosen.split in ("", split) and (chosen.folder / split).is_dir():
            yield from _files_in(_Chosen(chosen.path, chosen.folder / split))


def _found_below(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not is_hidden and _is_data(path):
            yield str(path)


def _member(path: Path, key: str) -> Json:
    """A member of the object in a JSON file, or None."""
    try:
        value: Json = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return value.get(key) if isinstance(value, dict) else None


def _is_data(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _PACKED]
    return path.name not in _NO_DATA and bool(suffixes) and suffixes[-1] in (*_JSON_SUFFIXES, *_TABLE_SUFFIXES)


def _require(chosen: _Chosen, what: str, name: str, known: Iterable[str]) -> None:
    names = list(dict.fromkeys(known))
    if name not in names:
        listed = ", ".join(f"`{known_name}`" for known_name in names) or "none"
        raise UnreadableFileError(f"{chosen.path}: there is no {what} `{name}`; {what}s: {listed}")


# ---------------------------------------------------------------- cards


class _Config(Struct, frozen=True):
    """A config of a card: its patterns by split, in order. The split "" is for files without a named split."""

    name: str
    patterns: tuple[tuple[str, str], ...]


def _head(folder: Path) -> str | None:
    """The YAML head of a folder's card; None if there is none, or it has no `configs`."""
    try:
        with (folder / _CARD).open("rb") as file:
            text = decode(file.read(_CARD_BYTES)).removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError:
        return None
    end = text.find("\n---", 3)
    if not text.startswith("---\n") or end < 0:
        return None
    head = text[4 : end + 1]
    return head if _CONFIGS.search(head) else None


def _configs(folder: Path, head: str) -> Iterator[_Config]:
    try:
        import yaml  # noqa: PLC0415  # optional
    except ImportError as error:
        raise missing_library("pyyaml", f"Reading the `configs` of {folder / _CARD}") from error
    try:
        value = yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        location = f"{folder / _CARD}:{mark.line + 2}" if mark is not None else f"{folder / _CARD}"
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise UnreadableFileError(f"{location}: cannot parse the YAML header: {problem}") from error
    listed = value.get("configs") if isinstance(value, dict) else None
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not listed:
        raise _card_error(folder, "`configs` is not a list of configs")
    for number, config in enumerate(listed, 1):
        if not isinstance(config, dict):
            raise _card_error(folder, f"config {number} is not an object with `config_name` and `data_files`")
        yield _config(folder, config)


def _config(folder: Path, config: dict[str, Json]) -> _Config:
    name = str(config.get("config_name") or _DEFAULT)
    files, base = config.get("data_files"), config.get("data_dir") or ""
    if not isinstance(base, str):
        raise _card_error(folder, f"config `{name}`: `data_dir` is not a path")
    prefix = f"{base.rstrip('/')}/" if base else ""
    patterns: list[tuple[str, str]] = []
    for split, pattern in _split_patterns(folder, name, files) if files is not None else [("", "**")]:
        patterns.append((split, _inside(folder, name, prefix + pattern)))
        if len(patterns) > _MAX_PATTERNS:
            raise _card_error(folder, f"config `{name}` has more than {_MAX_PATTERNS:,} patterns")
    return _Config(name, tuple(patterns))


def _split_patterns(folder: Path, name: str, files: Json) -> Iterator[tuple[str, str]]:
    """The splits of `data_files`, each with a pattern."""
    if isinstance(files, dict) and "path" not in files:
        for split, listed in files.items():
            yield from ((str(split), text) for text in _texts(folder, name, listed))
        return
    for file in files if isinstance(files, list) else [files]:
        if isinstance(file, dict):
            named = str(file.get("split") or _TRAIN)
            yield from ((named, path) for path in _texts(folder, name, file.get("path")))
        else:
            yield from ((_TRAIN, path) for path in _texts(folder, name, file))


def _texts(folder: Path, name: str, value: Json) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or not text:
            raise _card_error(folder, f"config `{name}`: `data_files` contains an entry that is not a path pattern")
        yield text


def _inside(folder: Path, name: str, pattern: str) -> str:
    pattern = pattern.removeprefix("./")
    if is_url(pattern) or pattern.startswith(("/", "\\", "~")) or ".." in re.split(r"[/\\]", pattern):
        raise _card_error(folder, f"config `{name}`: `{pattern}` points outside the folder")
    return _ANYWHERE.sub("**", pattern)


def _of_card(chosen: _Chosen, configs: Sequence[_Config]) -> Iterator[str]:
    if chosen.config:
        _require(chosen, "config", chosen.config, (config.name for config in configs))
    selected = [config for config in configs if chosen.config in ("", config.name)]
    if chosen.split:
        _require(chosen, "split", chosen.split, (split for config in selected for split, _ in config.patterns if split))
    for config in selected:
        for split, pattern in config.patterns:
            if chosen.split in ("", split):
                yield from _matching(chosen.folder, config.name, pattern)


def _matching(folder: Path, name: str, pattern: str) -> Iterator[str]:
    has_matched = False
    for match in sorted(glob.iglob(pattern, root_dir=folder, recursive=True)):  # noqa: PTH207  # `**` takes files too
        path = folder / match
        if path.is_dir() and not glob.has_magic(pattern):
            files = list(_found_below(path))
        else:
            files = [str(path)] if path.is_file() and _is_data(path) else []
        has_matched = has_matched or bool(files)
        yield from files
    if not has_matched:
        raise _card_error(folder, f"config `{name}`: `{pattern}` matches no {_READ}")


def _card_error(folder: Path, why: str) -> UnreadableFileError:
    return UnreadableFileError(f"{folder / _CARD}: {why}")


class MissingLibraryError(WeaklinkError):
    """A library of the extra `data` is not installed; the message names it and the command that installs it."""


class DataRow(Struct, frozen=True):
    """One row as it was read.

    `record` is its position in the file: `line 12`, `entry 3`, `document 2`, or `row 7` in Parquet and Arrow, each
    counted from 1. `raw` is its exact bytes, empty for Parquet and Arrow.
    """

    file: str
    record: str
    number: int
    value: JsonObject
    raw: bytes = b""

    @property
    def reference(self) -> str:
        """`FILE:RECORD`, such as `train.jsonl:line 12`."""
        return f"{self.file}:{self.record}"

    def renamed(self, columns: Mapping[str, str]) -> "DataRow":
        """The row with members under other names: `columns` maps the row's names to those that weaklink reads."""
        return structs.replace(self, value=renamed_members(self.value, columns))

    def rejected(self, reason: str) -> "RejectedRow":
        """This row as one that could not be read."""
        line = self.number if self.record.startswith("line ") else None
        text = self.raw.decode("utf-8", "replace")
        return RejectedRow(self.file, self.record, reason, line, 1 if line else None, text)

    def random(self, seed: int, use: str = "") -> Random:
        """A random generator for this row; it does not depend on the folder or bucket of the file."""
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return Random(f"{seed}\0{use}\0{name}\0{self.record}")


def renamed_members(row: JsonObject, columns: Mapping[str, str]) -> JsonObject:
    """A row with members under other names; a renamed member replaces one that has the new name."""
    value = {columns[name]: member for name, member in row.items() if name in columns}
    kept = {name: member for name, member in row.items() if name not in columns and name not in value}
    return {**kept, **value} if value else row


class RejectedRow(Struct, frozen=True):
    """A row that could not be read: its position and the reason, one sentence without a period.

    `line` and `column` count from 1; they are None if the file has none, as in Parquet. `record` is `file` or `end of
    file` if the unreadable data is not a single row. `text` is the row's text, or "".
    """

    file: str
    record: str
    reason: str
    line: int | None = None
    column: int | None = None
    text: str = ""

    @property
    def reference(self) -> str:
        """`FILE:RECORD`, such as `train.jsonl:line 12`."""
        return f"{self.file}:{self.record}"

    @property
    def value(self) -> JsonObject:
        """The JSON object for this row in a file of rejected rows."""
        return {
            "file": self.file,
            "record": self.record,
            "line": self.line,
            "column": self.column,
            "error": self.reason,
            "text": self.text,
        }


def missing_library(name: str, use: str) -> MissingLibraryError:
    """The error for a missing library of the extra `data`; `use` names what needs it, such as "Counting tokens"."""
    return MissingLibraryError(f"{use} needs `{name}`, which is not installed: pip install 'weaklink[data]'")
