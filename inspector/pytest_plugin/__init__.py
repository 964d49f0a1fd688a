"""The value of the pytest fixture `weaklink`; the plug-in itself is `weaklink.pytest_plugin`."""

from weaklink.inspector.pytest_plugin.fixture import Weaklink

__all__ = ["Weaklink"]
