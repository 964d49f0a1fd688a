"""`check --baseline`: only new faults fail, wherever the known ones have moved to."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.ui.conftest import Run
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace
from weaklink.ui.reports.check_report import Fingerprints

SOUND = '<tool_call>\n{"name": "f", "arguments": {"city": "Rome"}}\n</tool_call>'
COMMA = SOUND.replace('"}', '",}')
QUOTES = SOUND.replace('"', "'")


def write(path: Path, *texts: str) -> None:
    rows = [{"conversations": [{"from": "human", "value": "Go."}, {"from": "gpt", "value": text}]} for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def log(tmp_path: Path, weaklink: Run) -> Path:
    """A log whose two faults stand in `baseline.json`."""
    path = tmp_path / "log.jsonl"
    write(path, COMMA, SOUND, QUOTES)
    done = weaklink("check", "log.jsonl", "--write-baseline", "baseline.json")
    assert done.returncode == 0, done.stderr
    return path


def against(run: Run, *words: str) -> tuple[int, list[str], str]:
    done = run("check", "log.jsonl", "--baseline", "baseline.json", "--output", "github", *words)
    said = done.stderr.decode()
    return done.returncode, [line.partition("title=")[2][:4] for line in done.stdout.decode().splitlines()], said


def test_known_faults_do_not_fail(weaklink: Run, log: Path) -> None:
    code, result, said = against(weaklink)
    assert (code, result) == (0, [])
    assert "3 traces in 1 file: ✔ nothing new is wrong" in said
    assert "2 faults are in the baseline" in said
    value = json.loads(weaklink("check", str(log), "--baseline", "baseline.json", "--output", "json").stdout)
    assert (value["totals"]["known"], value["totals"]["gone"], value["diagnostics"]) == (2, 0, [])


def test_a_new_fault_fails_alone(weaklink: Run, log: Path) -> None:
    write(log, COMMA, SOUND, QUOTES, COMMA.replace("Rome", "Oslo"))
    assert against(weaklink)[:2] == (1, ["J104"])


def test_they_are_known_wherever_they_move_to(weaklink: Run, log: Path) -> None:
    write(log, "Hello.", QUOTES, SOUND, "Well.", COMMA)
    assert against(weaklink)[:2] == (0, [])
    log.rename(log.with_name("moved.jsonl"))
    assert weaklink("check", "moved.jsonl", "--baseline", "baseline.json").returncode == 0


def test_the_same_fault_once_more_is_new(weaklink: Run, log: Path) -> None:
    write(log, COMMA, COMMA, QUOTES)
    assert against(weaklink)[:2] == (1, ["J104"])


def test_faults_that_are_gone_are_told(weaklink: Run, log: Path) -> None:
    write(log, SOUND, SOUND, QUOTES)
    code, result, said = against(weaklink)
    assert (code, result) == (0, [])
    assert "1 fault of the baseline no longer occurs" in said


def test_what_was_not_looked_at_is_not_gone(weaklink: Run, log: Path) -> None:
    write(log, SOUND, SOUND, SOUND)
    assert "gone" not in against(weaklink, "--select", "F")[2]
    other = log.with_name("other.jsonl")
    write(other, SOUND)
    done = weaklink("check", "other.jsonl", "--baseline", "baseline.json")
    assert b"gone" not in done.stderr
    log.unlink()
    assert (
        b"2 faults of the baseline no longer occur"
        in weaklink("check", "other.jsonl", "--baseline", "baseline.json").stderr
    )


def test_a_baseline_is_written_anew_in_place_and_the_same_each_time(weaklink: Run, log: Path) -> None:
    path = log.with_name("baseline.json")
    before = path.read_bytes()
    again = ("check", "log.jsonl", "--baseline", "baseline.json", "--write-baseline", "baseline.json")
    assert weaklink(*again).returncode == 0
    assert path.read_bytes() == before
    assert [(fault["code"], fault["path"], fault["count"]) for fault in json.loads(before)["faults"]] == [
        ("J103", "log.jsonl", 1),
        ("J104", "log.jsonl", 1),
    ]


def test_a_baseline_is_not_written_of_half_a_check(weaklink: Run, log: Path) -> None:
    done = weaklink("check", "log.jsonl", "gone.jsonl", "--write-baseline", "new.json")
    assert (done.returncode, log.with_name("new.json").exists()) == (2, False)
    assert b"new.json was not written" in done.stderr


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "it is not JSON"),
        ("[]", "`weaklink_baseline` is not 1"),
        ('{"weaklink_baseline": 2}', "`weaklink_baseline` is not 1"),
        ('{"weaklink_baseline": 1}', "it has no list `faults`"),
        ('{"weaklink_baseline": 1, "faults": [{"code": "J104"}]}', "an entry lacks"),
    ],
)
def test_what_is_no_baseline_is_refused(weaklink: Run, log: Path, content: str, why: str) -> None:
    log.with_name("baseline.json").write_text(content)
    code, result, said = against(weaklink)
    assert (code, result) == (2, [])
    assert why in said


def test_a_fingerprint_does_not_depend_on_the_wording(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", COMMA)
    (trace,) = read_source(tmp_path / "log.jsonl").records
    assert isinstance(trace, Trace)
    (diagnostics,) = inspect_trace(trace).diagnostics
    reworded = Diagnostic(diagnostics.location, replace(diagnostics.fault, message="Said otherwise.", hint=None))
    assert Fingerprints(trace).of(diagnostics, COMMA) == Fingerprints(trace).of(reworded, COMMA)
    elsewhere = replace(trace.turns[0], parts=(replace(trace.turns[0].parts[0], text="Stop."),))
    other = replace(trace, turns=(elsewhere, trace.turns[1]))
    assert Fingerprints(trace).of(diagnostics, COMMA) != Fingerprints(other).of(diagnostics, COMMA)
