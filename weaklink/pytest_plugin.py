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
    try:
        import_own("inspector")
    except NameCollisionError as error:
        pytest.fail(str(error), pytrace=False)
    from inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # only now is `inspector` known to be weaklink's

    return Weaklink()


def __getattr__(name: str) -> object:
    if name != "Weaklink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_own("inspector")
    from inspector.pytest_plugin import Weaklink  # noqa: PLC0415  # as above

    return Weaklink
