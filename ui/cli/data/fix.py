"""`weaklink data fix`: training data with its faults repaired, as a copy, each repair listed."""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial
from io import BytesIO
from pathlib import Path

import click
from msgspec.structs import replace

from inspector.errors import UnreadableFileError, WeaklinkError
from inspector.formats.registry import find_format
from inspector.rules.catalogue import RULES, select_rules
from inspector.rules.rule import Rule
from inspector.segmentation import AUTO
from ui.cli.console import print_lines, print_notice, screen_width
from ui.cli.data.fix_files import FixOptions, fix_file
from ui.cli.files import open_output
from ui.importing.file_places import files_below
from ui.reports.fix_report import FixedFile, FixJson, FixLines, FixQuietly, FixReport, sum_words
from ui.views.styled_text import visible_line

_SKIPPED = 1
_COULD_NOT_RUN = 2


@click.pass_context
def fix(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    output: str | None,
    out_dir: str | None,
    with_diff: bool,
    unsafe: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format: str,
    source: str | None,
    as_json: bool,
    color: str,
) -> None:
    """`weaklink fix`; see its help."""
    if output is not None and out_dir is not None:
        raise click.UsageError("`--output` and `--out-dir` exclude each other.")
    if format != AUTO:
        find_format(format)
    asked = FixOptions(source, format, _rules(select, ignore), unsafe)
    targets = _targets(paths, output, out_dir)
    _refuse_originals(targets)
    is_shown = with_diff or (output is None and out_dir is None)
    report: FixReport = FixQuietly(print_notice)
    if as_json:
        report = FixJson(sys.stdout)
    elif is_shown:
        report = FixLines(partial(print_lines, color=color), print_notice, screen_width())
    if out_dir is not None:
        for _, target in targets:
            Path(target or out_dir).parent.mkdir(parents=True, exist_ok=True)
    files = [_fixed(path, target, asked, report) for path, target in targets]
    report.close()
    print_notice(sum_words(files))
    if not any(file.refused is None for file in files):
        ctx.exit(_COULD_NOT_RUN)
    if any(file.skipped or (file.refused is not None and file.path in paths) for file in files):
        ctx.exit(_SKIPPED)


def _fixed(path: str, target: str | None, asked: FixOptions, report: FixReport) -> FixedFile:
    """Repair one file; what became of it. One that cannot be repaired leaves no copy, and is said."""
    try:
        file = replace(_written(path, target, asked, report), output=target)
    except UnreadableFileError as error:
        file = FixedFile(path, refused=str(error))
        print_notice(str(error))
    report.file(file)
    return file


def _written(path: str, target: str | None, asked: FixOptions, report: FixReport) -> FixedFile:
    if target is None:
        return fix_file(path, asked, _Discarded(), report)
    with open_output(target) as stream:
        return fix_file(path, asked, stream.buffer, report)


class _Discarded(BytesIO):
    """Takes what is written and keeps none of it."""

    def write(self, content: object) -> int:
        del content
        return 0


def _targets(paths: Iterable[str], output: str | None, out_dir: str | None) -> list[tuple[str, str | None]]:
    """Each file, and where its copy goes."""
    found: list[tuple[str, str | None]] = []
    for given in paths:
        for path in files_below([given]):
            found.append((path, _target(given, path, output, out_dir)))
    if output is not None and len(found) > 1:
        raise click.UsageError(f"`--output` takes the copy of one file, and these are {len(found)}; see `--out-dir`.")
    copies = [target for _, target in found if target is not None]
    if len(set(copies)) < len(copies):
        twice = Counter(copies).most_common(1)[0][0]
        raise click.UsageError(f"several of the files would be written to `{visible_line(twice)}`.")
    return found


def _target(given: str, path: str, output: str | None, out_dir: str | None) -> str | None:
    if out_dir is None:
        return output
    inside = os.path.relpath(path, given) if Path(given).is_dir() else Path(path).name
    return str(Path(out_dir) / inside)


class _OriginalError(WeaklinkError):
    """A copy would take the place of a file that is to be repaired."""


def _refuse_originals(targets: Iterable[tuple[str, str | None]]) -> None:
    """Refuse to write over any of the files, under whatever name: a link, too, leads to the same file."""
    pairs = list(targets)
    originals = {_identity(path): path for path, _ in pairs}
    originals.pop(None, None)
    for _, target in pairs:
        original = originals.get(_identity(target)) if target is not None else None
        if original is not None:
            raise _OriginalError(f"{target} is {original} itself: `fix` never writes over an original")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _rules(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[Rule]:
    words, unwanted = _words(select), _words(ignore)
    return (select_rules(words) if words else frozenset(RULES)) - select_rules(unwanted)


def _words(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for piece in given for word in piece.replace(",", " ").split())
