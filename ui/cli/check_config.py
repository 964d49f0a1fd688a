"""What a project has written down for its checks: `[tool.weaklink]` in pyproject.toml, or weaklink.toml."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inspector.errors import UnknownFormatError, UnknownRuleError, UnreadableFileError, WeaklinkError
from inspector.formats.registry import find_format
from inspector.importers.registry import source_names
from inspector.model import Json
from inspector.rules.catalogue import select_rules
from inspector.rules.rule import Severity
from inspector.segmentation import AUTO

NEVER = "never"
"""The word for `fail-on` that lets nothing fail."""

_PYPROJECT, _OWN = "pyproject.toml", "weaklink.toml"


class ConfigError(WeaklinkError):
    """A configuration says what weaklink does not understand; the text bears file and key."""


@dataclass(frozen=True, slots=True)
class CheckConfig:
    """What a configuration says; None where it says nothing.

    `baseline` is a path, seen from the configuration's own folder. `error_patterns` are regular expressions: a tool
    result that one of them is found in is an error. `reasoning_budget` and `context_window` are numbers of tokens.
    """

    file: str = ""
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    fail_on: str | None = None
    format: str | None = None
    source: str | None = None
    baseline: str | None = None
    error_patterns: tuple[str, ...] | None = None
    reasoning_budget: int | None = None
    context_window: int | None = None
    allow_skipped: bool | None = None
    strict: bool | None = None


def find_config(folder: Path) -> CheckConfig:
    """The configuration of the nearest folder, upwards from `folder`, that has one; an empty one where none has.

    weaklink.toml goes before pyproject.toml, which counts only where it has a table `tool.weaklink`. Raises ConfigError
    and UnreadableFileError.
    """
    for place in (folder, *folder.parents):
        for name in (_OWN, _PYPROJECT):
            if (place / name).is_file():
                found = _table(place / name)
                if found is not None:
                    return _read(place / name, found)
    return CheckConfig()


def read_config(path: Path) -> CheckConfig:
    """The configuration in one file. Raises ConfigError and UnreadableFileError."""
    return _read(path, _table(path) or {})


def _table(path: Path) -> dict[str, Json] | None:
    try:
        value: dict[str, Json] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    if path.name != _PYPROJECT:
        return value
    tools = value.get("tool")
    found = tools.get("weaklink") if isinstance(tools, dict) else None
    if found is not None and not isinstance(found, dict):
        raise ConfigError(f"{path}: `tool.weaklink` must be a table")
    return found


def _read(path: Path, table: dict[str, Json]) -> CheckConfig:
    root = "tool.weaklink." if path.name == _PYPROJECT else ""
    own = table.get("check", {})
    if not isinstance(own, dict):
        raise ConfigError(f"{path}: `{root}check` must be a table")
    config = CheckConfig(file=str(path))
    shared = {key: value for key, value in table.items() if key != "check"}
    for place, values in ((root, shared), (f"{root}check.", own)):
        config = replace(config, **dict(_values(path, place, values)))
    return config


def _values(path: Path, place: str, values: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    """The fields of a CheckConfig that a table sets."""
    for key, value in values.items():
        read = _KEYS.get(key)
        if read is None:
            raise ConfigError(f"{path}: there is no key `{place}{key}`; {_meant(key, _KEYS)}")
        try:
            found = read(value)
        except (UnknownRuleError, UnknownFormatError, ValueError) as error:
            raise ConfigError(f"{path}: `{place}{key}`: {error}") from error
        yield key.replace("-", "_"), str(path.parent / str(found)) if key == "baseline" else found


def _rules(value: Json) -> tuple[str, ...]:
    words = _strings(value)
    select_rules(words)
    return words


def _patterns(value: Json) -> tuple[str, ...]:
    patterns = _strings(value)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"`{pattern}` is no regular expression: {error}") from error
    return patterns


def _strings(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("this must be a list of strings")
    return tuple(str(one) for one in value)


def _severity(value: Json) -> str:
    return _one_of(value, [*(severity.value for severity in Severity), NEVER])


def _format(value: Json) -> str:
    name = _string(value)
    return name if name == AUTO else find_format(name).name


def _source(value: Json) -> str:
    return _one_of(value, source_names())


def _one_of(value: Json, known: Sequence[str]) -> str:
    word = _string(value)
    if word not in known:
        raise ValueError(f"`{word}` is not known; {_meant(word, known)}")
    return word


def _meant(word: str, known: Iterable[str]) -> str:
    words = list(known)
    nearest = get_close_matches(word, words, n=1)
    return f"did you mean `{nearest[0]}`?" if nearest else f"there are {', '.join(f'`{one}`' for one in words)}"


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError("this must be a string")
    return value


def _boolean(value: Json) -> bool:
    if not isinstance(value, bool):
        raise ValueError("this must be true or false")
    return value


def _tokens(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("this must be a number of tokens, 1 or more")
    return value


_KEYS: Mapping[str, Callable[[Json], object]] = MappingProxyType(
    {
        "select": _rules,
        "ignore": _rules,
        "fail-on": _severity,
        "format": _format,
        "source": _source,
        "baseline": _string,
        "error-patterns": _patterns,
        "reasoning-budget": _tokens,
        "context-window": _tokens,
        "allow-skipped": _boolean,
        "strict": _boolean,
    }
)
