"""A real terminal for tests: tmux, whose keys are pressed and whose screen is read."""

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
_TIMEOUT_S = 60.0  # on a machine that has other things to do

needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed; `make test` installs it where apt may")


class Terminal:
    """One program in a terminal of its own."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def press(self, *keys: str) -> None:
        """Press keys, under tmux's names."""
        self._run("send-keys", "-t", "test", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self._run("send-keys", "-t", "test", "-l", text)

    def screen(self) -> str:
        """What the screen shows; empty once the program has ended."""
        return self._run("capture-pane", "-p", "-t", "test")

    def shows(self, *words: str) -> str:
        """The screen as soon as it shows all these words; it is waited for."""
        deadline_s = time.monotonic() + _TIMEOUT_S
        while True:
            screen = self.screen()
            missing = [word for word in words if word not in screen]
            if not missing:
                return screen
            assert time.monotonic() < deadline_s, f"the screen does not show {missing}:\n{screen}"
            time.sleep(0.05)

    def ends(self) -> None:
        """The program has ended; it is waited for."""
        deadline_s = time.monotonic() + _TIMEOUT_S
        while self._run("list-sessions"):
            assert time.monotonic() < deadline_s, f"it goes on:\n{self.screen()}"
            time.sleep(0.05)

    def _run(self, *words: str) -> str:
        assert TMUX is not None
        command = [TMUX, "-S", str(self._socket), "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout


@contextmanager
def terminal(
    folder: Path, command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (120, 40)
) -> Iterator[Terminal]:
    """A program in a terminal of this size, whose folder is `folder`."""
    assert TMUX is not None
    socket = folder / "tmux"
    start = [TMUX, "-S", str(socket), "-f", "/dev/null", "new-session", "-d", "-s", "test"]
    start += ["-x", str(size[0]), "-y", str(size[1]), *command]
    subprocess.run(start, check=True, cwd=folder, env={**environment, "TERM": "xterm-256color"}, timeout=30)
    try:
        yield Terminal(socket)
    finally:
        subprocess.run([TMUX, "-S", str(socket), "kill-server"], check=False, capture_output=True, timeout=30)
