"""The pytest plug-in: the fixtures `weaklink` and `weaklink_replay` for tests of agents.

pytest loads this plug-in in every run of every project that has weaklink installed, so it imports `inspector` only when
a test requests a fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from weaklink.own_packages import NameCollisionError, import_own

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from weaklink.inspector.pytest_plugin import Weaklink
    from weaklink.inspector.pytest_plugin.replaying import WeaklinkReplay

__all__ = ["Weaklink", "weaklink", "weaklink_replay"]

_HAS_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--weaklink-record`."""
    parser.getgroup("weaklink").addoption(
        "--weaklink-record",
        action="store_true",
        help="forward the requests of tests that use the fixture `weaklink_replay`, and rewrite their recordings",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record whether a test passed, for the teardown of `weaklink_replay`."""
    report = yield
    if report.when == "call":
        item.stash[_HAS_PASSED] = report.passed
    return report


@pytest.fixture(scope="session")
def weaklink() -> Weaklink:
    """Checks a trace, a log, a raw text or a list of messages for faults and broken chains of tool calls."""
    if collision := _collision_message():
        pytest.fail(collision, pytrace=False)
    from weaklink.inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # only now is `inspector` known to be weaklink's

    return Weaklink()


@pytest.fixture
def weaklink_replay(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[WeaklinkReplay]:
    """Answers the requests of a test from a recording: `weaklink_replay("runs/booking.jsonl")`.

    The test fails if a request differs from the recording, or if a recorded request is not made. `--weaklink-record`
    rewrites the recording.
    """
    if collision := _collision_message():
        pytest.fail(collision, pytrace=False)
    from weaklink.inspector.pytest_plugin.replaying import WeaklinkReplay  # noqa: PLC0415  # the server loads when it is needed

    is_recording = bool(request.config.getoption("--weaklink-record"))
    replays = WeaklinkReplay(request.path.parent, monkeypatch.setenv, is_recording=is_recording)
    yield replays
    if failure := replays.close(has_passed=request.node.stash.get(_HAS_PASSED, False)):
        pytest.fail(failure, pytrace=False)


def _collision_message() -> str:
    """Why weaklink's packages cannot be imported in this process; empty if they can."""
    try:
        import_own("inspector")
    except NameCollisionError as error:
        return str(error)
    return ""


def __getattr__(name: str) -> object:
    if name != "Weaklink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_own("inspector")
    from weaklink.inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # as above

    return Weaklink
