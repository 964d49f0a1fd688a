"""How sure it is that a result is an error, and what is none although it speaks of errors."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of
from tests.strategies import json_values, texts
from weaklink.inspector.chain.outcomes import find_error, is_empty, judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.chain.result_kinds import Judgement
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.facade import make_call
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, RecordedState, RunState, ToolCall, ToolResult
from weaklink.inspector.text import Range


def certainty(content: str, *, flag: bool | None = None) -> str | None:
    judgement = find_error(ToolResult(content, Range(0, len(content)), is_error=flag))
    return judgement.certainty.value if judgement else None


@pytest.mark.parametrize(
    "content", ['{"isError": true}', '{"is_error": true, "content": "no"}', '{"error": true, "message": "no"}']
)
def test_flagged(content: str) -> None:
    assert certainty(content) == "flagged"
    assert certainty("4 degrees", flag=True) == "flagged"


@pytest.mark.parametrize(
    "content",
    [
        '{"error": "timeout"}',
        '{"error": {"message": "timeout"}}',
        '{"errors": ["a"], "data": null}',
        '{"exit_code": 1, "output": ""}',
        '{"output": "x", "metadata": {"exit_code": 127}}',
        '{"returncode": -9}',
        '{"status": 404, "body": "x"}',
        '{"status_code": 500}',
        '{"code": 429, "message": "slow down"}',
        '{"success": false}',
        '{"ok": false, "reason": "closed"}',
        '{"status": "error"}',
        '{"status": "failed", "message": "no seats"}',
        '{"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}',
        '{"message": "404 Project Not Found"}',
        '{"message": "Forbidden"}',
        '{"__type": "AccessDeniedException", "Message": "User is not authorized to perform this"}',
        '{"code": "42P01", "details": null, "hint": null, "message": "relation \\"x\\" does not exist"}',
        '{"detail": "Not authenticated"}',
        '{"detail": [{"loc": ["body", "x"], "msg": "field required", "type": "missing"}]}',
        '{"name": "f", "content": {"error": "timeout"}}',
        '{"name": "f", "content": "{\\"error\\": \\"timeout\\"}"}',
        '[{"type": "text", "text": "{\\"error\\": \\"timeout\\"}"}]',
        "Exit code: 2\nfile not there",
        "make: *** [all] Error 2\n[exit code: 2]",
        "<returncode>1</returncode>\n<output>\n</output>",
    ],
)
def test_structured(content: str) -> None:
    assert certainty(content) == "structured"


@pytest.mark.parametrize(
    "content",
    [
        "Error: user not found",
        "ERROR: relation does not exist",
        "error[E0425]: cannot find value",
        "Error executing tool: boom",
        "ValueError: x must be positive",
        "Traceback (most recent call last):\n  File x\nKeyError: 'a'",
        "starting\n" * 500 + "Traceback (most recent call last):\n  File x\njson.decoder.JSONDecodeError: a",
        "Your proposed edit has introduced new syntax error(s). Please retry.\n\nERRORS:\n- E999 indent" + "\nx" * 900,
        "introduced new syntax error(s)",
        "This would introduce 2 new lint errors in a.py" + "\nx" * 900,
        "New syntax error(s) were introduced by your edit.",
        "Your change added 1 new lint error:\n- E1",
        "WARNING: introduced new syntax error(s)",
        "Edit rejected: introduces syntax errors",
        "Errors encountered:\n - no such column",
        "ERRORS:\n- F821 undefined name" + "\nx" * 900,
        "Errors found: 3",
        "2 errors detected:\na\nb",
        "1 validation error for Order\ncity\n  Value error, must be Bergen [type=value_error, input_value='Oslo']"
        + "\nx" * 300,
        "2 validation errors for list[Order]\n0.city\n  Field required",
        "Validation Error found:\n1 validation error for Order\ncity\n  Field required\nRecall the function correctly",
        "Syntax errors:\nline 3" + "\nx" * 900,
        "Wrote a.py\n\nERRORS:\n- F821 undefined name" + "\nx" * 300,
        "Your edit was not applied (lines 3-4)",
        "The changes have been rejected",
        "Failures: 2",
        "Failed to open the page",
        "bash: foo: command not found",
        "cat: x: No such file or directory",
        "ls: cannot open directory: Permission denied",
        "Permission denied",
        "Tool get_weather not found",
        "Request timed out",
        "404 Not Found",
        "HTTP 503",
        "Invalid city",
        "could not parse the call",
        "Access denied.",
        "{'error': 'no such thing'}",
        '{"name": "f", "content": "Error: no"}',
        "An error occurred while booking",
        "Rate limit exceeded",
        "Fehler: Stadt unbekannt",
        "Die Stadt wurde nicht gefunden.",
        "Erreur : délai dépassé",
        "Impossible de trouver la ville",
        "No se encontró la ciudad",
        "Não foi possível abrir a página",
        "Не удалось найти город",
        "Город не найден",
        "错误：城市不存在",
        "查询失败：网络异常",
        "未找到该订单",
        "エラー: 都市が無効です",
        "都市が見つかりませんでした。",
    ],
)
def test_textual(content: str) -> None:
    assert certainty(content) == "textual"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "4 degrees, clear",
        "450",
        "404",
        "500 miles",
        "Error rates fell by half in 2024, the report says.",
        "Errors and how to avoid them: a guide",
        "Errors: 0",
        "Errors: none",
        "ERRORS: []",
        "errors: 0, warnings: 3",
        "0 errors found: all fine",
        "no errors found: all fine",
        "No syntax errors were introduced",
        "0 new syntax errors were introduced",
        "0 validation errors for Order",
        "3 validation errors for the new form were mended last week",
        "Failures: 0",
        "ran 12 tests\nERRORS: 0\nall good",
        "The report lists 3 validation errors of last year" + "\nx" * 300,
        "Documentation of the Errors: chapter 3",
        "The change was applied to 3 files",
        "12:00 INFO start\n12:01 INFO load\n12:02 ERROR: disk full\n12:03 INFO stop",
        "import sys\n\nclass ParseError(Exception):\n    pass\n",
        "def fail():\n    raise ValueError('Error: no')",
        "# Troubleshooting\n\nIf you see `command not found`, install it.",
        "3 failed tests were fixed last week, none is left\n" * 3,
        "line one\nTraceback (most recent call last):\n  File x\nKeyError: 'a'\nretrying\nall good",
        "Failed states: a study of seven countries, by many authors. " * 20,
        '{"error": null, "output": "x"}',
        '{"error": "", "data": 1}',
        '{"error": false}',
        '{"errors": []}',
        '{"errors": 3, "file": "a.py"}',
        '{"exit_code": 0, "output": "grep: x: No such file or directory"}',
        '{"build": 7, "status": "failed"}',
        '{"status": 200}',
        '{"status": "ok", "error_count": 4}',
        '{"code": 450, "product": "screw"}',
        '{"log": "Error: disk full", "lines": 400}',
        '{"results": [{"title": "Error: a film", "error": "x"}]}',
        "Exit code: 0\nOutput:\nError: this is only printed",
        "The book was not found guilty of plagiarism",
        "Fehlerfrei abgeschlossen",
        "Keine Fehler gefunden",
        "Unbekannter Maler, um 1650. " * 40,
        "Aucune erreur",
        "Sin errores: todo bien",
        "Sem erros",
        "Ошибок нет",
        "没有错误",
        "失败是成功之母",
        "エラーはありません",
    ],
)
def test_no_error(content: str) -> None:
    assert certainty(content) is None


def test_the_words_of_an_error_are_the_ones_that_tell() -> None:
    def words(content: str) -> str:
        judgement = find_error(ToolResult(content, Range(0, 0)))
        return judgement.words if judgement else ""

    assert words('{"error": {"type": "x", "message": "timeout"}}') == "timeout"
    assert words("Traceback (most recent call last):\n  File x\nKeyError: 'a'") == "KeyError: 'a'"
    assert words('{"status_code": 503}') == "status_code 503"
    assert words('{"output": "a\\nb", "exit_code": 1, "error": null}') == "a\nb"


_KEYS = st.sampled_from(["error", "errors", "status", "code", "content", "exit_code", "metadata", "output", "ok"])
_RESULTS = st.recursive(
    json_values(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=8
)


@given(texts() | _RESULTS.map(write_json))
def test_nothing_raises_and_only_the_content_counts(content: str) -> None:
    result = ToolResult(content, Range(0, len(content)))
    answering = ToolResult(content, result.range, call_id="c", name="f")
    assert (find_error(result), is_empty(result)) == (find_error(answering), is_empty(answering))


_STATES = (None, *(RecordedState(code, state) for code in (None, 0, 1) for state in (None, *RunState)))


@pytest.mark.parametrize("name", [None, "", "bash", "f"])
@pytest.mark.parametrize("content", ["", "fine", "Error: no", '{"error": "no"}', "exit code 1"])
def test_the_result_of_any_call_is_judged_whatever_its_source_recorded(name: str | None, content: str) -> None:
    given: tuple[Json, ...] = (None, {}, {"command": ""}, {"command": "ls | grep a; true"})
    for arguments, recorded in product(given, _STATES):
        call = LocatedCall(ToolCall(name, arguments, "", True, Range(0, 0)), Location(0, "text", Range(0, 0)))
        for flag in (None, False, True):
            result = ToolResult(content, Range(0, len(content)), is_error=flag, recorded=recorded)
            judgement = judged_result(call, result)
            assert not flag or judgement is not None


@pytest.mark.parametrize("piece", ["a", " ", "\n", "[", '{"content":', "Error ", "a.", "1,", ": not found "])
def test_a_long_result_is_judged_like_its_beginning(piece: str) -> None:
    long, short = piece * (2_000_000 // len(piece)), piece * (4_000 // len(piece))
    judgement = find_error(ToolResult(long, Range(0, len(long))))
    expected = find_error(ToolResult(short, Range(0, len(short))))
    assert (judgement is None) == (expected is None)


_PYTEST = """\
..F                                                                      [100%]
=================================== FAILURES ===================================
_________________________________ test_total __________________________________

    def test_total():
