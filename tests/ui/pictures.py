"""Makes the pictures of the README, `make pictures`: the two screens over the database of `weaklink demo`.

Web pages as PNG out of a real Chromium, terminal screens as SVG out of Textual, into docs/pictures. They look the same
each time, but for the day on which the traces without a date were imported.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.ui.conftest import ROOT, START, environment
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS, dashboard
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    CallHeader,
    Generation,
    Part,
    RecordedRun,
    ResultHeader,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    Trace,
    Turn,
    Usage,
)
from weaklink.inspector.text import Range
from weaklink.storage.store import open_store
from weaklink.ui.tui.app import WeaklinkApp
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.tui.dissector.side_pane import SideKind, SidePane

_FOLDER = ROOT / "docs" / "pictures"
_SHOWN = "invented-value-after-error"
_PAGE = {"width": 1280, "height": 860}
_TERMINAL = (120, 36)
_COLOURS = 256
_SETTLED_MS = 2_000
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # Textual's pictures would fetch theirs from another machine


def main() -> None:
    """Make all pictures anew."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        database = home / "demo.db"
        command = [*START, "demo", "--db", str(database)]
        subprocess.run(command, check=True, capture_output=True, cwd=home, env=environment(home), timeout=300)
        with open_store(database, create=False) as store:
            shown = next(summary.id for summary in store.traces() if Path(summary.file).stem == _SHOWN)
        made = [*_of_terminal(database, shown), *_of_layers(home / "layers.db"), *_of_pages(home, database, shown)]
    for picture in made:
        sys.stdout.write(f"{picture.relative_to(ROOT)}  {picture.stat().st_size / 1000:,.0f} kB\n")


def _of_pages(home: Path, database: Path, shown: int) -> Iterator[Path]:
    with dashboard(home, database) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        page = browser.new_page(viewport=_PAGE, color_scheme="light")  # type: ignore[arg-type]  # a size is a dictionary
        page.goto(address)
        page.locator(".role-mark").first.wait_for()
        yield _photograph(page, "web-triage")
        page.goto(f"{address}trace?trace={shown}")
        page.locator(".streambox .piece.selected").first.wait_for()
        yield _photograph(page, "web-trace")
        browser.close()


def _photograph(page: Page, name: str) -> Path:
    """The window as a PNG of few colours, which is half as large."""
    page.wait_for_timeout(_SETTLED_MS)
    path = _FOLDER / f"{name}.png"
    with Image.open(BytesIO(page.screenshot())) as taken:
        taken.convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    return path


def _of_terminal(database: Path, shown: int) -> Iterator[Path]:
    for name, trace in (("tui-chains", None), ("tui-dissector", str(shown))):
        path = _FOLDER / f"{name}.svg"
        drawn = asyncio.run(_drawn(WeaklinkApp(str(database), trace=trace, theme="dark")))
        path.write_text(_FONTS.sub("", drawn), encoding="utf-8")
        yield path


def _of_layers(database: Path) -> Iterator[Path]:
    """The layers of a call that an agent changed before it ran it, and the request that has a cut result of it."""
    with open_store(database) as store:
        store.save([(made := _changed_by_an_agent(), inspect_trace(made))])
    for name, view, location in (
        ("tui-layers", SideKind.RAW, Location(3, "call:0", Range(2, 3))),
        ("tui-context", SideKind.CONTEXT, Location(7, "text", Range(0, 1))),
    ):
        path = _FOLDER / f"{name}.svg"
        drawn = asyncio.run(_drawn(WeaklinkApp(str(database), trace="1", theme="dark"), view, location))
        path.write_text(_FONTS.sub("", drawn), encoding="utf-8")
        yield path


def _changed_by_an_agent() -> Trace:
    """A made-up session of three requests: the agent ran another order, and cut the result when it sent it again."""
    system = Turn(Role.SYSTEM, (Part("text", "You help with orders."),))
    user = Turn(Role.USER, (Part("text", "Where is order 4711?"),))
    result = (
        "Order 4712 left on Monday with the blue van; it arrives on Thursday before noon, and the driver calls first."
    )
    header = CallHeader("call:0", "get_order", "call_4711")
    call = Turn(
        Role.ASSISTANT,
        (Part("reasoning", "I look the order up."), Part("call:0", '{"order": 4711}')),
        calls=(header,),
        generation=_answering(SentRequest(messages=(1, 2)), 120),
    )
    run = RecordedRun("otlp", "get_order", header.id, '{"order": 4712}', result)
    answer = Turn(Role.TOOL, (Part("text", result),), result=ResultHeader(header.id, "get_order"), run=run)
    first = Turn(
        Role.ASSISTANT, (Part("text", "It left on Monday."),), generation=_answering(SentRequest(3, 2, (3, 4)), 180)
    )
    more = Turn(Role.USER, (Part("text", "With which van, and who calls?"),))
    cut = SentMessage(Role.TOOL, (SentPart("text", " [cut]", prefix=27),), 4, result=answer.result)
    last = Turn(
        Role.ASSISTANT, (Part("text", "I do not know."),), generation=_answering(SentRequest(5, 3, (cut, 5, 6)), 190)
    )
    return Trace((system, user, call, answer, first, more, last), name="the wrong order")


def _answering(request: SentRequest, tokens: int) -> Generation:
    usage = Usage(tokens, 12)
    return Generation(api="chat.completions", requested_model="sample-hermes-8b", usage=usage, request=request)


async def _drawn(app: WeaklinkApp, view: SideKind | None = None, location: Location | None = None) -> str:
    """The terminal's screen when everything has been read; of a trace, with a view beside its stream and a place."""
    async with app.run_test(size=_TERMINAL) as pilot:
        for _ in range(10):
            await app.workers.wait_for_complete()
            await pilot.pause(0.1)
        if view is not None and location is not None and isinstance(app.screen, DissectorScreen):
            app.screen.panes.side.turn_to(view)
            app.screen.panes.side.post_message(SidePane.LinkActivated(location))
            await pilot.pause(0.5)
        return app.export_screenshot(title="weaklink tui")


if __name__ == "__main__":
    main()
