"""Walks examples/agent_loop.py from a broken run to a prompt that breaks less, and makes the pictures of it.

`make walkthrough` makes the pictures of docs/experiments-walkthrough.md: what the commands print, as SVG. The model is
examples/unreliable_model.py with a fixed seed, asked by one client at a time, so the numbers are the same each time.
"""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from rich.console import Console
from rich.text import Text

from tests.ui.conftest import ROOT, START, environment

AGENT = ROOT / "examples" / "agent_loop.py"
ADVICE = "Answer in one sentence. Use the tools. The arguments of a call are valid JSON, without a comma at the end."
_MODEL = ROOT / "examples" / "unreliable_model.py"
_FOLDER = ROOT / "docs" / "pictures"
_SEED, _WIDTH, _RUNS = 1, 108, "8"
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # rich's pictures would fetch theirs from another machine
_DETAILS = re.compile(r"\n[^\n]*model  .*", re.DOTALL)


def walk(folder: Path, color: str = "always") -> dict[str, str]:
    """What each command of the page prints, by the name of its picture."""
    with _model() as url:
        agent = ("--", sys.executable, str(AGENT))
        _printed(folder, "run", "--quiet", "--upstream", url, *agent)
        shown = _printed(folder, "show", "1", "--color", color)
        ask = ("ask", "1", "--with-fix", "--upstream", url, "--parallel", "1", "--max-requests", "40")
        asked = _printed(folder, *ask, "--max-tokens", "20000", "--color", color, both=True)
        doctor = ("doctor", "-n", _RUNS, "--upstream", url, "--color", color, *agent)
        before = _printed(folder, *doctor)
        after = _printed(folder, *doctor, AGENT_PROMPT=ADVICE)
    asked = re.sub(r"weaklink: `weaklink list session:.*\n", "", asked).replace(url, "http://127.0.0.1:8000")
    return {
        "experiment-break": _DETAILS.sub("\n", shown),
        "experiment-ask": asked,
        "experiment-before": before,
        "experiment-after": after,
    }


@contextmanager
def _model() -> Iterator[str]:
    with runpy.run_path(str(_MODEL))["serve"](0, _SEED) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _printed(folder: Path, *words: str, both: bool = False, **variables: str) -> str:
    home = environment(folder, WEAKLINK_DB="t.db", OPENAI_API_KEY="none", COLUMNS=str(_WIDTH), **variables)
    home["PATH"] = os.environ.get("PATH", "")
    error = subprocess.STDOUT if both else subprocess.PIPE
    done = subprocess.run(
        [*START, *words], cwd=folder, env=home, stdout=subprocess.PIPE, stderr=error, timeout=300, check=False
    )
    assert done.returncode == 0, done
    return done.stdout.decode()


def main() -> None:
    """Make the pictures anew."""
    with TemporaryDirectory() as folder:
        for name, printed in walk(Path(folder)).items():
            console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
            console.print(Text.from_ansi(printed))
            drawn = console.export_svg(title=f"weaklink {name.rpartition('-')[2]}", unique_id=name)
            (_FOLDER / f"{name}.svg").write_text(_FONTS.sub("", drawn), encoding="utf-8")
            sys.stdout.write(f"docs/pictures/{name}.svg\n")


if __name__ == "__main__":
    main()
