"""The lists of single results that may be read keep their agreement; and what a request must say for an answer "no"."""

from typing import Any

import pytest

from benchmarks.verdict_lists import agreement_of_list, session
from weaklink.inspector.inspection import inspect_trace


@pytest.mark.parametrize(
    ("name", "least"),
    [("results/asked", 0.955), ("results/first", 0.98), ("results/second", 0.99), ("results/third", 0.98)],
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


SILENT_CODE = {"tool": "Bash", "arguments": {"command": "qpdf --is-encrypted a.pdf"}, "result": "", "exit_code": 2}
BARE_FALSE = {"tool": "get_setting", "arguments": {"key": "dark_mode"}, "result": "false"}
SCRIPT = {"tool": "Bash", "arguments": {"command": "python3 load.py"}, "result": "", "exit_code": 1}
DOWNLOAD = {"tool": "Bash", "arguments": {"command": "curl -sf https://x.org/a -o a"}, "result": "", "exit_code": 22}


@pytest.mark.parametrize(
    ("request_text", "call", "kind"),
    [
        ("Is the PDF encrypted?", SILENT_CODE, "probe"),
        ("Ist der dunkle Modus an?", BARE_FALSE, "probe"),
        ("Tell me the value of dark_mode.", BARE_FALSE, None),
        ("Could you load the file?", SCRIPT, "failure"),
        ("Is the file there? Then load it.", SCRIPT, "failure"),
        ("Is the data public? Download it.", DOWNLOAD, "failure"),
    ],
)
def test_a_bare_no_answers_a_question_of_the_user_only_if_the_call_looks(
    request_text: str, call: dict[str, Any], kind: str | None
) -> None:
    step = inspect_trace(session(request_text, [call], None)).chain.steps[0]
    assert (step.result_kind and step.result_kind.value) == kind


REFUSED = '{"ok": true, "%s": {"%s": "declined", "%s": null}}'


@pytest.mark.parametrize("names", [("delivery", "x", "receipt"), ("zustellung", "ergebnis", "beleg"), ("a", "b", "c")])
def test_a_refusing_value_decides_whatever_its_members_are_called(names: tuple[str, str, str]) -> None:
    paid = {"tool": "pay_bill", "arguments": {"bill": "B-3"}, "result": REFUSED % names}
    declined = {**paid, "tool": "decline_bill"}
    looked = {**paid, "tool": "get_bill"}
    kinds = [inspect_trace(session("x", [call], None)).chain.steps[0].result_kind for call in (paid, declined, looked)]
    assert [kind and kind.value for kind in kinds] == ["failure", None, None]
