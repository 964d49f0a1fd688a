"""The stream and the values of a trace in a real browser, each lighting up the other."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chain.test_layer_places import changed_story
from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import LATE_ANSWERS, settled
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.store import open_store

_FOLDER = Path(__file__).parents[3] / "ui" / "web"
_STREAM_WAITS = """
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => make(blob.size < 50000 ? blob : new Blob(
  ["await new Promise((go) => { window.drawStream = go; });\\n", blob], { type: blob.type }));
"""
_DRAWN_AGAIN = """() => {
  const { dissector, views } = window.weaklinkFollowing;
  dissector.show(structuredClone(dissector.data));
  const more = { kind: "sentence", runs: [["", "more"]] };
  for (const { data, update } of views.values()) {
    const lines = data.view === "ending" ? data.lines : data.lines?.concat(more);
    update({ ...data, lines, groups: data.groups?.concat(data.groups.slice(-1)) });
  }
}"""
"""What a poll of a running trace does: the same values, and more below them."""
"""The scripts of components are blobs, and only the stream's is that long: it runs when `drawStream` is called."""


def _id_of(database: Path, name: str) -> int:
    with open_store(database, create=False) as store:
        return next(summary.id for summary in store.traces() if Path(summary.file).stem == name)


def test_a_trace_opens_at_its_break_and_a_click_on_a_value_lights_exactly_its_characters(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={_id_of(demo_database, 'json-trailing-comma')}")
    lit = page.locator(".streambox .piece.selected")
    expect(lit).to_have_text(",")
    expect(page.locator(".streambox")).to_contain_text("error[J104] trailing-comma")
    value = page.locator(".leftbox .item", has_text=re.compile(r"target"))
    value.first.click()
    expect(lit).to_have_text('"EUR"')
    expect(page).to_have_url(re.compile(r"start=\d+&end=\d+"))


def test_an_address_opens_a_step_and_says_of_a_place_that_the_trace_does_not_have_it(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    number = _id_of(demo_database, "agent-swapped-digits")
    status = page.locator(".dissector .status")
    with open_store(demo_database, create=False) as store:
        step = store.inspection(number).chain.steps[1].location
    page.goto(f"{demo_dashboard}trace?trace={number}&step=2")
    expect(status).to_contain_text(f"turn {step.turn} · {step.part} · character {step.range.start} ")
    page.goto(f"{demo_dashboard}trace?trace={number}&turn=99&part=text&start=5&end=6")
    expect(page.get_by_text("The address points to turn 99, text 5-6, which this trace does not have.")).to_be_visible()
    expect(status).to_contain_text("T406 error-result")


def test_a_click_on_the_map_counts_though_the_stream_is_not_drawn_yet(
    demo_database: Path, demo_dashboard: str, browser: Browser
) -> None:
    number = _id_of(demo_database, "agent-swapped-digits")
    with closing(browser.new_page()) as page:
        page.add_init_script(_STREAM_WAITS)
        page.goto(f"{demo_dashboard}trace?trace={number}")
        page.wait_for_function("() => window.drawStream")
        page.get_by_role("button", name=re.compile("step 2, ")).first.click()
        assert "turn=" not in page.url
        page.evaluate("() => window.drawStream()")
        with open_store(demo_database, create=False) as store:
            location = store.inspection(number).chain.steps[1].location
        expect(page).to_have_url(re.compile(f"turn={location.turn}&part={location.part}&start={location.range.start}&"))


def test_a_click_during_which_a_running_trace_is_drawn_again_is_not_lost(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={_id_of(demo_database, 'agent-swapped-digits')}")
    settled(page)
    address = page.url
    for clicked in (
        page.locator(".leftbox .item:enabled").nth(3),
        page.get_by_role("listitem").get_by_role("button", name=re.compile("← the result")).last,
        page.locator(".picture g.button:not(.selected)").nth(1),
    ):
        clicked.hover()
        page.mouse.down()
        page.evaluate(_DRAWN_AGAIN)
        page.mouse.up()
        expect(page).not_to_have_url(address)
        settled(page)
        address = page.url


def test_the_message_of_a_fault_is_cut_between_words_in_a_narrow_stream_too(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    page.set_viewport_size({"width": 1366, "height": 860})
    page.goto(f"{demo_dashboard}trace?trace={_id_of(demo_database, 'agent-unapplied-edit')}&beside=ask")
    said = page.locator(".streambox .said")
    expect(said.filter(has_text="help:")).not_to_have_count(0)
    words = " ".join(said.all_inner_texts()).split()
    assert {"call-without-result:", "malformed-parameters:"} <= set(words)


def test_a_copied_address_opens_the_same_characters(demo_database: Path, demo_dashboard: str, page: Page) -> None:
    page.goto(
        f"{demo_dashboard}trace?trace={_id_of(demo_database, 'json-trailing-comma')}&turn=2&part=text&start=0&end=3"
    )
    expect(page.locator(".streambox .piece.selected")).to_have_count(1)
    text = page.locator(".streambox .piece.selected").inner_text()
    assert len(text) == 3


def test_a_key_runs_no_script_and_takes_at_most_two_kilobytes_and_the_views_beside_follow(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    with open_store(demo_database, create=False) as store:
        number = _id_of(demo_database, "agent-swapped-digits")
        steps = store.inspection(number).chain.steps
    sizes: dict[str, float] = {}
    frames: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))  # noqa: PLW0108  # playwright marks what it calls
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda done: sizes.update({done["requestId"]: done["encodedDataLength"]}))
    first, last = steps[0].location, steps[-1].location
    assert first.range != last.range  # else a link to the wrong step would look right
    location = f"turn={first.turn}&part={first.part}&start={first.range.start}&end={first.range.end}"
    came_from = f"{demo_dashboard}_stcore/health"  # of this server: that of the test before may have ended
    page.goto(came_from)
    page.goto(f"{demo_dashboard}trace?trace={number}&{location}")
    settled(page)
    rail = page.locator(".picture g.selected").first
    before = rail.get_attribute("aria-label")
    frames.clear()
    sizes.clear()
    page.locator(".streambox").focus()
    for _ in steps[1:]:
        page.keyboard.press("]")
    expect(page).to_have_url(re.compile(f"turn={last.turn}&part={last.part}&start={last.range.start}&"))
    expect(rail).not_to_have_attribute("aria-label", before or "")
    assert frames == []
    assert 0 < sum(sizes.values()) <= 2_048
    page.get_by_role("button", name="Link", exact=True).click()
    expect(
        page.locator(
            "code", has_text=f"turn={last.turn}&part={last.part}&start={last.range.start}&end={last.range.end}"
        )
    ).to_have_count(2)
    page.go_back()
    expect(page).to_have_url(came_from)  # a selection is no entry of the history


def test_tree_and_stream_have_roles_names_and_an_order_in_the_accessibility_tree(
    demo_database: Path, demo_dashboard: str, page: Page
) -> None:
    page.goto(f"{demo_dashboard}trace?trace={_id_of(demo_database, 'json-trailing-comma')}")
    expect(page.locator(".streambox .piece.selected")).to_have_text(",")
    network = page.context.new_cdp_session(page)
    nodes = network.send("Accessibility.getFullAXTree")["nodes"]
    known = {node["nodeId"]: node for node in nodes}

    def below(node: dict[str, Any], role: str) -> list[str]:
        names = [node["name"]["value"]] if node.get("role", {}).get("value") == role else []
        return names + [name for child in node.get("childIds", ()) for name in below(known[child], role)]

    named = {(node["role"]["value"], node.get("name", {}).get("value")): node for node in nodes if "role" in node}
    items = below(named["tree", "Values of the trace"], "treeitem")
    assert [" ".join(item.split()) for item in items] == [
        " ".join(text.split()) for text in page.locator(".leftbox .item").all_text_contents()
    ]
    selected = page.locator(".leftbox [aria-selected=true]")
    assert page.locator(".leftbox").get_attribute("aria-activedescendant") == selected.get_attribute("id")
    stream = named["list", "The stream, character by character"]
    said = "".join(below(stream, "StaticText"))
    rows = page.locator(".streambox [role=listitem]").all_text_contents()
    assert len(rows) == len(below(stream, "listitem"))
    assert "".join(said.split()) == "".join("".join(rows).split())
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".status")).to_contain_text(re.compile("copied 1 character$|blocked copying"))


