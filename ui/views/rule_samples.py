"""Examples of the rules about training data: linted rows, and a row checked by a verifier."""

import json
from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.checks.context import CONTEXT_WINDOW
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.data_files import DataRow, MissingLibraryError
from weaklink.inspector.dataset.lint.duplicates import DuplicateFinder, duplicate_fault, sample_keys
from weaklink.inspector.dataset.lint.linting import LintOptions, lint_sample
from weaklink.inspector.dataset.record_rewrite import RecordPart, find_slots
from weaklink.inspector.dataset.samples import ROW_PART, Sample, read_sample
from weaklink.inspector.dataset.verifiers import find_verifier, run_verifier
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Json, Part, Role, Trace, Turn
from weaklink.inspector.text import Range


def verified_row(text: str) -> tuple[Trace, Inspection]:
    """A row with the diagnostics of the verifier named in it."""
    row = json.loads(text)
    candidate = row_candidate(row)
    verdict = run_verifier(find_verifier(row["verifier"]), candidate)
    return candidate.trace, replace(inspect_trace(candidate.trace), diagnostics=verdict.diagnostics)


class _Words:
    """Counts words instead of tokens."""

    def count(self, text: str) -> int:
        return len(text.split())


def linted_rows(text: str) -> tuple[Trace, Inspection]:
    """Linted rows of training data, with the faults at their positions in the text."""
    before_context, _, context = text.partition("\n@context ")
    rows, _, evaluated = before_context.partition("\n@eval\n")
    options = LintOptions(counter=_Words() if context else None, context=int(context or CONTEXT_WINDOW))
    leaked = [sample_keys(row, with_shingles=False, with_runs=True) for row, _ in _samples(evaluated)]
    try:
        finder = DuplicateFinder(leaked, near="\n" in rows)
    except MissingLibraryError:
        finder = DuplicateFinder(leaked, near=False)
    faults: list[Fault] = []
    for sample, start in _samples(rows):
        of_sample = lint_sample(sample, options)
        for rule, message, _ in finder.add(sample_keys(sample, with_runs=True), sample.record):
            of_sample.append(duplicate_fault(sample, rule, message))
        faults += (_in_text(sample, diagnostic).moved(start) for diagnostic in of_sample)
    trace = Trace((Turn(Role.USER, (Part("text", text),)),))
    diagnostics = tuple(fault.at(1, "text") for fault in sorted(faults, key=lambda fault: fault.range))
    return trace, replace(inspect_trace(trace, select=("C5",)), diagnostics=diagnostics)


def _samples(rows: str) -> Iterator[tuple[Sample, int]]:
    """The sample of each line, and the offset of the line."""
    start = 0
    for number, line in enumerate(rows.split("\n"), 1):
        if line.strip():
            value: Json = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError(f"line {number} is not an object")
            yield read_sample(DataRow("file", f"line {number}", number, value, line.encode())), start
        start += len(line) + 1


def _in_text(sample: Sample, diagnostic: Diagnostic) -> Fault:
    """A fault at its position in the row's text; a fault in a message loses its repair."""
    if diagnostic.location.part == ROW_PART:
        return diagnostic.fault
    node = sample.row_node
    slot = (
        find_slots(node, sample.trace).get((diagnostic.location.turn, diagnostic.location.part))
        if node is not None
        else None
    )
    range_ = RecordPart(sample.raw_text, slot).record_range(diagnostic.range) if slot is not None else None
    whole = Range(0, len(sample.raw_text))
    return replace(diagnostic.fault, range=range_ or whole, fix=None, related=(), call=None)
