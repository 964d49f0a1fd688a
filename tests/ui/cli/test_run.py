"""`weaklink run`: a command is recorded and not changed, and nothing of it is left behind, whatever ends first."""

import errno
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.conftest import ROOT, START, environment, run_text
from weaklink.inspector.capture.client_addresses import routes
from weaklink.inspector.capture.proxy.config import ProxyConfigError
from weaklink.storage.store import open_store

_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",}}\n</tool_call>'
_ASKS = """
import json, os, sys, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
for words in sys.argv[2:]:
    body = {"model": "hermes-4", "messages": [{"role": "user", "content": words}]}
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
print("said on stderr", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""
_CLIENTS = """
import anthropic, openai
openai.OpenAI(api_key="none").chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi, first"}])
messages = [{"role": "user", "content": "Hi, second"}]
anthropic.Anthropic(api_key="none").messages.create(model="m", max_tokens=9, messages=messages)
"""
_RUN, _REPLAY = ("run",), ("replay", str(ROOT / "examples/runs/weather.jsonl"), "--allow-unused")
_TIMEOUT_S = 60.0


def run(folder: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`weaklink run` with these words."""
    return run_text(folder, "run", "--db", "t.db", *words, **variables)


@contextmanager
def begun(folder: Path, *words: str, command: tuple[str, ...] = ("run",)) -> Iterator["subprocess.Popen[str]"]:
    """`weaklink run`, or another command, going on; killed at the end."""
    process = subprocess.Popen(
        [*START, *command, "--db", "t.db", *words],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=_TIMEOUT_S)


def test_the_command_goes_through_unchanged_and_a_line_a_session_says_how_it_went(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_answer(_CALL)) as upstream:
        done = run(
            tmp_path, "--upstream", upstream.url, "--", sys.executable, "-c", _ASKS, "3", "Is it warm?", "Is it wet?"
        )
    assert (done.returncode, done.stdout) == (3, f"{_CALL}\n" * 2)
    assert [request.target for request in upstream.requests] == ["/v1/chat/completions"] * 2
    first, *said = done.stderr.splitlines()
    assert first == "said on stderr"
    assert said[0] == "weaklink: recorded 2 requests."
    assert said[1] == "2 traces, 2 broken"
    for line in said[2:4]:
        assert re.fullmatch(r"✖ broken +\d  Is it (warm|wet)\? +#1 J104 trailing-comma get_weather", line)
    assert said[2].index("#1") == said[3].index("#1")
    assert re.fullmatch(r"weaklink show \d --db .*t\.db", said[4])
    assert len(said) == 5
    with open_store(tmp_path / "t.db") as store:
        ids = {summary.external_ids["run"] for summary in store.traces()}
        assert len(ids) == 1
        assert len(store.traces(f"session:{ids.pop()}")) == 2


def test_the_sessions_of_several_models_are_listed_with_the_model(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_answer("Hi.")) as upstream:
        words = ("--upstream", upstream.url, "--", sys.executable, "-c")
        done = run(tmp_path, *words, _ASKS.replace('"hermes-4"', "words"), "0", "one", "two")
        assert "  one    one" in done.stderr  # the title, then the model
        assert "  two    two" in done.stderr
        done = run(tmp_path, *words, _ASKS, "0", "one", "two")
    assert "hermes-4" not in done.stderr


