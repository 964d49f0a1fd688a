"""The settings of `weaklink check`: command line options override those of pyproject.toml or weaklink.toml."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import msgspec
from msgspec import Struct, field, structs

from weaklink.inspector.errors import UnknownFormatError, UnknownRuleError, UnreadableFileError, WeaklinkError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.registry import source_names
from weaklink.inspector.inspection import REASONING_BUDGET
from weaklink.inspector.model import Json
from weaklink.inspector.rules.catalogue import select_rules
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.segmentation import AUTO
from weaklink.ui.cli.check_baseline import Baseline, read_baseline
from weaklink.ui.cli.check_files import CheckOptions
from weaklink.ui.cli.declaring import WEAKLINK_TOML
from weaklink.ui.reports.check_report import BROKEN

NEVER = "never"
"""The value of `fail-on` with which no fault fails the check."""
_FAIL_ON = (NEVER, BROKEN, *Severity)  # each value also fails for what those before it fail for

_PYPROJECT = "pyproject.toml"


class ConfigError(WeaklinkError):
    """A configuration is invalid; the message names the file and the key."""


class CheckConfig(Struct, frozen=True, rename="kebab"):
    """The values of a configuration file, or of a command line; None for keys that it does not set.

    `baseline` is a path joined to the folder of the configuration file. `error_patterns` are regular expressions: a
    tool result in which one of them is found is an error. `reasoning_budget` and `context_window` are in tokens.
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
    """The configuration of the nearest folder that has one, from `folder` upwards; an empty one if none has.

    weaklink.toml takes precedence over pyproject.toml, which counts only if it has a table `tool.weaklink`. Raises
    ConfigError and UnreadableFileError.
    """
    for parent in (folder, *folder.parents):
        for name in (WEAKLINK_TOML, _PYPROJECT):
            if (parent / name).is_file():
                table = _table(parent / name)
                if table is not None:
                    return _read(parent / name, table)
    return CheckConfig()


def read_config(path: Path) -> CheckConfig:
    """The configuration in one file. Raises ConfigError and UnreadableFileError."""
    return _read(path, _table(path) or {})


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of the keys of a configuration, derived from CheckConfig and the words that its readers know."""
    properties: dict[str, Any] = msgspec.json.schema(CheckConfig)["$defs"]["CheckConfig"]["properties"]
    # TOML has no null: what a key may have if it is set.
    schema: dict[str, Any] = {
        key: next(dict(kind) for kind in properties[key]["anyOf"] if kind["type"] != "null") for key in _KEYS
    }
    schema["fail-on"]["enum"] = [str(word) for word in _FAIL_ON]
    schema["source"]["enum"] = list(source_names())
    for key in ("reasoning-budget", "context-window"):
        schema[key]["minimum"] = 1
    return {"type": "object", "properties": schema, "additionalProperties": False}


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
    table = tools.get("weaklink") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: `tool.weaklink` must be a table")
    return table


def _read(path: Path, table: dict[str, Json]) -> CheckConfig:
    root = "tool.weaklink." if path.name == _PYPROJECT else ""
    section = table.get("check", {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: `{root}check` must be a table")
    config = CheckConfig(file=str(path))
    shared = {key: value for key, value in table.items() if key not in ("check", "formats", "prices")}
    for prefix, values in ((root, shared), (f"{root}check.", section)):
        config = structs.replace(config, **dict(_values(path, prefix, values)))
    return config


def _values(path: Path, prefix: str, values: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    """The fields of a CheckConfig that a table sets."""
    for key, value in values.items():
        read = _KEYS.get(key)
        if read is None:
            raise ConfigError(f"{path}: there is no key `{prefix}{key}`; {_suggestion(key, _KEYS)}")
        try:
            setting = read(value)
        except (UnknownRuleError, UnknownFormatError, ValueError) as error:
            raise ConfigError(f"{path}: `{prefix}{key}`: {error}") from error
        yield key.replace("-", "_"), str(path.parent / str(setting)) if key == "baseline" else setting


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
            raise ValueError(f"`{pattern}` is not a regular expression: {error}") from error
    return patterns


def _strings(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError("this must be a list of strings")
    return tuple(str(word) for word in value)


def _format(value: Json) -> str:
    name = _string(value)
    return name if name == AUTO else find_format(name).name


def _one_of(value: Json, known: Sequence[str]) -> str:
    word = _string(value)
    if word not in known:
        raise ValueError(f"`{word}` is not known; {_suggestion(word, known)}")
    return word


def _suggestion(word: str, known: Iterable[str]) -> str:
    words = list(known)
    nearest = get_close_matches(word, words, n=1)
    return f"did you mean `{nearest[0]}`?" if nearest else f"expected one of {', '.join(f'`{word}`' for word in words)}"


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
        "fail-on": lambda value: _one_of(value, [str(word) for word in _FAIL_ON]),
        "format": _format,
        "source": lambda value: _one_of(value, source_names()),
        "baseline": _string,
        "error-patterns": _patterns,
        "reasoning-budget": _tokens,
        "context-window": _tokens,
        "allow-skipped": _boolean,
        "strict": _boolean,
    }
)


class CheckSettings(Struct, frozen=True):
    """How files are read, the baseline, and what fails the check.

    `fail_on` is the lowest severity that does, and broken chains do too; `broken` for these only; or `never`.
    """

    options: CheckOptions
    fail_on: str = Severity.ERROR.value
    baseline: Baseline = field(default_factory=Baseline)

    def fails(self, kind: str) -> bool:
        """Whether new faults of this severity, or new broken chains (`BROKEN`), fail the check."""
        return _FAIL_ON.index(kind) <= _FAIL_ON.index(self.fail_on)

    @property
    def rules(self) -> frozenset[Rule]:
        """The rules that are checked."""
        return self.options.rules


def check_settings(given: CheckConfig, config_file: str | None, *, no_config: bool) -> CheckSettings:
    """The settings of a run.

    What is `given` on the command line overrides the same key of the configuration. Raises ConfigError,
    UnreadableFileError, UnknownRuleError and UnknownFormatError, and UsageError for options that exclude each other.
    """
    if config_file is not None and no_config:
        raise click.UsageError("`--config` and `--no-config` exclude each other.")
    config = CheckConfig()
    if not no_config:
        config = find_config(Path.cwd()) if config_file is None else read_config(Path(config_file))
    config = structs.replace(config, **{name: value for name, value in structs.asdict(given).items() if value})
    select, ignore, format = config.select or (), config.ignore or (), config.format or AUTO
    select_rules((*select, *ignore))
    if format != AUTO:
        find_format(format)
    if config.allow_skipped and config.strict:
        raise click.UsageError("`--allow-skipped` and `--strict` exclude each other.")
    return CheckSettings(
        CheckOptions(
            config.source,
            format,
            select,
            ignore,
            config.error_patterns or (),
            config.reasoning_budget or REASONING_BUDGET,
            config.context_window,
            allow_skipped=bool(config.allow_skipped),
            strict=bool(config.strict),
        ),
        config.fail_on or Severity.ERROR.value,
        read_baseline(config.baseline) if config.baseline else Baseline(),
    )
