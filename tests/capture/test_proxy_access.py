"""Who may use the proxy, what is kept of their token, and what the proxy answers by itself."""

import asyncio
import json
import logging
import socket
import threading
import time

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.proxies import Keeps, Proxy, recording
from tests.capture.test_proxy_wire import OK, connected, request, talk, until, until_closed
from tests.capture.upstream import DEADLINE_S, Pause, running_upstream
from tests.host_headers import NO_HOST, ODD_ADDRESSES, OF_OTHERS, OF_THIS_MACHINE
from weaklink.inspector.capture.proxy import ProxyConfig, ProxyConfigError, parse_upstream, running_proxy
from weaklink.inspector.capture.proxy.access import _UNKNOWN_HOST, Gate
from weaklink.inspector.sessions.exchange import ExchangeEnd

TOKEN = "tok-3n_Z"  # made up


def _status(got: bytes) -> int:
    return int(got.split(b" ", 2)[1])


def test_a_token_in_the_path_or_in_its_header_lets_in_and_stays_behind() -> None:
    with running_upstream(OK) as upstream, recording(upstream, token=TOKEN) as proxy:
        for raw in (request(f"/t/{TOKEN}/v1/x?a=1"), request("/v1/x?a=1", f"x-WEAKLINK-token: {TOKEN}")):
            assert _status(talk(proxy, raw)) == 200
        for received in upstream.requests:
            assert received.target == "/v1/x?a=1"
            assert TOKEN.encode() not in received.head
            assert b"eaklink" not in received.head.lower()
        proxy.seen.wait_until(lambda: all(seen.ends for seen in proxy.seen.exchanges))
        assert TOKEN not in repr([seen.head for seen in proxy.seen.exchanges])


@pytest.mark.parametrize(
    "raw",
    [
        request("/v1/x"),
        request("/t/"),
        request("/t/wrong/v1/x"),
        request(f"/t/{TOKEN}x/v1/x"),
        request(f"/v1/t/{TOKEN}/x"),
        request("/v1/x", "X-Weaklink-Token: wrong"),
        request("/v1/x", "X-Weaklink-Token: ü"),
        request(f"/t/{TOKEN}/v1/x", "X-Weaklink-Token: wrong"),
        request("/v1/x", f"Authorization: Bearer {TOKEN}"),
        request("/weaklink/"),
    ],
)
def test_without_the_right_token_nothing_is_forwarded_or_recorded(raw: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream, token=TOKEN) as proxy:
        got = talk(proxy, raw)
        assert _status(got) == 403
        assert TOKEN.encode() not in got
        assert (upstream.requests, proxy.seen.exchanges) == ([], [])


def test_no_log_holds_a_token_or_a_key_whatever_is_wrong_with_a_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with running_upstream(OK) as upstream, recording(upstream, token=TOKEN) as proxy:
        talk(proxy, request(f"/t/{TOKEN}/v1/x?key=hunter2"))
        talk(proxy, request("/t/hunter2/v1/x"))
        talk(proxy, request(f"/t/{TOKEN}/v1/x", "Bad Header hunter2: x"))
        talk(proxy, f"GET /t/{TOKEN}/hunter2 NONSENSE\r\n\r\n".encode())
    assert TOKEN not in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8788",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::2]:80",
        "x@y",
        "[::1].evil.example",
    ],
)
def test_on_loopback_only_loopback_names_are_answered_so_no_web_page_gets_in_by_a_name_of_its_own(host: str) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request("/v1/x").replace(b"Host: localhost", b"Host: " + host.encode()))
        assert _status(got) == 421
        assert not upstream.requests


@pytest.mark.parametrize("host", [*NO_HOST, *ODD_ADDRESSES, *OF_OTHERS])
def test_the_gate_knows_no_host_that_another_may_have(host: str) -> None:
    gate = Gate(ProxyConfig((parse_upstream("http://127.0.0.1:1"),)))
    assert gate.enter("/v1/x", token=None, host=host) is _UNKNOWN_HOST


@pytest.mark.parametrize("host", OF_THIS_MACHINE)
def test_the_gate_knows_every_name_of_this_machine(host: str) -> None:
    gate = Gate(ProxyConfig((parse_upstream("http://127.0.0.1:1"),)))
    assert gate.enter("/v1/x", token=None, host=host) == "/v1/x"


@pytest.mark.parametrize("hosts", [b"Host: localhost\r\nHost: evil.example", b"Host: localhost\r\nHost: localhost"])
def test_a_request_with_two_hosts_is_refused(hosts: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request("/v1/x").replace(b"Host: localhost", hosts))
        assert _status(got) in {400, 421}
        assert not upstream.requests


