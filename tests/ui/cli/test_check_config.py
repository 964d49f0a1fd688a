"""The configuration of `check`: where it is found, what it may say, and what goes before it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.ui.conftest import Run
from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.cli.check_settings import CheckConfig, check_settings, find_config, read_config

CALL = {"id": "a", "type": "function", "function": {"name": "warmth", "arguments": "{}"}}
COMMA = '<tool_call>\n{"name": "f", "arguments": {"city": "Rome",}}\n</tool_call>'


def config(folder: Path, text: str, name: str = "weaklink.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    path = config(
        tmp_path,
        """
        select = ["J", "T401"]
        format = "hermes"
        source = "sharegpt"
        error-patterns = ["^panic: ", "\\\\bENOENT\\\\b"]
        reasoning-budget = 4000
        context-window = 32768
        ignore = ["J105"]
        [check]
        ignore = ["trailing-comma"]
        fail-on = "warning"
        baseline = "known.json"
        """,
    )
    assert read_config(path) == CheckConfig(
        file=str(path),
        select=("J", "T401"),
        ignore=("trailing-comma",),
        fail_on="warning",
        format="hermes",
        source="sharegpt",
        baseline=str(tmp_path / "known.json"),
        error_patterns=("^panic: ", r"\bENOENT\b"),
        reasoning_budget=4000,
        context_window=32768,
    )


def test_the_nearest_folder_that_has_one_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    config(tmp_path, '[tool.weaklink.check]\nfail-on = "info"\n', "pyproject.toml")
    config(tmp_path / "a", '[tool.other]\nfail-on = "info"\n', "pyproject.toml")
    assert find_config(inner).fail_on == "info"
    config(tmp_path / "a", '[check]\nfail-on = "never"\n')
    assert find_config(inner).fail_on == "never"
    config(inner, '[tool.weaklink]\nfail-on = "warning"\n', "pyproject.toml")
    assert find_config(inner).fail_on == "warning"
    config(inner, 'fail-on = "error"\n')
    assert find_config(inner).fail_on == "error"


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ('fail_on = "error"', "fail_on", "; did you mean `fail-on`?"),
        ('[check]\nselekt = ["J"]', "check.selekt", "; did you mean `select`?"),
        ('xyz = "J"', "xyz", "; expected one of `select`, `ignore`"),
        ('select = "J"', "select", ": this must be a list of strings"),
        ("ignore = [1]", "ignore", ": this must be a list of strings"),
        ('select = ["trailing-coma"]', "select", ": unknown rule `trailing-coma`; did you mean `trailing-comma`?"),
        ('[check]\nfail-on = "eror"', "check.fail-on", ": `eror` is not known; did you mean `error`?"),
        ("fail-on = 1", "fail-on", ": this must be a string"),
        ('format = "hermse"', "format", "did you mean `hermes`?"),
        ('source = "sharegtp"', "source", "did you mean `sharegpt`?"),
        ('error-patterns = ["("]', "error-patterns", ": `(` is not a regular expression"),
        ("reasoning-budget = 0", "reasoning-budget", ": this must be a number of tokens"),
        ("context-window = true", "context-window", ": this must be a number of tokens"),
        ('check = "J"', "check", " must be a table"),
    ],
)
def test_what_it_may_not_say_is_refused_with_file_key_and_nearest_name(
    tmp_path: Path, text: str, key: str, why: str
) -> None:
    in_pyproject = text.replace("[check]", "[tool.weaklink.check]")
    if in_pyproject == text:
        in_pyproject = f"[tool.weaklink]\n{text}"
    for name, content, root in (("weaklink.toml", text, ""), ("pyproject.toml", in_pyproject, "tool.weaklink.")):
        path = config(tmp_path, content, name)
        with pytest.raises(WeaklinkError) as raised:
            read_config(path)
        said = str(raised.value)
        assert said.startswith(f"{path}: ")
        assert f"`{root}{key}`" in said
        assert why in said


def test_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    path = config(tmp_path, "select = [")
    with pytest.raises(WeaklinkError, match=r"weaklink\.toml is not TOML"):
        find_config(path.parent)


def test_patterns_and_budgets_of_the_configuration_judge_the_traces(tmp_path: Path, weaklink: Run) -> None:
    turns = [
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": "NOTHING-HEARD from the station"},
        {"role": "assistant", "content": "<think>" + "warm " * 400 + "</think>It is warm."},
    ]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": turns}), encoding="utf-8")
    codes = _codes(weaklink("check", "log.jsonl", "--output", "json"))
    assert {"T406", "R601"} & codes == set()
    config(tmp_path, 'error-patterns = ["NOTHING-HEARD"]\nreasoning-budget = 100\n')
    assert {"T406", "R601"} <= _codes(weaklink("check", "log.jsonl", "--output", "json"))


def _codes(ran: "subprocess.CompletedProcess[bytes]") -> set[str]:
    return {diagnostic["code"] for diagnostic in json.loads(ran.stdout)["diagnostics"]}


def test_a_pattern_that_cannot_be_read_is_said(tmp_path: Path, weaklink: Run) -> None:
    config(tmp_path, 'error-patterns = ["("]\n')
    (tmp_path / "log.txt").write_text(COMMA, encoding="utf-8")
    ran = weaklink("check", "log.txt")
    assert ran.returncode == 2
    assert b"(" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_the_command_line_goes_before_the_configuration(tmp_path: Path) -> None:
    path = str(config(tmp_path, 'select = ["J"]\nignore = ["J104"]\nformat = "hermes"\n[check]\nfail-on = "info"\n'))
    said = check_settings(CheckConfig(), path, no_config=False)
    assert (said.options.select, said.options.ignore, said.options.format) == (("J",), ("J104",), "hermes")
    assert said.fail_on == "info"
    given = CheckConfig(format="auto", select=("S2",), ignore=("F",), fail_on="never")
    wins = check_settings(given, path, no_config=False)
    assert (wins.options.select, wins.options.ignore, wins.options.format) == (("S2",), ("F",), "auto")
    assert wins.fail_on == "never"
    assert check_settings(CheckConfig(), None, no_config=True).options.select == ()


def test_the_command_heeds_it(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"text": COMMA}))
    config(tmp_path, '[tool.weaklink.check]\nignore = ["J104"]\n', "pyproject.toml")
    assert weaklink("check", "log.jsonl").returncode == 0
    assert weaklink("check", "log.jsonl", "--no-config").returncode == 1
    config(tmp_path, '[check]\nfail-on = "never"\n', "other.toml")
    assert weaklink("check", "log.jsonl", "--config", "other.toml").returncode == 0
    both = weaklink("check", "log.jsonl", "--config", "other.toml", "--no-config")
    assert (both.returncode, b"exclude each other" in both.stderr) == (2, True)
    gone = weaklink("check", "log.jsonl", "--config", "gone.toml")
    assert (gone.returncode, b"cannot read gone.toml" in gone.stderr) == (2, True)
