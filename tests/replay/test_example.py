"""The examples of replays run as docs/replay.md says, without a server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import ROOT, run_text

_RECORDING = str(ROOT / "examples/runs/agent.jsonl")
_AGENT = ("--", sys.executable, str(ROOT / "examples/agent_loop.py"))
_GUIDE = (ROOT / "docs/replay.md").read_text(encoding="utf-8")


def _replay(folder: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return run_text(folder, "replay", _RECORDING, *words, *_AGENT, OPENAI_API_KEY="none", **variables)


def test_the_example_replays_its_recording() -> None:
    options = ["-q", "-p", "weaklink.pytest_plugin", "-p", "no:cacheprovider"]
    words = ["-m", "pytest", *options, "examples/test_agent_replay.py"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_changed_prompt_of_the_example_agent_is_named_as_the_guide_shows(tmp_path: Path) -> None:
    done = _replay(tmp_path, "--json", AGENT_PROMPT="Answer in one word. Use the tools.")
    report = json.loads(done.stderr.splitlines()[-1])
    assert (done.returncode, len(report["divergences"])) == (3, 1)
    (difference,) = report["divergences"][0]["differences"]
    assert json.dumps(difference, separators=(",", ":")) in _GUIDE


@pytest.mark.slow
def test_fifty_replays_of_the_example_agent_have_the_output_that_the_guide_shows(tmp_path: Path) -> None:
    for _ in range(50):
        done = _replay(tmp_path)
        assert (done.returncode, done.stdout) == (0, "It is 3 degrees and rains.\n"), done.stderr
        assert done.stdout + done.stderr in _GUIDE


@pytest.mark.slow
def test_the_example_agent_survives_the_faults_that_the_guide_shows(tmp_path: Path) -> None:
    done = _replay(tmp_path, "--inject", "all")
    rows = done.stdout.splitlines()
    assert sum("not possible" in row for row in rows) == 4
    assert "\n".join(row for row in rows if "not possible" not in row) in _GUIDE
