"""Every rule of JSON syntax has a case file: payloads that break it, and payloads that do not."""

import re
from pathlib import Path

import pytest

from tests.case_files import CaseFields, compare, load
from tests.json_scanner.case_files import FOLDER, KEYS, expectation
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.rules.json_syntax import RULES

_FILES = {rule.code: FOLDER / f"{rule.code}-{rule.name}.yaml" for rule in RULES}
_EVERY_PAYLOAD = pytest.mark.parametrize(
    ("path", "number", "case"),
    [
        pytest.param(path, number, case, id=f"{path.stem}-{number + 1}")
        for path in _FILES.values()
        for number, case in enumerate(load(path)["cases"])
    ],
)


@_EVERY_PAYLOAD
def test_a_payload_is_read_as_its_case_says(path: Path, number: int, case: CaseFields, update_goldens: bool) -> None:
    actual = expectation(case["text"], call=case.get("call", False))
    compare(path, number, KEYS, actual, update_goldens=update_goldens)


@pytest.mark.parametrize("code", _FILES)
def test_each_rule_has_payloads_that_break_it_and_one_that_does_not(code: str) -> None:
    broken = [
        bool(re.search(rf"^{code} ", case.get("faults", ""), re.MULTILINE)) for case in load(_FILES[code])["cases"]
    ]
    assert sum(broken) >= 3
    assert not all(broken)


@_EVERY_PAYLOAD
def test_messages_are_one_sentence_and_show_no_raw_control_character(path: Path, number: int, case: CaseFields) -> None:
    for fault in read_json(case["text"], call=case.get("call", False)).faults:
        assert fault.message.endswith("."), fault
        assert fault.message.isprintable(), fault
        assert (fault.fix is None) == (fault.hint is None or fault.rule.code == "J108"), fault
        assert len(fault.range) or not case["text"], fault
