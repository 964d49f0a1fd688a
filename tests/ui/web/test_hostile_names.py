"""Every page of a database whose names and texts are hostile: none fails, and none runs or loads anything."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.ui.web.dashboards import dashboard
from tests.ui.web.pages_walked import settled
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Generation, Part, ResultHeader, Role, ToolDefinition, Trace, Turn
from weaklink.storage.store import open_store
from weaklink.ui.web.application import PAGES

NAMES = (
    "half \ud800 nul \0 \x1b[31m",
    "<script>window.ran = 1</script><img src=http://evil.test/x onerror='window.ran = 1'>",
    "![i](http://evil.test/x.png) [a](javascript:alert) | a | `b` :material/x: $x$",
    "\u202eright to left\u2066",
    "one\nline\r\nand\u2028another",
)


def hostile(name: str) -> Trace:
    tool = ToolDefinition(f"other {name}", name, {"type": "object"})
    generation = Generation(requested_model=name, tools=(tool,))
    call = CallHeader("call:0", name, "c1")
    turns = (
        Turn(Role.USER, (Part("text", name),)),
        Turn(Role.ASSISTANT, (Part("call:0", '{"a": 1,}'),), calls=(call,), generation=generation),
        Turn(Role.TOOL, (Part("text", f"Error: {name}"),), result=ResultHeader("c1", name, is_error=True)),
        Turn(Role.ASSISTANT, (Part("text", name),), generation=generation),
    )
    return Trace(turns, name=name, model=name)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    with open_store(folder / "hostile.db") as store:
        traces = [hostile(name) for name in NAMES]
        store.save([(trace, inspect_trace(trace)) for trace in traces])
    with dashboard(folder, folder / "hostile.db") as opened:
        yield opened


@pytest.mark.one_in(8)
@pytest.mark.parametrize("path", [*(page.path for page in PAGES), "trace?trace=1", "compare?runs=1%202"])
def test_a_page_shows_hostile_names_as_text(path: str, address: str, page: Page) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{address}{'' if path == 'triage' else path}")
    settled(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.evaluate("window.ran") is None
    assert not [url for url in loaded if "evil.test" in url]
