"""What becomes of a call: the first outcome that holds."""

import pytest

from tests.chain.building import chain_of, codes, inspection_of, outcomes, trace_of
from weaklink.inspector.chain.analysis import analyse
from weaklink.inspector.chain.pairing import LocatedCall, LocatedResult, pair
from weaklink.inspector.diagnostics import Diagnostic, Fault, Location
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Role, ToolCall, ToolResult
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (("call: f {'a': 1}", "result: 1", "say: Done."), "malformed"),
        (("call: f {'a': 1}", "result: Error: bad JSON", "say: Done."), "malformed"),
        (("call: f", "result: Error: no", "say: Done."), "error-result"),
        (("call: f", "say: Done."), "unanswered"),
        (("call: f", "user: Well?"), "unanswered"),
        (("user: Go", "call: f"), "pending"),
        (("call: f", "result: 1", "say: Done."), "ok"),
        (("call: f", "result: ", "say: Done."), "ok"),
    ],
)
def test_the_first_that_holds(lines: tuple[str, ...], outcome: str) -> None:
    assert outcomes(chain_of(*lines)) == [outcome]


def by_diagnostic(code: str, fault_range: Range, *, severity: Severity = Severity.ERROR) -> str:
    """The outcome of `f`, which stands at 2 to 20 and failed, where a check reports `code` in `fault_range`."""
    rule = Rule(code, "some-fault", severity, "One.", "Two.")
    call = LocatedCall(ToolCall("f", {}, "{}", True, Range(2, 20)), Location(1, "text", Range(2, 20)))
    result = LocatedResult(ToolResult("Error: no", Range(0, 9)), Location(2, "text", Range(0, 9)))
    diagnostic = Diagnostic(Location(1, "text", fault_range), Fault(rule, fault_range, "One."))
    return outcomes(analyse(trace_of("say: x", "result: x", "say: x"), pair([call, result]), [diagnostic]).chain)[0]


def test_an_error_by_schema_or_by_name_that_lies_on_the_call() -> None:
    assert by_diagnostic("S202", Range(10, 12)) == "invalid"
    assert by_diagnostic("T401", Range(3, 5)) == "unknown-tool"


def test_what_lies_elsewhere_or_is_a_warning_does_not_count() -> None:
    assert by_diagnostic("S202", Range(20, 30)) == "error-result"
    assert by_diagnostic("S202", Range(10, 12), severity=Severity.WARNING) == "error-result"


def test_a_call_that_waits_only_for_its_results_is_pending() -> None:
    assert outcomes(chain_of("call a: f", "also b: g", "result a: 1")) == ["ok", "pending"]


@pytest.mark.parametrize("tool", ["finish", "submit", "final_result", "transfer_to_billing", "functions.finalAnswer"])
def test_a_terminal_tool_needs_no_result(tool: str) -> None:
    inspection = inspection_of("user: Go", f"call: {tool}", "user: Thanks!")
    assert outcomes(inspection.chain) == ["ok"]
    assert (inspection.chain.status, codes(inspection)) == ("ok", [])


def test_a_call_passed_over_is_reported() -> None:
    assert codes(inspection_of("call: f", "user: Well?")) == ["T404"]


def test_an_empty_result_is_ok_with_a_warning() -> None:
    for nothing in ("", "  \n", "null", "[]", "{}", '{"content": ""}'):
        inspection = inspection_of("call: f", f"result: {nothing}", "say: Done.")
        assert inspection.chain.status == "ok", nothing
        assert codes(inspection) == ["T407"], nothing
    assert not codes(inspection_of("call: f", 'result: {"output": "", "exit_code": 0}', "say: Done."))


def test_roles_of_the_builder() -> None:
    assert [turn.role for turn in trace_of("user: a", "call: f", "result: 1").turns] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
    ]


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("grep -rn total src", "ok"),
        ("cd src && rg total", "ok"),
        ("cat a.txt | grep total", "ok"),
        ("diff a.txt b.txt", "ok"),
        ("grep total a.txt | wc -l", "error-result"),
        ("python grep.py", "error-result"),
    ],
)
def test_exit_code_one_of_a_search_that_found_nothing_is_no_error(command: str, outcome: str) -> None:
    call = f"call: bash {write_json({'command': command})}"
    assert outcomes(chain_of(call, 'result: {"exit_code": 1, "output": ""}', "say: x")) == [outcome]
    assert outcomes(chain_of(call, "result: Exit code 1", "say: x")) == [outcome]
    assert outcomes(chain_of(call, "result: Exit code 2", "say: x")) == ["error-result"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mkdir -p a/b", []),
        ("cd a && touch b", []),
        ("git add -A", []),
        ("echo x > a.txt", []),
        ("cat a.txt", ["T407"]),
        ("python run.py 2>/dev/null", ["T407"]),
    ],
)
def test_a_command_that_is_silent_by_nature_is_no_empty_result(command: str, expected: list[str]) -> None:
    call = f"call: bash {write_json({'command': command})}"
    assert codes(inspection_of(call, "result: ", "say: x")) == expected


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        ('bash {"command": "cat server.log"}', "ok"),
        ('bash {"command": "cd logs && cat server.log | tail -50"}', "ok"),
        ('bash {"command": "python run.py 2>&1 | tail -50"}', "error-result"),
        ('read_file {"path": "server.log"}', "ok"),
        ('bash {"command": "python run.py"}', "error-result"),
    ],
)
def test_an_exception_at_the_end_of_a_log_that_is_read_is_no_error(call: str, outcome: str) -> None:
    log = "12:00 all is well\n" * 40 + "Traceback (most recent call last):\n  File x\nKeyError: 'a'"
    assert outcomes(chain_of(f"call: {call}", f"result: {log}", "say: x")) == [outcome]
    missing = (f"call: {call}", "result: cat: server.log: No such file or directory", "say: x")
    expected = "error-result" if "run.py" in call else "ok"  # a read of a file that may not be there is a question
    assert outcomes(chain_of(*missing)) == [expected]
    assert outcomes(chain_of("user: Look into server.log", *missing)) == ["error-result"]
