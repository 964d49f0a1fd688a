"""The case files of the JSON scanner: one a rule, one payload a line, with everything that is expected of it."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from inspector.diagnostics import apply_fixes
from inspector.json_scanner import read_json

FOLDER = Path(__file__).parents[1] / "cases" / "json"


def described(text: str, *, call: bool) -> dict[str, Any]:
    """A payload and what the scanner makes of it, as a line of a case file holds it."""
    reading = read_json(text, call=call)
    faults = []
    for fault in reading.faults:
        expected: dict[str, Any] = {"code": fault.rule.code, "start": fault.range.start, "end": fault.range.end}
        if fault.fix:
            expected["fixed"] = apply_fixes(text, [fault], only_safe=False)
            expected["safe"] = fault.fix.safe
        faults.append(expected)
    values = [json.loads(json.dumps(node.value(), default=_plain)) for node in reading.nodes]
    flags = {"strict": reading.strict, "repairable": reading.repairable}
    return {"text": text, "call": call, "faults": faults, **flags, "values": values}


def lines(path: Path) -> list[dict[str, Any]]:
    """All payloads of one case file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _plain(value: object) -> str:
    assert isinstance(value, Decimal)
    return str(value)
