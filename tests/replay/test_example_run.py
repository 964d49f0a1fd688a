"""The commands of the examples' README record an agent, replay it, and put a fault into its answer."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.ui.conftest import run_text

ROOT = Path(__file__).parents[2]
_RECOVERED = "injected malformed-json into turn 3 (J103); the run is recovered, exit code 0."


class _Readme:
    """The commands of the section on replays, run in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        section = (ROOT / "examples" / "README.md").read_text(encoding="utf-8").partition("## Run, replay")[2]
        section = section.partition("## ")[0]
        self.commands = re.findall(r"^weaklink (.*)$", section, re.MULTILINE)
        (self._prompt,) = re.findall(r'AGENT_PROMPT="(.*)"', section)

    def run(self, number: int, port: int, **more: str) -> "subprocess.CompletedProcess[str]":
        """The result of a command, by its number."""
        line = self.commands[number].replace("8123", str(port))
        words = [{"python": sys.executable}.get(word, word) for word in line.split()]
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
        given = {"WEAKLINK_DB": "t.db", "OPENAI_API_KEY": "none", "AGENT_PROMPT": self._prompt, **more}
        return run_text(self._folder, *words, **given)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> _Readme:
    """The folder after `weaklink run`, whose server has ended."""
    spec = importlib.util.spec_from_file_location("unreliable_model", ROOT / "examples" / "unreliable_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = _Readme(tmp_path_factory.mktemp("example"))
    with module.serve(0, seed=1) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        done = readme.run(0, server.server_port)
        server.shutdown()
        thread.join()
    assert (done.returncode, done.stdout) == (0, "It is 3 degrees and rains.\n"), done.stderr
    return readme


def test_the_agent_says_the_same_without_its_server(recorded: _Readme) -> None:
    done = recorded.run(1, 0)
    assert (done.returncode, done.stdout) == (0, "It is 3 degrees and rains.\n"), done.stderr
    assert "replayed 2 of 2 recorded requests" in done.stderr
    changed = recorded.run(1, 0, AGENT_PROMPT="Answer in one word. Write valid JSON.")
    assert changed.returncode == 3
    assert "/messages/0/content, message 1, characters 14 to 18" in changed.stderr


def test_the_agent_recovers_from_an_injected_fault(recorded: _Readme) -> None:
    done = recorded.run(2, 0)
    assert (done.returncode, done.stdout) == (0, "It is 3 degrees and rains.\n")
    assert _RECOVERED in done.stderr
