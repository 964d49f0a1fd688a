"""Files of object stores: `hf://` from a small hub of our own, `s3://` and `gs://` from servers of the package index.

The hub is a fixture that answers as huggingface_hub's own client (`hf_api.py`, `hf_file_system.py`) asks. The servers
are those that `make test-stores` installs: moto, and gcp-storage-emulator.
"""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import ClassVar
from urllib.error import URLError
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.ui.conftest import ROOT, environment, run_text
from tests.ui.web.dashboards import free_port

ROWS = 40
_STORES = ROOT / "build" / "stores" / "bin"
_PATIENCE_S = 60.0
_REPO = "owner/logs"


def conversation(number: int) -> dict[str, object]:
    """Every third has bad arguments."""
    arguments = '{"city": "Oslo"' + ("}" if number % 3 else "")
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    about = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    function = {"name": "weather", "description": "The weather in a city", "parameters": about}
    return {
        "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "user", "content": f"{number}: how is it in Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "4 degrees"},
            {"role": "assistant", "content": "It is 4 degrees. \N{SNOWMAN}"},
        ],
        "model": f"m{number % 3}",
    }


def files() -> dict[str, bytes]:
    """The same rows as JSON lines, packed by gzip and by zstd, and as Parquet."""
    lines = "".join(json.dumps(conversation(number)) + "\n" for number in range(ROWS)).encode()
    columns = ("messages", "tools")
    rows = {name: [json.dumps(conversation(number)[name]) for number in range(ROWS)] for name in columns}
    metadata = {b"weaklink.json_columns": json.dumps(columns).encode()}
    schema = pa.schema([(name, pa.string()) for name in columns], metadata=metadata)
    table = pa.BufferOutputStream()
    parquet.write_table(pa.table(rows, schema=schema), table, row_group_size=9)
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(lines)
    return {
        "log.jsonl": lines,
        "log.jsonl.gz": gzip.compress(lines),
        "log.jsonl.zst": packed.getvalue().to_pybytes(),
        "log.parquet": table.getvalue().to_pybytes(),
    }


NAMES = sorted(files())


# ---------------------------------------------------------------- the hub


