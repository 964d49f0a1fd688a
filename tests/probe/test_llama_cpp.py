"""`weaklink probe` against llama.cpp's own server, which `make test-llama` builds, with a model made on the spot."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.conftest import ROOT, START, environment
from tests.ui.web.dashboards import free_port

pytestmark = pytest.mark.slow

_BUILD = ROOT / "build" / "llama"
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_OSLO = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
_ROME = [{"name": "get_weather", "arguments": {"city": "Rome"}}]


def _line(id: str, expected: dict[str, Any], **members: Any) -> str:
    messages = [{"role": "user", "content": f"The weather? ({id})"}]
    request = {"messages": messages, "tools": [_TOOL], "max_tokens": 200, "temperature": 0, **members}
    return json.dumps({"id": id, "family": "llama", "request": request, "expected": expected}) + "\n"


@pytest.fixture(scope="module")
def llama_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's server."""
    server, source = _BUILD / "bin" / "llama-server", _BUILD / "source" / "vendor" / "llama.cpp"
    assert server.exists(), "llama.cpp's server is not built; `make build/llama/installed` builds it"
    folder = tmp_path_factory.mktemp("llama")
    model, template = folder / "tiny.gguf", source / "models" / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
    words = [str(source / "gguf-py"), str(template), str(model)]
    subprocess.run([sys.executable, "-m", "tests.probe.tiny_model", *words], cwd=ROOT, check=True)
    port = free_port()
    command = [str(server), "-m", str(model), "--host", "127.0.0.1", "--port", str(port), "--jinja", "-c", "16384"]
    with subprocess.Popen([*command, "-np", "2", "-t", "1", "--no-warmup"], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            assert any(b"listening on" in line for line in process.stderr)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _results(
    url: str, folder: Path, lines: list[str], code: int = 0
) -> tuple[dict[tuple[str, str], dict[str, Any]], str]:
    (folder / "suite.jsonl").write_text("".join(lines), encoding="utf-8")
    words = ["--model", "tiny", "--suite", "suite.jsonl", "--yes", "--output", "r.jsonl", "--server", "vllm:hermes"]
    done = subprocess.run(
        [*START, "probe", url, *words],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    results = map(json.loads, (folder / "r.jsonl").read_text(encoding="utf-8").splitlines())
    own = [result["weaklink"] for result in results]
    return {(record["id"], record["mode"]): record for record in own}, done.stdout


def test_right_calls_have_no_finding_whole_and_streamed(llama_url: str, tmp_path: Path) -> None:
    lines = [
        _line("auto", {"calls": _OSLO}),
        _line("required", {"calls": _OSLO}, tool_choice="required", parallel_tool_calls=False),
        _line("named", {"calls": _OSLO}, tool_choice={"type": "function", "function": {"name": "get_weather"}}),
    ]
    results, printed = _results(llama_url, tmp_path, lines)
    assert len(results) == 6
    assert {key: record["findings"] for key, record in results.items()} == {key: [] for key in results}
    assert "No findings in 6 answers" in printed


def test_what_the_model_wrote_is_the_models_fault(llama_url: str, tmp_path: Path) -> None:
    """llama.cpp gives the tokens of whole answers only, and renders the prompt at `/apply-template`."""
    lines = [_line("rome", {"calls": _ROME}), _line("two", {"calls": [*_OSLO, *_ROME]}), _line("none", {"calls": []})]
    results, printed = _results(llama_url, tmp_path, lines)
    kinds = {"rome": "wrong-arguments", "two": "call-missing", "none": "call-unwanted"}
    for (id_, _), record in results.items():
        (finding,) = record["findings"]
        assert (finding["kind"], finding["owner"]) == (kinds[id_], "model")
        assert "the model wrote exactly what the server delivered" in finding["evidence"]
        assert "in the tokens of that answer (`logprobs`)" in finding["evidence"]
    assert re.search(r"6 findings by owner: the model 6", printed)


def test_a_request_beyond_the_context_is_told_as_that(llama_url: str, tmp_path: Path) -> None:
    lines = [_line("long", {"calls": _OSLO}, messages=[{"role": "user", "content": "snow " * 5000}])]
    results, _ = _results(llama_url, tmp_path, lines, code=2)  # nothing was answered
    for record in results.values():
        assert [(finding["kind"], finding["owner"]) for finding in record["findings"]] == [
            ("context-exceeded", "server")
        ]
