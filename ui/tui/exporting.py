"""Exports traces and texts: to a file, in the format of its suffix, or to the user's editor."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, SuspendNotSupported

from weaklink.inspector.atomic_write import whole_file
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.reports.trace_files import TRACE_WRITERS, form_of, write_traces

FORMS = ".jsonl a trace file, .json what `show --json` prints, .md a report, .html one page"
"""The meaning of the suffixes, for messages."""
_DEFAULT = "vi"
_WITH_LINE = frozenset({"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "less", "kak", "micro", "ne", "joe"})


def export_traces(store: Store, ids: Sequence[int], path: str) -> Path:
    """Write traces to the file at `path`, completely or not at all; return it.

    Raises StoreError and UnwritableFileError.
    """
    target = Path(path).expanduser().absolute()
    with whole_file(target) as out:
        write_traces(out, store, ids, TRACE_WRITERS[form_of(path) or "trace"])
    return target


def proposed_name(summary: TraceSummary) -> str:
    """A name for the file of a trace, valid on every file system."""
    return f"trace-{summary.id}.html"


def export_problem(path: str) -> str | None:
    """A sentence on what is wrong with a path to export to; None if it is valid."""
    if path.strip() and form_of(path) is None:
        return f"The suffix selects the format: {FORMS}."
    return write_problem(path)


def write_problem(path: str) -> str | None:
    """A sentence on what is wrong with a path to write to; None if it is valid."""
    if not path.strip():
        return "Enter a file name."
    target = Path(path).expanduser()
    if target.is_dir():
        return "This is a folder; name a file in it."
    return None if target.absolute().parent.is_dir() else f"There is no folder `{target.parent}`."


def edit_copy(app: App[None], text: str, name: str, line: int) -> str:
    """Open a copy of a text in the editor, at a line from 1, and wait until it ends. Returns what went wrong, or `""`.

    Only this user can read the copy, and it is deleted afterwards; changes to it are lost.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _DEFAULT)
    if not command or shutil.which(command[0]) is None:
        return "There is no editor: set the environment variable EDITOR."
    line_option = [f"+{line}"] if Path(command[0]).name in _WITH_LINE else []
    with TemporaryDirectory(prefix="weaklink-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            with app.suspend():
                ended = subprocess.run([*command, *line_option, str(path)], check=False)
        except SuspendNotSupported:
            return "This terminal cannot run an editor."
        except OSError as error:
            return f"The editor `{command[0]}` could not be started: {error.strerror}."
    return f"The editor `{command[0]}` exited with code {ended.returncode}." if ended.returncode else ""
