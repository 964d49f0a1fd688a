"""What diagnostics say is sentences: over the sample traces; tests/test_rules.py looks at the cases of every rule."""

from pathlib import Path

import pytest

from tests.test_rules import no_sentences
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspection import inspect_trace

SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*.jsonl"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_sample_trace_says_is_sentences(path: Path) -> None:
    for trace in read_source(path).records:
        assert not isinstance(trace, Skipped)
        assert not list(no_sentences(inspect_trace(trace).diagnostics))
