"""The fixture `weaklink`, in the pytest run of a user: what passes, what fails, and what a failure says."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import weaklink.inspector.pytest_plugin.assertions  # noqa: F401  # here once: what a run in this process loads, it forgets again
from weaklink import pytest_plugin, read_transcript
from weaklink.inspector.model import Provenance
from weaklink.inspector.trace_file import write_trace_file

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
COMMA = '<tool_call>\n{"name": "f", "arguments": {"city": "Rome",}}\n</tool_call>'
SOUND = COMMA.replace(",}", "}")
RECORDED = Provenance("record")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the body of a test that has the fixture `weaklink`, in a run of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(body: str) -> pytest.RunResult:
        lines = "\n    ".join(body.splitlines())
        head = "from pathlib import Path\nfrom weaklink import read_transcript\n"
        pytester.makepyfile(f"{head}COMMA = {COMMA!r}\nSOUND = {SOUND!r}\ndef test_agent(weaklink):\n    {lines}\n")
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", plugins=[pytest_plugin])

    return run


def said(result: pytest.RunResult) -> str:
    """What the failure says, line by line."""
    return "\n".join(line.removeprefix("E").strip(" ") for line in result.outlines if line.startswith("E  "))


def conversation(result: str) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}
    return [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": result},
        {"role": "assistant", "content": "It says hello."},
    ]


def test_loading_it_loads_nothing_else_of_weaklink(tmp_path: Path) -> None:
    ask = "import weaklink.pytest_plugin, sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", ask], cwd=ROOT, text=True).split()
    ours = {name for name in loaded if name.partition(".")[0] == "weaklink"}
    assert ours == {"weaklink", "weaklink.pytest_plugin"}


def test_pytest_finds_it_by_the_entry_point_of_the_distribution(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = pytester.mkdir("site") / "probe-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 1\n")
    lines = [f"{name} = {place}" for name, place in project["entry-points"]["pytest11"].items()]
    (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{installed.parent}")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(f"def test_agent(weaklink):\n    weaklink.assert_unbroken({SOUND!r})\n")
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "body",
    [
        "weaklink.assert_unbroken(SOUND)",
        "weaklink.assert_unbroken(read_transcript(SOUND))",
        "weaklink.assert_clean(SOUND, format='hermes')",
        f"weaklink.assert_unbroken({conversation('hello')!r})",
        f"weaklink.assert_unbroken({conversation('Error: no such file')!r}, ignore=['error-result'])",
        f"weaklink.assert_unbroken({conversation('Error: no such file')!r}, select='J')",
        f"weaklink.assert_clean({conversation('Error: no such file')!r}, ignore=['unrecovered-error', 'error-result'])",
        f"weaklink.assert_clean({conversation('')!r}, fail_on='broken')",
        "weaklink.assert_clean(COMMA, ignore='J104')",
        "weaklink.assert_clean(COMMA, select=('S2', 'T4'))",
        "assert [one.chain.status for one in weaklink.inspect(SOUND)] == ['ok']",
    ],
)
def test_what_holds_passes(run: Any, body: str) -> None:
    run(body).assert_outcomes(passed=1)


def test_a_broken_chain_is_told_with_its_verdict_and_its_place(run: Any) -> None:
    result = run("weaklink.assert_unbroken(COMMA)")
    result.assert_outcomes(failed=1)
    assert said(result).splitlines() == [
        "AssertionError: weaklink: the chain broke at step 1 of 1 in the text.",
        "The call of `f` is not valid as written (trailing-comma): a comma appears before `}`, but nothing follows it.",
        "error[J104] trailing-comma: A comma appears before `}`, but nothing follows it.",
        "--> turn 1, text, line 2 column 43",
        '2 | {"name": "f", "arguments": {"city": "Rome",}}',
        "|                                           ^",
        "= help: Delete the comma.",
    ]
    assert "pytest_plugin" not in result.stdout.str().partition("AssertionError")[2]


def test_an_error_that_nobody_made_good_is_told(run: Any) -> None:
    result = run(f"weaklink.assert_unbroken({conversation('Error: disk failure')!r})")
    assert "`read` answered with an error (`Error: disk failure`)" in said(result)
    assert "The agent continued as if nothing had happened." in said(result)


@pytest.mark.parametrize("fail_on", ["error", "broken"])
def test_a_chain_that_broke_without_an_error_is_not_clean(run: Any, fail_on: str) -> None:
    broken = conversation("Error: disk failure")
    result = run(f"weaklink.assert_clean({broken!r}, ignore='unrecovered-error', fail_on={fail_on!r})")
    result.assert_outcomes(failed=1)
    assert "the chain broke at step 1 of 1" in said(result)


def test_what_counts_as_failing_is_asked_for(run: Any) -> None:
    warned = conversation("")
    run(f"weaklink.assert_clean({warned!r})").assert_outcomes(passed=1)
    result = run(f"weaklink.assert_clean({warned!r}, fail_on='warning')")
    result.assert_outcomes(failed=1)
    assert "warning[T407] empty-result" in said(result)


def test_the_tools_that_were_offered_are_heeded(run: Any) -> None:
    tools = [{"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}]
    result = run(f"weaklink.assert_clean({conversation('hello')!r}, tools={tools!r})")
    assert "No tool `read` was offered" in said(result)


@pytest.mark.parametrize("path", ["'log.jsonl'", "Path('log.jsonl')"])
def test_every_trace_of_a_log_counts(run: Any, pytester: pytest.Pytester, path: str) -> None:
    rows = [json.dumps({"id": f"t{number}", "text": text}) for number, text in enumerate((SOUND, COMMA))]
    (pytester.path / "log.jsonl").write_text("\n".join(rows))
    result = run(f"weaklink.assert_unbroken({path})")
    assert "the chain broke at step 1 of 1 in trace `t1` (log.jsonl, line 2)." in said(result)


def test_a_trace_of_a_trace_file_is_named_by_its_number(run: Any, pytester: pytest.Pytester) -> None:
    traces = (read_transcript(text) for text in (SOUND, COMMA))
    write_trace_file(pytester.path / "run.jsonl", (replace(trace, name="Go.", provenance=RECORDED) for trace in traces))
    result = run("weaklink.assert_unbroken('run.jsonl')")
    assert "in trace `Go.` (run.jsonl, trace 2)." in said(result)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("weaklink.assert_clean('logs/gone.jsonl')", "logs/gone.jsonl: there is no such file"),
        ("Path('empty.jsonl').write_text('{}')\nweaklink.assert_clean('empty.jsonl')", "empty.jsonl"),
        ("weaklink.assert_clean(SOUND, format='hermse')", "did you mean `hermes`?"),
        ("weaklink.assert_clean(SOUND, ignore='trailing-coma')", "did you mean `trailing-comma`?"),
        (
            "weaklink.assert_clean(SOUND, fail_on='fatal')",
            '`fail_on` must be one of "error", "warning", "info", "broken"',
        ),
        ("weaklink.assert_clean(5)", "a list of messages (dictionaries), not int"),
        ("weaklink.assert_clean([])", "a list of messages (dictionaries), not list"),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why(run: Any, body: str, why: str) -> None:
    result = run(body)
    result.assert_outcomes(failed=1)
    assert why in said(result)


def test_hostile_texts_do_not_reach_the_terminal(run: Any) -> None:
    result = run(r"""weaklink.assert_clean(COMMA.replace('Rome', '\x1b[31m\u202e\ud800'))""")
    assert r"\x1b[31m\u202e\ud800" in said(result)
    assert "\x1b[31m" not in result.stdout.str()
