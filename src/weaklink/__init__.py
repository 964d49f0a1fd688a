"""The Python API of weaklink: import everything from `weaklink`; the names in `weaklink.__all__` are public.

Names load on first use (PEP 562): `import weaklink` alone loads nothing else of the project.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weaklink.inspector import *  # noqa: F403  # `weaklink.inspector.__all__` is the list
    from weaklink.inspector import __all__ as __all__
    from weaklink.inspector import __version__ as __version__


def _public() -> list[str]:
    return [*_import_module("weaklink.inspector").__all__]


def _attribute(name: str) -> object:
    """The value of a public name, cached for the next use. Raises AttributeError."""
    if name == "__all__":
        return _public()
    is_private = name.startswith("_") and name != "__version__"
    if is_private or name not in _public():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module("weaklink.inspector"), name)
    return value


if not TYPE_CHECKING:  # with a `__getattr__`, a type checker would accept every name as public
    __getattr__, __dir__ = _attribute, _public
