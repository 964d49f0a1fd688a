"""A chain that is judged as plain is the one that the whole analysis finds, with no diagnostic beside it."""

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given

from tests.chain.known_chains import Story, stories
from tests.chain.telling import told
from tests.dataset.faulty_rows import faulty_rows
from tests.examples import in_the_gate, one_in
from tests.strategies import traces
from tests.test_sample_traces import FILES, one_trace
from weaklink.inspector import inspection
from weaklink.inspector.chain.plain_chain import plain_chain
from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace


def compared(trace: Trace, context_window: int | None = None) -> bool:
    """Whether a trace was plain; both ways must give the same inspection."""
    plain: list[Chain | None] = []

    def noted(*arguments: Any) -> Chain | None:
        plain.append(plain_chain(*arguments))
        return plain[-1]

    with patch.object(inspection, "plain_chain", noted):
        inspected = inspect_trace(trace, context_window=context_window)
    with patch.object(inspection, "plain_chain", lambda *_: None):
        assert inspected == inspect_trace(trace, context_window=context_window)
    return any(chain is not None for chain in plain)


def rows(data_rows: Iterable[dict[str, Any]]) -> Iterable[Trace]:
    return (read_sample(DataRow("a.jsonl", f"line {line}", line, row)).trace for line, row in enumerate(data_rows, 1))


@pytest.mark.campaign
def test_rows_with_and_without_faults_are_judged_the_same() -> None:
    """The gate compares one row in six, with every kind of fault."""
    plain = [compared(trace) for trace in rows(one_in(6, faulty_rows(3_000, 7)))]
    assert plain.count(True) > len(plain) // 2  # the sound quarter, and changes that break nothing
    assert plain.count(False) > len(plain) // 5


def test_sample_traces_are_judged_the_same() -> None:
    plain = [compared(one_trace(path)) for path in FILES]
    assert any(plain)
    assert not all(plain)


def test_the_size_of_the_context_decides() -> None:
    trace = next(iter(rows(faulty_rows(1, 7))))
    assert compared(trace)
    assert not compared(trace, context_window=10)


@pytest.mark.invariants
@in_the_gate(60)
@given(traces())
def test_any_trace_is_judged_the_same(trace: Trace) -> None:
    compared(trace)


@pytest.mark.invariants
@in_the_gate(40)
@given(stories())
def test_known_chains_are_judged_the_same(story: Story) -> None:
    compared(told(story))