@pytest.mark.slow
def test_a_difference_is_shown_at_the_later_turn_and_its_row_leads_to_the_other_side(
    tmp_path: Path, page: Page
) -> None:
    trace = changed_story()
    with open_store(tmp_path / "w.db") as store:
        (saved,) = store.save([(trace, inspect_trace(trace))])
    with dashboard(tmp_path, tmp_path / "w.db") as address:
        page.goto(f"{address}trace?trace={saved.id}")
        stream = page.locator(".streambox")
        expect(stream).to_contain_text("warning[L809] result-truncated-before-read")
        page.get_by_role("tab", name="faults").click()
        row = page.locator(".leftbox .item", has_text="L809")
        expect(row).to_contain_text("turn 5")
        row.click()
        expect(page).to_have_url(re.compile("turn=5&part=text&start=0"))
        page.locator(".leftbox .item", has_text="≠ against turn 4, text").last.click()
        expect(page).to_have_url(re.compile("turn=4&part=text&start=19"))
        stream.focus()
        page.keyboard.press("x")
        expect(page).to_have_url(re.compile("turn=5&part=text&start=0"))
        page.keyboard.press("x")
        expect(page).to_have_url(re.compile("turn=3&part=call"))


def test_no_script_of_ours_makes_markup_of_text() -> None:
    scripts = sorted(_FOLDER.rglob("*.js"))
    assert scripts
    for script in scripts:
        match = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script.read_text()
        )
        assert match is None, f"{script.name}: {match}"


@pytest.mark.slow
def test_the_address_names_what_was_chosen_while_text_far_away_was_loading(tmp_path: Path, page: Page) -> None:
    words = "word " * 300_000
    trace = Trace(tuple(Turn(role, (Part("text", words),)) for role in (Role.USER, Role.ASSISTANT) * 3))
    with open_store(tmp_path / "w.db") as store:
        (saved,) = store.save([(trace, inspect_trace(trace))])
    page.add_init_script(LATE_ANSWERS)
    with dashboard(tmp_path, tmp_path / "w.db") as address:
        page.goto(f"{address}trace?trace={saved.id}&turn=1&part=text&start=5&end=9")
        settled(page)
        page.locator(".streambox .piece.selected").wait_for()
        page.evaluate("window.late = 2000")
        select = "(place) => window.weaklinkFollowing.dissector.go({ part: 'text', start: 10, end: 14, ...place })"
        page.evaluate(select, {"turn": 6})
        page.wait_for_url("**turn=6**")
        expect(page.locator(".status")).to_contain_text("loading turn 6")
        page.evaluate(select, {"turn": 1})
        page.wait_for_url("**turn=1**")
        page.wait_for_timeout(5_000)
        page.evaluate("window.late = 0")
        settled(page)
        expect(page.locator(".streambox .piece.selected")).to_have_text("word")
        expect(page).to_have_url(re.compile("turn=1&part=text&start=10&end=14"))
