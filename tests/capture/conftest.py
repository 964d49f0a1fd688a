"""What weaklink's installation offers by entry point, without an installation."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Offer = Callable[[dict[str, str]], None]


@pytest.fixture
def offer(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Installs a package that offers these sinks, name by name; nothing else offers any."""

    def install(sinks: dict[str, str]) -> None:
        folder = tmp_path_factory.mktemp("installed")
        facts = folder / "offering-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
        lines = [f"{name} = {sink}" for name, sink in sinks.items()]
        (facts / "entry_points.txt").write_text("\n".join(["[weaklink.sinks]", *lines, ""]))
        monkeypatch.syspath_prepend(str(folder))

    return install


@pytest.fixture
def installed_store(offer: Offer) -> None:
    """Weaklink's own sinks, as pyproject.toml declares them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    offer(project["entry-points"]["weaklink.sinks"])
