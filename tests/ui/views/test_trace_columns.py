"""Which columns a list of traces has in a width, and how wide they are."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, inspected, trace
from weaklink.storage.store import open_store
from weaklink.ui.views.styled_text import plain
from weaklink.ui.views.trace_columns import ListedTrace, fitted
from weaklink.ui.views.trace_summary import break_words

_TITLE = "Book a table for five at the harbour, tomorrow at eight"
_TOOL = "reserve_restaurant_table"


@pytest.mark.parametrize("width", [80, 90, 100, 120, 160, 200])
def test_no_break_is_cut_before_its_tools_name(tmp_path: Path, width: int) -> None:
    broken = trace("s1", BAD_CALL.replace("get_weather", _TOOL), model="sample-hermes-4-70b")
    with open_store(tmp_path / "w.db") as store:
        store.save(inspected(replace(broken, name=_TITLE)))
        rows = [ListedTrace(summary, 0.0, ok_calls=0) for summary in store.traces()]
    assert rows[0].summary.broken is not None
    shown = plain(break_words(rows[0].summary.broken))
    assert shown.endswith(_TOOL)
    columns = fitted(width, rows)
    line = plain(columns.row(rows[0]))
    assert shown in line
    assert len(line) <= width
    assert _TITLE[:11] in line
