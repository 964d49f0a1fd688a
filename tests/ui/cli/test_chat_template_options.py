"""A format of one's own: `--chat-template` of `run`, `record` and `import`, and `[formats]` in weaklink.toml."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import running_upstream
from tests.ui.cli.recordings import recording_process
from tests.ui.conftest import environment, run_text
from weaklink.storage.store import open_store

_AGENT = """
import openai
schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]
messages = [{"role": "user", "content": "How warm is it in Oslo?"}]
openai.OpenAI(api_key="none").chat.completions.create(model="acme-1", messages=messages, tools=tools)
"""
_TEMPLATE = (
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content %}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}<|acme_call|>"
    "{{ {'tool': c.function.name, 'input': c.function.arguments} | tojson }}<|acme_end|>"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TABLE = """
name = "acme"
[calls]
kind = "json"
opener = "<|acme_call|>"
closer = "<|acme_end|>"
[calls.keys]
name = "tool"
arguments = "input"
"""
_ANSWER = '<|acme_call|>{"tool": "get_weather", "input": {"city": "Oslo",}}<|acme_end|>'


def _calls(folder: Path) -> list[tuple[str, str, list[str]]]:
    """The format of each trace, and the name and the faults of its calls in answers' texts."""
    with open_store(folder / "t.db") as store:
        collected = []
        for summary in store.traces():
            inspection = store.inspected(summary.id)[1]
            names = [call.name or "" for part in inspection.parts for call in part.calls]
            faults = sorted(
                {diagnostic.rule.code for diagnostic in inspection.diagnostics if diagnostic.rule.code[0] == "J"}
            )
            collected.append((summary.format, " ".join(names), faults))
        return collected


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("file", "text", "name"), [("m.jinja", _TEMPLATE, "m-template"), ("m.toml", _TABLE, "acme")])
def test_run_and_record_read_the_calls_of_a_chat_template(tmp_path: Path, file: str, text: str, name: str) -> None:
    (tmp_path / file).write_text(text)
    (tmp_path / "agent.py").write_text(_AGENT)
    with running_upstream(scripted.chat_answer(_ANSWER)) as upstream:
        options = ("--db", "t.db", "--upstream", upstream.url, "--chat-template", file)
        done = run_text(tmp_path, "run", *options, "--", sys.executable, "agent.py")
        assert done.returncode == 0, done.stderr
        assert f'`{name} = "' in done.stderr
        assert "`[formats]` in weaklink.toml" in done.stderr
        with recording_process(tmp_path, *options) as recorder:
            variables = environment(tmp_path, OPENAI_BASE_URL=f"{recorder.url}/v1")
            subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=variables, check=True, timeout=60)
            recorder.stop()
    assert _calls(tmp_path) == [(name, "get_weather", ["J104"])] * 2


@pytest.mark.slow
def test_import_reads_them_and_later_commands_know_a_registered_format(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(_TABLE.replace('"acme"', '"other"'))
    messages = [{"role": "user", "content": "Oslo?"}, {"role": "assistant", "content": _ANSWER}]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    done = run_text(tmp_path, "import", "log.jsonl", "--db", "t.db", "--chat-template", "acme.toml", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert _calls(tmp_path) == [("other", "get_weather", ["J104"])]
    again = run_text(tmp_path, "reinspect", "--db", "t.db")
    assert again.returncode == 0, again.stderr
    (tmp_path / "weaklink.toml").write_text('[formats]\nother = "acme.toml"\n')
    assert "other" in run_text(tmp_path, "formats").stdout
    assert run_text(tmp_path, "check", "log.jsonl").returncode in (0, 1)
    result = run_text(tmp_path, "segment", "--format", "other", "--json", "log.jsonl")
    assert json.loads(result.stdout)["format"] == "other"
    done = run_text(tmp_path, "import", "log.jsonl", "--db", "t.db", "--chat-template", "acme.toml")
    assert "weaklink.toml" not in done.stderr


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[formats]\nx = "none.toml"\n', "none.toml"),
        ('[formats]\nx = "model.jinja"\n', "`formats.x` must be the path of a table"),
        ("formats = 3\n", "`formats` must be a table"),
        ('[formats]\nhermes = "acme.toml"\n', "a built-in format is already named `hermes`"),
    ],
)
def test_a_registration_that_cannot_be_read_is_refused_with_its_place(tmp_path: Path, toml: str, words: str) -> None:
    (tmp_path / "acme.toml").write_text(_TABLE)
    (tmp_path / "weaklink.toml").write_text(toml)
    done = run_text(tmp_path, "formats")
    assert done.returncode == 2
    assert words in done.stderr
    assert "weaklink.toml" in done.stderr or "none.toml" in done.stderr


class _LlamaServer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/props" else 404)
        self.end_headers()
        if self.path == "/props":
            self.wfile.write(json.dumps({"chat_template": _TEMPLATE, "bos_token": "<s>", "n_ctx": 4096}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def llama_server() -> Iterator[str]:
    """The address of a server that publishes its chat template."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _LlamaServer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_server_publishes_its_template(tmp_path: Path, llama_server: str) -> None:
    (tmp_path / "answer.txt").write_text(_ANSWER)
    for address in (llama_server, f"{llama_server}/v1", f"{llama_server}/props"):
        done = run_text(tmp_path, "segment", "--chat-template", address, "--json", "answer.txt")
        payload = json.loads(done.stdout)
        assert payload["format"].startswith("127-0-0-1-")
        assert [diagnostic["code"] for diagnostic in payload["diagnostics"]] == ["J104"]
    derived = run_text(tmp_path, "formats", "--derive", llama_server)
    assert 'opener = "<|acme_call|>"' in derived.stdout
    refused = run_text(tmp_path, "segment", "--chat-template", f"{llama_server}/other", "answer.txt")
    assert refused.returncode == 2
    assert "publishes no chat template" in refused.stderr
    nobody = run_text(tmp_path, "segment", "--chat-template", "http://127.0.0.1:9", "answer.txt")
    assert nobody.returncode == 2
    assert "http://127.0.0.1:9: the server does not answer" in nobody.stderr
    invalid = run_text(tmp_path, "segment", "--chat-template", "http://[", "answer.txt")
    assert "is not an address" in invalid.stderr


def test_the_options_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(_TABLE)
    done = run_text(tmp_path, "run", "--chat-template", "acme.toml", "--format", "hermes", "--", "touch", "ran")
    assert done.returncode == 2
    assert "--chat-template excludes --format and --server-parser" in done.stderr
    assert not (tmp_path / "ran").exists()
