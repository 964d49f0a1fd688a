"""A team's dashboard over a real PostgreSQL, in real browsers: what one changes others see, also after an outage."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect
from psycopg import sql

from benchmarks.postgresql_server import NOT_INSTALLED, frozen_server, new_database, programs, running_server
from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.ui.conftest import START, environment
from tests.ui.web.dashboards import Dashboard, running
from tests.ui.web.pages_walked import settled
from weaklink.storage.access_tokens import TokenRole
from weaklink.storage.store import open_store


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    folder = programs()
    if folder is None:
        pytest.skip(NOT_INSTALLED)
    with running_server(folder) as server, new_database(server) as url:
        yield url


@pytest.fixture(scope="module")
def tokens(database: str) -> dict[str, str]:
    with open_store(database) as store:
        store.save(inspected(*(trace(name, BAD_CALL) for name in "abc"), trace("d", GOOD_CALL)))
        store.search.index_pending()
        roles = {"ann": TokenRole.WRITE, "bob": TokenRole.READ}
        return {name: store.tokens.create(name, role) for name, role in roles.items()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, database: str, tokens: dict[str, str]) -> Iterator[Dashboard]:
    assert tokens
    with running(tmp_path_factory.mktemp("team"), database, "--host", "0.0.0.0", "--tokens") as process:
        yield process


@contextmanager
def _opened(browser: Browser, served: Dashboard, token: str, path: str = "") -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{served.port}/{path}?token={token}")
    settled(page)
    yield page
    context.close()


@pytest.mark.slow
def test_a_deletion_is_seen_at_the_next_look(
    browser: Browser, served: Dashboard, tokens: dict[str, str], database: str, tmp_path: Path
) -> None:
    with _opened(browser, served, tokens["ann"]) as anns, _opened(browser, served, tokens["bob"], "traces") as bobs:
        expect(anns.get_by_text("4 traces", exact=False).first).to_be_visible()
        expect(bobs.get_by_text("4 traces").first).to_be_visible()
        command = [*START, "db", "delete", "--yes", "1", "--db", database]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environment(tmp_path), timeout=60)
        anns.wait_for_timeout(10_000)  # the figures follow within ten seconds
        for page in (anns, bobs):
            page.reload()
            settled(page)
            expect(page.get_by_text("3 traces", exact=False).first).to_be_visible()


@pytest.mark.slow
def test_an_outage_is_said_to_everybody_and_a_page_comes_back_by_itself(
    browser: Browser, served: Dashboard, tokens: dict[str, str], database: str
) -> None:
    with _opened(browser, served, tokens["ann"]) as anns, _opened(browser, served, tokens["bob"]) as bobs:
        with _closed(database):
            anns.get_by_role("link", name="Tools").first.click()
            expect(anns.get_by_role("button", name="Try again").first).to_be_visible()
            bobs.wait_for_timeout(2_100)  # as long as the guard remembers a token
            answer = bobs.reload()
            assert answer is not None
            assert answer.status == 503
            expect(bobs.get_by_text("The dashboard cannot check your token")).to_be_visible()
        bobs.reload()
        settled(bobs)
        expect(anns.get_by_text("get_weather").first).to_be_visible()
        expect(bobs.get_by_text("What breaks").first).to_be_visible()
    assert len(served.said) == 1, served.said


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_said_until_it_does(
    browser: Browser, served: Dashboard, tokens: dict[str, str], database: str
) -> None:
    with _opened(browser, served, tokens["ann"]) as page:
        with frozen_server(database):
            page.get_by_role("link", name="Tools").first.click()
            page.wait_for_timeout(4_000)
            assert page.evaluate("getComputedStyle(document.querySelector('.stApp'), '::after').opacity") == "1"
            expect(page.get_by_text("the server does not answer; try again when it does")).to_be_visible()
            expect(page.get_by_role("button", name="Try again")).to_be_visible()
        expect(page.get_by_text("get_weather").first).to_be_visible()


@contextmanager
def _closed(database: str) -> Iterator[None]:
    """Nobody can connect to the database, and all who were connected no longer are."""
    server, _, name = database.rpartition("/")
    permission = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(permission.format(sql.Identifier(name), sql.SQL("false")))
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(permission.format(sql.Identifier(name), sql.SQL("true")))
