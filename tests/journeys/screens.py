"""A dashboard of the installed command, and what is recorded while it is looked at."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Page, expect

from tests.journeys.model_server import ANSWER
from tests.journeys.story import TIMEOUT_S, WEAKLINK, started, weaklink
from tests.ui.web.downloads import content_of, downloaded, offers
from tests.ui.web.pages_walked import settled

BEGUN = "The weather in Oslo is"
"""What a model wrote that has not finished."""
PAGES = ("", "traces", "tools", "compare", "data", "rules", "imports", "sql", "settings")


@contextmanager
def dashboard(home: Path, database: Path) -> Iterator[str]:
    """The address of `weaklink web`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    with started([WEAKLINK, "web", "--port", port, "--db", str(database)], home, r"(http://\S+)") as (_, address):
        yield address


class Recordings:
    """Models that write into `weaklink record -`, and do not finish; as many as are wanted at the moment."""

    def __init__(self, home: Path, database: Path) -> None:
        self._home, self._database = home, database
        self._open: list[ExitStack] = []
        self._ids: list[str] = []

    def keep(self, count: int) -> list[str]:
        """Begin or end recordings until there are so many; returns the ids of their traces."""
        if len(self._open) != count:
            while len(self._open) > count:
                self._open.pop().close()
            while len(self._open) < count:
                self._open.append(self._begun())
            self._ids = self._listed(count)
        return self._ids

    def _begun(self) -> ExitStack:
        command = [WEAKLINK, "record", "-", "--db", str(self._database), "--name", "still going on"]
        stack = ExitStack()
        process, _ = stack.enter_context(
            started(["sh", "-c", 'echo begun; exec "$@"', "sh", *command], self._home, "(begun)")
        )
        assert process.stdin is not None
        process.stdin.write(BEGUN)
        process.stdin.flush()
        return stack

    def _listed(self, count: int) -> list[str]:
        """The ids of the traces that `list` shows as running, as soon as there are so many."""
        words = ("list", "status:running", "name:still*", "--json", "--db", str(self._database))
        deadline_s = time.monotonic() + TIMEOUT_S
        while count:
            done = weaklink(self._home, *words)
            lines = done.stdout.splitlines()
            if len(lines) == count:
                return [str(json.loads(line)["id"]) for line in lines]
            assert time.monotonic() < deadline_s, done.stdout
        return []


def opens_trace(page: Page, address: str, id_: str, name: str, *, is_answered: bool) -> None:
    """The page of a trace shows it, and its download holds it."""
    page.goto(urljoin(address, f"trace?trace={id_}"))
    settled(page)
    expect(page.locator("[data-testid=stMain]")).to_contain_text(name)
    (offer,) = offers(page)
    text = content_of(downloaded(page, offer)).decode()
    assert name in text
    assert not is_answered or ANSWER in text


def opens_downloads(page: Page, address: str, path: str, *, title: str, model: str) -> set[str]:
    """Each file that a page offers holds the trace, by its title or its model; returns the kinds of files."""
    opens_page(page, address, path)
    if path == "sql":
        page.get_by_role("button", name="Run").click()
        page.locator("[data-testid=stDataFrame]").first.wait_for()
        settled(page)
    kinds: set[str] = set()
    for offer in offers(page):
        download = downloaded(page, offer)
        kind, content = Path(download.suggested_filename).suffix, content_of(download)
        match kind:
            case ".html":
                assert title.encode() in content, (path, content[:500])
            case ".csv":
                assert model.encode() in content, (path, content[:500])
            case ".png":
                assert content.startswith(b"\x89PNG\r\n"), (path, content[:500])
                assert content.endswith(b"IEND\xaeB`\x82"), path
            case _:
                raise AssertionError(f"{path} offers {download.suggested_filename}, which no journey opens yet")
        kinds.add(kind)
    return kinds


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
