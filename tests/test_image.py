"""The image and the compose file: what they promise, and the health check of the image against a real recorder."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ui.conftest import ROOT, environment

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
COMPOSE: Any = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the file, with lines that are continued joined and without comments."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", CONTAINERFILE, flags=re.MULTILINE))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in text.splitlines() if line.strip()]


def last_stage() -> list[tuple[str, str]]:
    steps = instructions()
    start = max(index for index, (word, _) in enumerate(steps) if word == "FROM")
    return steps[start:]


def health_check(*ports: int) -> list[str]:
    """The command of the health check, for other ports than those of the image."""
    (rest,) = (rest for word, rest in last_stage() if word == "HEALTHCHECK")
    command: list[str] = json.loads(rest[rest.index("CMD") + len("CMD") :])
    return [word.replace("(8788, 8789)", repr((*ports, *ports))) for word in command]


def test_the_image_runs_without_rights_and_with_everything_pinned() -> None:
    stage = dict(last_stage())
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", stage["USER"])
    words = [word for word, _ in last_stage()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert json.loads(stage["ENTRYPOINT"]) == ["weaklink"]
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    assert all("--require-hashes" in rest or "--no-deps" in rest for rest in installs)


def test_the_image_is_built_from_all_that_the_wheel_needs() -> None:
    taken = {line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")}
    assert {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "src"} <= taken
    links = {path.readlink().name for path in (ROOT / "src" / "weaklink").iterdir() if path.is_symlink()}
    assert links <= taken


def test_services_of_ours_are_read_only_without_rights_and_only_on_this_machine() -> None:
    ours = [service for service in COMPOSE["services"].values() if service.get("build")]
    assert len(ours) == 2
    for service in ours:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert service["environment"]["WEAKLINK_TOKEN"].startswith("${WEAKLINK_TOKEN:?")
        assert service["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "ports" not in COMPOSE["services"]["postgres"]


@pytest.mark.parametrize("name", ["record", "web"])
def test_the_commands_of_the_services_are_commands_that_there_are(name: str, tmp_path: Path) -> None:
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in COMPOSE["services"][name]["command"]]
    done = subprocess.run(
        [sys.executable, "-m", "weaklink", *words, "--help"],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_health_check_tells_a_recorder_from_none(tmp_path: Path) -> None:
    variables = {**environment(tmp_path), "WEAKLINK_TOKEN": "word"}
    words = [sys.executable, "-m", "weaklink", "record", "--upstream", "http://127.0.0.1:1", "--port", "0"]
    with (tmp_path / "log").open("wb") as log:
        recorder = subprocess.Popen(
            [*words, "--db", "t.db"], cwd=tmp_path, env=variables, stderr=log, stdout=log, stdin=subprocess.DEVNULL
        )
    try:
        port = _port(tmp_path / "log", recorder)
        assert _health(port) == 0
    finally:
        recorder.terminate()
        recorder.wait(60)
    assert _health(port) == 1


def _health(port: int) -> int:
    command = health_check(port)
    return subprocess.run([sys.executable, *command[1:]], env=dict(os.environ), check=False).returncode


def _port(log: Path, recorder: subprocess.Popen[bytes]) -> int:
    """The port that a recorder says it listens at."""
    while recorder.poll() is None:
        match = re.search(r"127\.0\.0\.1:(\d{2,})", log.read_text())
        if match is not None:
            return int(match[1])
        time.sleep(0.05)
    raise AssertionError(log.read_text())
