"""Hands a text to the user's editor, `$VISUAL` or `$EDITOR`, while the screen waits."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, SuspendNotSupported

_DEFAULT = "vi"
_WITH_LINE = frozenset({"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "less", "kak", "micro", "ne", "joe"})


def edit_copy(app: App[None], text: str, name: str, line: int) -> str:
    """Open a copy of a text in the editor, at a line from 1, and wait until it ends; what went wrong, else empty.

    The copy is readable by this user alone and is deleted afterwards; changes to it are lost.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _DEFAULT)
    if not command or shutil.which(command[0]) is None:
        return "There is no editor: set the environment variable EDITOR."
    place = [f"+{line}"] if Path(command[0]).name in _WITH_LINE else []
    with TemporaryDirectory(prefix="weaklink-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            with app.suspend():
                ended = subprocess.run([*command, *place, str(path)], check=False)
        except SuspendNotSupported:
            return "This terminal cannot be handed to an editor."
        except OSError as error:
            return f"The editor `{command[0]}` could not be started: {error.strerror}."
    return f"The editor `{command[0]}` ended with {ended.returncode}." if ended.returncode else ""