>       assert total([2, 2]) == 5
E       assert 4 == 5

test_cart.py:6: AssertionError
"""
_PYTEST_SUMMARY = """\
=========================== short test summary info ============================
FAILED test_cart.py::test_total - assert 4 == 5
1 failed, 2 passed in 0.02s
"""


@pytest.mark.parametrize("begin", ["Exit code 1\n", ""])
@pytest.mark.parametrize(
    ("output", "line"),
    [
        (_PYTEST + _PYTEST_SUMMARY, "FAILED test_cart.py::test_total - assert 4 == 5"),
        (_PYTEST, "E       assert 4 == 5"),
        (f"{'.' * 72} [ 50%]\n" * 60 + _PYTEST + _PYTEST_SUMMARY, "FAILED test_cart.py::test_total - assert 4 == 5"),
        ("F.\n======\nFAIL: test_sum (cart.Sums)\n------\n", "FAIL: test_sum (cart.Sums)"),
        ("=== RUN   TestSum\n    a_test.go:9: got 3\n--- FAIL: TestSum (0.00s)\nFAIL", "--- FAIL: TestSum (0.00s)"),
        ("TAP version 13\nok 1 - adds\nnot ok 2 - divides\n1..2", "not ok 2 - divides"),
        (
            "   Compiling shop v0.1.0\nerror[E0308]: mismatched types\n --> src/a.rs:2:5",
            "error[E0308]: mismatched types",
        ),
        ("[1/9] Building a.o\nsrc/a.c:3:1: error: expected ';'\n", "src/a.c:3:1: error: expected ';'"),
        ("> shop@1.0.0 build\n> tsc\n\nsrc/a.ts(2,7): error TS2322: no", "src/a.ts(2,7): error TS2322: no"),
        ("\n/app/a.js\n  2:7  error  'x' is unused  no-unused-vars\n", "2:7  error  'x' is unused  no-unused-vars"),
    ],
)
def test_the_words_of_a_failed_check_are_the_line_that_names_what_failed(begin: str, output: str, line: str) -> None:
    judgement = find_error(ToolResult(begin + output, Range(0, len(begin + output)), is_error=True))
    assert judgement is not None
    assert judgement.words == line


def judged(commands: list[str], runs: list[dict[str, object]], *, flag: bool | None = None) -> Judgement | None:
    arguments, text = write_json({"commands": commands}), write_json(runs)
    call = ToolCall("run_commands", {"commands": list(commands)}, arguments, True, Range(0, len(arguments)))
    placed = LocatedCall(call, Location(0, "text", Range(0, 1)))
    return judged_result(placed, ToolResult(text, Range(0, len(text)), is_error=flag))


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_one_run_of_several_without_success_is_an_error(successes: list[bool]) -> None:
    """As Cline sends what became of each command back to the model."""
    commands = [f"make part-{number}" for number in range(len(successes))]
    runs: list[dict[str, object]] = [
        {"query": command, "result": "error: no such part" if success else "", "error": "of make", "success": success}
        for command, success in zip(commands, successes, strict=True)
    ]
    judgement = judged(commands, runs)
    if all(successes):
        assert judgement is None
    else:
        assert judgement is not None
        assert (judgement.kind.value, judgement.certainty.value) == ("failure", "flagged")


def test_what_looks_for_a_file_in_a_list_of_commands_is_answered_with_no() -> None:
    output = "[Command exited with code 1]\n\n[stderr]\ncat: notes.txt: No such file or directory\n"
    run: dict[str, object] = {"query": "cat notes.txt", "result": output, "error": "exited with 1", "success": False}
    judgement = judged(["cat notes.txt"], [run])
    assert judgement is not None
    assert judgement.kind.value == "probe"


@pytest.mark.parametrize(
    ("command", "output", "kind", "words"),
    [
        ("grep -rn total src | grep -v old", "", "probe", "exit code 1"),
        ("git diff --exit-code", "", "probe", "exit code 1"),
        ("pytest -q", "", "finding", "exit code 1"),
        (
            "cp a b",
            "cp: cannot stat 'a': No such file or directory",
            "failure",
            "cp: cannot stat 'a': No such file or directory",
        ),
    ],
)
def test_the_exit_code_in_the_output_of_one_of_several_commands_counts(
    command: str, output: str, kind: str, words: str
) -> None:
    failed: dict[str, object] = {
        "query": command,
        "result": f"[Command exited with code 1]\n\n[stderr]\n{output}\n",
        "error": "Command exited with code 1",
        "success": False,
    }
    before: dict[str, object] = {"query": "echo ok", "result": "ok", "success": True}
    for commands, runs in (([command], [failed]), (["echo ok", command], [before, failed])):
        judgement = judged(commands, runs)
        assert judgement is not None
        assert (judgement.kind.value, judgement.words) == (kind, words)


def test_a_failure_without_words_or_code_is_named_as_it_is_recorded() -> None:
    judgement = judged(["make all"], [{"query": "make all", "result": "", "success": False}])
    assert judgement is not None
    assert judgement.words == "failed"
    flagged = judged_result(
        LocatedCall(make_call("book_table", {"guests": 5}), Location(0, "text", Range(0, 1))),
        ToolResult("", Range(0, 0), is_error=True),
    )
    assert flagged is not None
    assert flagged.words == "empty result"


def test_a_list_of_other_things_that_had_no_success_is_data() -> None:
    assert judged(["list-builds"], [{"build": "17", "success": False}, {"build": "18", "success": True}]) is None


def test_an_error_flag_beside_runs_that_succeeded_counts() -> None:
    run: dict[str, object] = {"query": "make all", "result": "", "success": True}
    judgement = judged(["make all"], [run], flag=True)
    assert judgement is not None
    assert judgement.certainty.value == "flagged"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            "Exit code 1\nRunning seed command ...\nUnique constraint failed on the fields: (`email`)",
            "Unique constraint",
        ),
        (
            "Exit code 1\nThe push refers to repository [r.test/a]\ndenied: requested access is denied",
            "denied: requested",
        ),
        ("Exit code 1\nworking\nstopped", "working"),
    ],
)
def test_the_line_that_says_what_went_wrong_is_named(result: str, words: str) -> None:
    step = chain_of('call a: Bash {"command": "mytool go"}', f"result a!: {result}", "say: Hm.").steps[0]
    assert (step.error or "").startswith(words)


def test_a_reason_under_a_name_in_another_language_is_named() -> None:
    result = '{"error": {"codigo": 409, "detalle": "el plan no admite reembolso"}}'
    step = chain_of('call a: reembolsar {"id": "s-9"}', f"result a: {result}", "say: Hm.").steps[0]
    assert step.error == "el plan no admite reembolso"


FRAMEWORKS = {
    "Qwen-Agent": "An error occurred when calling tool `get_weather`:\nValueError: no such city\nTraceback:\n"
    + '  File "agent.py", line 192, in _call_tool\n    tool.call(tool_args)\n' * 20,
    "CrewAI": "I encountered an error while trying to use the tool. This was the error: no such city.\n Tool x ..",
    "CrewAI, unknown": "Action 'get_wether' don't exist, these are the only available Actions:\nget_weather",
    "CAMEL": "Execution of function get_weather failed with arguments {'city': 'Osla'}. Error: no such city",
    "Dify": "tool invoke error: no such city",
    "LlamaIndex": "Encountered error: no such city",
    "MCP": "Error executing tool get_weather: no such city\n" + "the city is not in the list\n" * 60,
    "others": "The tool 'get_weather' returned an error: no such city",
}


def kind_of(tool: str, arguments: str, words: str) -> str | None:
    (step,) = chain_of(f"call a: {tool} {arguments}", f"result a: {words}").steps
    return None if step.result_kind is None else step.result_kind.value


@pytest.mark.parametrize("tool", ["get_weather", "book_table", "do_it"])
@pytest.mark.parametrize("words", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_a_frameworks_words_for_a_tool_that_raised_are_a_failure_whatever_the_tool(words: str, tool: str) -> None:
    assert kind_of(tool, '{"city": "Osla"}', words.replace("get_weather", tool)) == "failure"


@pytest.mark.parametrize("words", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_a_log_that_begins_with_a_frameworks_words_is_no_failure(words: str) -> None:
    assert kind_of("bash", '{"command": "cat agent.log"}', words) is None


@pytest.mark.parametrize(
    "words",
    [
        "The tool returned errors for 0 of 5 rows.",
        "Encountered errors: 0",
        "Exception handling in Python: a guide",
        "Action 'x' found",
    ],
)
def test_words_that_only_begin_so_are_no_failure(words: str) -> None:
    assert kind_of("get_weather", '{"city": "Oslo"}', words) is None


_TRACE = "ValueError: no such city\nTraceback:\n" + '  File "a.py", line 9, in call\n    raise ValueError(x)\n' * 20


@pytest.mark.parametrize(
    ("content", "is_error"),
    [
        (f"An error occurred when calling tool `get_weather`:\n{_TRACE}", True),
        (f"Error executing tool 'get_weather' with arguments {{'city': 'Osloo'}}: {_TRACE}", True),
        (f"Failed to invoke Tool `get_weather` with parameters {{}}. Error: {_TRACE}", True),
        (f"An error occurred when calling tool `get_news`:\n{_TRACE}", False),
        ("How to mend it when an error occurred when calling tool get_weather\n" + "x\n" * 300, False),
    ],
)
def test_a_long_result_that_begins_with_the_failure_of_its_own_call_is_an_error(content: str, is_error: bool) -> None:
    """Of Qwen-Agent, smolagents and Haystack; what the tool looks up may tell of another tool's."""
    step = chain_of('call a: get_weather {"city": "Osloo"}', f"result a: {content}", "say: Hm.").steps[0]
    assert (step.outcome == "error-result") is is_error
