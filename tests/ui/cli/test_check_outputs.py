"""`check --output sarif`, `junit`, `github`, `gitlab` and `markdown`: what machines read, whatever the traces hold."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from tests.ui.conftest import Run
from tests.ui.views.test_context import TRACE
from weaklink.inspector import TraceLogger
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.trace_file import write_trace_file

CASES = Path(__file__).parents[2] / "cases"
SCHEMA = json.loads((CASES / "sarif" / "report.schema.json").read_text(encoding="utf-8"))
GITLAB_SCHEMA = json.loads((CASES / "gitlab" / "issue.schema.json").read_text(encoding="utf-8"))
ELEMENTS: dict[str, Any] = json.loads((CASES / "junit" / "elements.json").read_text(encoding="utf-8"))
SOUND = '<tool_call>\n{"name": "f", "arguments": {"city": "Rome"}}\n</tool_call>'
COMMA = SOUND.replace('"}', '",}')
RENAMED = SOUND.replace("arguments", "parameters")
HOSTILE = COMMA.replace("Rome", "\x00\x1b[2J\ud800\ufffe\uffff\u202e]]>&<,:%25\r\n::error::x")


def rows(*texts: str) -> str:
    return "".join(json.dumps({"id": f"t{number}", "text": text}) + "\n" for number, text in enumerate(texts, 1))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log with sound, wrong, doubtful and hostile records and a broken line, a raw text, and no log at all."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a b,c:ü%.jsonl").write_text(rows(SOUND, COMMA, RENAMED, HOSTILE) + "{junk\n", encoding="utf-8")
    raw = f"<|im_start|>user\nGo, ü.<|im_end|>\n<|im_start|>assistant\n{COMMA}<|im_end|>\n"
    (folder / "raw.txt").write_text(raw, encoding="utf-8")
    (folder / "README.md").write_text("No trace.\n", encoding="utf-8")
    return folder


def sarif(run: Run, *words: str, code: int = 1) -> dict[str, Any]:
    done = run("check", "--output", "sarif", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.isascii()
    value: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(value, SCHEMA, format_checker=jsonschema.FormatChecker())
    sarif_run: dict[str, Any] = value["runs"][0]
    return sarif_run


def test_sarif_is_valid_and_lists_every_rule(weaklink: Run, logs: Path) -> None:
    run = sarif(weaklink, "logs")
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {result["level"] for result in run["results"]} == {"error", "warning"}
    assert not any("helpUri" in rule for rule in rules)
    said = [notice["message"]["text"] for notice in run["invocations"][0]["toolExecutionNotifications"]]
    assert len(said) == 1
    assert run["invocations"][0]["executionSuccessful"]


def test_sarif_of_nothing_is_valid_too(weaklink: Run, logs: Path) -> None:
    assert sarif(weaklink, "--ignore", "J,F,T,C,S", "logs", code=0)["results"] == []
    assert not sarif(weaklink, "logs/README.md", code=2)["invocations"][0]["executionSuccessful"]
    notices = sarif(weaklink, "logs", "gone", "--allow-skipped")["invocations"][0]["toolExecutionNotifications"]
    assert [notice["level"] for notice in notices] == ["note", "note", "note"]


def test_sarif_names_file_line_turn_and_part(weaklink: Run, logs: Path) -> None:
    result = sarif(weaklink, "logs")["results"][0]
    (location,) = result["locations"]
    assert unquote(location["physicalLocation"]["artifactLocation"]["uri"]) == "logs/a b,c:ü%.jsonl"
    assert location["physicalLocation"]["region"]["startLine"] == 2
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "line 2/t2/turn 1/text"
    told = result["properties"]
    assert COMMA[told["charOffset"] : told["charOffset"] + told["charLength"]] == told["snippet"] == ","


@pytest.mark.parametrize("name", ["raw.txt", "rows.jsonl", "talks.jsonl"])
def test_sarif_fixes_lie_where_the_file_has_the_fault(weaklink: Run, logs: Path, name: str) -> None:
    (logs / "rows.jsonl").write_text("\n" + rows("é\t" + SOUND, "é\t\U0001f600" + COMMA))
    talk = {"messages": [{"role": "user", "content": COMMA}, {"role": "assistant", "content": COMMA}]}
    (logs / "talks.jsonl").write_text(json.dumps({"session_id": "a", **talk}) + "\n")
    matching = [result for result in sarif(weaklink, f"logs/{name}")["results"] if result["ruleId"] == "J104"]
    (change,) = matching[-1]["fixes"][0]["artifactChanges"]
    text = (logs / name).read_text(encoding="utf-8")
    before, after = (COMMA, SOUND) if name == "raw.txt" else (json.dumps(COMMA)[1:-1], json.dumps(SOUND)[1:-1])
    start = text.rindex(before)
    assert applied(text, change["replacements"]) == text[:start] + after + text[start + len(before) :]


def test_a_trace_file_points_at_no_line_of_its_own(weaklink: Run, logs: Path) -> None:
    assert weaklink("import", "logs/raw.txt", "--db", "w.db").returncode == 0
    exported = weaklink("export", "1", "--db", "w.db")
    (logs / "t.jsonl").write_bytes(exported.stdout)
    places = [result["locations"][0]["physicalLocation"] for result in sarif(weaklink, "logs/t.jsonl")["results"]]
    assert places
    assert not any("region" in location for location in places)


def test_a_trace_of_a_trace_file_is_named_by_its_number_in_that_file(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(rows(SOUND, COMMA), encoding="utf-8")
    assert weaklink("import", "log.jsonl", "--db", "w.db").returncode == 0
    recorded = TraceLogger(tmp_path / "w.db", name="t2")  # as a recording, it has no record of its own
    with recorded as log, log.assistant() as turn:
        turn.feed(COMMA)
    exported = weaklink("export", "1", "2", "3", "--db", "w.db")
    (tmp_path / "t.jsonl").write_bytes(exported.stdout)
    shown = weaklink("check", "t.jsonl").stdout.decode()
    assert re.findall(r"^t\.jsonl:.*", shown, re.MULTILINE) == ["t.jsonl:trace 2 t2", "t.jsonl:trace 3 t2"]
    payload = json.loads(weaklink("check", "t.jsonl", "--output", "json").stdout)
    assert {diagnostic["record"] for diagnostic in payload["diagnostics"]} == {"trace 2", "trace 3"}
    assert {chain["record"] for chain in payload["broken_chains"]} == {"trace 2", "trace 3"}


def applied(text: str, replacements: list[dict[str, Any]]) -> str:
    """A text with SARIF replacements made, counted in code points."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for replacement in reversed(replacements):
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text


