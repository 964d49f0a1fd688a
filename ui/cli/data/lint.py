"""`weaklink data lint`: inspect training data sample by sample, and compare samples with each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, islice

import click
from msgspec import Struct, field, structs

from weaklink.inspector.chain.steps import Break
from weaklink.inspector.checks.context import CONTEXT_WINDOW
from weaklink.inspector.dataset.data_files import DataRow, MissingLibraryError, RejectedRow, find_data_files
from weaklink.inspector.dataset.lint.duplicates import DuplicateFinder, SampleKeys, require_comparison, sample_keys
from weaklink.inspector.dataset.lint.linting import LintOptions, format_of_set, linted, linted_samples
from weaklink.inspector.dataset.lint.texts import TokenizerFile, require_detector
from weaklink.inspector.dataset.rows import read_data
from weaklink.inspector.dataset.samples import SAMPLE_SOURCE, Sample, read_sample, redacted
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.reading import unreadable_record_fault
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import REASONING_BUDGET
from weaklink.inspector.model import Role
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.rules import training
from weaklink.inspector.rules.catalogue import words_of
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.cli import declaring
from weaklink.ui.cli.check import check_report, exit_code, judging_options
from weaklink.ui.cli.check_baseline import write_baseline
from weaklink.ui.cli.check_files import FileTally, InspectedRecord, RecordsEnd, SkippedRecord
from weaklink.ui.cli.check_settings import NEVER, CheckConfig, CheckSettings, check_settings
from weaklink.ui.cli.console import print_notice
from weaklink.ui.cli.data.options import (
    NO_ANSWERS,
    NO_CALLS,
    data_rows,
    map_rows,
    no_rows,
    paths_argument,
    rejected_option,
    rejected_rows,
)
from weaklink.ui.cli.declaring import COULD_NOT_RUN
from weaklink.ui.cli.engine_options import jobs_options
from weaklink.ui.importing.engine import EngineOptions
from weaklink.ui.reports.check_report import (
    BROKEN,
    CheckedDiagnostic,
    CheckReporter,
    CheckTotals,
    FilePosition,
    TraceInFile,
    UnreadRecord,
    unread_fingerprint,
)
from weaklink.ui.views.styled_text import counted
from weaklink.ui.views.trace import title_of

_SAMPLE_ROWS = 200
_EXCERPT_CHARS = 200
_SET_RULES = frozenset({training.DUPLICATE_SAMPLE, training.NEAR_DUPLICATE_SAMPLE, training.LEAKED_SAMPLE})


@declaring.command("lint")
@paths_argument
@judging_options
@click.option(
    "--fail-on",
    type=click.Choice([*(severity.value for severity in Severity), NEVER]),
    help="Exit with 1 from this severity up.  [default: error]",
)
@click.option("--allow-skipped", is_flag=True, default=None, help="Do not fail for rows that could not be read.")
@click.option("--format", metavar="NAME", help="The format of the set's calls; see `weaklink formats`.")
@click.option(
    "--eval", "eval_paths", multiple=True, metavar="PATH", help="Evaluation data that must not be in the set (D716)."
)
@click.option("--tokenizer", metavar="FILE", help="A tokenizer.json; finds samples that are too long (D717).")
@click.option(
    "--context", type=click.IntRange(min=1), default=CONTEXT_WINDOW, show_default=True, help="The context in tokens."
)
@jobs_options
@rejected_option
@declaring.color_option
@click.pass_context
def lint(
    ctx: click.Context,
    paths: tuple[str, ...],
    *,
    columns: Mapping[str, str],
    output: str,
    report_files: tuple[tuple[str, str], ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    allow_skipped: bool | None,
    baseline: str | None,
    new_baseline: str | None,
    format: str | None,
    eval_paths: tuple[str, ...],
    tokenizer: str | None,
    context: int,
    config_file: str | None,
    no_config: bool,
    jobs: EngineOptions,
    rejected: str | None,
    color: str,
) -> None:
    """Find faults in training data, with the rules D7xx and all rules for calls, results and reasoning.

    Each PATH is a file of JSON lines, JSON or Parquet, a folder, a data set that Hugging Face's `save_to_disk` wrote,
    a pattern, or FOLDER#CONFIG/SPLIT, as the README.md of a data set names them. A row that could not be read is an
    error, C511; --allow-skipped or --ignore C511 lets it pass. Exits with 0 when nothing as bad as --fail-on was found,
    with 1 when something was, and with 2 when nothing could be read.

    \b
    Examples:
      weaklink data lint train.jsonl
      weaklink data lint data/ --eval test.parquet --tokenizer tokenizer.json --jobs 0
      weaklink data lint train.jsonl --select D7 --output sarif > train.sarif
    """
    given = CheckConfig(
        select=words_of(select),
        ignore=words_of(ignore),
        fail_on=fail_on,
        format=format,
        baseline=baseline,
        allow_skipped=allow_skipped,
    )
    settings = check_settings(given, config_file, no_config=no_config)
    if settings.fail_on == BROKEN:  # a configuration for `check`; rows are samples, which have no chains to judge
        settings = structs.replace(settings, fail_on=Severity.ERROR.value)
    if tokenizer is not None:
        TokenizerFile(tokenizer)
    left_out = _without_library(settings)
    work = RowLinter(
        format=settings.options.format,
        set_format=_set_format(paths, settings.options.format, columns),
        tokenizer=tokenizer,
        context=context,
        select=tuple(settings.options.select),
        ignore=tuple(settings.options.ignore),
        with_shingles=training.NEAR_DUPLICATE_SAMPLE in settings.rules - left_out,
        with_runs=bool(eval_paths),
    )
    report = check_report(output, settings, color, report_files)
    with rejected_rows(rejected, paths) as unread:
        unread.is_silent = True
        linting = _Linting(settings, report, _finder(settings.rules - left_out, eval_paths, columns))
        totals = linting.run(
            map_rows(paths, work, unread, jobs=jobs, label="Linting", keep_rejected=True, columns=columns)
        )
    unchecked = {training.LEAKED_SAMPLE: not eval_paths, training.CUT_BY_BUDGET: tokenizer is None}
    checked_rules = settings.rules - left_out - {rule for rule, is_unchecked in unchecked.items() if is_unchecked}
    totals.gone = settings.baseline.gone(find_data_files(paths), checked_rules)
    report.close(totals)
    if linting.without_tools:
        rows = counted(totals.traces, "row")
        print_notice(
            f"calls without any tool on offer in {linting.without_tools} of {rows}: their arguments were not checked"
        )
    if linting.offering and not linting.calls:
        print_notice(NO_CALLS if linting.answered else NO_ANSWERS)
    if not totals.traces:
        print_notice(no_rows(paths, unread.count))
        ctx.exit(COULD_NOT_RUN)
    if new_baseline is not None:
        write_baseline(new_baseline, settings.baseline.met())
        ctx.exit(0)
    ctx.exit(exit_code(settings, totals))


def _set_format(paths: Sequence[str], format: str, columns: Mapping[str, str]) -> str | None:
    """The given format, else the format of most of the first rows."""
    if format != AUTO:
        return format
    return format_of_set(map(read_sample, islice(data_rows(paths, columns), _SAMPLE_ROWS)))


def _without_library(settings: CheckSettings) -> frozenset[Rule]:
    """The rules whose library is not installed, each with a notice; raises MissingLibraryError with --select."""
    left_out: set[Rule] = set()
    for rule, require in (
        (training.NEAR_DUPLICATE_SAMPLE, require_comparison),
        (training.LANGUAGE_MISMATCH, require_detector),
    ):
        if rule in settings.rules:
            try:
                require()
            except MissingLibraryError as error:
                if settings.options.select:
                    raise
                print_notice(f"{rule} is not checked. {error}")
                left_out.add(rule)
    return frozenset(left_out)


def _finder(rules: frozenset[Rule], eval_paths: tuple[str, ...], columns: Mapping[str, str]) -> DuplicateFinder | None:
    if not _SET_RULES & rules:
        return None
    evaluation = _evaluation(eval_paths, columns) if eval_paths else ()
    return DuplicateFinder(evaluation, near=training.NEAR_DUPLICATE_SAMPLE in rules)


def _evaluation(paths: tuple[str, ...], columns: Mapping[str, str]) -> Iterator[SampleKeys]:
    """The keys of an evaluation set. Reports how many rows were read; raises UnreadableFileError if none were."""
    read = 0
    unread: list[str] = []
    for row in read_data(paths):
        if isinstance(row, RejectedRow):
            unread.append(f"{row.reference}: {row.reason}")
            continue
        sample = read_sample(row.renamed(columns) if columns else row)
        if sample.shape is None:
            unread.append(f"{row.reference}: the row has {refusal(sample.row.value)}")
            continue
        read += 1
        yield sample_keys(sample, with_shingles=False, with_runs=True)
    first = f"; the first: {unread[0]}" if unread else ""
    if not read:
        raise UnreadableFileError(f"--eval: no row of {', '.join(paths)} could be read{first}")
    print_notice(
        f"--eval: {counted(read, 'row')} read" + (f", {len(unread)} could not be read{first}" if unread else "")
    )


class LintedRow(Struct, frozen=True):
    """The result for one row. `opening` is the beginning of its first user message, in `part` of `turn`; "" if none.

    `lacks_tools`: the row has `calls`, but offers no tool. `is_answered`: an assistant's turn is in it.
    `opening`, the title and the diagnostics contain no secrets: results of blocks may be kept on disk.
    """

    file: str
    record: str
    reference: str
    title: str
    keys: SampleKeys
    turn: int
    part: str
    opening: str
    position: FilePosition | None
    diagnostics: tuple[CheckedDiagnostic, ...] = ()
    broken: Break | None = None
    lacks_tools: bool = False
    calls: int = 0
    offers_tools: bool = False
    is_answered: bool = False


class RowLinter(Struct, frozen=True):
    """Lints rows; it can be sent to another process. The fields are the command's options."""

    format: str = AUTO
    set_format: str | None = None
    tokenizer: str | None = None
    context: int = CONTEXT_WINDOW
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    with_shingles: bool = True
    with_runs: bool = False

    def of_rows(self, rows: Sequence[DataRow], /) -> list[LintedRow]:
        """The faults of each row, with their positions in the file. Reports of faults have secrets masked."""
        samples = [read_sample(row, format=self.format) for row in rows]
        options = LintOptions(
            self.set_format,
            _tokenizer(self.tokenizer) if self.tokenizer else None,
            self.context,
            REASONING_BUDGET,
            self.select,
            self.ignore,
        )
        inspections = linted_samples(samples, options)
        keys = [sample_keys(sample, with_shingles=self.with_shingles, with_runs=self.with_runs) for sample in samples]
        return [
            self._linted_row(sample, inspection, key, options)
            for sample, inspection, key in zip(samples, inspections, keys, strict=True)
        ]

    def _linted_row(self, sample: Sample, inspection: Inspection, keys: SampleKeys, options: LintOptions) -> LintedRow:
        row = sample.row
        line = row.number if row.record.startswith("line ") else None
        diagnostics: tuple[CheckedDiagnostic, ...] = ()
        if inspection.diagnostics:
            clean = redacted(sample, _redactor())
            inspection = inspection if clean is sample else linted(clean, options)
            text = sample.raw_text if line else None
            in_file = TraceInFile(
                row.file, SAMPLE_SOURCE, clean.reported_trace, row.number, text, sample.reported_trace
            )
            diagnostics = tuple(in_file.diagnostics(inspection))
        turn, part, opening = _opening(sample)
        return LintedRow(
            row.file,
            row.record,
            row.reference,
            _redactor().text(title_of(sample.trace)),
            keys,
            turn,
            part,
            _redactor().text(opening),
            FilePosition(line) if line else None,
            diagnostics,
            broken=inspection.chain.broken,
            lacks_tools=bool(inspection.chain.steps) and not sample.offered.tools,
            calls=len(inspection.chain.steps),
            offers_tools=bool(sample.offered.tools),
            is_answered=any(turn.role is Role.ASSISTANT for turn in sample.trace.turns),
        )


