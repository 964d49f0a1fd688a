"""`weaklink data fix`: write a repaired copy of training data, and list each repair."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import click
from msgspec import Struct, structs

from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.engine_faults import TWINS
from weaklink.inspector.dataset.lint.structure import repair_row
from weaklink.inspector.dataset.record_rewrite import RewrittenRecord, rewrite_record
from weaklink.inspector.dataset.repair import AppliedRepair, Repair, RepairInput, repair_trace
from weaklink.inspector.dataset.rows import file_identity, table_kind
from weaklink.inspector.dataset.samples import SAMPLE_SOURCE
from weaklink.inspector.errors import UnknownFormatError, UnreadableFileError, WeaklinkError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.reading import SourceRecords, read_source
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.inspector.rules.catalogue import RULES, chosen_rules, select_rules, words_of
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import decode
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_lines, print_notice, screen_width
from weaklink.ui.cli.data.options import NO_COLUMNS, paths_argument
from weaklink.ui.cli.data.record_copies import (
    RecordCopy,
    RenamedCopy,
    TableCopy,
    TextCopy,
    copy_records,
    renamed_traces,
)
from weaklink.ui.cli.declaring import COULD_NOT_RUN, FAILED
from weaklink.ui.cli.files import open_output
from weaklink.ui.importing.input_files import files_below
from weaklink.ui.reports.fix_report import FixedFile, FixJson, FixLines, FixReport, Repaired, sum_words
from weaklink.ui.views.styled_text import visible_line
from weaklink.ui.views.trace import title_of

_ROWS = frozenset({"completions", "sharegpt", "openai-messages", "bfcl", "training-data"})
_RAW_TEXT = "raw-text"
_READ_AS_LINT_DOES = _ROWS - {"bfcl"}  # whose results are no rows of a training set


_Rewrite = Callable[[str, Trace, Repair], RewrittenRecord]


class FixOptions(Struct, frozen=True):
    """How files are read, the rules whose faults are repaired, and whether unsafe repairs are applied too.

    `columns` are those of `DataRow.renamed`.
    """

    source: str | None = None
    format: str = AUTO
    rules: Container[Rule] = RULES
    unsafe: bool = False
    columns: Mapping[str, str] = NO_COLUMNS

    def examine(self, trace: Trace) -> RepairInput:
        """The input for repairs of a trace: its faults and inspection. Raises UnknownFormatError."""
        inspection = inspect_trace(trace, format=self.format)
        return RepairInput(
            inspection.diagnostics, sum(call.valid for part in inspection.parts for call in part.calls), inspection
        )


def fix_file(path: str, options: FixOptions, out: BinaryIO, report: FixReport) -> FixedFile:
    """Write the repaired copy of a file to `out`, report each repair, and return the file's summary.

    Holds one trace in memory at a time, of a table one row group or batch. Raises UnreadableFileError if the file
    cannot be read to its end or is of a kind that is not repaired; `out` is then incomplete.
    """
    file = SourceFile(path)
    if _is_table(file):
        return _table_fixed(path, options, out, report)
    if options.columns:
        reading = SourceRecords(SAMPLE_SOURCE, "members named by --map", renamed_traces(file, options.columns))
    else:
        reading = read_source(path, options.source)
    if reading.source not in {*_ROWS, _RAW_TEXT}:
        raise UnreadableFileError(
            f"{path}: `fix` repairs training data (raw outputs, conversations, raw text), but this is a log "
            f"of `{reading.source}`, and `fix` never changes logs"
        )
    if file.packing:
        raise UnreadableFileError(f"{path}: unpack it first: `fix` writes a copy that differs only where it repairs")
    is_text = reading.source == _RAW_TEXT
    if reading.source in _READ_AS_LINT_DOES and options.source is None and not options.columns:
        reading = SourceRecords(reading.source, reading.why, renamed_traces(file, options.columns))
    copy: RecordCopy = TextCopy(file, out) if is_text else copy_records(file, out)
    copy = RenamedCopy(copy, options.columns) if options.columns else copy
    fixer = _FileFixer(path, options, copy, report, _text_rewritten if is_text else rewrite_record)
    return fixer.all_of(reading.records, reading.source)


def _table_fixed(path: str, options: FixOptions, out: BinaryIO, report: FixReport) -> FixedFile:
    table = TableCopy(path, out)
    copy = RenamedCopy(table, options.columns) if options.columns else table
    fixer = _FileFixer(path, options, copy, report, rewrite_record)
    return fixer.all_of(table.traces(options.columns), SAMPLE_SOURCE)


def _is_table(file: SourceFile) -> bool:
    if not file.path.is_file():  # opening a pipe would wait for a writer
        return False
    try:
        with file.open_stored() as stored:
            return table_kind(stored, str(file.path)) is not None
    except OSError:
        return False  # reported when it is read


class _FileFixer:
    """Repairs the traces of one file, and counts."""

    def __init__(self, path: str, options: FixOptions, copy: RecordCopy, report: FixReport, rewrite: _Rewrite) -> None:
        self._path, self._options, self._copy, self._report, self._rewrite = path, options, copy, report, rewrite
        self.traces = self.skipped = self.records = self.changes = self.left = 0

    def all_of(self, records: Iterable[Trace | Skipped], source: str) -> FixedFile:
        """Repair all records, and finish the copy."""
        for record in records:
            if isinstance(record, Skipped):
                self.skipped += 1
                print_notice(f"{record.file or self._path}: {record.record}: {record.reason}")
            else:
                self.trace(record)
        self._copy.close()
        return FixedFile(self._path, source, self.traces, self.skipped, self.records, self.changes, self.left)

    def trace(self, trace: Trace) -> None:
        """Repair one record."""
        self.traces += 1
        try:
            repair = repair_trace(trace, self._options.examine, rules=self._options.rules, unsafe=self._options.unsafe)
        except UnknownFormatError as error:
            self.skipped += 1
            print_notice(f"{self._path}: {trace.provenance.record}: {error}")
            return
        applied, unplaced = self._written(trace, repair)
        self.records += bool(applied)
        self.changes += len(applied)
        self.left += len(unplaced) + len(repair.refused)
        if applied or unplaced or repair.refused:
            record, title = trace.provenance.record, title_of(trace)
            self._report.repaired(Repaired(self._path, record, title, applied, unplaced, repair.refused))

    def _written(self, trace: Trace, repair: Repair) -> tuple[tuple[AppliedRepair, ...], tuple[AppliedRepair, ...]]:
        """The repairs that the copy now contains, and those that could not be placed in it."""
        is_row = self._rewrite is rewrite_record
        raw = self._copy.find(trace.provenance.record) if repair.changes or is_row else None
        if raw is None:
            return (), repair.changes
        rewritten = RewrittenRecord(decode(raw), ())
        if repair.changes:
            rewritten = self._rewrite(rewritten.text, trace, repair)
        text, of_row = self._row_repaired(rewritten.text, trace, repair) if is_row else (rewritten.text, ())
        is_changed = rewritten.changes or of_row
        if self._copy.put(text.encode("utf-8", "surrogateescape") if is_changed else raw):
            return (*rewritten.changes, *of_row), rewritten.unplaced
        return (), (*rewritten.changes, *of_row, *rewritten.unplaced)

    def _row_repaired(self, text: str, trace: Trace, repair: Repair) -> tuple[str, tuple[AppliedRepair, ...]]:
        """The row with its own members repaired too, and those repairs."""
        raw, record = text.encode("utf-8", "surrogateescape"), trace.provenance.record
        try:
            value = parse_json_bytes(raw)
        except NotJsonError:
            return text, ()
        if not isinstance(value, dict):
            return text, ()
        row = DataRow(self._path, record, int(record.rpartition(" ")[2]), value, raw)
        options = self._options
        return repair_row(row, repair.trace, repair.inspection, rules=options.rules, unsafe=options.unsafe)


def _text_rewritten(text: str, trace: Trace, repair: Repair) -> RewrittenRecord:
    """The content of a raw text file: the texts of its trace, concatenated."""
    del text, trace
    return RewrittenRecord("".join(part.text for turn in repair.trace.turns for part in turn.parts), repair.changes)


@declaring.command("fix")
@paths_argument
@click.option("--output", metavar="FILE", help="Write the repaired copy of the one PATH to FILE.")
@click.option("--out-dir", metavar="DIR", help="Write the copies into DIR, under the same names.")
@click.option("--diff", "with_diff", is_flag=True, help="Show each repair even when copies are written.")
@click.option("--unsafe", is_flag=True, help="Also apply unsafe repairs, which may not be what was meant.")
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, names or prefixes, J1,F301.")
@click.option("--ignore", multiple=True, metavar="RULES", help="All but these rules.")
@click.option("--format", default=AUTO, metavar="NAME", help="Read every text in this format; see `weaklink formats`.")
@declaring.source_option
@declaring.json_option
@declaring.color_option
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
    columns: Mapping[str, str],
    as_json: bool,
    color: str,
) -> None:
    """Repair training data: raw outputs, conversations and raw text, where a fault has a safe repair.

    Without --output or --out-dir nothing is written, and every repair is shown as a diff. With one of them a copy is
    written; the original is never changed. A repair that would introduce new faults is skipped. A record that cannot
    be read is copied as it is. Both are reported. Exits with 1 if a record or one of several named files could not be
    read, and with 2 if nothing could.

    \b
    Examples:
      weaklink data fix train.jsonl
      weaklink data fix train.jsonl --output train.fixed.jsonl
      weaklink data fix data/ --out-dir fixed/ --unsafe --diff
    """
    if output is not None and out_dir is not None:
        raise click.UsageError("`--output` and `--out-dir` exclude each other.")
    if format != AUTO:
        find_format(format)
    options = FixOptions(source, format, _chosen(select, ignore), unsafe, columns)
    targets = _targets(paths, output, out_dir)
    _refuse_originals(targets)
    is_shown = with_diff or (output is None and out_dir is None)
    report: FixReport = FixJson(sys.stdout)
    if not as_json:
        put = partial(print_lines, color=color) if is_shown else lambda _: None
        report = FixLines(put, print_notice, screen_width())
    if out_dir is not None:
        for _, target in targets:
            Path(target or out_dir).parent.mkdir(parents=True, exist_ok=True)
    files = [_fixed(path, target, options, report) for path, target in targets]
    report.close()
    print_notice(sum_words(files))
    if not any(file.refused is None for file in files):
        ctx.exit(COULD_NOT_RUN)
    if any(file.skipped or (file.refused is not None and file.path in paths) for file in files):
        ctx.exit(FAILED)


def _fixed(path: str, target: str | None, options: FixOptions, report: FixReport) -> FixedFile:
    """Repair one file, and return its summary. A file that cannot be repaired is reported and leaves no copy."""
    try:
        file = structs.replace(_written(path, target, options, report), output=target)
    except UnreadableFileError as error:
        file = FixedFile(path, refused=str(error))
        print_notice(str(error))
    report.file(file)
    return file


def _written(path: str, target: str | None, options: FixOptions, report: FixReport) -> FixedFile:
    if target is None:
        return fix_file(path, options, _Discarded(), report)
    if target.lower().endswith((".json", ".jsonl")) and _is_table(SourceFile(path)):
        raise UnreadableFileError(f"{path} is a table, and so is its copy; name it *.parquet or *.arrow, not {target}")
    with open_output(target) as stream:
        return fix_file(path, options, stream.buffer, report)


class _Discarded(BytesIO):
    """Discards what is written."""

    def write(self, content: object) -> int:
        del content
        return 0


def _chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[Rule]:
    """The rules whose faults are repaired; the D rule by which `lint` names a fault of another rule names that, too."""
    chosen, ignored = chosen_rules(select, ignore), select_rules(words_of(ignore))
    names = {rule: {rule, TWINS.get(rule, rule)} for rule in RULES}
    return frozenset(rule for rule in RULES if names[rule] & chosen and not names[rule] & ignored)


def _targets(paths: Iterable[str], output: str | None, out_dir: str | None) -> list[tuple[str, str | None]]:
    """Each file with the path of its copy, None if there is no copy."""
    targets: list[tuple[str, str | None]] = []
    for argument in paths:
        for path in files_below([argument]):
            targets.append((path, _target(argument, path, output, out_dir)))
    if output is not None and len(targets) > 1:
        raise click.UsageError(
            f"`--output` writes the copy of one file, but there are {len(targets)}; use `--out-dir`."
        )
    copies = [target for _, target in targets if target is not None]
    if len(set(copies)) < len(copies):
        twice = Counter(copies).most_common(1)[0][0]
        raise click.UsageError(f"several of the files would be written to `{visible_line(twice)}`.")
    return targets


def _target(argument: str, path: str, output: str | None, out_dir: str | None) -> str | None:
    if out_dir is None:
        return output
    inside = os.path.relpath(path, argument) if Path(argument).is_dir() else Path(path).name
    return str(Path(out_dir) / inside)


class _OriginalError(WeaklinkError):
    """A copy would overwrite a file that is to be repaired."""


def _refuse_originals(targets: Iterable[tuple[str, str | None]]) -> None:
    """Refuse to overwrite any of the files, under any name: a link also leads to the same file."""
    pairs = list(targets)
    originals = {file_identity(path): path for path, _ in pairs}
    originals.pop(None, None)
    for _, target in pairs:
        original = originals.get(file_identity(target)) if target is not None else None
        if original is not None:
            raise _OriginalError(f"{target} is {original} itself: `fix` never overwrites an original")
