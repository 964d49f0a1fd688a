"""The application in a real terminal: it shows the chains, takes keys, and leaves the terminal as it was."""

import os
import pty
import re
import struct
import subprocess
import time
from fcntl import ioctl
from pathlib import Path
from select import select
from termios import TIOCSWINSZ

import pytest

from tests.ui.conftest import START, Run, environment
from tests.ui.tui.apps import filled

_COLOUR = re.compile(rb"\x1b\[[\d;]*(?:3[0-8]|4[0-8]|9[0-7])[;m]")

_SGR = re.compile(rb"\x1b\[[\d;]*m")


class Terminal:
    """A command on a terminal of 80 by 24 cells."""

    def __init__(self, home: Path, *words: str, **variables: str) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.command = subprocess.Popen(
            [*START, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=home, env=environment(home, **variables)
        )
        os.close(theirs)
        self.written = b""

    def wait_for(self, words: str) -> None:
        """Read until the command has written these words; it is given a minute."""
        end = time.monotonic() + 60
        while words.encode() not in self.text and time.monotonic() < end:
            if select([self._ours], [], [], 0.2)[0]:
                self.written += os.read(self._ours, 65_536)
        assert words.encode() in self.text

    @property
    def text(self) -> bytes:
        """What was written, without colours."""
        return _SGR.sub(b"", self.written)

    def press(self, keys: bytes) -> None:
        """Press keys; what was written before is forgotten."""
        self.written = b""
        os.write(self._ours, keys)

    def end(self) -> int:
        """The exit code, once the command has ended by itself."""
        end = time.monotonic() + 60
        while self.command.poll() is None and time.monotonic() < end:
            try:
                if select([self._ours], [], [], 0.2)[0]:
                    self.written += os.read(self._ours, 65_536)
            except OSError:  # Linux: the other end is closed
                break
        code = self.command.wait(60)
        os.close(self._ours)
        return code


@pytest.mark.one_in(2)
@pytest.mark.parametrize("variables", [{"TERM": "xterm-256color"}, {"TERM": "xterm"}], ids=["256", "16"])
def test_a_chain_is_opened_on_its_break_and_the_terminal_is_left_as_it_was(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    terminal = Terminal(tmp_path, "tui", "--db", filled(tmp_path / "runs.db"), **variables)
    terminal.wait_for("session 5")
    assert _COLOUR.search(terminal.written)
    terminal.press(b"b")
    terminal.wait_for("of 6 traces")
    terminal.press(b"e")
    terminal.wait_for("trailing-comma")
    terminal.press(b"\x1b")
    terminal.wait_for("Newest")
    terminal.press(b"\x11")
    assert terminal.end() == 0
    assert b"\x1b[?1049l" in terminal.written


@pytest.mark.slow
def test_without_colours_none_is_written(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "tui", "--db", filled(tmp_path / "runs.db"), TERM="xterm-256color", NO_COLOR="1")
    terminal.wait_for("session 5")
    terminal.press(b"q")
    assert terminal.end() == 0
    assert not _COLOUR.search(terminal.written)


def test_without_a_terminal_it_says_what_to_do_instead(weaklink: Run, tmp_path: Path) -> None:
    ran = weaklink("tui", "--db", str(tmp_path / "runs.db"))
    assert ran.returncode == 2
    assert b"`weaklink list`" in ran.stderr