def test_a_request_without_a_host_comes_from_no_browser() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request("/v1/x").replace(b"Host: localhost\r\n", b"").replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert _status(got) == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8788", "[::1]:8788", "weaklink.localhost"])
def test_on_loopback_every_loopback_name_is_answered(host: str) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request("/v1/x").replace(b"Host: localhost", b"Host: " + host.encode()))
        assert _status(got) == 200


@pytest.mark.parametrize("raw", [request("http://evil.example/v1/x"), request("evil.example:443", method="CONNECT")])
def test_only_the_configured_upstreams_are_reached(raw: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        assert _status(talk(proxy, raw)) == 400
        assert (upstream.requests, proxy.seen.exchanges) == ([], [])


def test_a_path_below_no_prefix_is_a_404_that_names_the_prefixes() -> None:
    with running_upstream(OK) as upstream, recording(f"/a={upstream.url}", f"/b={upstream.url}") as proxy:
        got = talk(proxy, request("/c/v1"))
        assert _status(got) == 404
        assert "`/a/`, `/b/`" in json.loads(got.partition(b"\r\n\r\n")[2])["error"]["message"]


def test_weaklinks_own_paths_win_over_an_upstream_at_the_root_and_are_not_recorded() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        health = talk(proxy, request("/weaklink/", method="GET"))
        assert json.loads(health.partition(b"\r\n\r\n")[2])["name"] == "weaklink"
        assert _status(talk(proxy, request("/weaklink/else"))) == 404
        assert _status(talk(proxy, request("/weaklinked"))) == 200
        assert [received.target for received in upstream.requests] == ["/weaklinked"]


@pytest.mark.parametrize(
    "raw",
    [
        request("/v1/x", body=b"x" * 101),
        request("/v1/x", "Transfer-Encoding: chunked") + b"64\r\n%b\r\n1\r\nx\r\n0\r\n\r\n" % (b"x" * 100),
    ],
)
def test_a_body_above_the_bound_is_a_413_of_either_framing(raw: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream, max_body_bytes=100) as proxy:
        assert _status(talk(proxy, raw)) == 413
        assert not any(received.is_whole for received in upstream.requests)


@pytest.mark.parametrize(
    "raw", [request("/" + "x" * 9000), request("/", "X-A: " + "x" * 9000), request("/", *["X-A: 1"] * 300)]
)
def test_heads_above_the_bounds_are_refused(raw: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream, max_header_bytes=8000) as proxy:
        assert _status(talk(proxy, raw)) == 400
        assert not upstream.requests


def test_on_stopping_a_stream_may_finish_within_the_grace_time() -> None:
    answer = scripted.sse(b"first", Pause("stopping"), b"last")
    with running_upstream(answer) as upstream, recording(upstream, grace_s=60) as proxy, connected(proxy) as client:
        client.sendall(request())
        until(client, b"first")
        stopping = threading.Thread(target=proxy.stop)
        stopping.start()
        _until_closed_to_new_clients(proxy)
        upstream.release("stopping")
        assert until_closed(client).endswith(b"last\r\n0\r\n\r\n")
        stopping.join(DEADLINE_S)
        assert proxy.seen.one().ends == [ExchangeEnd.COMPLETE]


def _until_closed_to_new_clients(proxy: Proxy) -> None:
    """Wait until nobody listens there, without connecting: asyncio of Python 3.11 loses what it accepts at the end."""
    address = proxy.address
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address.host, address.port))
            except OSError:  # somebody listens
                time.sleep(0.01)
            else:
                return
    pytest.fail("The proxy still listens.")


def test_on_stopping_a_stream_that_goes_on_is_ended_and_its_observer_is_told() -> None:
    with running_upstream(scripted.sse(b"first", Pause())) as upstream, recording(upstream) as proxy:
        with connected(proxy) as client:
            client.sendall(request())
            until(client, b"first")
            proxy.stop()
            assert not until_closed(client).endswith(b"0\r\n\r\n")
        seen = proxy.seen.one()
    assert seen.ends == [ExchangeEnd.NOT_STORED]
    assert "stopped" in seen.message


def test_an_upstream_that_is_the_proxy_itself_is_refused_at_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def start() -> None:
        config = ProxyConfig((parse_upstream(f"http://localhost:{port}"),), port=port)
        async with running_proxy(config, Keeps()):
            pass

    with pytest.raises(ProxyConfigError, match="the proxy itself"):
        asyncio.run(start())
