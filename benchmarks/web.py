"""The dashboard against its goals: a page over many traces beside one over few, and a long stream in a real browser.

`WEAKLINK_BENCH_TRACES` says how many the large store holds; it is the one that `make bench-store` makes. A page is run
as Streamlit runs it for a click, without a browser, with nothing kept from before: until it stands, whose figures may
still be counted; until its figures stand in it too, which is no goal, since nobody waits for them; and once more when
all is known. The first page is also opened in a headless Chromium, warm, in turn with a page of Streamlit that has a
heading and nothing else: until the heading stands there, and the sentence that says what breaks. What a page still
does after that would slow down the next one, so each begins when the one before is finished, and the order changes
from round to round; a ratio is the median of those within one round, since other work on the machine comes and goes.
The stream is one
answer of a million characters, with a call at its end that breaks; Chromium opens it too.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection, create_server
from statistics import median
from time import monotonic, perf_counter, sleep

import streamlit as st
from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from benchmarks.many_stores import made_store
from benchmarks.measuring import goal, print_line
from benchmarks.store import FOLDER, LARGE
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.store import open_store
from weaklink.ui.web.stores import DashboardOptions, set_options

_SMALL = 1_000
_SLOWER = 3.0
_ROUNDS = 3
_PAGES = (
    *(("triage", ""), ("triage", "status:broken"), ("triage", "model:glm-4.6 status:broken")),
    *(("traces", ""), ("traces", "status:broken"), ("tools", ""), ("tools", "status:broken")),
)
_COUNTING = "wl-aside"
_EVERY_S = 0.05
_TIMEOUT_S = 600
_CHARACTERS = 1_000_000
_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo",}}\n</tool_call>'
_SCROLLS = 40
_FEW, _MORE, _PAGE_ROUNDS = 750, 24_000, 15
_MOST_OF_EMPTY, _MOST_OF_FEW = 1.3, 1.2
_FINISHED = '.stApp[data-test-script-state="notRunning"]'
_PAUSE_S = 0.2  # in which the server ends the session of the page that was left
_SENTENCE = ".st-key-weaklink_summary [data-testid=stText]"  # how many traces there are, how many broke
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic")
_CHROMIUM = os.environ.get("WEAKLINK_CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")


def web() -> None:
    """Pages over many traces and a long stream; the large store is made first where it is missing."""
    print_line(f"web: seconds until a page stands; {LARGE:,} traces against {_SMALL:,}")
    few, many = made_store(_SMALL, FOLDER), made_store(LARGE, FOLDER)
    for name, wanted in _PAGES:
        small, large = _best(name, wanted, few), _best(name, wanted, many)
        for word, small_s, other in zip(("page", "figures", "again"), small, large, strict=True):
            ratio = f"{other / small_s:.1f}x" if word == "figures" else goal(other / small_s, _SLOWER, at_least=False)
            print_line(f"  {name:>7} {wanted:<28} {word:<8} {small_s * 1e3:7.0f} ms {other * 1e3:7.0f} ms  {ratio}")
    _stream()


def first_page() -> None:
    """The first page in a browser that had it before, over few traces and over more, beside an empty Streamlit page."""
    with (
        tempfile.TemporaryDirectory() as home,
        _streamlit(Path(home)) as empty,
        _dashboard(made_store(_FEW, FOLDER)) as few,
        _dashboard(made_store(_MORE, FOLDER)) as more,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=list(_OPTIONS))
        page = browser.new_page(viewport={"width": 1366, "height": 900})

        ways = {"empty": (empty, "h1"), "few": (few, _SENTENCE), "more": (more, _SENTENCE)}
        names = [*ways]
        for way in ways.values():
            _opened_s(page, *way)  # the browser has the page's files from here on, the server its figures
        took: dict[str, list[float]] = {name: [] for name in names}
        for number in range(_PAGE_ROUNDS):
            for name in names if number % 2 else reversed(names):
                took[name].append(_opened_s(page, *ways[name]))
        browser.close()
    for name, traces, base, bound in (("few", _FEW, "empty", _MOST_OF_EMPTY), ("more", _MORE, "few", _MOST_OF_FEW)):
        times = f"{median(took[name]) * 1e3:6.0f} ms, {base} {median(took[base]) * 1e3:.0f} ms"
        ratio = median(numerator / other for numerator, other in zip(took[name], took[base], strict=True))
        print_line(f"  first page, warm, {traces:>6,} traces {times}  {goal(ratio, bound, at_least=False)}")


def _opened_s(page: Page, address: str, shown: str) -> float:
    """Seconds until a page shows what is awaited; returns once it has finished, and was left."""
    start = perf_counter()
    page.goto(address)
    page.locator(shown).first.wait_for(timeout=_TIMEOUT_S * 1e3)
    took_s = perf_counter() - start
    page.wait_for_load_state("networkidle")
    page.locator(_FINISHED).wait_for()
    page.goto("about:blank")
    sleep(_PAUSE_S)
    return took_s


@contextmanager
def _streamlit(home: Path) -> Iterator[str]:
    """The address of a Streamlit server whose page is a heading."""
    script = home / "empty.py"
    script.write_text('import streamlit as st\n\nst.title("empty")\n', encoding="utf-8")
    with create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = ("--server.headless=true", "--server.address=127.0.0.1", "--browser.gatherUsageStats=false")
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(script), f"--server.port={port}", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def _best(name: str, wanted: str, database: Path) -> tuple[float, float, float]:
    """Until a page stands, its figures stand, and it stands once more; the best of some rounds."""
    set_options(DashboardOptions(str(database)))
    rounds = [_round(name, wanted) for _ in range(_ROUNDS)]
    page, figures, again = (min(seconds) for seconds in zip(*rounds, strict=True))
    return page, figures, again


def _round(name: str, wanted: str) -> tuple[float, float, float]:
    st.cache_resource.clear()
    app = AppTest.from_string(f"from weaklink.ui.web.pages.{name} import show\nshow()", default_timeout=_TIMEOUT_S)
    app.query_params["filter"] = wanted
    begun_s = perf_counter()
    page_s = _run(app)
    while any(_COUNTING in html.proto.body for html in app.get("html")):  # what a browser asks for by itself
        sleep(_EVERY_S)
        _run(app)
    return page_s, perf_counter() - begun_s, _run(app)


def _run(app: AppTest) -> float:
    start = perf_counter()
    app.run()
    assert not app.exception, app.exception
    return perf_counter() - start


def _stream() -> None:
    """One long answer in a browser: until its first characters stand there, and what a turn of the wheel costs."""
    with (
        tempfile.TemporaryDirectory() as home,
        _dashboard(_long_trace(Path(home))) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=list(_OPTIONS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = perf_counter()
        page.goto(f"{address}trace?trace=1&turn=2&part=text&start=0&end=1")
        page.locator(".streambox .piece").first.wait_for(timeout=_TIMEOUT_S * 1e3)
        print_line(f"  a stream of {_CHARACTERS:,} characters: first rows after {perf_counter() - start:.1f} s")
        print_line(f"  elements in the page: {page.evaluate(_ELEMENTS):,}; a scroll takes {_scroll_ms(page):.0f} ms")
        browser.close()


_ELEMENTS = """() => {
    let count = 0;
    const walk = (root) => { for (const node of root.querySelectorAll('*')) {
        count += 1; if (node.shadowRoot) walk(node.shadowRoot); } };
    walk(document);
    return count;
}"""
_SCROLLED = """(box) => new Promise((done) => {
    const before = box.innerText, start = performance.now();
    box.scrollTop += box.clientHeight * 7;
    requestAnimationFrame(() => requestAnimationFrame(
        () => done([performance.now() - start, box.innerText !== before ? 1 : 0])));
})"""


def _scroll_ms(page: Page) -> float:
    """Milliseconds from a jump of seven screens to the second frame behind it, which shows other characters."""
    box = page.locator(".streambox")
    scrolls = [box.evaluate(_SCROLLED) for _ in range(_SCROLLS)]
    assert sum(changed for _, changed in scrolls) > _SCROLLS // 2
    return float(sorted(took for took, _ in scrolls)[_SCROLLS // 2])


def _long_trace(home: Path) -> Path:
    words = "The weather of a place is what it is, and nobody knows. "
    text = (words * (_CHARACTERS // len(words) + 1))[: _CHARACTERS - len(_CALL)] + _CALL
    turns = (Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", text),)))
    trace = Trace(turns, format="hermes")
    path = home / "long.db"
    with open_store(path) as store:
        store.save([(trace, inspect_trace(trace))])
    return path


@contextmanager
def _dashboard(database: Path) -> Iterator[str]:
    with create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    script = "from weaklink.command import main; main()"
    command = [sys.executable, "-c", script, "web", "--db", str(database), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address is not None
        try:
            _wait_for(port)
            yield address[0]
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    until = monotonic() + _TIMEOUT_S
    while monotonic() < until:
        try:
            create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.1)
