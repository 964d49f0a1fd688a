"""The HTML page: it needs nothing, runs nothing, escapes everything, and marks every fault."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.examples import in_the_gate
from tests.strategies import traces
from tests.ui.scenes import broken_trace
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, ExternalId, Part, Provenance, ResultHeader, Role, Trace, Turn
from weaklink.inspector.rules.catalogue import find_rule
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range
from weaklink.ui.reports import html as html_module
from weaklink.ui.reports import html_page as html_page_module
from weaklink.ui.reports.html import part_html, style_sheet
from weaklink.ui.reports.html_page import POLICY, html_page
from weaklink.ui.views.styled_text import Style

MARKUP = "</pre></mark></style></title><script>alert(1)</script><img src=//evil.example/x onerror=x()>"
EVIL = f"{MARKUP}\"'\x1b[31m\u202e\x00\ud800"
STRUCTURE = frozenset({"html", "head", "meta", "title", "style", "body", "nav", "section", "article", "footer", "div"})
BLOCKS = frozenset({"h1", "h2", "h3", "h4", "ul", "li", "dl", "dt", "dd", "p", "pre", "details", "summary"})
TABLES = frozenset({"table", "thead", "tbody", "tr", "th", "td"})
ALLOWED = STRUCTURE | BLOCKS | TABLES | {"a", "code", "mark", "small", "span", "strong"}
ATTRIBUTES = frozenset({"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "title", "open"})
VOID = frozenset({"meta"})


class Reader(HTMLParser):
    """Reads a page as browsers do: its elements, checked for balance, their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def evil_trace() -> Trace:
    text = f'{EVIL}<think>{EVIL}</think>\n<tool_call>\n{{"name": "{EVIL}", \'x\': {EVIL},}}\n</tool_call>{EVIL}'
    turns = (
        Turn(Role.USER, (Part("text", EVIL),), source_role=EVIL),
        Turn(Role.ASSISTANT, (Part("text", text), Part("call:0", EVIL)), calls=(CallHeader("call:0", EVIL, EVIL),)),
        Turn(Role.TOOL, (Part("text", EVIL * 100),), result=ResultHeader(EVIL, EVIL, is_error=True)),
    )
    came = Provenance(EVIL, EVIL, record=EVIL, warnings=(EVIL,))
    return Trace(turns, name=EVIL, model=EVIL, external_ids=(ExternalId(EVIL, EVIL),), provenance=came)


def page_of(*traces: tuple[Trace, Inspection], title: str = "t") -> str:
    return "".join(html_page(((number, *trace) for number, trace in enumerate(traces, 1)), title=title))


@pytest.fixture(scope="module")
def evil() -> str:
    trace = evil_trace()
    return page_of((trace, inspect_trace(trace, format="hermes")), title=EVIL)


def test_hostile_text_stays_text(evil: str) -> None:
    reader = read(evil)
    assert set(reader.tags) <= ALLOWED
    assert {name for name, _ in reader.attributes} <= ATTRIBUTES
    assert "<script>alert(1)</script>" in "".join(reader.text)


def test_nothing_invisible_gets_through(evil: str) -> None:
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", evil)
    assert evil.encode("utf-8")


def test_the_page_needs_nothing_from_elsewhere(evil: str) -> None:
    reader = read(evil)
    assert all(value is not None and value.startswith("#") for name, value in reader.attributes if name == "href")
    assert not {"src", "style", "action"} & {name for name, _ in reader.attributes}
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "script" not in reader.tags
    assert not re.search(r"url\(|@import|//", style_sheet())


def test_the_policy_forbids_everything_but_our_style(evil: str) -> None:
    assert evil.index(POLICY) < evil.index("<title>") < evil.index("<style>")
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in POLICY


def test_the_page_has_a_light_and_a_dark_face_and_a_colour_for_every_meaning() -> None:
    sheet = style_sheet()
    assert "prefers-color-scheme: dark" in sheet
    plain = {Style.PLAIN, Style.STRONG}
    assert all(sheet.count(f"--{style}: #") == 2 for style in Style if style not in plain)


