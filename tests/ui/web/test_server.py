"""The dashboard as it runs, asked over real sockets: whom it answers, what it refuses, and what it says."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.client import HTTPConnection
from math import inf
from pathlib import Path
from socket import SO_RCVBUF, SOL_SOCKET, create_connection, create_server, socket
from time import monotonic, sleep

import pytest
import streamlit
from playwright.sync_api import Browser, expect

from tests.ui.conftest import Run
from tests.ui.web.dashboards import Dashboard, dashboard, running
from tests.ui.web.pages_walked import settled, watched
from weaklink.storage.store import open_store

_PATHS = (
    *("/", "/traces", "/trace?trace=1", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics"),
    *(
        "/static/js/nothing.js",
        "/media/nothing",
        "/component/nothing/x.js",
        "/_stcore/upload_file/a/b",
        "//",
        "/%2e%2e/",
    ),
)
_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
_NONE: Mapping[str, str] = {}
_TOKEN = "a-word-of-ours"
_EVIL = "ValueError('\\x1b]0;evil\\x07 \\u202e gone')"
_BREAKS = f"import weaklink.ui.web.pages.rules as page\ndef show(): raise {_EVIL}\npage.show = show"
_WATCHES = """
import sys
def told(event, args):
    if event in ("socket.connect", "socket.getaddrinfo") and "127.0.0.1" not in str(args) and "::1" not in str(args):
        sys.__stdout__.write(f"OUTWARD {event} {args}\\n")
