"""Reads repaired texts with servers' own parsers: `make test-servers` prints what they return for weaklink's fixes.

Usage: python -m tests.servers.fixes

All fixes are applied to each text of the matrix, and its parser reads the result. It "agrees" if it returns the calls
that weaklink reads there; "otherwise" are the texts whose calls it reads differently even as the format's own template
writes them (another type, no call at all), so that no fix can help; the others "differ": a fix that helps nobody with
this server. Those are printed, and the exit status is 1 if there is one.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.servers.measuring import MATRIX, Answer, answers_to, read
from tests.servers.parsers import MeasuredParser
from tests.servers.texts import reasoning_markers
from weaklink.inspector.diagnostics import Fault, apply_fixes
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.server_parsers import canonical_json
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.rule import Severity

OTHERWISE = {("SGLang", "step3"): "a call without parameters is lost if nothing is between its tags, as in the matrix"}
"""What parsers make of the matrix's own spelling of calls, apart from any fault."""


class RepairedText(NamedTuple):
    """A text of the matrix with all fixes, and the well-formed text of the calls that weaklink reads in it."""

    fault: str
    text: str
    well_formed: str


def repaired(format: str, fault: str, text: str) -> RepairedText | None:
    """The text with its fixes; None if there are none."""
    faults = [diagnostic.fault for diagnostic in read(format, text).diagnostics]
    if all(fault.fix is None for fault in faults):
        return None
    fixed = apply_fixes(text, faults, only_safe=False)
    dialect, segmentation = find_format(format), read(format, fixed)
    opener, closer = reasoning_markers(dialect)
    has_reasoning = any(span.kind is SpanKind.REASONING for span in segmentation.spans)
    written = dialect.write_calls(segmentation.calls)
    well_formed = f"{opener}I look.{closer}{written}" if has_reasoning else written
    return RepairedText(fault, fixed, well_formed if any(map(_is_of_syntax, faults)) else fixed)


def _is_of_syntax(fault: Fault) -> bool:
    return fault.rule.code[0] in "JF" and fault.rule.severity is not Severity.INFO


def _returned(answer: Answer) -> list[tuple[str, str]]:
    return [(call["name"], _canonical(call["arguments"])) for call in answer.get("tool_calls", [])]


def _canonical(arguments: str) -> str:
    try:
        return canonical_json(json.loads(arguments))
    except (ValueError, TypeError):
        return arguments


def compared(parser: MeasuredParser, texts: Iterable[RepairedText]) -> Counter[str]:
    """The counts of what a parser returns for repaired texts; what differs is printed."""
    counts: Counter[str] = Counter()
    texts = list(texts)
    answers = answers_to(parser, [(each.text, 0) for each in texts])
    unequal = []
    for each in texts:
        calls = read(parser.format, each.text).calls
        expected = [(call.name or "", canonical_json(call.arguments)) for call in calls]
        if "error" not in answers[each.text, 0] and _returned(answers[each.text, 0]) == expected:
            counts["agrees"] += 1
        else:
            unequal.append((each, expected))
    healthy = answers_to(parser, [(each.well_formed, 0) for each, _ in unequal])
    for each, expected in unequal:
        well_formed, answer = healthy[each.well_formed, 0], answers[each.text, 0]
        is_otherwise = "error" in well_formed or _returned(well_formed) != expected
        is_otherwise |= (parser.server, parser.tool) in OTHERWISE
        counts["otherwise" if is_otherwise else "differs"] += 1
        if not is_otherwise:
            sys.stdout.write(f"{parser} {each.fault}\n  {each.text!r}\n  read {expected}\n  returned {answer}\n")
    return counts


def main() -> None:
    """The command."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in MATRIX.read_text(encoding="utf-8").splitlines()]
    texts: dict[MeasuredParser, list[RepairedText]] = defaultdict(list)
    for row in rows:
        each = repaired(row["format"], row["fault"], row["text"])
        if each is not None:
            texts[MeasuredParser(row["server"], row["parser"], row["reasoning"], row["format"])].append(each)
    counts: Counter[str] = Counter()
    for parser, group in texts.items():
        counts += compared(parser, group)
    sys.stdout.write(f"fixes: {dict(counts)}\n")
    sys.exit(bool(counts["differs"]))


if __name__ == "__main__":
    main()
