"""`action.yml`: its own shell lines, run as GitHub runs them, with the weaklink of this checkout."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ui.conftest import ROOT

_ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
_BROKEN = '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'
_SOUND = [{"role": "user", "content": "What is a mile?"}, {"role": "assistant", "content": "1,609 metres."}]


def _step(name: str) -> dict[str, Any]:
    (found,) = (step for step in _ACTION["runs"]["steps"] if step.get("name") == name)
    return dict(found)


def _value(text: str, inputs: dict[str, str]) -> str:
    """An `env` value of the action, of which `${{ inputs.NAME }}` is all that it uses."""
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], text)


def _run(folder: Path, **given: str) -> tuple[int, str, str, str]:
    """Run the step `Check`; returns its exit code, the summary, the outputs, and what it printed to stderr."""
    inputs = {name: one.get("default", "") for name, one in _ACTION["inputs"].items()} | given
    step = _step("Check")
    programs = folder / "runner" / "weaklink" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "weaklink"):  # what the step before has installed
        (programs / name).write_text(f'#!/bin/sh\nexec "{Path(sys.executable).with_name(name)}" "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
    variables = {
        **{key: value for key, value in os.environ.items() if not key.startswith("WEAKLINK")},
        **{key: _value(value, inputs) for key, value in step["env"].items()},
        "RUNNER_TEMP": str(folder / "runner"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    # a runner's own words: https://docs.github.com/actions/reference/workflow-syntax-for-github-actions#shell
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    summary, output = (folder / "summary").read_text("utf-8"), (folder / "output").read_text("utf-8")
    return done.returncode, summary, output, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a b.jsonl").write_text(json.dumps({"text": _BROKEN}) + "\n", encoding="utf-8")
    (tmp_path / "sound.jsonl").write_text(json.dumps({"messages": _SOUND}) + "\n", encoding="utf-8")
    return tmp_path


def test_a_fault_fails_the_step_and_stands_in_the_summary(folder: Path) -> None:
    code, summary, output, _ = _run(folder, paths="a b.jsonl\nsound.jsonl\n")
    assert code == 1
    assert re.search(r"\| error \| J104 \| 1 \| 1 \| \S", summary)
    report = Path(output.strip().partition("=")[2])
    results = json.loads(report.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert "J104" in {one["ruleId"] for one in results}


def test_options_stand_on_lines_of_their_own(folder: Path) -> None:
    code, summary, _, _ = _run(
        folder, paths="a b.jsonl", options="--ignore=J104\n--ignore=T404", **{"fail-on": "never"}
    )
    assert code == 0
    assert "J104" not in summary


def test_sound_files_pass(folder: Path) -> None:
    code, summary, _, _ = _run(folder, paths="sound.jsonl")
    assert (code, summary) == (0, "### weaklink: 0 findings\n\n")


def test_words_of_a_path_are_not_run(folder: Path) -> None:
    code, *_ = _run(folder, paths="$(touch hacked)\n; touch hacked\n--output=json")
    assert code == 2
    assert not (folder / "hacked").exists()


def test_every_expression_is_in_env_or_a_condition() -> None:
    """A `${{ }}` in a script would put a caller's text into the shell."""
    assert not [step["name"] for step in _ACTION["runs"]["steps"] if "${{" in step.get("run", "")]
