"""`weaklink show --why`: the facts, words and places that decided."""

from tests.chain.building import trace_of
from weaklink.inspector.inspection import inspect_trace
from weaklink.ui.views.styled_text import plain
from weaklink.ui.views.why import why_lines

COMMIT = 'call b: Bash {"command": "git commit -m x"}'


def why(*lines: str) -> str:
    trace = trace_of("user: Commit it.", *lines)
    shown = why_lines(trace, inspect_trace(trace, format="hermes"), width=100)
    return "\n".join(plain(line) for line in shown)


def test_a_concealed_break_with_its_facts_and_places() -> None:
    text = why(COMMIT, "result b!: Exit code 1\nhook failed: lint", "say: All is committed.")
    for line in (
        "✖ broken  the first step that nothing repaired is 1; certainty high",
        "was to do: git commit",
        "error flag: “true”",
        "exit code in the text: “1”",
        "became: nothing repaired it",
        "the agent: concealed turn 4, text, line 1 column 1: “All is committed.”",
        "rule first-unrepaired: the first failure",
        "rule failed-call: the call was to do something",
        "rule unrepaired: no rule found",
        "rule claimed: a sentence of the final statement claims what failed",
    ):
        assert line in text


def test_a_recovery_names_the_step_that_did_the_work() -> None:
    text = why(COMMIT, "result b!: hook failed", COMMIT, "result b: done", "say: It is committed.")
    assert "became: same-intent, by step 2 (turn 4, call:0, line 1 column 1)" in text


def test_a_trace_without_anything_to_explain() -> None:
    assert "Every call did what it was made for." in why(COMMIT, "result b: done", "say: Done.")
