"""Files in object stores: real servers of S3 and Google's storage on loopback, and the client of Hugging Face's hub.

`make test-stores` installs the servers and the client. The hub's own server is no package: its answers are given here,
by the requests that `huggingface_hub` makes.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[3]
_STORES = ROOT / "build" / "stores"
_BIN = _STORES / "bin"
_ROWS = 60
_CALL = '{"city": "Oslo", "days": 3'
_LAST_BYTE = 1 << 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (_STORES / "installed").exists(), reason="`make test-stores` installs the servers"),
]


def _rows() -> Iterator[dict[str, object]]:
    for number in range(_ROWS):
        function = {"name": "f", "arguments": _CALL + "}" * (number % 5 > 0)}
        yield {
            "model": f"m{number % 3}",
            "messages": [
                {"role": "user", "content": f"{number}: how is the weather?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "4 degrees"},
                {"role": "assistant", "content": "It is 4 degrees."},
            ],
        }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The same log, plain and packed, by name."""
    import pyarrow as pa  # noqa: PLC0415  # an extra
    from pyarrow import parquet  # noqa: PLC0415  # the same

    rows = list(_rows())
    plain = "".join(json.dumps(row) + "\n" for row in rows).encode()
    table = tmp_path_factory.mktemp("rows") / "log.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), table, row_group_size=20, compression="zstd")
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(plain)
    return {
        "log.jsonl": plain,
        "log.jsonl.gz": gzip.compress(plain),
        "log.jsonl.zst": packed.getvalue().to_pybytes(),
        "log.parquet": table.read_bytes(),
    }


@pytest.fixture(scope="module")
def s3(files: Mapping[str, bytes]) -> Iterator[dict[str, str]]:
    """The environment that names an S3 server with the files in `s3://logs/runs`."""
    from pyarrow import fs  # noqa: PLC0415  # an extra

    port = _free_port()
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
    with _running([str(_BIN / "moto_server"), "-H", "127.0.0.1", "-p", str(port)], port):
        store = fs.S3FileSystem(
            access_key="k",
            secret_key="s",
            endpoint_override=f"127.0.0.1:{port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        store.create_dir("logs")
        _put(store, "logs/runs", files)
        yield {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", **keys}


@pytest.fixture(scope="module")
def gs(files: Mapping[str, bytes]) -> Iterator[dict[str, str]]:
    """The same of Google's storage."""
    from pyarrow import fs  # noqa: PLC0415  # an extra

    port = _free_port()
    command = [str(_BIN / "gcp-storage-emulator"), "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"]
    with _running([*command, "--default-bucket=logs"], port):
        store = fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}")
        _put(store, "logs/runs", files)
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@pytest.fixture(scope="module")
def hf(files: Mapping[str, bytes]) -> Iterator[dict[str, str]]:
    """The same of a data set on the hub."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _hub({f"runs/{name}": content for name, content in files.items()}))
    Thread(target=server.serve_forever, daemon=True).start()
    client = next((_STORES / "lib").glob("python*/site-packages"))
    yield {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYTHONPATH": str(client),
    }
    server.shutdown()
    server.server_close()


def _hub(files: Mapping[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Hub(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:  # it says nothing
            pass

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            if "/resolve/" in path:
                self._give(files.get(path.partition("/resolve/")[2].partition("/")[2]))
            elif "/tree/" in path:
                below = path.partition("/tree/")[2].partition("/")[2]
                self._say(json.dumps(_listed(files, below)).encode(), 200)
            else:
                self._say(json.dumps({"id": "team/logs", "sha": "a" * 40}).encode(), 200)

        def _give(self, content: bytes | None) -> None:
            if content is None:
                self._say(b"{}", 404)
                return
            first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            end = min(int(last or _LAST_BYTE) + 1, len(content))
            piece = content[int(first) : end]
            self._say(piece, 206, {"Content-Range": f"bytes {first}-{end - 1}/{len(content)}", "ETag": '"x"'})

        def _say(self, body: bytes, status: int, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Hub


def _listed(files: Mapping[str, bytes], below: str) -> list[dict[str, object]]:
    if not below:
        return [{"type": "directory", "oid": "0" * 40, "size": 0, "path": "runs"}]
    return [
        {"type": "file", "oid": "0" * 40, "size": len(content), "path": name}
        for name, content in files.items()
        if name.startswith(f"{below}/")
    ]


_BUCKETS = {"s3": "s3://logs", "gs": "gs://logs", "hf": "hf://datasets/team/logs"}


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.jsonl.zst", "log.parquet"])
@pytest.mark.parametrize("store", _BUCKETS)
def test_a_file_in_a_store_gives_what_it_gives_on_the_disk(
    request: pytest.FixtureRequest, files: Mapping[str, bytes], tmp_path: Path, store: str, name: str
) -> None:
    bucket = _BUCKETS[store]
    environment = request.getfixturevalue(store)
    (tmp_path / name).write_bytes(files[name])
    for command in (("stats", "--json"), ("check", "--output", "json", "--fail-on", "never")):
        here = _weaklink({}, *command, str(tmp_path / name)).replace(str(tmp_path), "")
        there = _weaklink(environment, *command, f"{bucket}/runs/{name}").replace(f"{bucket}/runs", "")
        assert there == here


@pytest.mark.parametrize("store", ["s3", "gs"])
def test_results_go_into_a_store_and_are_asked_there(
    request: pytest.FixtureRequest, store: str, tmp_path: Path
) -> None:
    bucket = _BUCKETS[store]
    environment = request.getfixturevalue(store)
    _weaklink(environment, "import", f"{bucket}/runs/log.jsonl.zst", "--to", f"{bucket}/results")
    statement = "SELECT status, count(*) AS traces FROM traces GROUP BY 1 ORDER BY 1"
    said = _weaklink(environment, "sql", statement, "--on", f"{bucket}/results", "--json")
    assert sum(json.loads(line)["traces"] for line in said.splitlines()) == _ROWS
    _weaklink(environment, "report", f"{bucket}/runs/", "--out", str(tmp_path / "report"))
    assert f"{4 * _ROWS} traces" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def _weaklink(environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "weaklink", *words],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _put(store: object, folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with store.open_output_stream(f"{folder}/{name}") as stream:  # type: ignore[attr-defined]  # of Arrow
            stream.write(content)


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
