"""The Python API of weaklink: import everything from `weaklink`; the names in `weaklink.__all__` are public.

Names load on first use (PEP 562): `import weaklink` alone loads nothing else of the project. If another package named
`inspector` comes first on the import path, the first use raises NameCollisionError.
"""

from typing import TYPE_CHECKING

from weaklink.own_packages import NameCollisionError as NameCollisionError
from weaklink.own_packages import import_own

if TYPE_CHECKING:
    from weaklink.inspector import *  # noqa: F403  # `inspector.__all__` is the list
    from weaklink.inspector import __all__ as __all__
    from weaklink.inspector import __version__ as __version__


def _public() -> list[str]:
    return [*import_own("inspector").__all__, NameCollisionError.__name__]


def _attribute(name: str) -> object:
    """The value of a public name, cached for the next use. Raises AttributeError and NameCollisionError."""
    if name == "__all__":
        return _public()
    is_private = name.startswith("_") and name != "__version__"
    if is_private or name not in _public():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_own("inspector"), name)
    return value


if not TYPE_CHECKING:  # with a `__getattr__`, a type checker would accept every name as public
    __getattr__, __dir__ = _attribute, _public
