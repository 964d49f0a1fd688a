"""A dashboard of the installed command, and what is recorded while it is looked at."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Page, expect

from tests.journeys.model_server import ANSWER
from tests.journeys.story import TIMEOUT_S, WEAKLINK, started, weaklink
from tests.ui.web.pages_walked import settled

PAGES = ("", "traces", "tools", "compare", "data", "rules", "imports", "sql", "settings")


@contextmanager
def dashboard(home: Path, database: Path) -> Iterator[str]:
    """The address of `weaklink web`."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = str(found.getsockname()[1])
    with started([WEAKLINK, "web", "--port", port, "--db", str(database)], home, r"(http://\S+)") as (_, address):
        yield address


@contextmanager
def recordings(home: Path, database: Path, count: int) -> Iterator[None]:
    """So many models write into `weaklink log`, and have not finished."""
    command = [WEAKLINK, "log", "--db", str(database), "--name", "still going on"]
    begun = ["sh", "-c", 'echo begun; exec "$@"', "sh", *command]
    with ExitStack() as stack:
        for _ in range(count):
            process, _said = stack.enter_context(started(begun, home, "(begun)"))
            assert process.stdin is not None
            process.stdin.write("The weather in Oslo is")
            process.stdin.flush()
        _are_listed(home, database, count)
        yield


def _are_listed(home: Path, database: Path, count: int) -> None:
    """Wait until `list` shows all recordings as running."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while count:
        done = weaklink(home, "list", "status:running", "--json", "--db", str(database))
        if len(done.stdout.splitlines()) >= count:
            break
        assert time.monotonic() < deadline_s, done.stdout


def opens_trace(page: Page, address: str, id_: str, name: str, *, is_answered: bool) -> None:
    """The page of a trace shows it, and its download holds it."""
    page.goto(urljoin(address, f"trace?trace={id_}"))
    settled(page)
    expect(page.locator("[data-testid=stMain]")).to_contain_text(name)
    with page.expect_download() as download:
        page.get_by_text("HTML file").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert name in text
    assert not is_answered or ANSWER in text


def opens_page(page: Page, address: str, path: str) -> None:
    """The page becomes still and shows no exception."""
    page.goto(urljoin(address, path))
    settled(page)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def opens_list(page: Page, address: str, name: str) -> None:
    """The list of traces has the trace."""
    page.goto(urljoin(address, "traces"))
    settled(page)
    expect(page.locator(".listing").first).to_contain_text(name)
