"""The pytest plug-in: a fixture `weaklink` for tests of agents. It loads in every run of its users, so it is light."""

from inspector.pytest_plugin.fixture import Weaklink, weaklink

__all__ = ["Weaklink", "weaklink"]
