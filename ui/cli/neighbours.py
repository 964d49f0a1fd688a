"""Whether the packages `inspector`, `storage` and `ui` are all weaklink's: their names are common words."""

from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("inspector", "storage")


def strangers() -> str | None:
    """A sentence naming the package that is not weaklink's or is missing, or None where all lie in one folder."""
    home = Path(__file__).resolve().parents[2]
    for name in _PACKAGES:
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
        if not places:
            return f"its package `{name}` is missing: expected it in {home}. Install weaklink again."
        if Path(places[0]).resolve().parent != home:
            return (
                f"the package `{name}` in {Path(places[0]).resolve().parent} is another program's: weaklink's own lies "
                f"in {home}. Run weaklink from an environment of its own, or take that folder off PYTHONPATH."
            )
    return None
