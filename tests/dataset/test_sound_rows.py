"""A row that is called sound passes the verifier, with the same facts; benchmarks and most training rows are sound."""

import json
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pytest

from benchmarks.training_rows import training_rows
from tests.dataset.faulty_rows import faulty_rows
from tests.examples import one_in
from weaklink.inspector.dataset import verified_rows
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.sound_rows import sound_row
from weaklink.inspector.dataset.verified_rows import VerifiedRow, VerifyOptions, verify_row


def facts(verified: Iterable[VerifiedRow | RejectedRow]) -> list[object]:
    """What the command reports, without the trace: a sound row's is empty."""
    return [
        summary
        if isinstance(summary, RejectedRow)
        else (
            summary.id,
            summary.verdicts,
            summary.group,
            summary.score,
            summary.calls,
            summary.offers_tools,
            summary.codes,
        )
        for summary in verified
    ]


def compared(row: dict[str, Any]) -> bool:
    """Whether the row is sound; the verifier must say the same of it."""
    data_row = DataRow("a.jsonl", "line 1", 1, row)
    first = facts(verify_row(data_row, VerifyOptions()))
    with patch.object(verified_rows, "sound_row", lambda _: None):
        assert first == facts(verify_row(data_row, VerifyOptions())), json.dumps(row)
    return sound_row(row) is not None


@pytest.mark.campaign
def test_rows_with_and_without_faults_have_the_same_verdicts() -> None:
    """The gate compares one row in six, with every kind of fault."""
    sound = [compared(row) for row in one_in(6, faulty_rows(3_000, 11))]
    assert sound.count(True) > 2 * len(sound) // 5
    assert sound.count(False) > len(sound) // 5


def test_rows_without_a_fault_are_sound() -> None:
    assert all(sound_row(row) is not None for row in training_rows(200, 5))


@pytest.mark.parametrize(
    "options",
    [
        VerifyOptions(select=("T",)),
        VerifyOptions(require_call=True),
        VerifyOptions(format="qwen"),
        VerifyOptions(verifiers=("multi-step",)),
    ],
)
def test_other_options_need_the_verifier(options: VerifyOptions) -> None:
    row = DataRow("a.jsonl", "line 1", 1, next(iter(training_rows(1, 5))))
    with patch.object(verified_rows, "sound_row") as asked:
        list(verify_row(row, options))
    asked.assert_not_called()