def test_fingerprints_stay_when_records_move(weaklink: Run, tmp_path: Path) -> None:
    def prints(*texts: str) -> list[str]:
        (tmp_path / "log.jsonl").write_text(rows(*texts))
        return [result["partialFingerprints"]["weaklinkFault/v1"] for result in sarif(weaklink, "log.jsonl")["results"]]

    first = prints(COMMA, RENAMED)
    assert len(set(first)) == 2
    assert prints(SOUND, "Hello.", RENAMED, COMMA) == first[::-1]
    assert prints(COMMA.replace("Rome", "Oslo"), RENAMED)[0] != first[0]


def junit(run: Run, *words: str, code: int = 1) -> ET.Element:
    done = run("check", "--output", "junit", *words)
    assert done.returncode == code, done.stderr
    root = ET.fromstring(done.stdout)
    for element in root.iter():
        known = ELEMENTS[element.tag]
        assert set(known["must"]) <= set(element.keys()) <= {*known["must"], *known["may"]}
        assert {child.tag for child in element} <= set(known["holds"])
        assert known["text"] or not (element.text or "").strip()
    return root


def test_junit_has_a_case_for_each_trace_and_counts_them(weaklink: Run, logs: Path) -> None:
    root = junit(weaklink, "logs")
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "4", "0")
    for suite in root:
        cases = list(suite)
        assert suite.get("tests") == str(len(cases))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(sum(case.find(tag) is not None for case in cases))
    names = [case.get("name") for case in root.iter("testcase")]
    assert names[1:5] == ["line 1 t1", "line 2 t2", "line 3 t3", "line 4 t4"]


