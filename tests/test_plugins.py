"""Plug-ins are found wherever `importlib.metadata` finds them, which is loaded only where there may be one."""

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, entry_points
from pathlib import Path

import pytest

from weaklink.inspector.plugins import entry_points_of

_GROUP = "weaklink.formats"
_POINTS = "[weaklink.formats]\nparrot = birds:PARROT\n"
_FACTS = "Metadata-Version: 2.1\nName: birds\nVersion: 1\n"


def _folder(at: Path, points: str = _POINTS, kind: str = "dist-info") -> str:
    facts = at / f"birds-1.{kind}"
    facts.mkdir(parents=True)
    (facts / ("METADATA" if kind == "dist-info" else "PKG-INFO")).write_text(_FACTS)
    (facts / "entry_points.txt").write_text(points)
    return str(at)


def _archive(at: Path) -> str:
    with zipfile.ZipFile(at, "w") as archive:
        archive.writestr("birds-1.dist-info/METADATA", _FACTS)
        archive.writestr("birds-1.dist-info/entry_points.txt", _POINTS)
    return str(at)


def _names() -> list[str]:
    found = [one.name for one in entry_points_of(_GROUP)]
    assert found == [one.name for one in entry_points(group=_GROUP)]
    return found


def test_a_plug_in_is_found_in_folders_and_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _names() == []
    for number, kind in enumerate(("dist-info", "egg-info")):
        with monkeypatch.context() as patch:
            patch.syspath_prepend(_folder(tmp_path / str(number), kind=kind))
            assert _names() == ["parrot"]
    with monkeypatch.context() as patch:
        patch.syspath_prepend(_archive(tmp_path / "birds.zip"))
        assert _names() == ["parrot"]
    with monkeypatch.context() as patch:
        patch.syspath_prepend(_folder(tmp_path / "here"))
        patch.setattr(sys, "path", ["" if one.endswith("here") else one for one in sys.path])
        patch.chdir(tmp_path / "here")
        assert _names() == ["parrot"]
    with monkeypatch.context() as patch:
        patch.syspath_prepend(_folder(tmp_path / "other", "[other.formats]\nparrot = birds:PARROT\n"))
        patch.syspath_prepend(str(tmp_path / "missing"))
        assert _names() == []


def test_a_plug_in_that_a_finder_of_its_own_brings_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Path(_folder(tmp_path)) / "birds-1.dist-info"

    class Finder:
        """Finds packages that no folder of `sys.path` describes, as programs packed into one file have."""

        @staticmethod
        def find_distributions(*_: object) -> list[Distribution]:
            return [Distribution.at(facts)]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert _names() == ["parrot"]


def test_metadata_is_not_loaded_where_no_package_declares_a_plug_in() -> None:
    program = (
        "import sys; from weaklink.inspector.plugins import entry_points_of; "
        "print(list(entry_points_of('weaklink.formats')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print('importlib.metadata' in sys.modules)"],
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"[]", b"False"]
