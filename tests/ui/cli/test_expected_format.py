"""In which format a server expects calls: by `--format`, by `--server-parser`, else by the model's name."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.chat_client import CHAT_CLIENT
from tests.capture.upstream import running_upstream
from tests.ui.cli.recordings import recording_process
from tests.ui.conftest import environment, run_text
from weaklink.inspector.chain.steps import Status
from weaklink.storage.store import open_store

_AGENT = f"""{CHAT_CLIENT}
schema = {{"type": "object", "properties": {{"city": {{"type": "string"}}}}, "required": ["city"]}}
tools = [{{"type": "function", "function": {{"name": "get_weather", "parameters": schema}}}}]
create(model=sys.argv[1], messages=[{{"role": "user", "content": "How warm is it in Oslo?"}}], tools=tools)
"""
_OTHER_SYNTAX = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
_SENTENCE = "The parsers of vLLM 0.33.0 (`hermes`, "
_HERMES = "NousResearch/Hermes-4-70B"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("options", "model", "code"),
    [
        ((), _HERMES, "F309"),
        (("--format", "hermes"), "my-model", "F309"),
        (("--server-parser", "hermes"), "my-model", "F309"),
        (("--server-parser", "vllm:hermes"), "my-model", "F309"),
        (("--format", "qwen3_coder"), _HERMES, "F315"),
        ((), "my-model", "F315"),
    ],
)
def test_run_expects_the_format_of_the_options_or_of_the_model(
    tmp_path: Path, options: tuple[str, ...], model: str, code: str
) -> None:
    with running_upstream(scripted.chat_answer(_OTHER_SYNTAX)) as upstream:
        words = ("--db", "t.db", "--upstream", upstream.url, "--", sys.executable, "-c", _AGENT, model)
        done = run_text(tmp_path, "run", *options, *words)
    assert done.returncode == 0, done.stderr
    with open_store(tmp_path / "t.db") as store:
        (summary,) = store.traces()
        codes = {diagnostic.rule.code for diagnostic in store.inspected(summary.id)[1].diagnostics}
    assert code in codes
    assert summary.status is Status.BROKEN
    shown = " ".join(run_text(tmp_path, "show", "latest", "--db", "t.db").stdout.split())
    assert (_SENTENCE in shown) == (code == "F309")


@pytest.mark.slow
def test_record_and_log_take_the_parser_too(tmp_path: Path) -> None:
    with running_upstream(scripted.chat_answer(_OTHER_SYNTAX)) as upstream:
        options = ("--upstream", upstream.url, "--db", "t.db", "--server-parser", "hermes")
        with recording_process(tmp_path, *options) as recorder:
            variables = environment(tmp_path, OPENAI_BASE_URL=f"{recorder.url}/v1")
            (tmp_path / "agent.py").write_text(_AGENT)
            words = [sys.executable, "agent.py", "my-model"]
            subprocess.run(words, cwd=tmp_path, env=variables, check=True, timeout=60)
            recorder.stop()
    (tmp_path / "text").write_text(_OTHER_SYNTAX)
    tools = '[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]'
    (tmp_path / "tools.json").write_text(tools)
    for named in (("--server-parser", "hermes"), ("--model", _HERMES)):
        done = run_text(tmp_path, "record", "text", "--db", "t.db", "--tools", "tools.json", *named)
        assert done.returncode == 0, done.stderr
        assert "F309" in done.stdout + done.stderr
    with open_store(tmp_path / "t.db") as store:
        for summary in store.traces():
            assert summary.format == "hermes"
            assert "F309" in summary.codes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--server-parser", "nothing"), "unknown server parser `nothing`; known are vllm:hermes, "),
        (("--format", "nothing"), "nothing"),
        (("--format", "mistral", "--server-parser", "hermes"), "reads hermes and qwen, not mistral"),
    ],
)
def test_options_that_name_nothing_are_refused(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = run_text(tmp_path, "run", *options, "--", "touch", "ran")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "ran").exists()