def test_junit_failures_bear_the_verdict_and_the_diagnostics(weaklink: Run, logs: Path) -> None:
    failure = next(junit(weaklink, "logs").iter("failure"))
    assert failure.get("type") == "J104 trailing-comma"
    said = failure.get("message") or ""
    assert said.startswith("Broke at step 1: The call of `f` is not valid as written (trailing-comma):")
    assert "error[J104] trailing-comma" in (failure.text or "")
    assert "  |                                           ^" in (failure.text or "")


def test_junit_shows_what_is_no_failure_and_heeds_fail_on(weaklink: Run, logs: Path) -> None:
    quiet = junit(weaklink, "--fail-on", "never", "logs", code=0)
    assert (quiet.get("failures"), len(list(quiet.iter("system-out")))) == ("0", 5)
    strict = junit(weaklink, "--fail-on", "warning", "logs")
    assert strict.get("failures") == "5"
    gone = junit(weaklink, "gone.jsonl", code=2)
    said = "This file could not be read: there is no such file."
    assert [case.get("message") for case in gone.iter("failure")] == [said]


def test_junit_makes_visible_what_xml_cannot_hold(weaklink: Run, logs: Path) -> None:
    done = weaklink("check", "--output", "junit", "logs")
    text = done.stdout.decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]", text)
    shown = "".join(failure.text or "" for failure in ET.fromstring(done.stdout).iter("failure"))
    assert "␀␛[2J\\ud800\\ufffe\\uffff\\u202e]]>&<," in shown


def test_github_annotations_are_one_line_each_and_escaped(weaklink: Run, logs: Path) -> None:
    done = weaklink("check", "--output", "github", "logs")
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert lines[0] == (
        "::error file=logs/a b%2Cc%3Aü%25.jsonl,line=2,endLine=2,col=88,endColumn=89,title=J104 trailing-comma::"
        "A comma appears before `}`, but nothing follows it.%0Ahelp: Delete the comma.%0A"
        "at line 2 t2, turn 1, text 2:43"
    )
    assert all(re.fullmatch(r"::(error|warning|notice) file=[^:]*::[^\r\n\x00-\x1f]*", line) for line in lines)
    assert lines[1].startswith("::warning ")
    said = done.stderr.decode().splitlines()
    assert said[-1].startswith("weaklink: 5 traces in 2 files: ")


def test_a_difference_between_layers_is_at_the_later_text_and_the_earlier_one_is_related(
    weaklink: Run, tmp_path: Path
) -> None:
    write_trace_file(tmp_path / "cut.jsonl", [TRACE])
    words = ("cut.jsonl", "--select", "L8", "--fail-on", "warning")
    (payload,) = json.loads(weaklink("check", "--output", "json", *words).stdout)["diagnostics"]
    location = {key: payload[key] for key in ("code", "turn", "part", "start", "end", "line", "column")}
    assert location == {
        "code": "L809",
        "turn": 6,
        "part": "sent:3:text",
        "start": 20,
        "end": 25,
        "line": 1,
        "column": 21,
    }
    assert payload["against"] == {"turn": 3, "part": "text", "start": 20, "end": 50}
    said = weaklink("check", *words).stdout.decode()
    assert "turn 6, message 3 of its request, text, line 1 column 21" in said
    assert "order 4711 was shipp[cut]" in said
    (result,) = sarif(weaklink, *words)["results"]
    assert result["properties"]["snippet"] == "[cut]"
    (related,) = result["relatedLocations"]
    assert related["logicalLocations"][0]["fullyQualifiedName"].endswith("turn 3/text")


def test_a_run_with_other_arguments_is_at_those(weaklink: Run, tmp_path: Path) -> None:
    with TraceLogger(tmp_path / "run.jsonl") as log:
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.call("weather", '{"city": "Oslo"}', id="call_1")
        log.tool("4 degrees", call_id="call_1", name="weather", executed='{"city": "Rome"}')
    (payload,) = json.loads(weaklink("check", "--output", "json", "run.jsonl", "--select", "L8").stdout)["diagnostics"]
    assert (payload["turn"], payload["part"], payload["start"], payload["end"]) == (3, "run:arguments", 0, 16)
    assert payload["against"] == {"turn": 2, "part": "call:0", "start": 0, "end": 16}
    assert "the arguments that were executed" in weaklink("check", "run.jsonl").stdout.decode()


