"""Values that can be read in a real browser: folded, decoded, as Markdown and code, compared, and copied."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled, watched
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.store import open_store

_OLD = "def total(items):\n    return sum(items)\n"
_NEW = "def total(items):\n    return round(sum(items), 2)\n"
_EDIT = {"path": "shop.py", "old_string": _OLD, "new_string": _NEW}
_NOTE = (
    "# Plan\n\n- first **bold** step\n- see [here](https://evil.example/x)\n\n```\nrm -rf\n```\n"
    "<img src=x onerror=alert(1)>"
)
_HUGE = "".join(f"line {number:06} of a result\u200b\n" for number in range(8_900))
_DEEP = '{"id": 12345678901234567890, "tags": ["a", "b"], "note": ' + json.dumps(_NOTE) + "}"
_SLOW = " ".join("`" * length + "a" for length in range(1, 1001))
"""A line in which each run of signs may begin code: read to its end from each, it takes more than a minute."""
_BROKEN = '{"text": "one\\ntwo \\q",}'


def _call(name: str, arguments: str) -> Turn:
    return Turn(
        Role.ASSISTANT, (Part("text", f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'),)
    )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader") / "reader.db"
    calls = (
        _call("bad", _BROKEN),
        _call("edit", json.dumps(_EDIT)),
        _call("plan", _DEEP),
        _call("post", json.dumps({"body": _SLOW})),
        _call("write", json.dumps({"content": _HUGE})),
    )
    trace = Trace((Turn(Role.USER, (Part("text", "go"),)), *calls), name="reader")
    with open_store(folder) as store:
        store.save([(trace, inspect_trace(trace, format="hermes"))])
    return folder


@pytest.fixture(scope="module")
def address(database: Path) -> Iterator[str]:
    with dashboard(database.parent, database) as url:
        yield f"{url}trace?trace=1"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with watched(browser, height=1700) as opened:
        opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
        opened.goto(address)
        expect(opened.locator(".leftbox .item").first).to_be_visible()
        settled(opened)
        yield opened


def _value(page: Page, name: str) -> None:
    page.locator(".leftbox .item", has=page.get_by_text(name, exact=True)).first.click()


def _copied(page: Page, button: str) -> str:
    page.locator(".copies").get_by_role("button", name=button).click()
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def test_values_fold_by_a_click_and_by_arrows(page: Page) -> None:
    items = page.locator(".leftbox .item")
    row = items.filter(has=page.get_by_text("tags", exact=True))
    _value(page, "tags")
    total = items.count()
    row.locator(".fold").click()
    expect(items).to_have_count(total - 2)
    expect(row).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(items).to_have_count(total)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".streambox .piece.selected")).to_have_text('"a"')
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(items).to_have_count(total - 2)


def test_a_value_is_read_as_text_as_markdown_and_as_code_and_each_form_can_be_copied(page: Page) -> None:
    _value(page, "note")
    page.get_by_role("button", name="Read").click()
    reader = page.locator(".readbox")
    assert reader.locator("pre").inner_text() == _NOTE
    page.get_by_role("button", name="Markdown").click()
    expect(reader.locator(".heading")).to_have_text("Plan")
    expect(reader.locator("strong")).to_have_text("bold")
    expect(reader.locator("pre")).to_have_text("rm -rf")
    expect(reader).to_contain_text("https://evil.example/x")
    expect(reader.locator("a, img")).to_have_count(0)
    page.get_by_role("button", name="Code").click()
    expect(reader.locator(".numbers")).to_contain_text("9")
    assert _copied(page, "value") == _NOTE
    assert _copied(page, "JSON") == json.dumps(_NOTE)
    assert _copied(page, "path") == "/note"
    assert _copied(page, "characters") == json.dumps(_NOTE)
    page.reload()
    settled(page)
    expect(reader.locator(".numbers")).to_contain_text("9")
    page.locator(".readbox").press("Escape")
    expect(reader).to_be_hidden()
    assert "read=" not in page.url


def test_numbers_are_not_rounded_and_a_broken_value_is_decoded_as_far_as_it_can_be(page: Page) -> None:
    _value(page, "id")
    page.keyboard.press("d")
    expect(page.locator(".readbox")).to_have_text("12345678901234567890")
    page.locator(".leftbox .item", has=page.get_by_text("arguments")).nth(2).click()
    expect(page.locator(".readbox")).to_contain_text("id: 12345678901234567890")
    _value(page, "text")
    expect(page.locator(".readbox")).to_have_text("one\ntwo \\q")


def test_an_edit_shows_old_and_new_text_side_by_side_and_any_two_values_can_be_compared(page: Page) -> None:
    _value(page, "new_string")
    page.keyboard.press("d")
    page.get_by_role("button", name="Diff").click()
    expect(page.locator(".side.gone")).to_have_text(["-     return sum(items)"])
    expect(page.locator(".side.come")).to_have_text(["+     return round(sum(items), 2)"])
    _value(page, "path")
    page.get_by_role("button", name="Text", exact=True).click()
    page.get_by_role("button", name="Compare with").click()
    _value(page, "id")
    expect(page.locator(".side.gone")).to_have_text(["- shop.py"])
    expect(page.locator(".side.come")).to_have_text(["+ 12345678901234567890"])


_TIMED = """async (index) => {
    const host = [...document.querySelectorAll('*')].find((one) => one.shadowRoot?.querySelector('.reader'));
    const began = performance.now();
    host.shadowRoot.querySelector('.mode-' + index).click();
    host.shadowRoot.querySelector('.readbox').getBoundingClientRect();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - began;
}"""


def test_a_value_of_220_kilobytes_is_read_whole(page: Page) -> None:
    _value(page, "content")
    page.keyboard.press("d")
    for mode in ("markdown", "code", "text"):
        took = page.evaluate(_TIMED, mode)
        print(f"{mode}: {took:.0f} ms")  # noqa: T201  # shown by `-s`; nothing depends on it
    shown = page.locator(".readbox pre").inner_text()
    assert len(_HUGE) > 220_000
    assert shown == _HUGE.replace("\u200b", "\\u200b")


@pytest.mark.slow
def test_markdown_of_a_hostile_line_is_drawn(page: Page) -> None:
    page.locator(".leftbox .item", has=page.get_by_text("arguments", exact=True)).nth(3).click()
    page.get_by_role("button", name="Read").click()
    page.get_by_role("button", name="Markdown").click()
    expect(page.locator(".readbox .markdown p")).to_have_text(f"body: {_SLOW}")
