"""No test reads or writes the folders of the user who runs the tests."""

import os
from pathlib import Path

import platformdirs
import pytest
from click.testing import CliRunner

from weaklink.ui.cli.group import weaklink


@pytest.fixture(scope="module")
def folder_of_module() -> Path:
    return platformdirs.user_data_path("weaklink")


def test_the_user_s_folders_are_below_those_of_the_tests(folder_of_module: Path, users_folder: Path) -> None:
    used = {
        platformdirs.user_data_path("weaklink"),
        platformdirs.user_config_path("weaklink"),
        platformdirs.user_state_path("weaklink"),
        platformdirs.user_cache_path("weaklink"),
        folder_of_module,
    }
    assert len(used) == 5, "data of what outlives a test is apart"
    assert all(path.is_relative_to(users_folder) for path in used)


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_its_own(number: int) -> None:
    assert not Path(os.environ["XDG_DATA_HOME"]).exists(), f"run {number} sees what another test wrote"
    sample = Path(__file__).parents[1] / "sample_traces"
    assert CliRunner().invoke(weaklink, ["import", str(next(sample.glob("*.jsonl")))]).exit_code == 0
    assert (Path(os.environ["XDG_DATA_HOME"]) / "weaklink" / "weaklink.db").exists()
