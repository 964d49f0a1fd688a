"""The rows that the benchmarks of training data are measured on: the same for a seed, without faults, all verified."""

from benchmarks.training_rows import training_rows
from weaklink.inspector.dataset.candidates import row_candidate
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.lint.linting import LintOptions, lint_sample
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.verifiers import TOOL_USE, run_verifier
from weaklink.inspector.importers.data.training_rows import Shape


def test_made_up_rows_are_the_same_for_a_seed_and_have_no_fault() -> None:
    rows = list(training_rows(60, 3))
    assert rows == list(training_rows(60, 3)) != list(training_rows(60, 4))
    samples = [read_sample(DataRow("a.jsonl", f"line {number}", number, row)) for number, row in enumerate(rows, 1)]
    assert [lint_sample(read, LintOptions(set_format="hermes")) for read in samples] == [[]] * 60
    assert all(run_verifier(TOOL_USE, row_candidate(row)).passed for row in rows)
    assert {read.shape for read in samples} == {Shape.MESSAGES, Shape.SHAREGPT}
    kinds = {"single_tool_call", "multi_step_tool_call", "parallel_tool_calls", "no_tool_call"}
    assert {read.type for read in samples} == kinds