_tokenizer = cache(TokenizerFile)
_redactor = cache(Redactor)
"""The redactor of this process; it caches texts without secrets, which many rows share."""


def _opening(sample: Sample) -> tuple[int, str, str]:
    for number, turn in enumerate(sample.trace.turns, 1):
        if turn.role is Role.USER and turn.parts:
            return number, turn.parts[0].name, turn.parts[0].text[:_EXCERPT_CHARS]
    return 1, "text", ""


class _Linting(Struct):
    """Adds the faults that concern several rows, and reports row by row and file by file."""

    settings: CheckSettings
    report: CheckReporter
    finder: DuplicateFinder | None
    totals: CheckTotals = field(default_factory=lambda: CheckTotals(judges_chains=False))
    without_tools: int = 0
    calls: int = 0
    offering: int = 0
    answered: int = 0

    def run(self, rows: Iterable[LintedRow | RejectedRow]) -> CheckTotals:
        """Process all rows, and return the totals."""
        for path, rows_of_file in groupby(rows, lambda row: row.file):
            tally = FileTally(path, self.settings.baseline, self.report)
            for row in rows_of_file:
                tally.add(self._unread(row) if isinstance(row, RejectedRow) else self._inspected(row))
            tally.add(RecordsEnd(SAMPLE_SOURCE))
            checked = structs.replace(tally.checked(), notes=())
            self.report.file(checked)
            self.totals.add(checked)
        return self.totals

    def _inspected(self, row: LintedRow) -> InspectedRecord:
        self.without_tools += row.lacks_tools
        self.calls += row.calls
        self.offering += row.offers_tools
        self.answered += row.is_answered
        diagnostics = (*row.diagnostics, *self._set_diagnostics(row))
        return InspectedRecord(row.record, row.title, diagnostics, broken=row.broken)

    def _set_diagnostics(self, row: LintedRow) -> Iterator[CheckedDiagnostic]:
        """The faults that only the comparison with other rows shows."""
        if self.finder is None:
            return
        for rule, message, _ in self.finder.add(row.keys, row.reference):
            if rule in self.settings.rules:
                fault = Fault(rule, Range(0, len(row.opening)), message).at(row.turn, row.part)
                fingerprint = unread_fingerprint(rule.code, "", row.opening)
                yield CheckedDiagnostic(
                    row.file, row.record, row.title, fault, LineIndex(row.opening), row.position, fingerprint
                )

    def _unread(self, row: RejectedRow) -> SkippedRecord:
        skipped = Skipped(row.record, row.reason)
        fault = unreadable_record_fault(skipped, "")
        if fault.rule not in self.settings.rules:
            return SkippedRecord(skipped)
        position = FilePosition(row.line, row.column) if row.line is not None else None
        fingerprint = unread_fingerprint(fault.rule.code, row.reference, "")
        return SkippedRecord(
            skipped, UnreadRecord(row.file, row.record, fault, position=position, fingerprint=fingerprint)
        )
