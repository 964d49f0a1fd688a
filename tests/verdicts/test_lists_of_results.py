"""The lists of single results that may be read keep their agreement; and what a request must say for an answer "no"."""

from typing import Any

import pytest

from benchmarks.verdict_lists import agreement_of_list, session
from weaklink.inspector.inspection import inspect_trace


@pytest.mark.parametrize(
    ("name", "least"), [("results/asked", 0.945), ("results/first", 0.96), ("results/second", 0.98)]
)
def test_a_list_of_results_keeps_its_agreement(name: str, least: float) -> None:
    agreement = agreement_of_list(name)
    assert agreement.right["kind"] / agreement.total["kind"] >= least


LOOKUP = {"tool": "find_user", "arguments": {"email": "kim@example.org"}, "result": "Error: user not found"}
READ = {"tool": "Read", "arguments": {"file_path": "/w/CLAUDE.md"}, "result": "File does not exist.", "is_error": True}
WRITE = {"tool": "create_user", "arguments": {"email": "kim@example.org"}, "result": "Error: team not found"}


@pytest.mark.parametrize(
    ("request_text", "call", "kind"),
    [
        ("Is there a user kim@example.org? Otherwise create one.", LOOKUP, "probe"),
        ("Gibt es den User kim@example.org schon?", LOOKUP, "probe"),
        ("Si no hay kim@example.org, créalo.", LOOKUP, "probe"),
        ("If there is a CLAUDE.md, follow it.", READ, "probe"),
        ("Send kim@example.org the report.", LOOKUP, "failure"),
        ("How many users are there with kim@example.org?", LOOKUP, "failure"),
        ("Is there an invoice 7? Send it.", LOOKUP, "failure"),
        ("Follow CLAUDE.md.", READ, "failure"),
        ("Is there a user kim? Otherwise create it.", WRITE, "failure"),
    ],
)
def test_a_look_that_finds_nothing_is_an_answer_if_the_user_asked_about_it(
    request_text: str, call: dict[str, Any], kind: str
) -> None:
    step = inspect_trace(session(request_text, [call], None)).chain.steps[0]
    assert step.result_kind is not None
    assert step.result_kind.value == kind
