"""The Markdown report: readable, and nothing of a trace can be read as Markdown or HTML."""

import re

from tests.ui.scenes import broken_trace
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import ExternalId, Part, Role, Trace, Turn
from weaklink.ui.reports.trace_files import code, trace_markdown

EVIL = "<script>x()</script> ``` ````\n~~~\n# head\n[a](http://evil.example) `tick` | https://evil.example"
FENCE = re.compile(r"^(`{3,})text\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def test_a_report_goes_from_the_facts_to_the_turns() -> None:
    report = "".join(trace_markdown(12, *broken_trace()))
    order = [
        *("# trace 12 `Oslo\\u202e weather`", "- status: **✖ broken** at step 3 of 3", "## Break", "## Chain"),
        *("1. ◆ malformed, recovered by 2, turn 2: `get_weather(", "## Turns", "### 1 user", "### 2 assistant"),
        *("error[J104] trailing-comma", "### 7 assistant"),
    ]
    places = [report.index(words) for words in order]
    assert places == sorted(places)


def test_hostile_text_stands_in_fences_and_code_spans_only() -> None:
    turns = tuple(Turn(role, (Part("text", EVIL),), source_role=EVIL) for role in Role)
    trace = Trace(turns, name=EVIL, model=EVIL, external_ids=(ExternalId(EVIL, EVIL),))
    report = "".join(trace_markdown(1, trace, inspect_trace(trace, format="hermes")))
    assert len(FENCE.findall(report)) >= len(turns)
    outside = SPAN.sub("", FENCE.sub("", report))
    assert "evil" not in outside
    assert "<" not in outside


def test_a_code_span_holds_any_text() -> None:
    assert code("a") == "`a`"
    assert code("a`b") == "``a`b``"
    assert code("``") == "``` `` ```"
    assert code(" a\n") == "`  a⏎ `"
    assert code("") == ""