class _Hub(BaseHTTPRequestHandler):
    """Answers what HfFileSystem asks of a dataset: its revision, its tree, facts on paths, and ranges of bytes."""

    content = files()
    ranges: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith(f"/api/datasets/{_REPO}/tree/"):
            self._json([self._fact(name) for name in NAMES])
        elif path.startswith(f"/api/datasets/{_REPO}"):
            self._json({"id": _REPO, "sha": "0" * 40, "private": False, "tags": [], "downloads": 0, "likes": 0})
        elif path.startswith(f"/datasets/{_REPO}/resolve/main/") and (name := path.rpartition("/")[2]) in self.content:
            self._bytes(self.content[name])
        else:
            self._json({"error": "no such thing"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        is_json = "json" in self.headers.get("content-type", "")
        paths = json.loads(body)["paths"] if is_json else parse_qs(body).get("paths", [])
        self._json([self._fact(name) for name in paths if name in self.content])

    def _fact(self, name: str) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(self.content[name]), "oid": "1" * 40}

    def _bytes(self, raw: bytes) -> None:
        asked = self.headers.get("range", "")
        self.ranges.append(asked)
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = raw[int(first) : int(last) + 1] if asked else raw
        self.send_response(206 if asked else 200)
        self.send_header("content-length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def _json(self, value: object, status: int = 200) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        if status == 404:
            self.send_header("x-error-code", "EntryNotFound")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def statistics(folder: Path, path: str, **variables: str) -> dict[str, object]:
    """What `stats` says of a path, in a process of its own: libraries of stores read the environment once."""
    command = [sys.executable, "-m", "weaklink", "stats", path, "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder, **variables),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What `stats` says of each file on the disk."""
    folder = tmp_path_factory.mktemp("local")
    found = {}
    for name, raw in files().items():
        (folder / name).write_bytes(raw)
        done = run_text(folder, "stats", name, "--json")
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)
    assert found["log.jsonl"] == found["log.jsonl.gz"] == found["log.jsonl.zst"]
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_hub_are_read_as_local_ones(
    hub: str, local: dict[str, dict[str, object]], tmp_path: Path, name: str
) -> None:
    found = statistics(tmp_path, f"hf://datasets/{_REPO}/{name}", HF_ENDPOINT=hub)
    assert found == local[name]
    assert any(asked.startswith("bytes=") for asked in _Hub.ranges)


def test_a_file_that_a_hub_does_not_have_is_a_sentence(hub: str, tmp_path: Path) -> None:
    done = run_text(tmp_path, "stats", f"hf://datasets/{_REPO}/none.jsonl", HF_ENDPOINT=hub)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "none.jsonl" in done.stderr


# ---------------------------------------------------------------- S3 and Google Cloud Storage


@contextmanager
def serving(folder: Path, address: str, *command: str) -> Iterator[None]:
    """A server in a process of its own, until the block ends."""
    with (folder / "server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            until = monotonic() + _PATIENCE_S
            while not _answers(address):
                assert server.poll() is None, (folder / "server.log").read_text()
                assert monotonic() < until, "the server did not answer"
                sleep(0.1)
            yield
        finally:
            server.terminate()


def _answers(address: str) -> bool:
    try:
        with urlopen(address):
            return True
    except URLError as error:
        return getattr(error, "code", None) is not None
    except OSError:
        return False


@pytest.fixture(scope="module", params=["s3", "gs"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    """The URL of a bucket that holds the files, and the variables that lead to its server."""
    folder, port = tmp_path_factory.mktemp("store"), free_port()
    address = f"http://127.0.0.1:{port}"
    if request.param == "s3":
        command = [str(_STORES / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
        keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
        variables = {"AWS_ENDPOINT_URL": address, **keys}
    else:
        command = [str(_STORES / "gcp-storage-emulator"), "start", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--in-memory", "--default-bucket", "bucket"]
        variables = {"STORAGE_EMULATOR_HOST": address}
    with serving(folder, address, *command):
        if request.param == "s3":
            _put(f"{address}/bucket", b"")
        for name, raw in files().items():
            if request.param == "s3":
                _put(f"{address}/bucket/logs/{name}", raw)
            else:
                _put(f"{address}/upload/storage/v1/b/bucket/o?uploadType=media&name=logs/{name}", raw, "POST")
        yield f"{request.param}://bucket", variables


def _put(address: str, raw: bytes, method: str = "PUT") -> None:
    headers = {
        "content-type": "application/octet-stream",
        "authorization": "AWS4-HMAC-SHA256 Credential=k/d/us-east-1/s3/x",
    }
    with urlopen(Request(address, raw, headers, method=method)) as answer:
        assert answer.status == 200


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_bucket_are_read_as_local_ones(
    store: tuple[str, dict[str, str]], local: dict[str, dict[str, object]], tmp_path: Path, name: str
) -> None:
    bucket, variables = store
    assert statistics(tmp_path, f"{bucket}/logs/{name}", **variables) == local[name]


COMMANDS = (
    "check --output json --fail-on never",
    "stats --json",
    "data lint --output json --fail-on never",
    "data score --json",
    "data verify --json",
    "data report --json",
    "data inject --share 0.5 --seed 1",
    "data negatives --share 0.5 --seed 1",
    "data render --format hermes,llama3",
    "data annotate",
)


def said(folder: Path, words: list[str], **variables: str) -> list[str]:
    """How a command ends, and the sorted lines that it prints without the folder of the files that it read.

    `data verify` ends with 1 where a candidate fails.
    """
    command = [sys.executable, "-m", "weaklink", *words]
    env = environment(folder, **variables)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr
    lines = sorted(re.sub(r"[^\s\"]*/(?=log\.)", "", line) for line in done.stdout.splitlines())
    assert lines, done.stderr
    return [str(done.returncode), *lines]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.jsonl.zst", "log.parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_of_a_bucket_what_it_says_of_a_folder(
    store: tuple[str, dict[str, str]], tmp_path: Path, command: str, name: str
) -> None:
    bucket, variables = store
    (tmp_path / name).write_bytes(files()[name])
    here = said(tmp_path, [*command.split(), name])
    assert said(tmp_path, [*command.split(), f"{bucket}/logs/{name}"], **variables) == here
    engine = ["--engine", "ray", "--jobs", "2", "--block-size", "0.003"]
    assert said(tmp_path, [*command.split(), f"{bucket}/logs/{name}", *engine], **variables) == here


@pytest.mark.slow
def test_results_in_a_bucket_are_those_of_a_folder(store: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    bucket, variables = store
    question = "SELECT record, status, errors, calls FROM traces ORDER BY ALL"
    answers = []
    printed = ""
    for to in (f"{bucket}/results", str(tmp_path / "results")):
        for words in (
            ["import", f"{bucket}/logs/log.jsonl", "--to", to, "--block-size", "0.003"],
            ["sql", question, "--on", to, "--json"],
        ):
            command = [sys.executable, "-m", "weaklink", *words]
            env = environment(tmp_path, **variables)
            done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        answers.append(printed)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == ROWS
