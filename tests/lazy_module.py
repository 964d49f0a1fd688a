"""Libraries that few tests use: they load at their first use, since every worker collects every test."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for the module of that name, and imports it when something of it is wanted."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
