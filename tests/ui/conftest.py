"""What the tests of the faces share: the command as its users run it, and traces to show."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-c", "from ui.cli.main import main; main()"]

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def environment(home: Path, **added: str) -> dict[str, str]:
    """The variables of a command that has its home in `home`, sees our sources, and knows no terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEAKLINK", "XDG", "PYTHON"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM"):
        kept.pop(name, None)
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | added


@pytest.fixture
def weaklink(tmp_path: Path) -> Run:
    """Runs the command in a home of its own; gives what it wrote, as bytes, and its exit code."""

    def run(*words: str, stdin: bytes = b"", **variables: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*START, *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment(tmp_path, **variables),
            check=False,
            timeout=300,
        )

    return run
