"""Named pipes, sockets and devices: no command waits for one forever, and a pipe that is written to is read."""

import os
import socket
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from threading import Thread

import pytest

from tests.ui.conftest import START, Run, environment

ROW = '{"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}\n'
TEXT = '{"id": "a", "text": "<tool_call>\\n{\\"name\\": \\"f\\", \\"arguments\\": {}}\\n</tool_call>"}\n'
COMMANDS = {
    "import": ("import", "--db", "w.db"),
    "dry-run": ("import", "--dry-run"),
    "check": ("check",),
    "stats": ("stats",),
    "annotate": ("data", "annotate"),
    "diff": ("diff", "log.jsonl"),
}
STREAMS = {
    "convert": ("data", "convert", "--to", "mistral"),
    "segment": ("segment",),
    "segment-lines": ("segment", "--jsonl"),
    "detect": ("formats", "--detect"),
}
ALL = {**COMMANDS, **STREAMS, "fix": ("data", "fix")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a log, a pipe and a socket, each under a name that importers look at."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.jsonl").write_text(ROW)
    os.mkfifo(folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.jsonl"))
    (tmp_path / "log.jsonl").write_text(ROW)
    return folder


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["import", "dry-run", "check", "stats", "annotate", "fix"])
def test_a_folder_with_a_pipe_is_walked_past_it(weaklink: Run, name: str) -> None:
    done = weaklink(*ALL[name], "logs")
    assert done.returncode == 0, done.stderr
    said = (done.stdout + done.stderr).decode()
    assert "named pipe" in " ".join(said.split())
    assert "socket" in said


# Each waits some seconds for somebody to write into the pipe.
PIPES = [pytest.param("pipe", name, marks=() if name in {"import", "segment"} else pytest.mark.slow) for name in ALL]


@pytest.mark.one_in(4)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("kind", "name"), [*PIPES, *product(["socket", "device"], ALL)])
def test_a_named_one_is_refused_in_words(weaklink: Run, kind: str, name: str) -> None:
    path = "/dev/zero" if kind == "device" else f"logs/{kind}.jsonl"
    done = weaklink(*ALL[name], path)
    assert done.returncode == 2, done.stderr
    said = " ".join((done.stdout + done.stderr).decode().split())
    words = {"pipe": "pipe", "socket": "socket" if name in {*COMMANDS, "fix"} else "logs/socket", "device": "device"}
    assert words[kind] in said
    assert "Traceback" not in said


@pytest.fixture
def written(folder: Path) -> Iterator[str]:
    """A pipe that something writes to, if a little late."""
    path = folder.parent / "written"
    os.mkfifo(path)
    command = ["sh", "-c", f"sleep 0.5; cat > {path.name}"]
    with subprocess.Popen(command, cwd=folder.parent, stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write((ROW if path.exists() else "").encode())
        writer.stdin.close()
        yield path.name
        writer.kill()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [*COMMANDS, "convert", "detect"])
def test_a_pipe_that_is_written_to_is_read(weaklink: Run, written: str, name: str) -> None:
    done = weaklink(*ALL[name], written)
    assert done.returncode == 0, done.stderr
    assert b"pipe" not in done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", STREAMS)
def test_the_shells_own_pipes_are_read(tmp_path: Path, name: str) -> None:
    reads, writes = os.pipe()

    def write() -> None:
        os.write(writes, TEXT.encode())
        os.close(writes)

    thread = Thread(target=write)
    thread.start()
    done = subprocess.run(
        [*START, *STREAMS[name], f"/dev/fd/{reads}"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        timeout=60,
        check=False,
        pass_fds=(reads,),
    )
    thread.join()
    os.close(reads)
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr


def test_watching_a_folder_with_a_pipe_imports_the_rest(tmp_path: Path, folder: Path) -> None:
    command = [*START, "import", "--watch", "--json", "--db", "w.db", "logs"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        watching.terminate()
        watching.stdout.read()
    assert b"log.jsonl" in first
