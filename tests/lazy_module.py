"""Libraries that few tests use: they load at their first use, since every worker collects every test."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Imports the module of that name when a test first uses an attribute of it.

    Pytest looks at each name of a test module for fixtures: what it looks up there is missing, and imports nothing.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "pytest")):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)
