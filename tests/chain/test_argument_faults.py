"""The faults of argument values that nobody gave: what they cost in a call with many of them."""

import json

import pytest

from tests.chain.building import codes, inspection_of
from weaklink.inspector.checks import arguments
from weaklink.inspector.json_scanner import JsonResult, read_json


def test_the_arguments_of_a_call_are_read_once_for_all_values_that_nobody_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str) -> JsonResult:
        read.append(text)
        return read_json(text)

    monkeypatch.setattr(arguments, "read_json", counted)
    calls = [json.dumps({"rows": [{"id": f"{call}0{row:04}"} for row in range(20)]}) for call in range(1, 4)]
    inspection = inspection_of(
        "user: Store the rows.", *(f"call: store_rows {call_arguments}" for call_arguments in calls)
    )
    assert codes(inspection).count("T412") == 60
    assert read == calls
