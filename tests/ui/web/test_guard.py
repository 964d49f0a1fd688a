"""The guard before every path: transcripts of requests and what came of them."""

import asyncio
from collections.abc import Callable, MutableMapping
from threading import Event
from typing import Any

import pytest

from tests.host_headers import NO_HOST, ODD_ADDRESSES, OF_OTHERS, OF_THIS_MACHINE
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.ui.web.guard import Access, Guard, cookie_of, links
from weaklink.ui.web.server import index_page, security_headers

_HEADERS = ((b"content-security-policy", b"default-src 'none'"),)
_LOCAL = Access("127.0.0.1", 8789)
_TOLD = Access("192.0.2.7", 8789, "secret-word", ("debug.example",))


async def _inner(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    headers = [(b"content-security-policy", b"script-src *"), (b"x-inner", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"inner"})


def _asked(
    access: Access,
    *headers: tuple[str, str],
    kind: str = "http",
    role_of: Callable[[str], str] | None = None,
    **scope: Any,
) -> list[dict[str, Any]]:
    """What is sent for one request."""
    sent: list[dict[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(dict(message))

    whole = _scope([(name.encode(), value.encode("latin-1")) for name, value in headers], type=kind, **scope)
    asyncio.run(Guard(_inner, access, _HEADERS, role_of)(whole, _nothing_read, send))
    return sent


def _scope(headers: list[tuple[bytes, bytes]], **more: Any) -> dict[str, Any]:
    whole = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "headers": headers}
    return {**whole, **more}


async def _nothing_read() -> MutableMapping[str, Any]:
    raise AssertionError("nothing is read of a request that is refused")


def _status(sent: list[dict[str, Any]]) -> int:
    return int(sent[0]["status"])


def _header(sent: list[dict[str, Any]], name: bytes) -> list[bytes]:
    return [value for key, value in sent[0]["headers"] if key == name]


@pytest.mark.parametrize("host", ["127.0.0.1:8789", "localhost:8789", "[::1]:8789", "192.168.1.4:8789"])
def test_addresses_and_localhost_are_answered_with_our_policy_in_place_of_another(host: str) -> None:
    sent = _asked(_LOCAL, ("host", host))
    assert _status(sent) == 200
    assert _header(sent, b"content-security-policy") == [b"default-src 'none'"]
    assert _header(sent, b"x-inner") == [b"1"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8789", "127.0.0.1.evil.example", "", "a]b", "\xff"])
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/static/x.js", "/_stcore/upload_file/1/2"])
def test_a_name_that_is_not_ours_is_refused_on_every_path(host: str, path: str) -> None:
    assert _status(_asked(_LOCAL, ("host", host), path=path, raw_path=path.encode())) == 421


@pytest.mark.parametrize(
    "host", [host for host in (*NO_HOST, *ODD_ADDRESSES, *OF_OTHERS) if max(host, default="") <= "\xff"]
)
def test_a_host_that_is_none_or_anothers_is_refused(host: str) -> None:
    assert _status(_asked(_LOCAL, ("host", host))) == 421


@pytest.mark.parametrize("host", [machine for machine in OF_THIS_MACHINE if "weaklink" not in machine])
def test_every_way_to_write_this_machines_address_is_answered(host: str) -> None:
    assert _status(_asked(_LOCAL, ("host", host))) == 200


def test_two_host_headers_are_none() -> None:
    assert _status(_asked(_LOCAL, ("host", "localhost"), ("host", "evil.example"))) == 421


def test_a_named_host_is_answered() -> None:
    cookie = ("cookie", "weaklink_token_8789=secret-word")
    assert _status(_asked(_TOLD, ("host", "debug.example:8789"), cookie)) == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1:9999", "http://localhost:8789"]
)
def test_the_socket_takes_no_foreign_origin(origin: str) -> None:
    headers = [("host", "127.0.0.1:8789"), *((("origin", origin),) if origin else ())]
    assert _asked(_LOCAL, *headers, kind="websocket") == [
        {
            "type": "websocket.close",
            "code": 1008,
            "reason": "Request refused: its `Origin` is not this dashboard; only the dashboard's pages may send it.",
        }
    ]


def test_the_socket_takes_our_own_origin() -> None:
    headers = (("host", "127.0.0.1:8789"), ("origin", "http://127.0.0.1:8789"))
    assert _asked(_LOCAL, *headers, kind="websocket") == [{"type": "websocket.accept"}]


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_a_change_without_our_origin_is_refused(method: str) -> None:
    assert _status(_asked(_LOCAL, ("host", "127.0.0.1:8789"), method=method)) == 403


@pytest.mark.parametrize(
    "cookie", ["", "weaklink_token_8789=wrong", "weaklink_token_8789=", 'a="', "weaklink_token_8789=\xe9"]
)
def test_without_the_token_nothing_is_answered(cookie: str) -> None:
    headers = [("host", "192.0.2.7:8789"), *((("cookie", cookie),) if cookie else ())]
    sent = _asked(_TOLD, *headers)
    assert _status(sent) == 401
    assert b"requires its token" in sent[1]["body"]


@pytest.mark.parametrize("others", ["a{b}=1; ", "x; ", "weaklink_token_87=no; "])
def test_odd_cookies_of_other_programs_hide_none_of_ours(others: str) -> None:
    headers = [(b"cookie", f'{others}weaklink_menu="icons"; b=2'.encode())]
    assert cookie_of({"headers": headers}, "weaklink_menu") == "icons"


def test_the_address_with_the_token_gives_a_cookie_and_leads_to_the_address_without_it() -> None:
    sent = _asked(_TOLD, ("host", "192.0.2.7:8789"), query_string=b"token=secret-word&trace=7", raw_path=b"/trace")
    assert _status(sent) == 303
    assert _header(sent, b"location") == [b"/trace?trace=7"]
    assert _header(sent, b"set-cookie") == [b"weaklink_token_8789=secret-word; HttpOnly; Path=/; SameSite=Strict"]


@pytest.mark.parametrize("path", [b"//evil.example/x", b"/\\evil.example"])
def test_the_way_back_stays_on_this_host(path: bytes) -> None:
    sent = _asked(_TOLD, ("host", "192.0.2.7:8789"), query_string=b"token=secret-word", raw_path=path)
    location = _header(sent, b"location")[0]
    assert location.startswith(b"/")
    assert location[1:2] not in (b"/", b"\\")


def test_an_address_that_others_can_reach_needs_a_token() -> None:
    with pytest.raises(WeaklinkError, match=r"`--host 0\.0\.0\.0` can be reached from other machines"):
        Access("0.0.0.0", 8789)


@pytest.mark.parametrize("token", ["two words", "a;b", "ü", "a\r\nb"])
def test_a_token_fits_into_an_address(token: str) -> None:
    with pytest.raises(WeaklinkError, match="letters, digits"):
        Access("127.0.0.1", 8789, token)


def test_links_hold_the_token() -> None:
    assert links(Access("::1", 80, "w")) == ("http://[::1]:80/?token=w",)


def test_the_policy_allows_the_inline_scripts_of_streamlit_s_own_page_and_no_other() -> None:
    policy = dict(security_headers(index_page()))[b"content-security-policy"]
    assert b"script-src 'self' blob: 'sha256-" in policy
    assert b"'unsafe-inline'" not in policy.split(b"style-src")[0]
    assert b"http" not in policy


def test_dashboards_on_two_ports_keep_their_cookies_apart() -> None:
    first, second = Access("192.0.2.7", 8789, "secret-word"), Access("192.0.2.7", 8790, "other-word")
    host = ("host", "192.0.2.7:8789")
    both = ("cookie", "weaklink_token_8789=secret-word; weaklink_token_8790=other-word")
    assert [_status(_asked(access, host, both)) for access in (first, second)] == [200, 200]
    swapped = ("cookie", "weaklink_token_8789=other-word; weaklink_token_8790=secret-word")
    assert [_status(_asked(access, host, swapped)) for access in (first, second)] == [401, 401]


def test_a_token_that_the_database_cannot_check_is_not_called_missing() -> None:
    def unreadable(_: str) -> str:
        raise StoreError("db.example: connection refused")

    access = Access("192.0.2.7", 8789, stored_tokens=True)
    host, cookie = ("host", "192.0.2.7:8789"), ("cookie", "weaklink_token_8789=wl_word")
    for sent in (
        _asked(access, host, role_of=unreadable, query_string=b"token=wl_word"),
        _asked(access, host, cookie, role_of=unreadable),
    ):
        assert _status(sent) == 503
        assert b"cannot check your token" in sent[1]["body"]
        assert b"db.example" not in sent[1]["body"]
    assert _status(_asked(access, host, role_of=unreadable)) == 401


def test_a_slow_database_holds_up_nobody_else() -> None:
    access = Access("192.0.2.7", 8789, "secret-word", stored_tokens=True)
    answered = Event()
    sent: list[str] = []

    def waits(_: str) -> str:
        assert answered.wait(30)
        return "read"

    async def ask_both() -> None:
        guard = Guard(_inner, access, _HEADERS, waits)

        async def ask(word: str) -> None:
            async def send(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    sent.append(f"{word} {message['status']}")
                    answered.set()

            cookie = f"weaklink_token_8789={word}".encode()
            await guard(_scope([(b"host", b"192.0.2.7:8789"), (b"cookie", cookie)]), _nothing_read, send)

        await asyncio.gather(ask("wl_word"), ask("secret-word"))

    asyncio.run(ask_both())
    assert sent == ["secret-word 200", "wl_word 200"]
