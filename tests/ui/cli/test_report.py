"""`weaklink report`: a folder of pages that need nothing, run nothing, and take no other folder's place."""

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.conftest import START, Run, environment
from tests.ui.reports.test_html_page import read
from tests.ui.web.dashboards import CHROMIUM, CHROMIUM_OPTIONS
from tests.ui.web.hostile import MARKER, make_hostile
from weaklink.inspector.atomic_write import UnwritableFolderError, whole_folder
from weaklink.inspector.chain.metrics import MEASURES
from weaklink.storage.store import open_store

_UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two broken chains of three."""
    path = tmp_path / "t.db"
    with open_store(path) as store:
        store.save(
            inspected(
                trace("good", GOOD_CALL, started_s=1_700_000_000),
                trace("bad", BAD_CALL, model="other", started_s=1_700_100_000),
                trace("worse", BAD_CALL, BAD_CALL),
            )
        )
    return path


def _words(page: Path) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.read_text(encoding="utf-8").partition("</style>")[2])).split())


def test_a_report_says_what_breaks_and_leads_to_the_worst_chains(weaklink: Run, database: Path, tmp_path: Path) -> None:
    done = weaklink("report", "--db", str(database), "--out", "out/here", "--title", "Release <7>")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"out/here/index.html: 3 traces; pages on 2 broken chains\n"
    folder = tmp_path / "out" / "here"
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "trace-2.html", "trace-3.html"]
    said = _words(folder / "index.html")
    assert said.startswith("Release <7> 3 traces, 2 broken (67 %).")
    assert "J104 trailing-comma 2 100 %" in said
    assert "2023-11-14 to 2023-11-16, at most 1 trace per day." in said
    assert "1 trace without a date: not drawn." in said
    assert "no date 1 0 0 0 0" in said
    assert "other 100 %" in said
    assert all(measure.title in said and measure.meaning in said for measure in MEASURES)
    assert said.index("3 worse") < said.index("2 bad"), "the most errors come first"
    links = [value for name, value in read((folder / "index.html").read_text()).attributes if name == "href"]
    assert sorted(filter(None, links)) == ["trace-2.html", "trace-3.html"]
    assert "trailing-comma" in _words(folder / "trace-2.html")


def test_a_filter_chooses_the_traces_and_is_said(weaklink: Run, database: Path, tmp_path: Path) -> None:
    done = weaklink("report", "--db", str(database), "-o", "r", "-f", "model:other or status:ok", "--worst", "5")
    assert done.stdout == b"r/index.html: 2 traces; pages on 1 broken chain\n"
    assert "Only traces that match model:other or status:ok ." in _words(tmp_path / "r" / "index.html")


def test_the_pages_need_nothing_and_run_nothing(weaklink: Run, tmp_path: Path) -> None:
    make_hostile(tmp_path / "hostile.db")
    done = weaklink("report", "--db", "hostile.db", "-o", "r", "--title", f"{MARKER}<script>\u202e\x1b[31m")
    assert done.returncode == 0, done.stderr
    pages = sorted((tmp_path / "r").iterdir())
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        reader = read(text)
        assert MARKER in text
        assert not {"script", "img", "iframe", "b", "math", "style"} & set(reader.tags) - {"style"}
        assert reader.tags.count("style") == 1
        assert not [name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "style")]
        hrefs = [value or "" for name, value in reader.attributes if name == "href"]
        assert all(re.fullmatch(r"#trace-\d+-turn-\d+|trace-\d+\.html", href) for href in hrefs), hrefs
        assert re.search(_UNSEEN, text) is None
        assert text.index("Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-") < 200


def test_a_database_of_the_environment_does_not_keep_files_from_being_reported(
    weaklink: Run, database: Path, tmp_path: Path
) -> None:
    weaklink("export", "1", "--db", str(database), "-o", "run.jsonl")
    done = weaklink("report", "run.jsonl", "-o", "r", WEAKLINK_DB=str(database))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b": 1 trace;" in done.stdout
    assert weaklink("report", "run.jsonl", "-o", "r", "--db", str(database)).returncode == 2


def test_a_report_takes_the_place_of_a_report(weaklink: Run, database: Path, tmp_path: Path) -> None:
    weaklink("report", "--db", str(database), "-o", "r")
    done = weaklink("report", "--db", str(database), "-o", "r", "-f", "model:other")
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["index.html", "trace-2.html"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".r")] == []


@pytest.mark.parametrize("name", ["notes.txt", "index.html", ".git", "trace-x.html"])
def test_another_folder_is_left_alone(weaklink: Run, database: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / name).write_text("mine")
    done = weaklink("report", "--db", str(database), "-o", "r")
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"r contains `{name}`, which is not part of a report".encode() in done.stderr
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(name, "mine")]


def test_by_force_other_files_stay(weaklink: Run, database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "notes.txt").write_text("mine")
    (folder / "index.html").write_text("mine")
    assert weaklink("report", "--db", str(database), "-o", "r", "--force").returncode == 0
    assert (folder / "deep" / "notes.txt").read_text() == "mine"
    assert "3 traces, 2 broken" in _words(folder / "index.html")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("-f", "model:none"), "no trace matches this filter, so there is nothing to report"),
        (("-f", "status:"), "status"),
        (("-o", "t.db"), "t.db is not a directory"),
        (("-o", "t.db/r"), "cannot write t.db/r: "),
    ],
)
def test_where_there_is_nothing_to_report_nothing_is_made(
    weaklink: Run, database: Path, tmp_path: Path, more: tuple[str, str], words: str
) -> None:
    before = sorted(tmp_path.iterdir())
    done = weaklink("report", "--db", str(database), "-o", "r", *more)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words.encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(path for path in tmp_path.iterdir() if "t.db-" not in path.name) == before


def test_what_fails_halfway_leaves_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "index.html").write_text("old")
    with pytest.raises(UnwritableFolderError, match="No space left"):
        _fill_the_disk(folder)
    assert [(path.name, (path / "index.html").read_text()) for path in tmp_path.iterdir()] == [("r", "old")]


def _fill_the_disk(folder: Path) -> None:
    with whole_folder(folder) as made:
        (made / "index.html").write_text("new")
        raise OSError(28, "No space left on device")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile")
    make_hostile(home / "hostile.db")
    command = [*START, "report", "--db", "hostile.db", "-o", "r"]
    subprocess.run(command, check=True, capture_output=True, cwd=home, env=environment(home), timeout=100)
    return home / "r"


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 29)")])
def test_a_browser_opens_it_from_a_folder(
    browser: Browser, hostile_report: Path, width: int, scheme: Literal["light", "dark"], ground: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda request: wrong.extend([request.url] if "file:" not in request.url else []))
    page.goto((hostile_report / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    assert page.locator("svg rect").count() > 10
    page.get_by_role("link").first.click()
    assert MARKER in page.locator("h1").inner_text()
    page.close()
    assert wrong == []
