"""What one run of `weaklink check` goes by: the command line's words before the configuration's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from inspector.formats.registry import find_format
from inspector.importers.unread import UNREAD_RULES
from inspector.inspection import CONTEXT_WINDOW, REASONING_BUDGET
from inspector.rules.catalogue import RULES, select_rules
from inspector.rules.rule import Rule, Severity
from inspector.segmentation import AUTO
from ui.cli.check_baseline import Baseline, read_baseline
from ui.cli.check_config import NEVER, CheckConfig, find_config, read_config
from ui.cli.check_files import CheckOptions


@dataclass(frozen=True, slots=True)
class Given:
    """What was said on the command line; None or empty where nothing was."""

    source: str | None = None
    format: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    allow_skipped: bool | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How files are read, what is known already, and from which severity up the check fails."""

    wanted: CheckOptions
    fail_on: str = Severity.ERROR.value
    baseline: Baseline = field(default_factory=Baseline)

    def fails(self, severity: Severity) -> bool:
        """Whether a new fault of this severity fails the check."""
        if self.fail_on == NEVER:
            return False
        order = list(Severity)
        return order.index(severity) <= order.index(Severity(self.fail_on))

    @property
    def rules(self) -> frozenset[Rule]:
        """The rules that are looked at."""
        chosen = select_rules(tuple(self.wanted.select)) if self.wanted.select else frozenset(RULES)
        return (chosen - select_rules(tuple(self.wanted.ignore)) - UNREAD_RULES) | self.wanted.unread_rules


def settings(given: Given, config_file: str | None, *, no_config: bool) -> Settings:
    """The settings of a run.

    An option on the command line takes the place of what the configuration says of the same thing. Raises ConfigError,
    UnreadableFileError, UnknownRuleError and UnknownFormatError.
    """
    if config_file is not None and no_config:
        raise click.UsageError("`--config` and `--no-config` exclude each other.")
    config = CheckConfig() if no_config else _config(config_file)
    select, ignore = _words(given.select) or config.select or (), _words(given.ignore) or config.ignore or ()
    select_rules((*select, *ignore))
    format = given.format or config.format or AUTO
    if format != AUTO:
        find_format(format)
    baseline = given.baseline or config.baseline
    allow_skipped = bool(config.allow_skipped if given.allow_skipped is None else given.allow_skipped)
    strict = bool(config.strict if given.strict is None else given.strict)
    if allow_skipped and strict:
        raise click.UsageError("`--allow-skipped` and `--strict` exclude each other.")
    return Settings(
        CheckOptions(
            given.source or config.source,
            format,
            select,
            ignore,
            config.error_patterns or (),
            REASONING_BUDGET if config.reasoning_budget is None else config.reasoning_budget,
            CONTEXT_WINDOW if config.context_window is None else config.context_window,
            allow_skipped=allow_skipped,
            strict=strict,
        ),
        given.fail_on or config.fail_on or Severity.ERROR.value,
        read_baseline(baseline) if baseline else Baseline(),
    )


def _config(file: str | None) -> CheckConfig:
    return find_config(Path.cwd()) if file is None else read_config(Path(file))


def _words(given: Sequence[str]) -> tuple[str, ...]:
    """What an option that may be repeated, with commas within, names."""
    return tuple(word for piece in given for word in piece.replace(",", " ").split())
