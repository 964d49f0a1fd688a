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

from storage import open_store
from tests.ui.conftest import ROOT, START, environment
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS, dashboard
from ui.tui.app import WeaklinkApp

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
            shown = next(one.id for one in store.traces() if Path(one.file).stem == _SHOWN)
        made = [*_of_terminal(database, shown), *_of_pages(home, database, shown)]
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


async def _drawn(app: WeaklinkApp) -> str:
    """The terminal's screen when everything has been read."""
    async with app.run_test(size=_TERMINAL) as pilot:
        for _ in range(10):
            await app.workers.wait_for_complete()
            await pilot.pause(0.1)
        return app.export_screenshot(title="weaklink tui")


if __name__ == "__main__":
    main()
