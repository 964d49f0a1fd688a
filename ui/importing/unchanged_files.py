"""Leaves out of an import what the database already has: files that have not changed since they were imported.

A file is unchanged if its size and its time of change are those of the import. If only the time differs, its SHA-256
decides (a copied or touched file). A time of change within `_CLOCK_STEP_NS` of the moment at which the file was looked
at proves nothing, since a later write may get the same one: then the hash decides as well, as git does for its index.

A conversation of OpenHands has its events in a folder beside it: of its time and that of the file the later counts, and
the hash covers the names and sizes of its files.

What was read with other options, or by another version of weaklink, is read again; so is a file of which a trace was
deleted. Always read are streams, parts of files, files that are read together with others (gateways), and a database
with a write-ahead log beside it, which holds what the file does not have yet.

A file that begins with all that was imported from it has grown (`InputFile.is_grown`): its traces replace the stored
ones even if they are shorter, since a session may be rewound. It is read as a whole, and its chain is computed as a
whole, since a new line may change any step; what a watch knows of its turns it does not find out again
(`inspector.memoized`).

A file that was imported costs 0.03 ms to leave out (2026-11-29), where reading 54 MB takes seconds.
"""

import hashlib
import os
import platform
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.formats.format_table import FormatTable, registered_tables
from weaklink.inspector.importers.reading import reads_together
from weaklink.inspector.importers.source import folder_beside
from weaklink.inspector.version import __version__
from weaklink.storage.known_files import ImportedFile, known_files
from weaklink.ui.importing.input_files import InputFile
from weaklink.ui.reports.import_report import FileReport

if TYPE_CHECKING:
    from weaklink.storage.store import Store

_CLOCK_STEP_NS = 2_000_000_000  # the coarsest times of change, those of FAT
_BLOCK = 1 << 20
_AT_ONCE = 200  # files whose rows are written in one transaction


class ImportOptions(Struct, frozen=True):
    """The options that decide what reading a file gives; `format_table` is the format that the texts are in."""

    source: str | None = None
    patterns: tuple[str, ...] = ()
    no_redact: bool = False
    no_content: bool = False
    project: str | None = None
    format_table: FormatTable | None = None


class _SizeAndTime(Struct, frozen=True):
    size_bytes: int
    modified_ns: int
    is_whole: bool  # not only a part of the file is to be read


class UnchangedFiles:
    """The files that one import, or one round of a watch, need not read.

    Call `add` with each report, and `flush` at the end. Methods that use the database may raise StoreError.
    """

    def __init__(self, store: "Store", options: ImportOptions) -> None:
        self._store = store
        self._settings = _settings(options)
        self._states: dict[str, tuple[_SizeAndTime, int]] = {}
        self._new: list[tuple[ImportedFile, Sequence[int]]] = []

    def reports(self, files: Sequence[InputFile]) -> Iterator[tuple[InputFile, FileReport | None]]:
        """Each file with the report of its import if it is unchanged; None if it must be read."""
        states = _states(files)
        now_ns = time.time_ns()
        self._states |= {path: (state, now_ns) for path, state in states.items()}
        known = self._store.imported_files.of(map(_place, states), self._settings)
        for file in files:
            state, stored = states.get(file.path), known.get(_place(file.path))
            if state is None or stored is None:
                yield file, None
            elif state.is_whole and _is_same(file.path, state, stored):
                yield file, _report(file, stored)
            else:
                is_grown = state.size_bytes > stored.size_bytes and _begins_with(file.path, stored)
                yield structs.replace(file, is_grown=is_grown), None

    def add(self, file: InputFile, report: FileReport) -> None:
        """Remember a file that `reports` did not know and that is in the database now, unless it changed meanwhile."""
        state, seen_ns = self._states.pop(file.path, (None, 0))
        if state is None or not state.is_whole or report.refused is not None or reads_together(report.source):
            return
        try:
            sha256 = _sha256(file.path)
        except OSError:
            return
        if _state(file) != state:
            return
        try:
            encoded = msgspec.json.encode(structs.replace(report, path="", saved=()))
        except UnicodeEncodeError:  # the name of a tool with half a surrogate pair: the file is read each time
            return
        is_settled = seen_ns - state.modified_ns > _CLOCK_STEP_NS
        stored = ImportedFile(
            _place(file.path),
            self._settings,
            state.size_bytes,
            state.modified_ns if is_settled else None,
            sha256,
            encoded,
        )
        self._new.append((stored, [saved.id for saved in report.saved]))
        if len(self._new) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what `add` was given."""
        new, self._new = self._new, []
        self._store.imported_files.put(new)


def unchanged_reports(
    files: Sequence[InputFile], options: ImportOptions, where: str | Path | None
) -> list[FileReport] | None:
    """The reports of files none of which must be read, in order; None if one must, or the database itself needs more.

    `where` is the database, as for `open_store`, which then need not be opened (`storage.known_files`).
    """
    states = _states(files)
    if not files or len(states) < len({file.path for file in files}):
        return None
    known = known_files(where, map(_place, states), _settings(options))
    if known is None or len(known) < len(states):
        return None
    reports: list[FileReport] = []
    for file in files:
        state, stored = states[file.path], known[_place(file.path)]
        report = _report(file, stored) if state.is_whole and _is_same(file.path, state, stored) else None
        if report is None:
            return None
        reports.append(report)
    return reports


def _settings(options: ImportOptions) -> bytes:
    return _digest(msgspec.json.encode((__version__, options, registered_tables())))


def _place(path: str) -> bytes:
    """The hash of this machine and of a file's path, by which the database knows the file without storing its path."""
    machine = platform.node().encode("utf-8", "surrogateescape")
    return _digest(machine, b"\0", os.fsencode(os.path.abspath(path)))  # noqa: PTH100  # links stay links


