"""`weaklink record`: an agent's story through the proxy, secrets that never reach the disk, and a recorder killed."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import DEADLINE_S, Drop, Pause, running_upstream
from tests.redaction.secrets_made_up import INTRODUCED, KEYS
from tests.ui.cli.recordings import RecordProcess, recording_process
from tests.ui.conftest import ROOT, Run, environment
from weaklink.inspector.model import BodyState, ErrorPhase, Json, Trace
from weaklink.inspector.redaction.redactor import texts_of
from weaklink.storage.store import open_store
from weaklink.ui.cli.record import banner

_FINDS_PROCESSES = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
_AGENT = ROOT / "examples" / "agent_loop.py"


def test_the_first_lines_name_this_database_and_the_path_of_each_client(tmp_path: Path) -> None:
    """Two servers behind one proxy, into a database of its own: what is printed is what reaches them."""
    routes = ("--upstream", "http://127.0.0.1:9", "--upstream", "/anthropic=http://127.0.0.1:10")
    with recording_process(tmp_path, *routes, "--db", "an other.db") as recording:
        url = recording.url
        assert recording.stop() == 0
    said = "".join(recording.said)
    assert f"OPENAI_BASE_URL={url}/v1 " in said
    assert f"ANTHROPIC_BASE_URL={url}/anthropic " in said
    assert f"weaklink tail --db '{tmp_path / 'an other.db'}'  (" in said


@pytest.mark.parametrize(
    ("upstreams", "client", "path"),
    [
        ([("", "http://a")], "anthropic", ""),
        ([("/a", "http://a"), ("/b", "https://api.anthropic.com")], "anthropic", "/b"),
        ([("/a", "https://api.anthropic.com"), ("/Anthropic", "http://b")], "anthropic", "/Anthropic"),
        ([("/anthropic", "http://a"), ("", "http://b")], "ollama", "/anthropic"),
    ],
)
def test_a_client_goes_to_its_own_upstream(upstreams: list[tuple[str, str]], client: str, path: str) -> None:
    lines = banner("http://p", upstreams, "t.db", "weaklink tail", width=100)
    said = ["".join(run.text for run in line) for line in lines]
    variable = {"anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}[client]
    assert any(f"{variable}=http://p{path} python" in line for line in said)


def test_the_example_agents_story_is_told(tmp_path: Path, weaklink: Run) -> None:
    answers = (
        scripted.chat_stream("Let me look", " at the", " weather in", Drop()),
        scripted.chat_tool_stream("get_weather", '{"city": "Trom', 'sø", "days": 2', ",}"),
        scripted.chat_tool_stream("get_weather", '{"city": "Tromsø"}', call_id="call_2"),
        scripted.chat_stream("It is 3 degrees", " and raining in Tromsø."),
    )
    with (
        running_upstream(*answers) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url) as recording,
    ):
        agent = subprocess.run(
            [sys.executable, str(_AGENT)],
            env=environment(tmp_path, OPENAI_BASE_URL=f"{recording.url}/v1", OPENAI_API_KEY="none"),
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert agent.stdout == "It is 3 degrees and raining in Tromsø.\n"
        assert recording.stop() == 0
    requests = "".join(recording.lines)
    assert requests.count("POST /v1/chat/completions hermes-4-70b 200") == 4
    assert "the upstream closed the connection  ▲ C504 aborted-stream" in requests
    assert "✖ J104 trailing-comma" in requests
    assert "recorded 4 requests" in recording.said[-1]

    listed = json.loads(weaklink("list", "--json").stdout)
    assert (listed["name"], listed["source"]) == ("How warm is it in Tromsø?", "record")
    assert (listed["status"], listed["tool_calls"], listed["errors"]) == ("recovered", 2, 1)
    shown = weaklink("show", str(listed["id"]), COLUMNS="100").stdout.decode()
    assert "Let me look at the weather in" in shown
    assert "attempt 2" in shown
    assert "malformed, recovered by 2" in shown
    trace = _only_trace(tmp_path)
    broken = trace.turns[2].generation
    assert broken is not None
    assert broken.error is not None
    assert broken.error.phase is ErrorPhase.TRANSPORT
    for turn in trace.turns:
        if turn.generation is not None:
            offsets = [chunk.offset_s for part in turn.parts for chunk in part.arrivals()]
            assert offsets
            assert all(offset is not None and offset >= 0 for offset in offsets)
            assert offsets == sorted(offsets, key=lambda offset: offset or 0.0)


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    secrets = {name: secret for name, (_, secret) in KEYS.items()} | {
        name: secret for name, (_, secret, _) in INTRODUCED.items()
    }
    texts = [f"{before}{secret}{after}" for before, secret, after in INTRODUCED.values()]
    texts += ["".join(key) for key in KEYS.values()]
    assert len(texts) >= 30
    echo = "I saw: " + " , ".join(texts)
    pieces = [echo[index : index + 5] for index in range(0, len(echo), 5)]
    answers = (
        scripted.chat_stream(*pieces),
        scripted.chat_tool_stream("save", *_sliced(json.dumps({"note": texts}), 7)),
        scripted.error(401, "Unauthorized", f"Incorrect API key provided: {''.join(KEYS['sk-proj-'])}"),
    )
    query = "key=" + INTRODUCED["query"][1]
    with (
        running_upstream(*answers) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url) as recording,
    ):
        for secret in ("".join(KEYS["sk-ant-"]), "".join(KEYS["sk-"]), "".join(KEYS["sk-proj-"])):
            _ask(f"{recording.url}/v1/chat/completions?{query}", texts, {"Authorization": f"Bearer {secret}"})
        _wait_until(lambda: any(_traces(tmp_path)))
        assert any(path.name.endswith("-wal") for path in tmp_path.rglob("*"))
        assert not _kept(secrets, tmp_path)
        assert recording.stop() == 0
        assert [request.target.count("?key=hunter2hunter2") for request in upstream.requests] == [1, 1, 1]
        assert all(KEYS["sk-"][0].encode() in request.head for request in upstream.requests)
    assert not _kept(secrets, tmp_path)
    said = "".join([*recording.said, *recording.lines])
    assert not [name for name, secret in secrets.items() if secret in said]


def test_secrets_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    secret = "".join(KEYS["sk-proj-"])
    with (
        running_upstream(scripted.chat_stream(secret)) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url, "--no-redact") as recording,
    ):
        _ask(f"{recording.url}/v1/chat/completions", ["Say it."])
        assert recording.stop() == 0
    assert _kept({"key": secret}, tmp_path) == ["key"]


def test_own_patterns_and_no_content(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_stream("Customer 4711", " lives in Oslo.")) as upstream:
        with recording_process(tmp_path, "--upstream", upstream.url, "--redact", r"Customer (\d+)") as recording:
            _ask(f"{recording.url}/v1/chat/completions", ["Who is 4711?"])
            assert recording.stop() == 0
        assert _texts(_only_trace(tmp_path))[-1] == "Customer **** lives in Oslo."
        bare = tmp_path / "bare"
        bare.mkdir()
        with recording_process(bare, "--upstream", upstream.url, "--no-content") as recording:
            _ask(f"{recording.url}/v1/chat/completions", ["Who is 4711?"])
            assert recording.stop() == 0
    masked = _only_trace(bare)
    assert _texts(masked) == ["xxx xx 1111?", "xxxxxxxx 1111 xxxxx xx xxxx."]
    assert not _kept({"name": "Customer"}, bare)


def test_a_killed_recorder_keeps_what_came_before(tmp_path: Path, weaklink: Run) -> None:
    words = [f"word-{number} " for number in range(40)]
    with running_upstream(scripted.chat_stream(*words, Pause("end"), "never kept")) as upstream:
        with recording_process(tmp_path, "--upstream", upstream.url) as recording:
            answer = _open(f"{recording.url}/v1/chat/completions", ["Go on."], {})
            got = b""
            while words[-1].strip().encode() not in got:
                got += answer.read1()
            _wait_until(lambda: _open_texts(tmp_path) == ["".join(words)])
            os.killpg(recording.process.pid, signal.SIGKILL)
            recording.process.wait(60)
            answer.close()
        upstream.release("end")
    listed = json.loads(weaklink("list", "--json").stdout)
    assert (listed["status"], listed["turns"]) == ("aborted", 2)
    trace = _only_trace(tmp_path)
    assert _texts(trace)[-1] == "".join(words)
    assert trace.turns[-1].generation is not None
    assert trace.turns[-1].generation.body is BodyState.TRUNCATED


@_FINDS_PROCESSES
def test_clients_do_not_wait_for_a_recorder_that_stands_still(tmp_path: Path) -> None:
    words = [f"word-{number} " for number in range(40)]
    with (
        running_upstream(scripted.chat_stream(*words)) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url) as recording,
    ):
        recorder = _recorder_of(recording)
        os.kill(recorder, signal.SIGSTOP)
        for text in ("One.", "Two."):
            with _open(f"{recording.url}/v1/chat/completions", [text], {}) as answer:
                assert answer.read().count(b"word-") == 40
        os.kill(recorder, signal.SIGCONT)
        os.killpg(recording.process.pid, signal.SIGINT)  # as the terminal does: to both processes
        assert recording.process.wait(DEADLINE_S) == 0
    assert "recorded 2 requests." in recording.said[-1]
    assert sorted(_texts(trace) for trace in _traces(tmp_path)) == [["One.", "".join(words)], ["Two.", "".join(words)]]


@_FINDS_PROCESSES
def test_a_dead_recorder_is_replaced_and_its_requests_are_counted(tmp_path: Path) -> None:
    answers = (scripted.chat_stream("Before", Pause("end"), " after"), scripted.chat_stream("Recorded."))
    with (
        running_upstream(*answers) as upstream,
        recording_process(tmp_path, "--upstream", upstream.url) as recording,
    ):
        with _open(f"{recording.url}/v1/chat/completions", ["Go on."], {}) as answer:
            got = b""
            while b"Before" not in got:
                got += answer.read1()
            _wait_until(lambda: _open_texts(tmp_path) == ["Before"])
            os.kill(_recorder_of(recording), signal.SIGKILL)
            _wait_until(lambda: "only in part" in "".join(recording.said))
            upstream.release("end")
            assert b" after" in got + answer.read()
        _ask(f"{recording.url}/v1/chat/completions", ["Next."])
        assert recording.stop() == 0
    said = "".join(recording.said)
    assert "1 request is not recorded, or only in part. A new one records from now on." in said
    assert "recorded 1 request." in said
    assert "1 request is not recorded, or only in part." in recording.said[-1]
    assert sorted(_texts(trace) for trace in _traces(tmp_path)) == [["Go on.", "Before"], ["Next.", "Recorded."]]


@_FINDS_PROCESSES
def test_a_killed_proxy_leaves_a_recorder_that_stores_what_it_saw(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_stream("Before", Pause("end"))) as upstream:
        with recording_process(tmp_path, "--upstream", upstream.url) as recording:
            recorder = _recorder_of(recording)
            with _open(f"{recording.url}/v1/chat/completions", ["Go on."], {}) as answer:
                while b"Before" not in answer.read1():
                    pass
                _wait_until(lambda: _open_texts(tmp_path) == ["Before"])
                recording.process.kill()
                _wait_until(lambda: not Path(f"/proc/{recorder}/fd/0").exists())
        upstream.release("end")
    trace = _only_trace(tmp_path)
    assert _texts(trace) == ["Go on.", "Before"]
    with open_store(_database(tmp_path)) as store:
        assert not store.open_turns(next(iter(store.traces())).id)


def _recorder_of(recording: RecordProcess) -> int:
    """The id of the recorder's process, the only child of the command."""
    pid = recording.process.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def test_a_port_in_use_and_a_bad_upstream_are_told_in_words(tmp_path: Path, weaklink: Run) -> None:
    with running_upstream(scripted.chat_stream("x")) as upstream:
        port = upstream.url.rpartition(":")[2]
        used = weaklink("record", "--upstream", "http://127.0.0.1:9", "--port", port)
        assert used.returncode == 2
        assert b"the proxy cannot listen there: Address already in use; `--port` names another port" in used.stderr
    bad = weaklink("record", "--upstream", "openrouter.ai")
    assert bad.returncode == 2
    assert b"write `http://` or `https://` before it" in bad.stderr
    open_to_all = weaklink("record", "--upstream", "http://127.0.0.1:9", "--host", "0.0.0.0")
    assert open_to_all.returncode == 2
    assert b"requires a token" in open_to_all.stderr


