"""A dashboard that several people open: who may look, who may change something, and whose name a note bears."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.capture.events import wait_until
from tests.storage.samples import BAD_CALL, trace
from tests.ui.conftest import Run
from tests.ui.web.dashboards import Dashboard, running
from tests.ui.web.pages_walked import settled, watched
from weaklink.inspector.inspection import inspect_trace
from weaklink.storage.access_tokens import TokenRole
from weaklink.storage.store import open_store
from weaklink.ui.web.stores import READS_ONLY


class _Team:
    def __init__(self, home: Path) -> None:
        self.database = home / "team.db"
        with open_store(self.database) as store:
            store.save([(stored, inspect_trace(stored)) for stored in [trace("a", BAD_CALL)]])
            store.search.index_pending()
            self.ann = store.tokens.create("ann", TokenRole.WRITE)
            self.bob = store.tokens.create("bob", TokenRole.READ)

    def authors(self) -> list[tuple[str, str]]:
        with open_store(self.database) as store:
            return [(mark.note, mark.author) for mark in store.marks.of(["a"]).get(1, ())]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> _Team:
    return _Team(tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def served(team: _Team) -> Iterator[Dashboard]:
    with running(team.database.parent, team.database, "--host", "0.0.0.0", "--tokens") as process:
        yield process


def _open(page: Page, served: Dashboard, path: str, token: str = "") -> None:
    page.goto(f"http://127.0.0.1:{served.port}/{path}{f'&token={token}' if token else ''}")
    settled(page)


def test_nobody_looks_without_a_token(browser: Browser, served: Dashboard, team: _Team) -> None:
    with watched(browser) as page:
        for path in ("", "?token=wl_wrong", f"?token={team.ann[:-1]}"):
            answer = page.request.get(f"http://127.0.0.1:{served.port}/{path}")
            assert (answer.status, answer.text()) == (
                401,
                "This dashboard requires a token: append `?token=` and your token to its address.\n",
            )


def test_one_who_writes_leaves_a_note_with_a_name_and_one_who_reads_sees_it(
    browser: Browser, served: Dashboard, team: _Team
) -> None:
    with watched(browser) as page:
        _open(page, served, "trace?trace=1", team.ann)
        assert team.ann not in page.url
        page.get_by_role("button", name="Mark", exact=False).first.click()
        page.get_by_role("textbox", name="Note").fill("look here")
        page.get_by_role("textbox", name="Note").press("Enter")
        settled(page)
        page.get_by_role("button", name="Save", exact=True).click()
        wait_until(lambda: team.authors() == [("look here", "ann")])
    with watched(browser) as page:
        _open(page, served, "trace?trace=1", team.bob)
        page.get_by_role("button", name="Marked").click()
        expect(page.get_by_text("look here (ann)")).to_be_visible()
        expect(page.get_by_text(READS_ONLY)).to_be_visible()
        expect(page.get_by_role("button", name="Replace the note", exact=True)).to_be_disabled()
        expect(page.get_by_role("button", name="Remove all")).to_be_disabled()
        _open(page, served, "imports")
        expect(page.get_by_text(READS_ONLY)).to_be_visible()
        expect(page.get_by_text("Log files")).to_have_count(0)


def test_a_revoked_token_opens_nothing_any_more(browser: Browser, served: Dashboard, team: _Team) -> None:
    with open_store(team.database) as store:
        word = store.tokens.create("eve", TokenRole.WRITE)
    with watched(browser) as page:
        _open(page, served, "traces?filter=", word)
        with open_store(team.database) as store:
            store.tokens.revoke("eve")
        page.get_by_role("link", name="Tools").click()
        expect(page.get_by_text("Your token was revoked or has expired.")).to_be_visible()
        page.wait_for_timeout(2_100)  # as long as the guard remembers a token
        assert page.request.get(f"http://127.0.0.1:{served.port}/").status == 401


def test_commands_make_list_and_revoke_tokens(weaklink: Run, team: _Team, tmp_path: Path) -> None:
    where = ("--db", str(team.database))
    made = weaklink("db", "token", "create", "dan", *where)
    assert (made.returncode, made.stderr) == (0, b"")
    with open_store(team.database) as store:
        held = store.tokens.holder(made.stdout.decode().strip())
        assert held is not None
        assert (held.name, held.role) == ("dan", TokenRole.READ)
    again = weaklink("db", "token", "create", "dan", *where)
    assert again.returncode == 2
    assert b"a token named `dan` already exists" in again.stderr
    assert weaklink("db", "token", "revoke", "dan", *where).stdout == b"the token of dan is revoked\n"
    listed = weaklink("db", "token", "list", *where).stdout.decode()
    assert any(line.startswith("dan: read, created ") and ", revoked " in line for line in listed.splitlines())
    word = weaklink("db", "token", "create", "fay", "--expires", "90d", *where).stdout.decode().strip()
    with open_store(team.database) as store:
        held = store.tokens.holder(word)
    assert held is not None
    assert held.expires_at_s is not None
    assert abs(held.expires_at_s - held.made_at_s - 90 * 86_400) < 600
    day = datetime.fromtimestamp(held.expires_at_s, UTC).date()
    listed = weaklink("db", "token", "list", *where).stdout.decode()
    assert f", expires {day}" in listed
    past = weaklink("db", "token", "create", "gil", "--expires", "2020-01-01", *where)
    assert (past.returncode, past.stdout) == (2, b"")
    assert b"would already be expired" in past.stderr
    copied = weaklink("db", "copy", str(team.database), str(tmp_path / "copy.db")).stdout.decode()
    assert "access tokens of FROM not copied" in copied
    assert made.stdout.decode().strip() not in listed


def test_a_dashboard_for_which_nobody_has_a_token_does_not_start(weaklink: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "new.db") as store:
        store.tokens.create("ann", TokenRole.READ)
        store.tokens.revoke("ann")
    done = weaklink("web", "--tokens", "--db", str(tmp_path / "new.db"))
    assert done.returncode == 2
    assert b"`weaklink db token create NAME` creates one" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0", "--token", "abc", "--user-header", "X-User"), b"anybody could send that header"),
        (("--user-header", "X User\n"), b"is not a valid header name"),
    ],
)
def test_a_header_that_anybody_could_send_is_refused(
    weaklink: Run, team: _Team, options: tuple[str, ...], words: bytes
) -> None:
    done = weaklink("web", "--db", str(team.database), *options)
    assert done.returncode == 2
    assert words in done.stderr.replace(b"\n", b" ")


@pytest.mark.slow
def test_a_reverse_proxys_header_names_the_author(browser: Browser, team: _Team) -> None:
    with running(team.database.parent, team.database, "--user-header", "X-User") as process, watched(browser) as page:
        page.set_extra_http_headers({"X-User": "carol"})
        page.goto(f"{process.address}trace?trace=1")
        settled(page)
        page.get_by_role("button", name="Mark", exact=False).first.click()
        page.get_by_role("textbox", name="Note").fill("mine")
        page.get_by_role("textbox", name="Note").press("Enter")
        settled(page)
        page.get_by_role("button", name="Save", exact=True).click()
        wait_until(lambda: team.authors() == [("mine", "carol")])
