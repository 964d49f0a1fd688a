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
PACKAGES = ("weaklink", "inspector", "storage", "ui", "sample_traces")


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
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    _done([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)])
    # A plain path entry: the .pth file of our own editable install, which lies there too, is not followed.
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
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


def test_installed_command_runs_from_the_wheel(weaklink: Path, tmp_path: Path) -> None:
    script = "import weaklink, inspector; print(weaklink.__file__, inspector.__file__, sep='\\n')"
    for where in _done([str(weaklink.with_name("python")), "-c", script], tmp_path).splitlines():
        assert Path(where).is_relative_to(weaklink.parents[1])
    assert __version__ in _done([str(weaklink), "--version"], tmp_path)


def test_demo_runs_from_the_wheel(weaklink: Path, tmp_path: Path) -> None:
    assert _done([str(weaklink), "demo"], tmp_path).strip()


def test_installed_plug_in_lets_a_project_keep_its_own_inspector(weaklink: Path, tmp_path: Path) -> None:
    for name in ("inspector", "storage", "ui"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWN = 1\n", encoding="utf-8")
    own = "import inspector, storage, ui\ndef test_own():\n    assert inspector.OWN == storage.OWN == ui.OWN == 1\n"
    (tmp_path / "test_own.py").write_text(own, encoding="utf-8")
    python = str(weaklink.with_name("python"))
    said = _done([python, "-m", "pytest", "-p", "no:cacheprovider"], tmp_path)
    assert "1 passed in" in said
    assert "plugins: " in said
    assert f"weaklink-{__version__}" in said
    assert __version__ in _done([python, "-m", "weaklink", "--version"], tmp_path)


def _sources() -> set[str]:
    files = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


def _done(command: list[str], folder: Path = ROOT) -> str:
    """What a command prints, run in `folder` as its home; fails with what it said when it fails."""
    home = {} if folder == ROOT else {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WEAKLINK", "XDG"))}
    done = subprocess.run(command, cwd=folder, env=kept | home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
