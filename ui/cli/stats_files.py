"""Metrics over the traces of files, added up one trace at a time without a database."""

import os
from collections import Counter
from collections.abc import Sequence

from inspector.chain.metrics_groups import Aspect, GroupKey, Groups, Slices
from inspector.checks.schema_complexity import SchemaComplexity, schema_complexity
from inspector.errors import UnknownFormatError, UnreadableFileError
from inspector.importers.source import Skipped
from inspector.inspection import inspect_trace
from inspector.model import ToolDefinition, Trace
from inspector.redaction.redactor import Redactor
from storage import Prompt, Violations
from storage.figure_rows import figures_in
from storage.statistics_keys import keys_of, prompt_of
from ui.cli.named_traces import records_of
from ui.cli.stats_asked import Sides, shown_groups
from ui.cli.stats_expected import Expected, id_among, with_expected
from ui.cli.upkeep import say
from ui.importing.placed_file import PlacedFile
from ui.views.stats_report import Statistics

_MOST_SAID = 5


class FileFigures:
    """Adds up the figures of files. What cannot be read, or is left out, is said."""

    def __init__(self, by: Sequence[GroupKey], expected: Expected) -> None:
        self._by, self._expected = tuple(by), expected
        self._whole, self._groups = Groups(), Groups(by)
        self._steps, self._codes, self._aborts = (Slices(one) for one in (Aspect.STEP, Aspect.CODE, Aspect.ABORT))
        self._violations: dict[tuple[str, str, str], Violations] = {}
        self._prompts: dict[str, Prompt] = {}
        self._schemas: dict[str, SchemaComplexity] = {}
        self._measured: tuple[ToolDefinition, ...] = ()
        self.failed = False
        self._redactor = Redactor()

    def read(self, file: PlacedFile, source: str | None) -> None:
        """Count the traces of a file. One that is merely not for us is said, and did not fail."""
        skipped: Counter[str] = Counter()
        is_ours = False
        try:
            for record in records_of(file, source):
                is_ours = True
                if isinstance(record, Trace):
                    self._add(self._redactor.trace(record))
                else:
                    self._skip(file, record, skipped)
        except UnreadableFileError as error:
            self.failed = self.failed or is_ours or not os.access(file.path, os.R_OK)
            say(str(error))
        left = skipped.total() - _MOST_SAID
        if left > 0:
            say(f"{file.name}: {left:,} more records were skipped")

    def statistics(self, sides: Sides | None, *, compares: bool, fewest: int) -> Statistics:
        """What was counted. Raises UsageError for a group that is not there."""
        whole = self._whole.all()
        return Statistics(
            whole[0] if whole else None,
            self._by,
            steps=self._steps.all(),
            codes=self._codes.all(),
            aborts=self._aborts.all(),
            violations=sorted(self._violations.values(), key=lambda one: (-one.times, one.tool, one.path, one.code)),
            prompts=self._prompts,
            schemas=self._schemas,
            fewest=fewest,
            **shown_groups(self._groups.all() if self._by else [], sides, compares=compares, fewest=fewest),
        )

    def _skip(self, file: PlacedFile, record: Skipped, skipped: Counter[str]) -> None:
        skipped[file.name] += 1
        if skipped[file.name] <= _MOST_SAID:
            say(f"{record.file or file.name}, {record.record}: {self._redactor.text(record.reason)}")

    def _add(self, trace: Trace) -> None:
        try:
            inspection = inspect_trace(trace)
        except UnknownFormatError as error:
            say(f"{trace.provenance.file}, {trace.provenance.record}: {error}")
            return
        keys, figures = keys_of(trace, inspection), figures_in(trace, inspection)
        wanted = id_among(((one.name, one.value) for one in trace.external_ids), self._expected)
        if wanted is not None:
            figures = with_expected(figures, inspection, self._expected[wanted])
        for sums in (self._whole, self._groups, self._steps, self._codes, self._aborts):
            sums.add(keys, figures)
        for one in figures.violations:
            place = (one.tool, one.path, one.code)
            so_far = self._violations.get(place, Violations(*place, 0, 0))
            self._violations[place] = Violations(*place, so_far.times + one.times, so_far.traces + 1)
        for turn in trace.turns if GroupKey.TOOL in self._by else ():
            self._measure(turn.generation.tools if turn.generation is not None else ())
        if keys.prompt and GroupKey.PROMPT in self._by and keys.prompt not in self._prompts:
            self._prompts[keys.prompt] = prompt_of(trace)

    def _measure(self, tools: tuple[ToolDefinition, ...]) -> None:
        """Remember how intricate the schemas of these tools are; most turns offer the very same."""
        if tools is not self._measured:
            self._measured = tools
            self._schemas |= {tool.name: schema_complexity(tool) for tool in tools}
