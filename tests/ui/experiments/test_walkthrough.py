"""The walk-through of the documentation holds: a broken run, a changed prompt that breaks less, and runs that do."""

import re
from pathlib import Path

import pytest

from tests.ui.walkthrough import walk


@pytest.mark.slow
def test_the_walk_through_leads_from_a_broken_run_to_a_prompt_that_breaks_less(tmp_path: Path) -> None:
    printed = walk(tmp_path, color="never")
    assert "broke at step 1 (turn 3)" in printed["experiment-break"]
    assert "Stopped early: the rates differ." in printed["experiment-ask"]
    broken = [
        int(match[1])
        for name in ("experiment-before", "experiment-after")
        if (match := re.search(r"(\d+) of 8 \([^)]*\) broken", printed[name])) is not None
    ]
    before, after = broken
    assert before > after
