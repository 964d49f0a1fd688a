"""A stream in a real browser: its chunks and odds, search, keys, what is copied, and a million characters."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled, watched
from weaklink.inspector.capture.events import ChunksArrived, TraceEnded, TraceStarted, TurnStarted
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Chunk, Chunks, Part, Role, Trace, Turn
from weaklink.storage.live import StoreSink
from weaklink.storage.store import open_store

_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
_BAD = "<tool_call>\n{'name': 'get', 'arguments': {'city': 'x',}}\n</tool_call>\n"
_STRANGE = 'tab\there\x1b[31m, \u202eturned, שלום "x" עולם, 東京🎉\nsecond line'
_LINE = "nothing is wrong\n"
_FACTS = re.compile(r"chunk 8 of 12 · 1\.600 s \(\+100 ms\) · token 1007 · logprob -0\.10")
_LIT = ".streambox .piece.selected"


def _streamed(text: str) -> Part:
    """A text that came in chunks of eight characters, a tenth of a second apart; the fifth was late and improbable."""
    ends = [*range(8, len(text), 8), len(text)]
    times = [0.1 * index + (0.9 if index >= 4 else 0) for index in range(len(ends))]
    logs = [(-6.0,) if index == 4 else (-0.1,) for index in range(len(ends))]
    ids = [(1000 + index,) for index in range(len(ends))]
    return Part("text", text, Chunks(tuple(ends), tuple(range(len(ends))), tuple(times), tuple(ids), tuple(logs)))


def _traces() -> Iterator[Trace]:
    go = Turn(Role.USER, (Part("text", "go"),))
    yield Trace((go, Turn(Role.ASSISTANT, (_streamed(_CALL),))), name="streamed")
    yield Trace((go, Turn(Role.ASSISTANT, (Part("text", _STRANGE),))), name="strange")
    million = "".join(f"line {number:07}\n" for number in range(76_923))
    yield Trace((go, Turn(Role.ASSISTANT, (Part("text", million),))), name="million")
    yield Trace((go, Turn(Role.ASSISTANT, (Part("text", _BAD * 1_200),))), name="faulty")
    both_ends = (Part("reasoning", _LINE * 9), Part("text", f"{_BAD}{_LINE * 160_000}{_BAD}{_LINE * 9}"))
    yield Trace((go, Turn(Role.ASSISTANT, both_ends)), name="both ends")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams") / "streams.db"
    with open_store(folder) as store:
        store.save([(trace, inspect_trace(trace, format="hermes")) for trace in _traces()])
    return folder


@pytest.fixture(scope="module")
def streams(database: Path) -> Iterator[str]:
    with dashboard(database.parent, database) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched(browser) as opened:
        opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield opened


def _open(page: Page, streams: str, number: int) -> None:
    page.goto(f"{streams}trace?trace={number}")
    expect(page.locator(".streambox .row").first).to_be_visible()
    settled(page)


@pytest.mark.slow
def test_faults_at_both_ends_of_a_text_that_is_too_long_for_a_page_are_reached(streams: str, page: Page) -> None:
    _open(page, streams, 5)
    lit, status = page.locator(_LIT), page.locator(".dissector .status")
    expect(lit).to_have_text("'name'")
    expect(page.locator(".stMain")).to_contain_text("too long for one page")
    page.get_by_role("tab", name="Faults").click()
    page.locator(".leftbox .item", has_text="J104 trailing-comma").click()
    expect(lit).to_have_text(",")
    page.locator(".streambox").focus()
    page.keyboard.press("e")
    expect(page).to_have_url(re.compile(r"start=27200\d\d&"))
    expect(lit.first).to_have_text("{")
    expect(status).to_contain_text("character 2,7")
    settled(page)
    page.keyboard.press("E")
    expect(page).to_have_url(re.compile(r"start=\d{2}&"))
    expect(lit.first).to_have_text(",")
    settled(page)
    page.locator(".streambox").focus()
    page.keyboard.press("G")
    edge = page.locator(".streambox .edge")
    expect(edge).to_contain_text("more characters after these")
    edge.click()
    expect(page).to_have_url(re.compile(r"start=1999\d{3}&"))


def _copied(page: Page) -> str:
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def test_a_click_on_a_key_selects_the_member_and_says_all_that_is_known_of_the_place(streams: str, page: Page) -> None:
    _open(page, streams, 1)
    row = page.locator(".streambox .piece", has_text='"city"').first
    box = row.bounding_box()
    assert box is not None
    text = row.inner_text()
    x = box["x"] + box["width"] * (text.index('"city"') + 2.5) / len(text)
    page.mouse.click(x, box["y"] + box["height"] / 2)
    expect(page.locator(_LIT)).to_have_text('"Oslo"')
    expect(page.locator(".leftbox .item.selected")).to_contain_text("city")
    expect(page.locator(".status")).to_have_text(_FACTS)


def test_waits_and_improbable_chunks_are_shown_where_they_are_asked_for(streams: str, page: Page) -> None:
    _open(page, streams, 1)
    expect(page.locator(".lane")).to_have_count(0)
    page.get_by_label("chunks").check()
    expect(page.locator(".lane")).to_have_text(re.compile("1.0 s!"))
    page.get_by_label("probabilities").check()
    expect(page.locator(".legend")).to_contain_text("A chunk is not a token")
    improbable = "".join(page.locator(".piece.odd3").all_inner_texts())
    assert improbable == _CALL[32:40]
    _open(page, streams, 2)
    expect(page.get_by_label("chunks")).to_be_hidden()
    expect(page.get_by_label("probabilities")).to_be_hidden()


def test_search_goes_from_match_to_match_and_keys_do_all_that_the_mouse_does(streams: str, page: Page) -> None:
    _open(page, streams, 1)
    page.keyboard.press("/")
    page.keyboard.type("e")
    expect(page.locator(".count")).to_have_text(f"{_CALL.count('e')} found")
    page.keyboard.press("Enter")
    expect(page.locator(".count")).to_have_text(f"1 of {_CALL.count('e')}")
    page.keyboard.press("n")
    expect(page.locator(".count")).to_have_text(f"2 of {_CALL.count('e')}")
    page.keyboard.press("N")
    expect(page.locator(".count")).to_have_text(f"1 of {_CALL.count('e')}")
    page.keyboard.press("]")
    page.locator(".leftbox").focus()
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator(_LIT)).to_have_text('"Oslo"')
    page.keyboard.press("y")
    expect(page.locator(".status")).to_have_text("copied 6 characters")
    assert _copied(page) == '"Oslo"'


def test_what_is_marked_is_copied_word_for_word(streams: str, page: Page) -> None:
    _open(page, streams, 2)
    page.get_by_label("white space").check()
    page.evaluate(
        """() => {
            const roots = [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
            const root = roots.find((one) => one && one.querySelector(".streambox"));
            const all = [...root.querySelectorAll('.stream[data-part="1"] [data-unit]')];
            const pieces = all.filter((one) => !one.childElementCount);
            const last = pieces[pieces.length - 1];
            getSelection().setBaseAndExtent(pieces[0].firstChild, 0, last.firstChild, last.textContent.length);
        }"""
    )
    page.locator(".streambox").press("ControlOrMeta+c")
    assert _copied(page) == _STRANGE


def test_a_million_characters_are_a_screen_of_rows_and_the_last_line_is_reached_at_once(
    streams: str, page: Page
) -> None:
    _open(page, streams, 3)
    assert page.locator(".streambox .row").count() < 60
    page.locator(".streambox").press("G")
    expect(page.locator(".streambox")).to_contain_text("line 0076922")
    assert page.locator(".streambox .row").count() < 60
    page.locator(".words").fill("line 0038461")
    page.locator(".words").press("Enter")
    expect(page.locator(_LIT)).to_have_text("line 0038461")


@pytest.mark.slow
def test_of_thousands_of_faults_the_last_is_marked_said_and_listed_like_the_first(
    database: Path, streams: str, page: Page
) -> None:
    with open_store(database, create=False) as store:
        faults = store.inspection(4).diagnostics
    assert len(faults) > 2_000
    _open(page, streams, 4)
    page.locator(".streambox").press("G")
    expect(page.locator(".streambox .row", has_text="'x',").last.locator(".fault")).not_to_have_count(0)
    last, listed_last = (
        faults[-1],
        next(fault for fault in faults if fault.fault.rule.code == "T408"),
    )  # warnings come last
    expect(page.locator(".streambox .row").last).to_be_visible()
    expect(page.locator(".streambox")).to_contain_text(f"[{last.fault.rule.code}] {last.fault.rule.name}")
    page.get_by_role("tab", name="Faults").click()
    page.locator(".leftbox").press("End")
    expect(page.locator(".leftbox .item.selected")).to_contain_text(listed_last.fault.rule.code)
    expect(page).to_have_url(re.compile(f"start={listed_last.location.range.start}&"))


def test_a_running_trace_grows_while_it_is_looked_at_and_then_stands(database: Path, streams: str, page: Page) -> None:
    sink = StoreSink(str(database))
    go = Trace((Turn(Role.USER, (Part("text", "go"),)),), name="running")
    sink.accept(TraceStarted("k", go))
    sink.accept(TurnStarted("k", 2, Role.ASSISTANT))
    sink.accept(ChunksArrived("k", 2, (Chunk(0, "text", "It is "),)))
    sink.flush()
    with open_store(database, create=False) as store:
        number = next(summary.id for summary in store.traces() if summary.running)
    page.goto(f"{streams}trace?trace={number}")
    expect(page.locator(".streambox")).to_contain_text("It is ")
    expect(page.locator(".lines").first).to_contain_text("running")
    sink.accept(ChunksArrived("k", 2, (Chunk(1, "text", "warm and growing"),)))
    sink.flush()
    expect(page.locator(".streambox")).to_contain_text("It is warm and growing")
    sink.accept(TraceEnded("k"))
    sink.close()
    expect(page.locator(".lines").first).not_to_contain_text("running")
    expect(page.locator(".streambox")).to_contain_text("It is warm and growing")


def test_an_uploaded_file_is_imported_and_reported(streams: str, page: Page) -> None:
    page.goto(f"{streams}imports")
    settled(page)
    said = b'{"id": "up", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]}\n'
    page.locator("input[type=file]").set_input_files({"name": "up.jsonl", "mimeType": "text/plain", "buffer": said})
    page.get_by_role("button", name="Import 1 file").click()
    expect(page.locator(".listing tbody tr", has_text="up.jsonl")).to_be_visible()
    expect(page.get_by_role("button", name="Show traces")).to_be_visible()
