"""Brings the files at a path into a store: file by file, each whole or not at all, until somebody says stop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from inspector.errors import StoreError
from inspector.redaction.redactor import Redactor
from storage import open_store
from ui.importing.file_places import files_below, files_to_read
from ui.importing.files import read_file, save_file
from ui.reports.import_report import FileReport

_PATIENCE_S = 5.0


@dataclass(slots=True)
class Progress:
    """How far an import is; written by the thread that reads, read by anybody. `left` says that it shall stop."""

    files: int = 0
    done: int = 0
    traces: int = 0
    path: str = ""
    is_indexing: bool = False
    reports: list[FileReport] = field(default_factory=list)
    left: Event = field(default_factory=Event)


def read_in(where: str | None, path: str, progress: Progress, wake: Callable[[], object] = lambda: None) -> None:
    """Import the files at a path into the database `where`, which is made where there is none.

    Keys, tokens and passwords are replaced first. `wake` is called after each file. StoreError where the store refuses;
    the files before it are in the database then.
    """
    files = files_to_read(files_below([path]))
    progress.files = len(files)
    redacts = Redactor()
    with open_store(where, busy_timeout_s=_PATIENCE_S) as store:
        for file in files:
            if progress.left.is_set():
                return
            progress.path = file.name

            def came() -> None:
                progress.traces += 1

            progress.reports.extend(save_file(store, read_file(file, None, redacts), on_trace=came))
            progress.done += 1
            wake()
        progress.is_indexing = True
        _index(store.catch_up, progress)


def _index(index: Callable[..., int], progress: Progress) -> None:
    """Read the new texts into the index, as far as nobody says stop; the next search reads the rest."""
    try:
        while not progress.left.is_set() and index(limit=200):
            pass
    except StoreError:
        return  # a search reads them, and says then what is wrong
