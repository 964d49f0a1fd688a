"""What the fixture `weaklink` of the pytest plug-in gives a test; the plug-in itself is `weaklink.pytest_plugin`."""

from inspector.pytest_plugin.fixture import Weaklink

__all__ = ["Weaklink"]
