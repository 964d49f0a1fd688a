"""The distribution that a set should have: the recommended one, or that of a file.

A file is JSON with any of the groups `tools`, `steps`, `should_call`, `parameter_types` and `languages`, each an object
of values and shares, and `error_recovery`, a minimum share:

    {"steps": {"1": 0.5, "2": 0.3, "3+": 0.2}, "languages": {"en": 0.6, "de": 0.4}, "error_recovery": 0.1}

A group or value that the file leaves out has no goal.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.model import Json

Goals: TypeAlias = "Mapping[str, Mapping[str, float] | float]"
Shares: TypeAlias = "dict[str, dict[str, float] | float]"

PARAMETER_TYPES = ("string", "number", "boolean", "array", "object", "null")
RECOMMENDED: Goals = MappingProxyType(
    {
        "tools": {"1": 0.5, "2": 0.3, "3+": 0.2},
        "steps": {"1": 0.4, "2": 0.35, "3+": 0.25},
        "should_call": {"yes": 0.7, "no": 0.3},
        "parameter_types": {"string": 0.25, "number": 0.25, "array": 0.25, "object": 0.25},
        "error_recovery": 0.15,
        "languages": {},
    }
)
"""The recommended distribution; `error_recovery` is a minimum, and `languages` has no recommendation."""

_MINIMUM = "error_recovery"
_VALUES: dict[str, tuple[str, ...] | None] = {
    "tools": ("1", "2", "3+"),
    "steps": ("1", "2", "3+"),
    "should_call": ("yes", "no"),
    "parameter_types": PARAMETER_TYPES,
    "languages": None,
}


def read_goals(path: str) -> Goals:
    """The goals of a file. Raises UnreadableFileError for a file that is not such JSON, with the member at fault."""
    try:
        value = parse_json_bytes(Path(path).read_bytes())
    except (OSError, NotJsonError) as error:
        raise UnreadableFileError(
            f"cannot read the goals in {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if not isinstance(value, dict):
        raise UnreadableFileError(f"cannot read the goals in {path}: expected an object of groups and shares")
    return {group: _group(path, group, member) for group, member in value.items()}


def _group(path: str, group: str, member: Json) -> Mapping[str, float] | float:
    if group == _MINIMUM:
        return _share(path, group, member)
    if group not in _VALUES:
        known = ", ".join(f"`{name}`" for name in (*_VALUES, _MINIMUM))
        raise UnreadableFileError(f"cannot read the goals in {path}: `{group}` is none of {known}")
    if not isinstance(member, dict):
        raise UnreadableFileError(f"cannot read the goals in {path}: `{group}` must be an object of values and shares")
    values = _VALUES[group]
    for name in member:
        if values is not None and name not in values:
            shown = ", ".join(values)
            raise UnreadableFileError(
                f"cannot read the goals in {path}: `{group}` has the values {shown}, not `{name}`"
            )
    return {name: _share(path, f"{group}.{name}", share) for name, share in member.items()}


def _share(path: str, name: str, value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UnreadableFileError(f"cannot read the goals in {path}: `{name}` must be a share from 0 to 1")
    return float(value)


def deviations(shares: Shares, goals: Goals = RECOMMENDED) -> dict[str, Any]:
    """Each share minus its goal; the deviation of `error_recovery` is 0 if the minimum is reached."""
    differences: dict[str, Any] = {}
    for key, goal in goals.items():
        share = shares[key]
        if isinstance(goal, Mapping) and isinstance(share, dict):
            differences[key] = {name: round(share.get(name, 0.0) - target, 6) for name, target in goal.items()}
        elif isinstance(share, float) and isinstance(goal, float):
            differences[key] = round(min(share - goal, 0.0), 6)
    return differences
