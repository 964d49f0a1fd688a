"""Interrupts where the caller ignores SIGINT, as a shell without job control does for `weaklink tail &`."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import START, environment

_IGNORING = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
_ROOT = Path(__file__).parents[3]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tail", "--db", "t.db"], b"waiting"),
        (["import", "--watch", "--db", "t.db", "."], b"watching"),
        (["record", "-f", "hermes", "--follow", "--to", "a.jsonl", "out.txt"], b"J104"),
    ],
)
def test_a_command_that_runs_until_ctrl_c_ends_by_an_interrupt(tmp_path: Path, words: list[str], said: bytes) -> None:
    (tmp_path / "out.txt").write_text('<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>', encoding="utf-8")
    with subprocess.Popen(
        [*_IGNORING, *START, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    ) as process:
        assert process.stderr is not None
        try:
            assert any(said in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


_DROPS = """
import signal, time
import weaklink.ui.cli.group as group
class Finalized:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def run():
    Finalized()
    try:
        time.sleep(3_000)
    except KeyboardInterrupt:
        return 130
group.run = run
from weaklink.command import main
main()
"""


def test_an_interrupt_that_comes_in_a_finalizer_is_not_lost(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DROPS], capture_output=True, check=False, cwd=tmp_path, env=environment(tmp_path)
    )
    assert (done.returncode, done.stderr) == (130, b"")


_WHILE_LOADING = """
import signal, sys
class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Loading())
from weaklink.command import main
main()
"""


def test_an_interrupt_while_the_command_is_loaded_ends_it_without_a_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WHILE_LOADING],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert (done.returncode, done.stderr) == (130, b"")


def test_what_tests_start_can_be_interrupted() -> None:
    program = "import signal, tests.conftest; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = subprocess.run([*_IGNORING, sys.executable, "-c", program], cwd=_ROOT, capture_output=True, check=True)
    assert done.stdout == b"False\n"