def _sliced(text: str, size: int) -> list[str]:
    return [text[index : index + size] for index in range(0, len(text), size)]


def _open(url: str, texts: list[str], headers: dict[str, str]) -> HTTPResponse:
    body: Json = {
        "model": "Hermes-4-70B",
        "stream": True,
        "messages": [{"role": "user", "content": "\n".join(texts)}],
    }
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}, method="POST"
    )
    answer = urllib.request.urlopen(request, timeout=60)
    assert isinstance(answer, HTTPResponse)
    return answer


def _ask(url: str, texts: list[str], headers: dict[str, str] | None = None) -> None:
    try:
        with _open(url, texts, headers or {}) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()


def _database(home: Path) -> Path:
    return next(home.rglob("weaklink.db"))


def _traces(home: Path) -> list[Trace]:
    with open_store(_database(home)) as store:
        return [store.trace(summary.id) for summary in store.traces()]


def _only_trace(home: Path) -> Trace:
    (trace,) = _traces(home)
    return trace


def _texts(trace: Trace) -> list[str]:
    return [part.text for turn in trace.turns for part in turn.parts if part.name == "text"]


def _kept(secrets: Mapping[str, str], home: Path) -> list[str]:
    """The secrets that stand in any file, packed as they may be there, or in any trace of the database."""
    files = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    told = "\n".join(text for trace in _traces(home) for text in texts_of(trace))
    return [name for name, secret in secrets.items() if secret.encode() in files or secret in told]


