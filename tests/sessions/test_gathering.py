"""Transcripts of exchanges with every API: which traces they make."""

import json
from pathlib import Path

import pytest

from inspector.sessions.gathering import traces_of
from tests.sessions.transcripts import plain, read_case

CASES = sorted((Path(__file__).parent.parent / "cases" / "sessions").glob("*.exchanges"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_exchanges_make_their_traces(case: Path, *, update_goldens: bool) -> None:
    golden = case.with_suffix(".json")
    text = json.dumps(plain(traces_of(read_case(case))), indent=1) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii"), "pytest --update-goldens rewrites the expected traces"
