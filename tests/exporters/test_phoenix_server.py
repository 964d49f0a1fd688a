"""A real Phoenix takes what weaklink exports, and gives it back; `make test-phoenix` installs it."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.ui.conftest import ROOT
from tests.ui.scenes import broken_trace
from weaklink.inspector.exporters import otlp_protobuf, otlp_request
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace

pytestmark = pytest.mark.slow

_PHOENIX = ROOT / "build" / "phoenix" / "bin" / "phoenix"
_DEADLINE_S = 240.0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert _PHOENIX.exists(), "Phoenix is not installed; `make build/phoenix/installed` installs it"
    home, port = tmp_path_factory.mktemp("phoenix"), _free_port()
    settings = {
        "HOME": str(home),
        "PHOENIX_WORKING_DIR": str(home),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(_free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    with (home / "log").open("wb") as log:
        server = subprocess.Popen([_PHOENIX, "serve"], env={**os.environ, **settings}, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        end_s = time.monotonic() + _DEADLINE_S
        while not _answers(address):
            assert server.poll() is None, (home / "log").read_text()
            assert time.monotonic() < end_s, "Phoenix did not start"
            time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait(60)


def _answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _send(address: str, body: bytes, kind: str) -> int:
    try:
        with urlopen(Request(f"{address}/v1/traces", body, {"Content-Type": kind}), timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def _spans(address: str, count: int) -> list[dict[str, Any]]:
    """The spans of the project as soon as Phoenix has stored so many."""
    end_s = time.monotonic() + _DEADLINE_S
    while True:
        with urlopen(f"{address}/v1/projects/default/spans?limit=1000", timeout=30) as answer:
            spans: list[dict[str, Any]] = json.loads(answer.read())["data"]
        if len(spans) >= count:
            return spans
        assert time.monotonic() < end_s, f"Phoenix has {len(spans)} of {count} spans"
        time.sleep(0.5)


def test_phoenix_gives_back_what_it_was_sent(phoenix: str, tmp_path: Path) -> None:
    trace, inspection = broken_trace()
    request = otlp_request(trace, inspection, unknown_at_s=1_800_000_000.0)
    assert _send(phoenix, otlp_protobuf(request), "application/x-protobuf") == 200
    assert _send(phoenix, write_json(request).encode(), "application/json") == 415, "JSON may be sent again: say so"
    sent = _sent_spans(request)
    stored = _spans(phoenix, len(sent))
    assert {record["context"]["span_id"] for record in stored} == {record["spanId"] for record in sent}
    root = next(record for record in stored if record["parent_id"] is None)
    assert root["attributes"]["weaklink.status"] == inspection.chain.status.value
    assert {record["span_kind"] for record in stored} == {"AGENT", "LLM", "TOOL"}
    events = [event["name"] for record in stored for event in record["events"]]
    assert events.count("weaklink.diagnostic") == len(inspection.diagnostics)
    assert events.count("gen_ai.evaluation.result") == 1

    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"data": stored}))
    (read,) = (record for record in read_source(path).records if isinstance(record, Trace))
    again = inspect_trace(read)
    assert [step.call.name for step in again.chain.steps] == [step.call.name for step in inspection.chain.steps]
    assert again.chain.status is inspection.chain.status


def _sent_spans(request: dict[str, Json]) -> list[dict[str, Any]]:
    value: Any = request
    spans: list[dict[str, Any]] = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return spans