@pytest.mark.slow
def test_clients_go_where_they_went_before(tmp_path: Path) -> None:
    def answer(request: Received) -> Answer:
        is_anthropic = request.target.startswith("/there")
        return scripted.messages_answer("Hi.") if is_anthropic else scripted.chat_answer("Hi.")

    with running_upstream(answer) as upstream:
        done = run(
            tmp_path,
            *("--check", "--", sys.executable, "-c", _CLIENTS),
            OPENAI_BASE_URL=f"{upstream.url}/here/v1",
            ANTHROPIC_BASE_URL=f"{upstream.url}/there",
        )
    assert done.returncode == 0, done.stderr
    assert [request.target for request in upstream.requests] == ["/here/v1/chat/completions", "/there/v1/messages"]
    assert done.stderr.splitlines()[0] == "weaklink: recorded 2 requests."


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["sh", "-c", "exit 7"],
            7,
            "proxy.\n  The command ended with exit code 7 before it made one, or its code or settings name an address",
        ),
        (
            ["sh", "-c", "kill -9 $$"],
            137,
            "no request to a model came through the proxy.\n  Signal 9 ended the command, perhaps before it made one.",
        ),
        (["sh", "-c", "exit 255"], 255, "The command ended with exit code 255 before it made one"),
        (["no-such-command"], 127, "cannot run `no-such-command`: No such file or directory"),
        (["./t.txt"], 126, "cannot run `./t.txt`: Permission denied"),
        (["sh", "-c", "trap '' PIPE; yes | head -1 >&2; exit 0"], 0, "y\n"),
    ],
)
def test_the_exit_code_is_the_commands_own(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    (tmp_path / "t.txt").write_text("not a program")
    done = run(tmp_path, "--", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_check_fails_for_a_command_that_ended_well_with_a_broken_session(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_answer(_CALL)) as upstream:
        words = ("--upstream", upstream.url, "--quiet", "--", sys.executable, "-c", _ASKS)
        assert run(tmp_path, "--check", *words, "0", "Hi").returncode == 1
        done = run(tmp_path, *words, "0", "Hi")
    assert (done.returncode, done.stderr) == (0, "said on stderr\n")


def test_what_weaklink_cannot_do_is_125(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_text("no database, and long enough to be none" * 10)
    done = run(tmp_path, "--", "touch", "ran")
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("weaklink: ")
    assert not (tmp_path / "ran").exists()


_TOO = [pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGUSR1)]


@pytest.mark.parametrize("number", [signal.SIGTERM, *_TOO])
def test_a_signal_to_weaklink_reaches_the_command_once(tmp_path: Path, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo {name} >> got' {name}; echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; exit 5"
    with begun(tmp_path, "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(_TIMEOUT_S) == 5
    assert (tmp_path / "got").read_text() == f"{name}\n"


def test_the_terminals_interrupt_is_the_commands(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        # An interrupt right before a sleep begins is noticed at its end only: the sleeps are short.
        waiting = "for _ in range(500):\n    time.sleep(0.1)"
        script = f"import sys, time\nprint(sys.stdin.isatty(), 'ready', flush=True)\n{waiting}"
        words = [*START, "run", "--db", "t.db", "--", sys.executable, "-c", script]
        os.execve(words[0], words, environment(tmp_path))
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1_000)
    assert b"True ready" in said
    os.write(terminal, b"\x03")
    with suppress(OSError):
        while piece := os.read(terminal, 1_000):
            said += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert said.count(b"KeyboardInterrupt") == 1


_WAITS = """
import json, os, sys, time, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
messages = [{"role": "user", "content": "Is it warm?"}]
body = {"model": "hermes-4", "messages": messages}
request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
urllib.request.urlopen(request).read()
print("the tool runs", flush=True)
for _ in range(500):
    time.sleep(0.1)
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("number", "status"), [("SIGINT", "aborted"), ("SIGTERM", "aborted"), ("SIGKILL", "broken")])
def test_a_session_that_a_signal_stops_while_a_tool_runs_is_aborted(tmp_path: Path, number: str, status: str) -> None:
    """What kills the agent, as the kernel does when memory is out, breaks its chain: nobody stopped it."""
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    with running_upstream(scripted.chat_answer(call)) as upstream:
        words = ("--upstream", upstream.url, "--check", "--", sys.executable, "-c", _WAITS)
        with begun(tmp_path, *words) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "the tool runs\n"
            agent = next(pid for pid, line in _below(process.pid).items() if "500" in line and "--upstream" not in line)
            os.kill(agent, signal.Signals[number])
            assert process.wait(_TIMEOUT_S) == 128 + signal.Signals[number]
    with open_store(tmp_path / "t.db") as store:
        (summary,) = store.traces()
        trace, inspection = store.inspected(summary.id)
    assert summary.status == status
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == (["T404"] if status == "broken" else [])
    assert (trace.outcome and trace.outcome.exit_status) == (
        f"interrupted by {number}" if status == "aborted" else None
    )


@pytest.mark.one_in(2)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
@pytest.mark.parametrize(
    ("command", "killed"),
    [
        (_RUN, "weaklink"),
        (_RUN, "supervisor"),
        (_RUN, "command"),
        (_RUN, "grandchild"),
        (_REPLAY, "weaklink"),
        *(pytest.param(_REPLAY, text, marks=pytest.mark.slow) for text in ("supervisor", "command", "grandchild")),
    ],
)
def test_nothing_is_left_whatever_is_killed(tmp_path: Path, killed: str, command: tuple[str, ...]) -> None:
    script = "(sleep 300 & sleep 301 &) ; setsid sleep 302 & echo $OPENAI_BASE_URL; sleep 303; exit 1"
    with begun(tmp_path, "--", "sh", "-c", script, command=command) as process:
        assert process.stdout is not None
        port = process.stdout.readline().split(":")[2].partition("/")[0]
        deadline = time.monotonic() + _TIMEOUT_S
        below = _below(process.pid)
        while sum(words.startswith("sleep 30") for words in below.values()) < 4 and time.monotonic() < deadline:
            below = _below(process.pid)
        pids = {
            "weaklink": process.pid,
            "supervisor": next(pid for pid, words in below.items() if command[0] in words.split()),
            "command": next(pid for pid, words in below.items() if words.startswith("sh -c")),
            "grandchild": next(pid for pid, words in below.items() if words.startswith("sleep 303")),
        }
        os.kill(pids[killed], signal.SIGKILL)
        assert process.wait(_TIMEOUT_S) == {"weaklink": -9, "grandchild": 1}.get(killed, 137)
        deadline = time.monotonic() + _TIMEOUT_S
        while (left := [pid for pid in below if _is_alive(pid)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == []
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", int(port))) == errno.ECONNREFUSED


def _below(of: int) -> dict[int, str]:
    """The processes below one, with their command lines."""
    commands: dict[int, str] = {}
    with suppress(OSError):  # one that has just ended
        for child in Path(f"/proc/{of}/task/{of}/children").read_text().split():
            commands[int(child)] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
            commands |= _below(int(child))
    return commands


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_upstream_that_is_no_address_is_refused() -> None:
    with pytest.raises(ProxyConfigError, match="user name or password"):
        routes({}, "http://a:b@h")


def test_record_with_a_command_is_run(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_answer("Hi.")) as upstream:
        done = subprocess.run(
            [
                *START,
                *("record", "--db", "t.db", "--upstream", upstream.url),
                *("--", sys.executable, "-c", _ASKS, "4", "Hello"),
            ],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    assert (done.returncode, done.stdout) == (4, "Hi.\n")
    assert json.loads(upstream.requests[0].body)["model"] == "hermes-4"
