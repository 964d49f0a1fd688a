"""What a release says of itself in several places is the same everywhere."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def workflow() -> Any:
    """The workflow of releases; YAML reads its key `on` as a truth."""
    return yaml.safe_load(read(".github/workflows/release.yml"))


def step(job: str, name: str) -> str:
    """The script of a step."""
    (script,) = (job_step["run"] for job_step in workflow()["jobs"][job]["steps"] if job_step.get("name") == name)
    return str(script)


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script as GitHub does."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, cwd=folder, env=kept | variables, capture_output=True, text=True, check=False)


def test_only_the_job_that_publishes_may_be_trusted_and_nothing_has_a_token_of_the_index() -> None:
    jobs = workflow()["jobs"]
    assert workflow()["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
        "announce": {"contents": "write"},
    }
    assert "secrets." not in read(".github/workflows/release.yml")
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert (jobs["publish"]["needs"], jobs["announce"]["needs"]) == ("build", "publish")
    used = [job_step["uses"] for job in jobs.values() for job_step in job["steps"] if "uses" in job_step]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), (__version__, 1), ("v99.0.0", 1)])
def test_a_tag_of_another_version_is_no_release(tag: str, code: int) -> None:
    done = run(step("build", "The tag is the version of the sources"), ROOT, GITHUB_REF_NAME=tag)
    assert done.returncode == code
    assert not code or f"The tag is {tag}, and inspector/version.py says {__version__}." in done.stdout


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with packages, and what `make release-files` writes beside them; cyclonedx-py is played."""
    packages = tmp_path / "dist"
    packages.mkdir()
    for name in (f"weaklink-{__version__}-py3-none-any.whl", f"weaklink-{__version__}.tar.gz"):
        (packages / name).write_bytes(name.encode())
    lister = tmp_path / "lister.py"
    listed = {"bomFormat": "CycloneDX", "metadata": {"component": {"name": "weaklink"}}, "components": []}
    lister.write_text(f"import sys, pathlib; pathlib.Path(sys.argv[-1]).write_text({json.dumps(listed)!r})")
    made = release_files(tmp_path, f"{sys.executable} {lister}")
    assert made.returncode == 0, made.stderr
    return tmp_path


def release_files(folder: Path, lister: str) -> subprocess.CompletedProcess[str]:
    places = ["--packages", str(folder / "dist"), "--out", str(folder / "build" / "release")]
    words = [sys.executable, str(ROOT / ".ci" / "release-files"), "--environment", "x", "--cyclonedx", lister, *places]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_components_have_our_version_and_the_notes_are_the_changelogs(released: Path) -> None:
    listed = json.loads((released / "build" / "release" / f"weaklink-{__version__}.cdx.json").read_text())
    assert listed["metadata"]["component"] == {
        "name": "weaklink",
        "version": __version__,
        "purl": f"pkg:pypi/weaklink@{__version__}",
    }
    notes = (released / "build" / "release" / "notes.md").read_text(encoding="utf-8")
    assert notes.startswith("### ")
    assert notes.strip() in read("CHANGELOG.md")
    assert "\n## [" not in notes


def test_the_checksums_are_checked_by_what_checks_them_anywhere(released: Path) -> None:
    script = step("build", "The checksums are those of the files")
    assert run(script, released, RUNNER_TEMP=str(released)).stdout.count(": OK\n") == 3
    sums = (released / "build" / "release" / "SHA256SUMS").read_text()
    wheel = next((released / "dist").glob("*.whl"))
    assert f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n" in sums
    wheel.write_bytes(b"another")
    (released / "again").mkdir()
    assert run(script, released, RUNNER_TEMP=str(released / "again")).returncode == 1


def test_two_versions_in_dist_are_refused(released: Path) -> None:
    (released / "dist" / "weaklink-0.0.1.tar.gz").write_bytes(b"")
    done = release_files(released, "false")
    assert done.returncode == 1
    assert "dist/ must hold one wheel and one source distribution of one version" in done.stderr


def test_a_release_on_github_has_every_file_and_the_notes(released: Path) -> None:
    files = released / "files"
    files.mkdir()
    (released / "dist").rename(files / "packages")
    (released / "build" / "release").rename(files / "release")
    gh = released / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > told; cat notes.md > noted\n')
    gh.chmod(0o700)
    path = f"{gh.parent}:{os.environ['PATH']}"
    tag = f"v{__version__}"
    done = run(
        step("announce", "Make the release of the tag"),
        released,
        PATH=path,
        GITHUB_REF_NAME=tag,
        GITHUB_REPOSITORY="a/b",
    )
    assert done.returncode == 0, done.stderr
    told = (released / "told").read_text().splitlines()
    assert told[:6] == ["release", "create", tag, "--repo", "a/b", "--verify-tag"]
    assert {Path(one).name for one in told if one.startswith("files/")} == {
        f"weaklink-{__version__}-py3-none-any.whl",
        f"weaklink-{__version__}.tar.gz",
        f"weaklink-{__version__}.cdx.json",
        "SHA256SUMS",
    }
    assert (released / "noted").read_text().startswith("### ")
