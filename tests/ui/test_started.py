"""Commands that begin with their modules loaded end as commands do, and none takes another's end for its own."""

from pathlib import Path

import pytest

from tests.ui.conftest import environment, started
from weaklink.inspector.version import __version__


def test_a_command_that_does_not_end_is_killed_and_the_next_one_runs(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    with pytest.raises(TimeoutError):
        started().run(["tail", "--db", "t.db"], stdin=b"", folder=tmp_path, variables=variables, timeout_s=2)
    done = started().run(["--version"], stdin=b"", folder=tmp_path, variables=variables, timeout_s=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"weaklink {__version__}\n".encode(), b"")


def test_it_sees_its_own_folder_and_variables_and_tells_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("Hello.")
    variables = environment(tmp_path, WEAKLINK_DB=str(tmp_path / "none.db"))
    process = started().run(["segment", "r.txt"], stdin=b"", folder=tmp_path, variables=variables, timeout_s=60)
    refused = started().run(["list"], stdin=b"", folder=tmp_path, variables=variables, timeout_s=60)
    assert process.returncode == 0
    assert b"none.db" in refused.stderr
    assert refused.returncode == 2
