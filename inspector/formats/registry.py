"""The formats there are: written out as a tuple, and those that plug-ins bring through an entry point."""

from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points

from inspector.errors import UnknownFormatError
from inspector.formats.dialects.hermes import HERMES
from inspector.formats.dialects.openai import OPENAI
from inspector.formats.dialects.phi4 import PHI4
from inspector.formats.format import Format

ENTRY_POINT_GROUP = "weaklink.formats"
"""Entry points of this group name a Format each."""

_BUILT_IN: tuple[Format, ...] = (
    HERMES,
    OPENAI,
    PHI4,
)
FALLBACK = HERMES
"""The format of a text that points to none."""
_registered: dict[str, Format] = {}


def formats() -> tuple[Format, ...]:
    """Every format: the built-in ones, then plug-ins, then those registered in this process."""
    return (*_BUILT_IN, *_plugged_in(), *_registered.values())


def register_format(added: Format) -> None:
    """Make a format known in this process, in place of one registered before under the same name.

    Raises ValueError where a built-in format or a plug-in bears that name.
    """
    if any(added.name in (known.name, *known.aliases) for known in (*_BUILT_IN, *_plugged_in())):
        raise ValueError(f"a format named `{added.name}` is built in")
    _registered[added.name] = added


def find_format(name: str) -> Format:
    """The format of that name or alias, in any case. Raises UnknownFormatError, naming the nearest."""
    wanted = name.lower()
    names: list[str] = []
    for known in formats():
        if wanted in (known.name, *known.aliases):
            return known
        names += (known.name, *known.aliases)
    nearest = get_close_matches(wanted, names, n=1)
    hint = f"; did you mean `{nearest[0]}`?" if nearest else "; `weaklink formats` lists them all"
    raise UnknownFormatError(f"no format is called `{name}`{hint}")


def broken_plugins() -> tuple[str, ...]:
    """What is wrong with each plug-in that brought no format, in a sentence."""
    return _plugins()[1]


def _plugged_in() -> tuple[Format, ...]:
    return _plugins()[0]


@cache
def _plugins() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    found: list[Format] = []
    broken: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001  # foreign code: whatever it raises, the other formats still work
            broken.append(f"The plug-in `{point.name}` ({point.value}) could not be loaded: {error!r}.")
            continue
        taken = {name for known in (*_BUILT_IN, *found) for name in (known.name, *known.aliases)}
        if not isinstance(loaded, Format):
            broken.append(f"The plug-in `{point.name}` ({point.value}) is no Format but `{type(loaded).__name__}`.")
        elif taken & {loaded.name, *loaded.aliases}:
            broken.append(f"The plug-in `{point.name}` brings a format `{loaded.name}`, whose name is taken already.")
        else:
            found.append(loaded)
    return tuple(found), tuple(broken)
