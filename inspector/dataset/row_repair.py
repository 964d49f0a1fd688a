"""Repairs of a row's own members: its type, its count of calls and its scores, as edits of the row's JSON text."""

from collections.abc import Container, Iterator

from inspector.dataset.data_row import DataRow
from inspector.dataset.lint.structure import call_counts, scores, types_and_labels
from inspector.dataset.repair import AppliedRepair
from inspector.dataset.samples import SAMPLE_TYPES, Sample, read_sample
from inspector.diagnostics import Diagnostic, Edit, edited
from inspector.inspected import Inspection
from inspector.model import Trace
from inspector.rules.catalogue import RULES
from inspector.rules.rule import Rule


def repair_row(
    row: DataRow,
    trace: Trace,
    inspection: Inspection | None,
    *,
    rules: Container[Rule] = RULES,
    unsafe: bool = False,
) -> tuple[str, tuple[AppliedRepair, ...]]:
    """The row's text with every safe fix of D702, D704 and D705 made, or with `unsafe` every fix; and these repairs.

    `inspection` is that of `trace`, the conversation as an importer read it: it is used again where the row holds the
    same one. A row without a conversation is left as it is.
    """
    sample = read_sample(row)
    if sample.shape is None:
        return sample.raw_text, ()
    if inspection is not None and sample.trace.turns == trace.turns:
        vars(sample)["inspection"] = inspection  # the cache of the property
    made: list[Diagnostic] = []
    edits: list[Edit] = []
    for one in _found(sample):
        fix = one.fault.fix
        if fix is not None and one.rule in rules and (fix.safe or unsafe):
            made.append(one)
            edits += fix.edits
    text = edited(sample.raw_text, sorted(edits, key=lambda one: one.range))
    return text, tuple(AppliedRepair(one, sample.raw_text, 1) for one in made)


def _found(sample: Sample) -> Iterator[Diagnostic]:
    given = sample.row.value.get("type")
    if given is not None and given not in SAMPLE_TYPES:
        yield from types_and_labels(sample)
    yield from call_counts(sample)
    yield from scores(sample)