sys.addaudithook(told)
"""


@pytest.fixture(scope="module")
def local(demo_database: Path) -> Iterator[Dashboard]:
    with running(demo_database.parent, demo_database, first=_WATCHES) as process:
        yield process


@pytest.fixture(scope="module")
def public(demo_database: Path) -> Iterator[Dashboard]:
    with running(demo_database.parent, demo_database, "--host", "0.0.0.0", "--token", _TOKEN) as process:
        yield process


def _ask(
    where: Dashboard, path: str, method: str = "GET", body: bytes | None = None, *, headers: Mapping[str, str] = _NONE
) -> tuple[int, dict[str, str], str]:
    """The status, the headers by their small names, and the body of an answer."""
    connection = HTTPConnection("127.0.0.1", where.port, timeout=60)
    named = {"Host": f"127.0.0.1:{where.port}", **headers}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in named.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    said = {name.lower(): value for name, value in answer.getheaders()}
    text = "" if answer.status == 101 else answer.read().decode(errors="replace")
    connection.close()
    return answer.status, said, text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", _PATHS)
def test_a_foreign_host_name_is_refused_on_every_path(local: Dashboard, path: str) -> None:
    status, headers, body = _ask(local, path, headers={"Host": f"evil.example:{local.port}"})
    assert status == 421
    assert "does not accept requests for the host `evil.example:" in body
    assert headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", _PATHS)
def test_every_answer_has_our_policy(local: Dashboard, path: str) -> None:
    _, headers, _ = _ask(local, path)
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example", "http://evil.example"),
        ("127.0.0.1", "http://evil.example"),
        ("127.0.0.1", "null"),
        ("127.0.0.1", ""),
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("localhost", "http://127.0.0.1"),
    ],
)
def test_the_socket_takes_no_other_page(local: Dashboard, host: str, origin: str) -> None:
    more = {"Origin": f"{origin}:{local.port}" if origin == "http://127.0.0.1" else origin} if origin else {}
    status, _, _ = _ask(local, "/_stcore/stream", headers={"Host": f"{host}:{local.port}", **_UPGRADE, **more})
    assert status == 403


def test_the_socket_takes_our_own_page(local: Dashboard) -> None:
    status, _, _ = _ask(local, "/_stcore/stream", headers={"Origin": f"http://127.0.0.1:{local.port}", **_UPGRADE})
    assert status == 101


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_an_upload_from_another_page_is_refused(local: Dashboard, method: str, origin: str) -> None:
    more = {"Origin": origin} if origin else {}
    status, _, body = _ask(local, "/_stcore/upload_file/a/b", method, b"x", headers=more)
    assert status == 403
    assert body == "Request refused: its `Origin` is not this dashboard; only the dashboard's pages may send it.\n"


def test_an_upload_of_our_own_page_gets_as_far_as_its_session(local: Dashboard) -> None:
    status, _, body = _ask(
        local, "/_stcore/upload_file/a/b", "PUT", b"x", headers={"Origin": f"http://127.0.0.1:{local.port}"}
    )
    assert status in (400, 403), body
    assert "Request refused" not in body


def test_nothing_is_answered_without_the_token(public: Dashboard) -> None:
    for path in _PATHS:
        status, _, body = _ask(public, path)
        assert (status, body) == (
            401,
            "This dashboard requires its token: open the address that `weaklink web` printed.\n",
        )
    assert _ask(public, "/?token=wrong")[0] == 401
    own = f"http://127.0.0.1:{public.port}"
    upgrade = {"Origin": own, **_UPGRADE}
    assert _ask(public, "/_stcore/stream", headers=upgrade)[0] == 403
    cookie = {"Cookie": f"weaklink_token_{public.port}={_TOKEN}"}
    assert _ask(public, "/_stcore/stream", headers=upgrade | cookie)[0] == 101
    assert _ask(public, "/", headers={"Host": f"evil.example:{public.port}", **cookie})[0] == 421


def test_the_token_leaves_the_address_and_stays_in_a_cookie(browser: Browser, public: Dashboard) -> None:
    assert public.address == f"http://0.0.0.0:{public.port}/?token={_TOKEN}"
    with watched(browser) as page:
        page.goto(f"http://127.0.0.1:{public.port}/traces?token={_TOKEN}&filter=status:broken")
        settled(page)
        assert page.url == f"http://127.0.0.1:{public.port}/traces?filter=status%3Abroken"
        kept = [cookie for cookie in page.context.cookies() if cookie.get("name") == f"weaklink_token_{public.port}"]
        assert [(cookie.get("value"), cookie.get("httpOnly"), cookie.get("sameSite")) for cookie in kept] == [
            (_TOKEN, True, "Strict")
        ]
        assert page.evaluate("document.cookie").find(_TOKEN) == -1
        assert _TOKEN not in str(page.evaluate("document.documentElement.outerHTML"))
    assert "Traceback" not in "".join(public.said)


def test_nothing_leaves_the_machine(browser: Browser, local: Dashboard) -> None:
    with watched(browser) as page:
        for path in ("", "traces", "rules"):
            page.goto(f"{local.address}{path}")
            settled(page)
    assert [line for line in local.said if line.startswith("OUTWARD")] == []
    assert len(local.said) == 1


def test_the_watch_for_what_leaves_sees_it() -> None:
    asked = f"{_WATCHES}\nimport socket\ntry: socket.create_connection(('192.0.2.1', 9), 0.01)\nexcept OSError: pass"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, timeout=60)
    assert b"OUTWARD socket.connect" in done.stdout


def test_an_address_that_others_reach_needs_a_token(weaklink: Run, demo_database: Path) -> None:
    done = weaklink("web", "--db", str(demo_database), "--host", "0.0.0.0")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"`--host 0.0.0.0` can be reached from other machines" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said(weaklink: Run, demo_database: Path) -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = weaklink("web", "--db", str(demo_database), "--port", str(port))
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use; `--port` names".encode() in done.stderr
    assert b"the dashboard is at" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_without_a_database_the_dashboard_opens_on_imports_and_the_samples_are_a_click_away(
    browser: Browser, tmp_path: Path
) -> None:
    with dashboard(tmp_path, tmp_path / "none.db") as address, watched(browser) as page:
        page.goto(address)
        expect(page).to_have_title("Imports · none.db · weaklink")
        assert not (tmp_path / "none.db").exists()
        page.get_by_role("button", name="Import the sample traces").click()
        table = page.locator('tbody[aria-label^="Imported files;"] tr')
        expect(table.first).to_contain_text("sample_traces")
        expect(page.locator(".wl-prose").get_by_text("51 traces, ")).to_be_visible()
        expect(page.locator(".wl")).to_have_count(0)  # nothing is printed as in a terminal
        page.get_by_role("button", name="Show traces").click()
        expect(page).to_have_url(f"{address}traces")
        expect(page.locator(".st-key-weaklink_summary", has_text="51 traces")).to_be_visible()


def test_an_older_database_is_left_alone(weaklink: Run, tmp_path: Path) -> None:
    database = tmp_path / "old.db"
    with open_store(database) as store, store._database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE weaklink_version SET version_num = 'v0006'")
    done = weaklink("web", "--db", str(database))
    assert done.returncode == 2
    assert b"run `weaklink db upgrade`" in done.stderr


@pytest.mark.slow
def test_a_page_that_fails_says_so_and_cannot_steer_the_terminal(browser: Browser, demo_database: Path) -> None:
    with running(demo_database.parent, demo_database, first=_BREAKS) as process, watched(browser) as page:
        page.goto(f"{process.address}rules")
        page.get_by_test_id("stException").or_(page.get_by_test_id("stAlert")).first.wait_for()
        assert "This app has encountered an error" in page.locator("body").inner_text()
        assert "evil" not in page.locator("body").inner_text()
        assert page.locator("[data-testid=stException] a, [data-testid=stAlert] a").all() == []
        _wait_for(process, "ValueError")
        said = "".join(process.said)
    assert "ValueError: ␛]0;evil␇ \\u202e gone" in said
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said) is None


@pytest.mark.parametrize("wanted", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_it_quietly(browser: Browser, demo_database: Path, wanted: signal.Signals) -> None:
    with running(demo_database.parent, demo_database) as process:
        context = browser.new_context()
        page = context.new_page()
        page.goto(process.address)
        settled(page)
        process.process.send_signal(wanted)
        assert process.process.wait(60) == 0
        context.close()
    assert len(process.said) == 1, process.said


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wanted", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_although_a_browser_reads_nothing_more(demo_database: Path, wanted: signal.Signals) -> None:
    with running(demo_database.parent, demo_database) as process:
        script = max((Path(streamlit.__file__).parent / "static").rglob("*.js"), key=lambda path: path.stat().st_size)
        path = script.relative_to(script.parents[2]).as_posix()
        with socket() as connection:
            connection.setsockopt(SOL_SOCKET, SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", process.port))
            connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\n\r\n".encode())
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
            process.process.send_signal(wanted)
            assert process.process.wait(20) == 0
    assert len(process.said) == 1, process.said


def test_it_ends_while_browsers_connect(demo_database: Path) -> None:
    with running(demo_database.parent, demo_database) as process, ExitStack() as connections:
        ends_at = monotonic() + 0.3
        while True:
            try:
                connections.enter_context(create_connection(("127.0.0.1", process.port)))
            except ConnectionError:
                break
            if monotonic() > ends_at:
                process.process.terminate()
                ends_at = inf
        assert process.process.wait(20) == 0


def _wait_for(running_dashboard: Dashboard, words: str) -> None:
    until = monotonic() + 30
    while words not in "".join(running_dashboard.said) and monotonic() < until:
        sleep(0.05)
