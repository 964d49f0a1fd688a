"""The pytest plug-in: a fixture `weaklink` for tests of agents.

It loads in every pytest run of its users, whether they use it or not, so nothing of weaklink is imported before a test
asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from weaklink.own_packages import NameCollisionError, import_own

if TYPE_CHECKING:
    from inspector.pytest_plugin import Weaklink

__all__ = ["Weaklink", "weaklink"]


@pytest.fixture(scope="session")
def weaklink() -> Weaklink:
    """Checks a trace, a log, a raw text or a list of messages for faults and broken chains of tool calls."""
    if in_the_way := _in_the_way():
        pytest.fail(in_the_way, pytrace=False)
    from inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # only now is `inspector` known to be weaklink's

    return Weaklink()


def _in_the_way() -> str:
    """Why weaklink's packages cannot be imported in this process; empty where they can."""
    try:
        import_own("inspector")
    except NameCollisionError as error:
        return str(error)
    return ""


def __getattr__(name: str) -> object:
    if name != "Weaklink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_own("inspector")
    from inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # as above

    return Weaklink
