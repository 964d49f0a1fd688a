"""The share of planted faults that `weaklink data lint` finds, and what it finds in rows without a fault.

A row of `planted_conversations` with a fault is the last of a file with the other conversations of its shape. The fault
is found if `lint` reports one of its codes there, and does not report that code for the same row without the fault.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from benchmarks.planted_conversations import (
    CLEAN_SHAPES,
    CONVERSATIONS,
    PLANTED,
    SHAPES,
    Conversation,
    Planted,
    planted_conversation,
    row_in,
)
from weaklink.ui.cli.group import weaklink

Row = dict[str, Any]


def planted_faults() -> None:
    """Print the faults found and the false alarms by shape; with `WEAKLINK_PLANTED_SHOW=1` each one on stderr."""
    planted, found_count, alarms, clean_rows = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for shape in SHAPES:
        clean = lint([row_in(shape, conversation) for conversation in CONVERSATIONS.values()])
        if shape in CLEAN_SHAPES:
            clean_rows[shape] = len(CONVERSATIONS)
            alarms[shape] = len({row for row, _, severity in clean if severity != "info"})
            _show(f"clean {shape}", clean)
        for fault in PLANTED:
            if fault.shape == shape:
                planted[shape] += 1
                found_count[shape] += is_found(fault)
    print(
        "| shape | planted faults | found | clean rows | with an error or a warning |\n| --- | --- | --- | --- | --- |"
    )
    for shape in SHAPES:
        print(f"| {shape} | {planted[shape]} | {found_count[shape]} | {clean_rows[shape]} | {alarms[shape]} |")
    print(f"| all | {planted.total()} | {found_count.total()} | {clean_rows.total()} | {alarms.total()} |")


def is_found(fault: Planted) -> bool:
    """Whether lint reports the fault's code in the row, and not in the row without the fault."""
    others = [row_in(fault.shape, talk) for name, talk in CONVERSATIONS.items() if name != fault.conversation]
    without = Counter(
        code for _, code, _ in _last_rows(others, [row_in(fault.shape, CONVERSATIONS[fault.conversation])])
    )
    findings = _last_rows(others, list(_rows(fault)))
    new = Counter(code for _, code, _ in findings) - without
    outcome = any(new[code] for code in fault.codes.split())
    _show(f"{'found' if outcome else 'MISSED'} {fault.name} ({fault.shape}, {fault.conversation})", findings)
    return outcome


def lint(rows: list[Row]) -> list[tuple[int, str, str]]:
    """The row, code and severity of everything that `weaklink data lint` reports."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "set.jsonl")
        path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
        words = ["data", "lint", str(path), "--output", "json", "--fail-on", "never", "--no-config"]
        done = CliRunner().invoke(weaklink, words, catch_exceptions=False)
    return [
        (int(str(finding["record"]).removeprefix("line ")), finding["code"], finding["severity"])
        for finding in json.loads(done.stdout)["diagnostics"]
    ]


def _last_rows(others: list[Row], rows: list[Row]) -> list[tuple[int, str, str]]:
    return [finding for finding in lint([*others, *rows]) if finding[0] > len(others)]


def _rows(fault: Planted) -> Iterator[Row]:
    conversation: Conversation = planted_conversation(fault)
    if fault.before == "clean":
        yield row_in(fault.shape, CONVERSATIONS[fault.conversation])
    text = json.dumps(row_in(fault.shape, conversation), ensure_ascii=False)
    for old, new in fault.replace:
        assert old in text, f"{fault.name}: {old} is not in {text}"
        text = text.replace(old, new)
    row = json.loads(text)
    if fault.row:
        fault.row(row)
    yield row
    if fault.before == "same":
        yield row


def _show(name: str, findings: list[tuple[int, str, str]]) -> None:
    if os.environ.get("WEAKLINK_PLANTED_SHOW"):
        shown = " ".join(f"{code}:{severity}@{row}" for row, code, severity in findings)
        print(f"{name}: {shown}", file=sys.stderr)