def _open_texts(home: Path) -> list[str]:
    with open_store(_database(home)) as store:
        return [
            part.text
            for summary in store.traces()
            for turn in store.open_turns(summary.id).values()
            for part in turn.parts
            if part.name == "text"
        ]


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.parametrize("words", [("--to-token=x",), ("--queue", "q"), ("--queue-size", "1GB")])
def test_an_option_that_was_removed_names_what_to_use_instead(weaklink: Run, words: tuple[str, ...]) -> None:
    done = weaklink("record", "--upstream", "http://127.0.0.1:9", *words)
    name = words[0].partition("=")[0]
    instead = "recorders write to the team's PostgreSQL directly: use --db postgresql://HOST/NAME"
    assert done.returncode == 2
    assert f"{name} was removed; {instead}." in " ".join(done.stderr.decode().split())


def test_options_of_one_way_to_record_are_refused_with_the_other(weaklink: Run) -> None:
    to = weaklink("record", "--upstream", "http://127.0.0.1:9", "--to", "https://debug.example")
    assert (to.returncode, to.stdout) == (2, b"")
    assert "into `--db`, a file or the team's PostgreSQL" in " ".join(to.stderr.decode().split())
    port = weaklink("record", "-", "--port", "0")
    assert "--port is for recording requests, which takes no FILE." in port.stderr.decode()
    nothing = " ".join(weaklink("record").stderr.decode().split())
    assert "weaklink run -- COMMAND" in nothing
    assert "its FILE, or `-`" in nothing
