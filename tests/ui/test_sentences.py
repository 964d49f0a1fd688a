"""What diagnostics say is sentences: over the case files of every rule, and over the sample traces."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.test_rules import found_in, rows
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace

SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*.jsonl"))
SENTENCE = re.compile(r"[A-Z`].*[.?]", re.DOTALL)


@pytest.mark.parametrize(("name", "row"), rows())
def test_what_a_case_says_is_sentences(name: str, row: dict[str, Any]) -> None:
    assert not list(no_sentences(found_in(row)[1]))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_sample_trace_says_is_sentences(path: Path) -> None:
    for trace in read_source(path).records:
        assert not isinstance(trace, Skipped)
        assert not list(no_sentences(inspect_trace(trace).diagnostics))


def no_sentences(diagnostics: Iterable[Diagnostic]) -> Iterable[str]:
    """The messages, hints and notes that do not begin with a capital or a backtick, or do not end as sentences do."""
    for one in diagnostics:
        said = (one.fault.message, one.fault.hint, *(related.message for related in one.fault.related))
        yield from (words for words in said if words is not None and not SENTENCE.fullmatch(words))
