"""`show` takes links as well as ids."""

from pathlib import Path

import pytest

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.conftest import Run
from weaklink.storage.store import open_store


@pytest.fixture
def where(tmp_path: Path) -> str:
    """A database with a trace of two steps."""
    with open_store(tmp_path / "runs.db") as store:
        store.save(inspected(trace("two", GOOD_CALL, BAD_CALL)))
    return str(tmp_path / "runs.db")


def test_of_a_link_to_a_step_only_the_turns_of_that_step_are_shown(weaklink: Run, where: str) -> None:
    whole = weaklink("show", "1", "--db", where).stdout.decode()
    step = weaklink("show", "weaklink://trace/1?step=2", "--db", where)
    assert (step.returncode, step.stderr) == (0, b"")
    shown = step.stdout.decode()
    assert "trailing-comma" in shown
    assert len(shown.splitlines()) < len(whole.splitlines())
    assert set(shown.splitlines()) <= set(whole.splitlines())


def test_a_place_that_the_trace_has_not_is_said_and_all_of_it_shown(weaklink: Run, where: str) -> None:
    ran = weaklink("show", "http://localhost:8501/trace?trace=1&turn=99&start=0&end=1", "--db", where)
    assert b"the link points to turn 99, text 0-1, which this trace does not have" in ran.stderr
    assert ran.stdout == weaklink("show", "1", "--db", where).stdout


def test_a_link_that_leads_nowhere_is_one_sentence(weaklink: Run, where: str) -> None:
    ran = weaklink("show", "weaklink://trace/1?step=x", "--db", where)
    assert ran.returncode == 2
    assert ran.stderr.decode().startswith("weaklink: the link's `step` is `x`")
