"""Every rule of JSON syntax has a case file: payloads that break it, and payloads that do not."""

import json
from pathlib import Path

import pytest

from inspector.json_scanner import read_json
from inspector.rules.json_syntax import RULES
from tests.json_scanner.case_files import FOLDER, described, lines

_FILES = [pytest.param(FOLDER / f"{rule.code}-{rule.name}.jsonl", rule.code, id=rule.code) for rule in RULES]


@pytest.mark.parametrize(("path", "code"), _FILES)
def test_payloads_are_read_as_their_case_says(path: Path, code: str, update_goldens: bool) -> None:
    cases = lines(path)
    read = [described(case["text"], call=case["call"]) for case in cases]
    if update_goldens:
        path.write_text("".join(json.dumps(case) + "\n" for case in read), encoding="utf-8")
        return
    for case, got in zip(cases, read, strict=True):
        assert got == case, f"{case['text']!r}; `pytest --update-goldens` rewrites {path.name} after you looked at it"


@pytest.mark.parametrize(("path", "code"), _FILES)
def test_each_rule_has_payloads_that_break_it_and_one_that_does_not(path: Path, code: str) -> None:
    broken = [any(fault["code"] == code for fault in case["faults"]) for case in lines(path)]
    assert sum(broken) >= 3
    assert not all(broken)


@pytest.mark.parametrize(("path", "code"), _FILES)
def test_messages_are_one_sentence_and_show_no_raw_control_character(path: Path, code: str) -> None:
    for case in lines(path):
        for fault in read_json(case["text"], call=case["call"]).faults:
            assert fault.message.endswith("."), fault
            assert fault.message.isprintable(), fault
            assert (fault.fix is None) == (fault.hint is None or fault.rule.code == "J108"), fault
            assert len(fault.range) or not case["text"], fault
