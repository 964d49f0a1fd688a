"""What a release says of itself in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest

from weaklink.inspector.version import __version__
from weaklink.ui.cli.group import COMMANDS

ROOT = Path(__file__).parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_changelog_and_citation_have_the_version_and_the_same_date() -> None:
    newest = re.findall(r"^## \[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})$", read("CHANGELOG.md"), re.MULTILINE)[0]
    cited = tuple(
        re.findall(rf'^{key}: "?([^"\n]+)"?$', read("CITATION.cff"), re.MULTILINE)[0]
        for key in ("version", "date-released")
    )
    assert newest == cited
    assert newest[0] == __version__


def test_public_ci_runs_every_python_that_the_project_names() -> None:
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    workflow = read(".github/workflows/ci.yml")
    assert re.findall(r'"(3\.\d+)"', re.findall(r"python: \[(.*)\]", workflow)[0]) == named
    assert {"ubuntu-latest", "macos-latest"} <= set(re.findall(r"[\w-]+-latest", workflow))
    assert "make check" in workflow


@pytest.mark.parametrize("name", [".pre-commit-hooks.yaml", ".pre-commit-config.yaml"])
def test_a_hook_runs_a_command_that_exists(name: str) -> None:
    commands = re.findall(r"entry: (?:\.venv/bin/)?weaklink ([a-z]+)", read(name))
    assert commands
    assert set(commands) <= set(COMMANDS)