def _states(files: Iterable[InputFile]) -> dict[str, "_SizeAndTime"]:
    return {file.path: state for file in files if (state := _state(file)) is not None}


def _state(file: InputFile) -> _SizeAndTime | None:
    """The state of a file that may be left out if it is read as a whole; None for any other."""
    if file.content is not None or file.with_it or file.numbering is not None:
        return None
    try:
        if os.path.exists(f"{file.path}-wal"):  # noqa: PTH110  # as fast as it gets, for thousands of files
            return None
        status = os.stat(file.path)  # noqa: PTH116  # the same
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
    size_bytes = status.st_size if file.size_bytes is None else file.size_bytes
    modified_ns = max(status.st_mtime_ns, _folder_modified_ns(file.path))
    state = _SizeAndTime(size_bytes, modified_ns, size_bytes == status.st_size)
    return state if stat.S_ISREG(status.st_mode) else None


def _folder_modified_ns(path: str) -> int:
    """When the folder that is read with a file changed; 0 without one."""
    folder = folder_beside(path)
    try:
        return 0 if folder is None else os.stat(folder).st_mtime_ns  # noqa: PTH116  # of thousands of files
    except OSError:
        return 0


def _is_same(path: str, state: _SizeAndTime, stored: ImportedFile) -> bool:
    if state.size_bytes != stored.size_bytes:
        return False
    if state.modified_ns == stored.modified_ns:
        return True
    try:
        return _sha256(path) == stored.sha256
    except OSError:
        return False


def _sha256(path: str) -> bytes:
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    if (folder := folder_beside(path)) and os.path.isdir(folder):  # noqa: PTH112  # of thousands of files
        for name, size_bytes in sorted((entry.name, entry.stat().st_size) for entry in os.scandir(folder)):
            digest.update(b"%b %d\0" % (os.fsencode(name), size_bytes))
    return digest.digest()


def _begins_with(path: str, stored: ImportedFile) -> bool:
    """Whether a file begins with what was imported from it."""
    digest, left = hashlib.sha256(), stored.size_bytes
    try:
        with Path(path).open("rb") as stream:
            while block := stream.read(min(left, _BLOCK)):
                digest.update(block)
                left -= len(block)
    except OSError:
        return False
    return digest.digest() == stored.sha256


def _report(file: InputFile, stored: ImportedFile) -> FileReport | None:
    """The report of an unchanged file; None if it cannot be read, as after damage."""
    try:
        report = msgspec.json.decode(stored.report, type=FileReport)
    except msgspec.MsgspecError:
        return None
    return structs.replace(report, path=file.name, unchanged=report.counts.traces, replaced=0)


def _digest(*pieces: bytes) -> bytes:
    return hashlib.sha256(b"".join(pieces)).digest()
