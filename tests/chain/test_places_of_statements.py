"""Lists, tables and repeated words: the sentence that decides is read with its heading, and shown where it is."""

import pytest

from tests.chain.building import inspection_of, trace_of
from weaklink.inspector.inspection import inspect_trace

SESSION = (
    "user: Tidy up the code and push the branch.",
    'call a: Edit {"file_path": "a.py", "old_string": "x", "new_string": "y"}',
    "result a: done",
    'call b: Bash {"command": "git push origin tidy"}',
    "result b!: fatal: unable to access 'https://git.example.org/': Could not resolve host",
)
WORDS = [
    ("| Step | State |\n| --- | --- |\n| Code | ✅ |\n| Push | ❌ |", "reported", "Push | ❌"),
    ("| Step | State |\n| --- | --- |\n| Code | ✅ |\n| Push | ✅ |", "concealed", "Push | ✅"),
    ("- [x] code\n- [ ] push", "reported", "- [ ] push"),
    ("## Done\n\n- code\n- push of the branch", "concealed", "- push of the branch"),
    ("**Not done:**\n\n- push of the branch", "reported", "- push of the branch"),
    ("Noch offen:\n* der Push", "reported", "* der Push"),
    ("## Problem analysis\n\nThe code is tidy.\n\n- push", "silent", None),
    ("| Branch | Commits |\n| --- | --- |\n| push | 4 |", "silent", None),
    ("```\nThe push failed.\n```\n> The push failed.\n\nThe push failed.", "reported", "The push failed."),
    ("# The branch is pushed.\n\nThe branch is pushed.", "concealed", "The branch is pushed."),
]


@pytest.mark.parametrize(("words", "said", "sentence"), WORDS)
def test_the_deciding_sentence_is_read_with_its_heading_and_shown_at_its_place(
    words: str, said: str, sentence: str | None
) -> None:
    trace = trace_of(*SESSION, f"say: {words}")
    step = inspect_trace(trace).chain.steps[1]
    assert step.said == said
    if sentence is None:
        assert step.said_at is None
    else:
        assert step.said_at is not None
        assert step.said_at.range is not None
        assert step.said_at.range.start == words.rindex(sentence)
        assert words[step.said_at.range.start : step.said_at.range.end] == sentence


def test_a_claim_shows_the_item_of_the_list_and_the_failed_result() -> None:
    inspection = inspection_of(*SESSION, "say: Done:\n- code\n- push")
    (claim,) = [diagnostic for diagnostic in inspection.diagnostics if diagnostic.rule.code == "T413"]
    assert claim.fault.against is not None
    assert (claim.location.turn, claim.fault.against.turn) == (6, 5)