def test_every_fault_is_marked_and_said_and_every_span_is_named() -> None:
    trace, inspection = broken_trace()
    page = page_of((trace, inspection))
    reader = read(page)
    text = "".join(reader.text)
    for diagnostic in inspection.diagnostics:
        assert f"{diagnostic.rule.severity}[{diagnostic.rule.code}]" in text
        assert diagnostic.fault.message in text
    assert '<mark class="error" title="J104 trailing-comma: ' in page
    for kind in ("text", "reasoning", "tool_call", "tool_result"):
        assert f'<div class="label {kind}">{kind}' in page


def test_several_traces_stand_on_one_page() -> None:
    page = page_of(broken_trace(), broken_trace())
    assert page.count('<section class="trace"') == 2
    ids = [value for name, value in read(page).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def _overlapping() -> Iterator[Fault]:
    yield Fault(find_rule("J101"), Range(0, 6), "One.")
    yield Fault(find_rule("J108"), Range(4, 9), "Two.")
    yield Fault(find_rule("J101"), Range(5, 5), "Three.")
    yield Fault(find_rule("J101"), Range(12, 12), "Four.")


def test_faults_that_overlap_or_are_empty_are_all_marked() -> None:
    text = "abcdefghijkl"
    spans = segment(text, "hermes").spans
    page = "".join(part_html(text, PartInspection(1, "text", "hermes", spans), list(_overlapping())))
    marks = re.findall(r'<mark class="(\w+)" title="[^"]*">(.*?)</mark>', page)
    assert marks == [("error", "abcd"), ("error", "e"), ("error", "f"), ("warning", "ghi"), ("error", "l")]
    assert [words for words in ("One", "Two", "Three", "Four") if f"{words}." not in page] == []


@in_the_gate(20, most=200)  # each draws a whole trace
@given(traces())
def test_any_trace_makes_a_sound_page(trace: Trace) -> None:
    page = page_of((trace, inspect_trace(replace(trace, format="hermes"))))
    assert set(read(page).tags) <= ALLOWED
    assert page.encode("utf-8")


_BAD = "<tool_call>\n{'name': 'get', 'arguments': {'city': 'x',}}\n</tool_call>\n"


def _answered(text: str) -> tuple[Trace, Inspection]:
    trace = Trace((Turn(Role.USER, (Part("text", "go"),)), Turn(Role.ASSISTANT, (Part("text", text),))))
    return trace, inspect_trace(trace, format="hermes")


def test_a_long_text_is_shown_around_its_faults_with_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "MAX_TEXT_CHARS", 10_000)
    monkeypatch.setattr(html_page_module, "MAX_TEXT_CHARS", 10_000)
    filler = "nothing is wrong here\n" * 2_000
    page = page_of(_answered(f"{filler}<tool_call>\n{{'name': 'end{filler}"))
    text = "".join(read(page).text)
    assert "This trace is too long for one page" in text
    assert "{'name': 'end" in text
    assert "characters left out" in text
    assert len(page) < 20_000


def test_of_thousands_of_faults_a_page_lists_so_many_and_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "MAX_FAULTS", 20)
    monkeypatch.setattr(html_page_module, "MAX_FAULTS", 20)
    monkeypatch.setattr(html_module, "MAX_SPANS", 30)
    monkeypatch.setattr(html_page_module, "MAX_SPANS", 30)
    trace, inspection = _answered(_BAD * 200)
    page = page_of((trace, inspection))
    text = "".join(read(page).text)
    assert "spans left out" in text
    assert "180 steps left out" in text
    assert page.count("<mark") < 200


def test_the_chain_shows_calls_as_written_and_marks_repairs() -> None:
    text = "".join(read(page_of(_answered(_BAD))).text)
    assert "get({'city': 'x',})" in text
    assert 'repaired to get(city: "x")' in text
