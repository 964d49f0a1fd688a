"""A project with an `inspector`, `storage` or `ui` of its own: its tests run, and weaklink says what is in the way."""

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = "def test_own():\n    import {name}\n\n    assert {name}.OWN == 1\n"
AGENT = "def test_agent(weaklink):\n    weaklink.assert_clean('<think>a</think>b', format='hermes')\n"
LOGGER = """
import pytest
import weaklink

def test_logger():
    with pytest.raises(weaklink.WeaklinkError) as raised:
        weaklink.TraceLogger("runs.db")
    print("said:", raised.value)
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A user's project: its files, and the module of its own that has the name of a package of weaklink."""

    name: str
    intruder: str
    files: tuple[tuple[str, str], ...] = ()


_SRC = '[tool.pytest.ini_options]\npythonpath = ["src"]\n'
_IMPORTLIB = '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = ["--import-mode=importlib"]\n'
INSPECTORS = (
    Project("inspector", "inspector/__init__.py"),
    Project("inspector", "inspector.py", (("conftest.py", "import inspector\n"),)),
    Project("inspector", "src/inspector/__init__.py", (("pyproject.toml", _SRC),)),
    Project("inspector", "inspector/__init__.py", (("pyproject.toml", _IMPORTLIB),)),
)
STORAGES = (
    Project("storage", "storage.py"),
    Project("storage", "src/storage/__init__.py", (("pyproject.toml", _SRC), ("src/storage/live.py", ""))),
)
SCREENS = (
    Project("ui", "ui/__init__.py", (("ui/cli/__init__.py", ""),)),
    Project("ui", "src/ui/__init__.py", (("pyproject.toml", _SRC),)),
)


def _each(*projects: Project) -> pytest.MarkDecorator:
    """A test for these projects; in the gate, for the first of each name."""
    firsts = {project.name: project for project in reversed(projects)}
    chosen = [
        project if firsts[project.name] is project else pytest.param(project, marks=pytest.mark.slow)
        for project in projects
    ]
    return pytest.mark.parametrize("project", chosen, ids=lambda project: project.intruder)


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process that finds weaklink as installed: its packages, and its entry points."""
    site = tmp_path_factory.mktemp("site")
    about = site / "weaklink-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: weaklink\nVersion: 1\n", encoding="utf-8")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = (f"[{group}]\n" + "\n".join(f"{a} = {b}" for a, b in points.items()) for group, points in groups.items())
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    # pytest prints each failure's message a second time where one of the variables of a CI is set.
    foreign = ("PYTEST", "WEAKLINK", "XDG", "CI", "BUILD_NUMBER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "HOME": str(site)}


def made(project: Project, folder: Path, **tests: str) -> Path:
    """The project in a folder, with a test that needs its own module and these tests; gives the module's path."""
    own = {project.intruder: "OWN = 1\n", "test_own.py": OWN.format(name=project.name)}
    for name, text in (own | dict(project.files) | {f"{name}.py": body for name, body in tests.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return (folder / project.intruder).resolve()


def ran(words: list[str], folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


def pytest_run(folder: Path, variables: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return ran(["pytest", "-rA", "-p", "no:randomly", "-p", "no:cacheprovider", *words], folder, variables)


def intruder_of(output: str) -> str:
    """What a sentence about a name collision says is in the way."""
    return output.partition("finds ")[2].partition(", which is not weaklink's")[0]


@pytest.mark.one_in(3)
@_each(*INSPECTORS, *STORAGES, *SCREENS)
def test_a_run_that_does_not_use_weaklink_is_unaffected(
    project: Project, installed: dict[str, str], tmp_path: Path
) -> None:
    made(project, tmp_path)
    done = pytest_run(tmp_path, installed)
    assert "PASSED test_own.py::test_own" in done.stdout
    assert "1 passed in" in done.stdout
    assert done.returncode == 0


@_each(*INSPECTORS)
def test_the_fixture_fails_with_a_sentence_and_the_other_tests_run(
    project: Project, installed: dict[str, str], tmp_path: Path
) -> None:
    intruder = made(project, tmp_path, test_agent=AGENT)
    done = pytest_run(tmp_path, installed)
    assert "1 passed, 1 error in" in done.stdout
    assert intruder_of(done.stdout) == str(intruder)
    assert done.stdout.count("rename that module") == 1
    assert "Traceback" not in done.stdout
    assert "own_packages.py" not in done.stdout


@pytest.mark.one_in(2)
@_each(*STORAGES, *SCREENS)
def test_the_fixture_works_where_only_another_package_has_the_name(
    project: Project, installed: dict[str, str], tmp_path: Path
) -> None:
    made(project, tmp_path, test_agent=AGENT)
    assert "2 passed in" in pytest_run(tmp_path, installed).stdout


@_each(*STORAGES)
def test_a_logger_into_a_database_fails_with_a_sentence(
    project: Project, installed: dict[str, str], tmp_path: Path
) -> None:
    intruder = made(project, tmp_path, test_logger=LOGGER)
    done = pytest_run(tmp_path, installed)
    assert "2 passed in" in done.stdout
    assert intruder_of(done.stdout.partition("said:")[2]) == str(intruder)


@pytest.mark.parametrize("use", ["weaklink.segment", "from weaklink import segment", "import weaklink.formats"])
@pytest.mark.parametrize("project", INSPECTORS[:2], ids=lambda project: project.intruder)
def test_import_weaklink_says_what_is_in_the_way(
    project: Project, use: str, installed: dict[str, str], tmp_path: Path
) -> None:
    intruder = made(project, tmp_path)
    (tmp_path / "program.py").write_text(f"import weaklink\n{use}\n", encoding="utf-8")
    done = ran(["program"], tmp_path, installed)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("weaklink.own_packages.NameCollisionError: weaklink needs its package `inspector`")
    assert intruder_of(last) == str(intruder)


def test_an_intruder_that_is_imported_already_is_found(installed: dict[str, str], tmp_path: Path) -> None:
    intruder = made(INSPECTORS[0], tmp_path)
    (tmp_path / "program.py").write_text(
        "import sys, inspector\nsys.path.remove(sys.path[0])\nimport weaklink\nweaklink.segment\n", encoding="utf-8"
    )
    assert intruder_of(ran(["program"], tmp_path, installed).stderr) == str(intruder)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("project", [INSPECTORS[2], STORAGES[0], SCREENS[0]], ids=lambda project: project.intruder)
def test_the_command_works_in_such_a_folder(project: Project, installed: dict[str, str], tmp_path: Path) -> None:
    intruder = made(project, tmp_path)
    first = intruder.parents[1 if intruder.stem == "__init__" else 0]
    variables = installed | {"PYTHONPATH": f"{first}{os.pathsep}{installed['PYTHONPATH']}"}
    logs = [str(ROOT / "sample_traces" / name) for name in ("good-single-call.jsonl", "retry-loop.jsonl")]
    for words in (["--version"], ["import", "--jobs", "2", *logs], ["list"]):
        done = ran(["weaklink", *words], tmp_path, variables)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    (copied / "weaklink").mkdir(parents=True)
    for path in (ROOT / "weaklink").glob("*.py"):
        (copied / "weaklink" / path.name).write_bytes(path.read_bytes())
    done = subprocess.run(
        [sys.executable, "-S", "-m", "weaklink", "--version"], cwd=copied, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"weaklink: weaklink's package `inspector` is missing from {copied.resolve()}: reinstall weaklink.\n"
    )
