"""The command starts fast: what only some subcommand needs is not loaded before that subcommand runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from inspector.version import __version__

HEAVY = {
    *("aiohttp", "alembic", "httpx", "jsonschema", "jsonschema_rs", "lark", "psycopg", "pygments", "ray", "sqlalchemy"),
    *("streamlit", "textual"),
}
# Runs the command as its entry point does, and says on stderr what was loaded in the end.
START = """
import sys
from ui.cli.main import main
try:
    main()
finally:
    print("loaded:", *sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_question_loads_no_heavy_library(option: str) -> None:
    loaded = set(_run(option).stderr.rpartition("loaded:")[2].split())
    assert "ui.cli.main" in loaded
    assert loaded & HEAVY == set()


def test_a_check_of_files_loads_no_database_and_no_screen(tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("<tool_call>\n{}\n</tool_call>", encoding="utf-8")
    loaded = set(_run("check", "--fail-on", "never", str(file)).stderr.rpartition("loaded:")[2].split())
    assert "inspector.inspection" in loaded
    assert loaded & {"sqlalchemy", "storage", "streamlit", "textual", "aiohttp"} == set()


def test_version_is_the_one_in_the_source() -> None:
    assert __version__ in _run("--version").stdout


def test_the_core_loads_neither_store_nor_face() -> None:
    script = "import sys, inspector; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", script], text=True).split())
    assert loaded & {*HEAVY, "click", "rich", "storage", "ui"} == set()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", START, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done
