"""The wheel is what users get: our packages with their data and nothing else, and it runs far from the sources."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from weaklink.inspector.version import __version__

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/weaklink", "inspector", "storage", "ui", "sample_traces")
LINKED = FOLDERS[1:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built as a release is: from the source distribution."""
    out = tmp_path_factory.mktemp("dist")
    _done([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)])
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def weaklink(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from the wheel in an environment that sees our dependencies but not our sources."""
    return _installed(tmp_path_factory.mktemp("wheel"), str(wheel))


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed in such an environment as a developer does."""
    return _installed(tmp_path_factory.mktemp("editable"), "--no-build-isolation", "--editable", str(ROOT))


def _installed(home: Path, *what: str) -> Path:
    venv.create(home, symlinks=True)
    # A plain path entry: the .pth file of our own editable install, which lies there too, is not followed.
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = home / "bin" / "python"
    _done([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", *what])
    return home / "bin" / "weaklink"


def test_wheel_holds_the_packages_with_their_data_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == _sources()


def test_wheel_bears_version_licence_and_command(wheel: Path) -> None:
    about = f"weaklink-{__version__}.dist-info"
    with ZipFile(wheel) as archive:
        assert f"{about}/licenses/LICENSE" in archive.namelist()
        assert b"weaklink = weaklink.command:main" in archive.read(f"{about}/entry_points.txt")


@pytest.mark.slow
def test_installed_command_runs_from_the_wheel(weaklink: Path, tmp_path: Path) -> None:
    script = "import weaklink, weaklink.inspector; print(weaklink.__file__, weaklink.inspector.__file__, sep='\\n')"
    for where in _done([str(weaklink.with_name("python")), "-c", script], tmp_path).splitlines():
        assert Path(where).is_relative_to(weaklink.parents[1])
    assert __version__ in _done([str(weaklink), "--version"], tmp_path)


@pytest.mark.slow
def test_demo_runs_from_the_wheel(weaklink: Path, tmp_path: Path) -> None:
    assert _done([str(weaklink), "demo"], tmp_path).strip()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("install", ["weaklink", "editable"])
def test_a_project_keeps_its_own_modules_of_our_folders_names(
    install: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Its tests run with our plug-in, its program with our logger, and the command in its folder."""
    command: Path = request.getfixturevalue(install)
    for name in LINKED:
        (tmp_path / f"{name}.py").write_text("OWN = 1\n", encoding="utf-8")
    own = f"import {', '.join(LINKED)}\nassert {' + '.join(f'{name}.OWN' for name in LINKED)} == {len(LINKED)}\n"
    (tmp_path / "test_own.py").write_text(
        f"{own}\ndef test_agent(weaklink):\n    weaklink.assert_clean('<think>a</think>b', format='hermes')\n"
    )
    (tmp_path / "agent.py").write_text(
        f"{own}import weaklink\nwith weaklink.TraceLogger('runs.db') as log:\n    log.user('Hello')\n"
        "print(weaklink.segment('<think>a</think>b').spans[0].kind)\n"
    )
    python = str(command.with_name("python"))
    said = _done([python, "-m", "pytest", "-p", "no:cacheprovider"], tmp_path)
    assert "1 passed in" in said
    assert f"weaklink-{__version__}" in said
    assert "reasoning" in _done([python, "agent.py"], tmp_path)
    assert "Hello" in _done([python, "-m", "weaklink", "list", "--db", "runs.db"], tmp_path)
    assert "Hello" in _done([str(command), "list", "--db", "runs.db"], tmp_path)


@pytest.mark.slow
def test_the_base_is_light_and_the_screens_name_their_extra(wheel: Path, tmp_path: Path) -> None:
    """Without extras: what an agent's environment needs to record, import, inspect, check, list and show."""
    home = tmp_path / "base"
    venv.create(home, symlinks=True)
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(home / "bin" / "python")]
    _done([*install, "-c", str(ROOT / "constraints-dev.txt"), str(wheel)], tmp_path)
    installed = list(home.glob("lib/python*/site-packages/*.dist-info"))
    assert len(installed) <= 31, sorted(path.name for path in installed)
    command = str(home / "bin" / "weaklink")
    log = str(ROOT / "sample_traces" / "retry-loop.jsonl")
    _done([command, "import", "--db", "runs.db", log], tmp_path)
    for words in (["list"], ["show", "1"], ["stats"], ["db", "check"]):
        _done([command, *words, "--db", "runs.db"], tmp_path)
    _done([command, "run", "--db", "runs.db", "--", "true"], tmp_path)
    _done([command, "check", "--fail-on", "never", log], tmp_path)
    for extra, module in (("web", "streamlit"), ("tui", "textual")):
        refused = subprocess.run([command, extra], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert refused.stderr == (
            f"weaklink: `weaklink {extra}` needs `{module}`, which is not installed: pip install 'weaklink[{extra}]'\n"
        )
        assert refused.returncode == 2


@pytest.mark.slow
def test_without_such_modules_none_of_their_names_can_be_imported(editable: Path, tmp_path: Path) -> None:
    script = f"from importlib.util import find_spec; print(*map(find_spec, {LINKED!r}))"
    assert _done([str(editable.with_name("python")), "-c", script], tmp_path).split() == ["None"] * len(LINKED)


def _sources() -> set[str]:
    """What the wheel shall hold: our files, below `weaklink`."""
    files = {path: path.relative_to(ROOT / "src") for path in (ROOT / "src" / "weaklink").iterdir() if path.is_file()}
    for name in LINKED:
        folder = ROOT / name
        files |= {
            path: Path("weaklink", name, path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
        }
    return {path.as_posix() for path in files.values() if "__pycache__" not in path.parts}


def _done(command: list[str], folder: Path = ROOT) -> str:
    """What a command prints, run in `folder` as its home; fails with what it said when it fails."""
    home = {} if folder == ROOT else {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WEAKLINK", "XDG"))}
    done = subprocess.run(command, cwd=folder, env=kept | home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
