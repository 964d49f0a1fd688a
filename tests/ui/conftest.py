"""What the tests of the faces share: the command as its users run it, and traces to show."""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.ui.started import LAST_LINE, Started

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-c", LAST_LINE]

_TIMEOUT_S = 300

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def environment(home: Path, **added: str) -> dict[str, str]:
    """The variables of a command that has its home in `home`, sees our sources, and knows no terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEAKLINK", "XDG", "PYTHON"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM"):
        kept.pop(name, None)
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"} | added


@cache
def started() -> Started:
    """What runs commands without their having to load everything anew; it ends with the tests."""
    resources = ExitStack()
    atexit.register(resources.close)
    home = resources.enter_context(TemporaryDirectory())
    return resources.enter_context(Started(START[:-1], environment(Path(home))))


def run_text(folder: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs the command in `folder`, which is its home as well; gives what it wrote as text, and its exit code."""
    environ = environment(folder, **variables)
    done = started().run(words, stdin=b"", folder=folder, variables=environ, timeout_s=_TIMEOUT_S)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def weaklink(tmp_path: Path) -> Run:
    """Runs the command in a home of its own; gives what it wrote, as bytes, and its exit code."""

    def run(*words: str, stdin: bytes = b"", **variables: str) -> "subprocess.CompletedProcess[bytes]":
        environ = environment(tmp_path, **variables)
        if not any(name.startswith(("PYTHON", "LC_")) for name in variables):
            return started().run(words, stdin=stdin, folder=tmp_path, variables=environ, timeout_s=_TIMEOUT_S)
        return subprocess.run(
            [*START, *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environ,
            check=False,
            timeout=_TIMEOUT_S,
        )

    return run
