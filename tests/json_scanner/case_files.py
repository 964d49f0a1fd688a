"""The case files of the JSON scanner: one a rule, with payloads and what the scanner makes of each."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tests.formats.expectations import escaped, quoted_excerpt, verbatim
from weaklink.inspector.diagnostics import Fault, apply_fixes
from weaklink.inspector.json_scanner import JsonResult, read_json

FOLDER = Path(__file__).parents[1] / "cases" / "json"
KEYS = ("reads", "faults", "values")


def expectation(text: str, *, call: bool) -> dict[str, str]:
    """What the scanner makes of a payload, as a case file has it: how well it reads, its faults and its values."""
    reading = read_json(text, call=call)
    faults = [line for fault in reading.faults for line in _fault_lines(text, fault)]
    values = [escaped(json.dumps(node.value(), default=_plain, ensure_ascii=False)) for node in reading.nodes]
    lines = {"faults": faults, "values": values}
    return {
        "reads": _state(reading),
        **{key: "".join(f"{line}\n" for line in lines[key]) for key in lines if lines[key]},
    }


def _state(reading: JsonResult) -> str:
    """Strict JSON needs no repair; `repairable` means that all fixes together give the values that were read."""
    if reading.strict:
        return "strict"
    return "repairable" if reading.repairable else "not repairable"


def _fault_lines(text: str, fault: Fault) -> Iterator[str]:
    start, end = fault.range.start, fault.range.end
    yield f"{fault.rule.code} {start}-{end}: {quoted_excerpt(text[start:end])}"
    if fault.fix:
        fixed = apply_fixes(text, [fault], only_safe=False)
        yield f"  {'fixed' if fault.fix.safe else 'fixed, unsafely'}: {verbatim(fixed)}"


def _plain(value: object) -> str:
    assert isinstance(value, Decimal)
    return str(value)
