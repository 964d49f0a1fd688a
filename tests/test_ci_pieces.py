"""The GitHub action and the pre-commit hook, run as GitHub and pre-commit run them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
CHECK = next(step for step in STEPS if step.get("id") == "check")
WEAKLINK = Path(sys.executable).with_name("weaklink")


class Runner:
    """Runs a step's script as GitHub's runner does: its folders and files as variables, and `bash -eo pipefail`."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self._temporary = folder / "workspace", folder / "temporary"
        self.summary, self.output = folder / "summary.md", folder / "output"
        for made in (self.workspace, self._temporary / "weaklink" / "bin"):
            made.mkdir(parents=True)
        (self._temporary / "weaklink" / "bin" / "weaklink").symlink_to(WEAKLINK)
        shutil.copytree(ROOT / "sample_traces", self.workspace / "runs")

    def run(self, step: Mapping[str, Any], **inputs: str) -> "subprocess.CompletedProcess[str]":
        """Run a step's script; its variables are the inputs that it names."""
        given = {name: declared.get("default", "") for name, declared in ACTION["inputs"].items()} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
            for name, value in step["env"].items()
        }
        runner = {
            "RUNNER_TEMP": str(self._temporary),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
        }
        script = self._temporary / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        environment = os.environ | runner | variables
        return subprocess.run(command, cwd=self.workspace, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_action_fails_and_leaves_report_summary_and_annotations(runner: Runner) -> None:
    done = runner.run(CHECK, paths="runs/json-trailing-comma.jsonl\nruns/good-*.jsonl\n", arguments="--no-config\n")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=runs/json-trailing-comma.jsonl,line=1,")
    assert runner.output.read_text() == "sarif-file=weaklink.sarif\n"
    (run,) = json.loads((runner.workspace / "weaklink.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["J104"]
    summary = runner.summary.read_text()
    assert "\n| where | severity | rule | what is wrong |\n" in summary
    assert summary.count("J104 trailing\\-comma") == 1


def test_the_action_passes_where_nothing_is_wrong(runner: Runner) -> None:
    done = runner.run(CHECK, paths="runs/good-single-call.jsonl", sarif_file="out put.sarif")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert runner.output.read_text() == "sarif-file=out put.sarif\n"
    assert "nothing is wrong" in runner.summary.read_text()


def test_the_action_runs_nothing_that_an_input_says(runner: Runner) -> None:
    done = runner.run(CHECK, paths="$(touch hacked)\n`touch hacked`\n--version\n", fail_on="never")
    assert done.returncode == 2
    assert "no trace could be read" in done.stderr
    assert not (runner.workspace / "hacked").exists()


def test_the_action_says_when_an_option_is_wrong_and_uploads_nothing(runner: Runner) -> None:
    done = runner.run(CHECK, paths="runs", fail_on="sometimes")
    assert done.returncode == 2
    assert "sometimes" in done.stderr
    assert not runner.output.exists()


def test_no_script_of_the_action_has_an_expression_in_it() -> None:
    assert all("${{" not in step.get("run", "") for step in STEPS)
    named = set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS)))
    assert named == set(ACTION["inputs"])


@pytest.mark.slow
def test_the_action_installs_weaklink_from_its_own_folder(runner: Runner, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "temporary" / "weaklink")
    install = next(step for step in STEPS if "venv" in step.get("run", ""))
    source = install | {"env": install["env"] | {"SOURCE": str(ROOT)}}
    done = runner.run(source, python=sys.executable)
    assert done.returncode == 0, done.stderr
    assert runner.run(CHECK, paths="runs/good-single-call.jsonl").returncode == 0


@pytest.mark.slow
def test_pre_commit_runs_the_hook_on_the_files_of_a_commit(tmp_path: Path) -> None:
    def in_repository(*command: str) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "hooks")}
        return subprocess.run(
            command, cwd=tmp_path / "user", env=environment, capture_output=True, text=True, check=False
        )

    (tmp_path / "user" / "traces").mkdir(parents=True)
    assert in_repository("git", "init", "--quiet").returncode == 0
    uv = str(Path(sys.executable).with_name("uv"))
    for name, code in (("good-single-call", 0), ("json-trailing-comma", 1)):
        shutil.copy(ROOT / "sample_traces" / f"{name}.jsonl", tmp_path / "user" / "traces")
        shutil.copy(ROOT / "sample_traces" / f"{name}.jsonl", tmp_path / "user" / "elsewhere.jsonl")
        assert in_repository("git", "add", ".").returncode == 0
        hook = ("try-repo", str(ROOT), "weaklink-check", "--all-files", "--verbose")
        done = in_repository(uv, "tool", "run", "pre-commit", *hook)
        assert done.returncode == code, done.stdout + done.stderr
        assert "elsewhere" not in done.stdout
        assert ("error[J104]" in done.stdout) == bool(code)
