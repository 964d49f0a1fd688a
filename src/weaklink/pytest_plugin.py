"""The pytest plug-in: the fixtures `weaklink` and `weaklink_replay` for tests of agents.

pytest loads this plug-in in every run of every project that has weaklink installed, so it imports the rest of
weaklink only when a test requests a fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
    from weaklink.inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # as the module says

    return Weaklink()


@pytest.fixture
def weaklink_replay(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[WeaklinkReplay]:
    """Answers the requests of a test from a recording: `weaklink_replay("runs/booking.jsonl")`.

    The test fails if a request differs from the recording, or if a recorded request is not made. `--weaklink-record`
    rewrites the recording.
    """
    from weaklink.inspector.pytest_plugin.replaying import WeaklinkReplay  # noqa: PLC0415  # the server loads when it is needed

    is_recording = bool(request.config.getoption("--weaklink-record"))
    replays = WeaklinkReplay(request.path.parent, monkeypatch.setenv, is_recording=is_recording)
    yield replays
    if failure := replays.close(has_passed=request.node.stash.get(_HAS_PASSED, False)):
        pytest.fail(failure, pytrace=False)


def __getattr__(name: str) -> object:
    if name != "Weaklink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from weaklink.inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # as above

    return Weaklink
