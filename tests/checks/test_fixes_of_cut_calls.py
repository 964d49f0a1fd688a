"""Fixes of cut calls, in every format: one that completes the payload closes the call too, markers in one piece."""

import pytest

from weaklink.inspector.diagnostics import apply_fixes
from weaklink.inspector.facade import make_call
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.rules.markers import UNTERMINATED_SPAN
from weaklink.inspector.segmentation import segment

CALL = make_call("get_weather", {"city": "Tromsø, harbour", "days": 2})


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [dialect.name for dialect in formats() if dialect.expresses(CALL)])
def test_a_fix_at_the_end_of_a_cut_call_leaves_no_open_call(name: str) -> None:
    dialect = next(dialect for dialect in formats() if dialect.name == name)
    whole = dialect.write_calls([CALL])
    for end in range(whole.index("Tromsø") + 3, len(whole)):
        text = whole[:end]
        faults = [diagnostic.fault for diagnostic in segment(text, name).diagnostics]
        ends = [fault for fault in faults if fault.fix and fault.fix.edits[-1].range.start >= len(text.rstrip())]
        if ends:
            repaired = segment(apply_fixes(text, ends, only_safe=False), name)
            assert all(diagnostic.rule is not UNTERMINATED_SPAN for diagnostic in repaired.diagnostics), (
                text,
                repaired.text,
            )
