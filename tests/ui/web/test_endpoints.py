"""The page of endpoints: the latest probe of each, and its findings."""

import json
from pathlib import Path

from tests.probe.model_server import Body, Fault, Parsed
from tests.probe.test_planted_faults import probed
from tests.ui.web.apps import page
from weaklink.inspector.probe.judging import Owner, ProbeFinding
from weaklink.inspector.probe.measures import measure, summary_json
from weaklink.inspector.probe.results import ProbeMode, ProbeRecord
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.listing import Order
from weaklink.storage.probe_runs import ProbeRunRecord
from weaklink.storage.store import open_store
from weaklink.ui.experiments.probing import ProbeFiles, ProbeWriter, measure_mark
from weaklink.ui.views.styled_text import plain
from weaklink.ui.web.components import LinkCell
from weaklink.ui.web.pages.endpoints import endpoint_of, endpoint_row


def _run() -> ProbeRunRecord:
    finding = ProbeFinding("call-missing", Owner.SERVER, "The answer has no call.")
    records = [
        ProbeRecord(number, f"r{number}", "f", ProbeMode.WHOLE, f"h{number}", "m", True, "tool_calls", number > 1)
        for number in range(1, 5)
    ]
    records[0] = ProbeRecord(
        1, "r1", "f", ProbeMode.WHOLE, "h1", "m", True, "tool_calls", False, findings=(finding,), session="s-r1"
    )
    summary = summary_json(records, measure(records), url="http://a", model="m", suite=[])
    return ProbeRunRecord("http://a", "m", 1_790_000_000.0, "s", json.dumps(summary))


def test_every_number_of_an_endpoint_opens_its_answers() -> None:
    endpoint = endpoint_of(_run())
    cells = [cell for cell in endpoint_row(endpoint).cells if isinstance(cell, LinkCell)]
    texts = ["".join(run.text for run in cell.line) for cell in cells]
    assert texts[0] == "75.0 % (3/4)"
    assert texts[-1] == "1"
    assert [cell.key for cell in cells] == ["session:s name:*#schema*", "session:s"]
    assert endpoint.findings == (("call-missing", {"server": 1}),)


def test_a_summary_that_cannot_be_read_has_no_measures() -> None:
    endpoint = endpoint_of(ProbeRunRecord("http://a", "m", 0.0, "s", "{broken"))
    assert endpoint.shares == {}
    assert endpoint.findings_count == 0
    assert plain(endpoint_row(endpoint).cells[0]) == "http://a"  # type: ignore[arg-type] # the first cell is a line


def test_the_page_shows_the_latest_result_of_each_endpoint(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    with open_store(str(path)):
        pass
    assert "No endpoint was probed yet" in page("endpoints", path).info[0].value
    with open_store(str(path)) as store:
        store.probe_runs.put(_run())
    drawn = page("endpoints", path)
    assert drawn.text[0].value.startswith("call-missing — server 1")
    assert [button.label for button in drawn.button] == ["1"]


def test_the_filter_of_a_number_finds_the_answers_that_fail_this_measure(tmp_path: Path) -> None:
    """Of two answers, one lost its call, and the other one is right."""

    def parsed(value: Parsed, body: Body) -> Parsed:
        return Parsed("", [], "stop") if "Oslo" in str(body["messages"]) else value

    path = str(tmp_path / "w.db")
    with open_store(path) as store:
        writer = ProbeWriter(ProbeFiles(None, []), store, Redactor(()), "http://a", lambda count: None)
        for answer in probed(Fault(parsed=parsed), ("one-call-1", "one-call-2")):
            writer.finished([answer])
        writer.close()
        failed = {"right": 2, "calls": 2, "schema": 0, "api": 0}
        for name, count in failed.items():
            rows = store.paging().page(f"session:{writer.id} name:*{measure_mark(name)}*", Order.TIME, limit=9)
            assert len(rows) == count, name