def gitlab(run: Run, *words: str, code: int = 1) -> list[dict[str, Any]]:
    done = run("check", "--output", "gitlab", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.isascii()
    issues: list[dict[str, Any]] = json.loads(done.stdout)
    for issue in issues:
        jsonschema.validate(issue, GITLAB_SCHEMA)
    return issues


def test_gitlab_issues_have_what_gitlab_requires(weaklink: Run, logs: Path) -> None:
    first, second, *_ = gitlab(weaklink, "logs")
    assert first == {
        "description": "A comma appears before `}`, but nothing follows it. Delete the comma.",
        "check_name": "weaklink/J104 trailing-comma",
        "fingerprint": first["fingerprint"],
        "severity": "major",
        "location": {"path": "logs/a b,c:ü%.jsonl", "lines": {"begin": 2, "end": 2}},
    }
    assert (second["severity"], second["location"]["lines"]["begin"]) == ("minor", 3)
    assert gitlab(weaklink, "--ignore", "J,F,T,C,S", "logs", code=0) == []


def test_gitlab_fingerprints_are_unique_and_stay_when_records_move(weaklink: Run, tmp_path: Path) -> None:
    def fingerprints(*texts: str) -> list[str]:
        (tmp_path / "log.jsonl").write_text(rows(*texts))
        return [issue["fingerprint"] for issue in gitlab(weaklink, "log.jsonl")]

    three = fingerprints(COMMA, COMMA, COMMA)
    assert len(set(three)) == 3
    assert fingerprints(SOUND, COMMA, "Hello.", COMMA) == three[:2]


def test_markdown_is_one_table_whatever_the_texts_hold(weaklink: Run, logs: Path) -> None:
    (logs / "a|b`<i>.jsonl").write_text(rows(HOSTILE.replace("Rome", "|<b>[x](y)")), encoding="utf-8")
    done = weaklink("check", "--output", "markdown", "logs")
    title, totals, head, rule, *table = done.stdout.decode().replace("\n\n", "\n").splitlines()
    assert (title, head) == ("### weaklink", "| where | severity | rule | what is wrong |")
    assert totals.startswith("6 traces in 3 files\\: ")
    assert all(re.fullmatch(r"\| (?:[^|<>`]|\\[|<>`])* \|", re.sub(r"(?<!\\) \| ", " ", row)) for row in (rule, *table))
    hostile = r"| logs/a\|b\`\<i\>\.jsonl\:1 | error | J104 trailing\-comma | A comma appears"
    assert [row for row in table if row.startswith(hostile)]


def test_markdown_shows_the_first_findings_and_counts_the_others(weaklink: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(rows(*[COMMA] * 203))
    text = weaklink("check", "--output", "markdown", "log.jsonl").stdout.decode()
    assert (text.count("J104"), text.splitlines()[-1]) == (200, "3 more findings.")


def test_a_run_writes_other_reports_to_files(weaklink: Run, logs: Path, tmp_path: Path) -> None:
    outputs = ("json", "sarif", "junit", "gitlab", "markdown")
    words = [word for output in outputs for word in ("--write-report", f"{output}=out.{output}")]
    done = weaklink("check", "logs", "--output", "github", *words)
    alone = weaklink("check", "logs", "--output", "github")
    assert (done.returncode, done.stdout, done.stderr) == (1, alone.stdout, alone.stderr)
    for output in outputs:
        assert (tmp_path / f"out.{output}").read_bytes() == weaklink("check", "logs", "--output", output).stdout, output


@pytest.mark.parametrize("value", ["sarif", "sarif=", "text=x", "sarif=gone/out.sarif"])
def test_a_report_file_that_cannot_be_is_refused_before_the_run(weaklink: Run, logs: Path, value: str) -> None:
    done = weaklink("check", "logs", "--write-report", value)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--write-report" in done.stderr
