"""Requests and answers through the proxy as bytes: what is passed on, what stays behind, and how endings are told."""

import json
import socket

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.proxies import Proxy, recording
from tests.capture.upstream import DEADLINE_S, Answer, Drop, Framing, Pause, Raw, running_upstream
from weaklink.inspector.sessions.exchange import ExchangeEnd

OK = Answer((b"ok",), framing=Framing.LENGTH)


def connected(proxy: Proxy) -> socket.socket:
    return socket.create_connection((proxy.address.host, proxy.address.port), timeout=DEADLINE_S)


def talk(proxy: Proxy, raw: bytes) -> bytes:
    """Send bytes on a connection of their own, and read until the proxy closes it."""
    with connected(proxy) as client:
        client.sendall(raw)
        return until_closed(client)


def until_closed(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def until(connection: socket.socket, end: bytes) -> bytes:
    got = b""
    while end not in got:
        piece = connection.recv(65536)
        assert piece, got
        got += piece
    return got


def request(target: str = "/v1/x", *headers: str, method: str = "POST", body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *headers, *length]
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def test_the_answers_head_is_the_upstreams_with_its_order_its_repeats_and_nothing_of_ours() -> None:
    headers = (
        ("X-b", "1"),
        ("set-cookie", "a=1"),
        ("X-A", "2"),
        ("set-cookie", "b=2"),
        ("x-utf", "Z\xc3\xbcrich"),
    )
    names = [*(name for name, _ in headers), "Content-Length"]
    answer = Answer((b"ok",), status=207, reason="So it is", headers=headers, framing=Framing.LENGTH)
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request())
        assert got == answer.head()[:-2] + b"Connection: close\r\n\r\nok"
        assert [name for name, _ in proxy.seen.one().headers] == names


def test_the_upstream_gets_no_header_of_ours_and_none_that_belongs_to_the_clients_connection() -> None:
    own = ["x-b: 1", "X-A: 2", "x-b: 3", "Te: trailers", "Keep-Alive: 5", "Proxy-Authorization: Basic x", "x-hop: 1"]
    raw = request("/v1/x", *own, body=b"{}").replace(b"Connection: close", b"Connection: close, x-hop")
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        talk(proxy, raw)
        host = upstream.url.removeprefix("http://")
        expected = [("Host", host), ("x-b", "1"), ("X-A", "2"), ("x-b", "3"), ("Content-Length", "2")]
        assert upstream.requests[0].headers == expected


@pytest.mark.parametrize(
    "target",
    ["/v1/x?a=%2F&b=%20+%C3%BC&c", "/a%2Fb/../c/./d", "//double//slash", "/%7Euser/~x", "/x?url=http://a/b?c#d"],
)
def test_the_target_goes_on_as_it_was_written(target: str) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        talk(proxy, request(target))
        assert upstream.requests[0].target == target.partition("#")[0]


def test_the_upstreams_own_path_stands_before_what_follows_the_prefix() -> None:
    with running_upstream(OK) as upstream, recording(f"/router={upstream.url}/api") as proxy:
        talk(proxy, request("/router/v1/chat?x=1"))
        assert upstream.requests[0].target == "/api/v1/chat?x=1"
        head = proxy.seen.one().head
        assert (head.upstream, head.target) == (f"{upstream.url}/api", "/v1/chat?x=1")


def test_a_chunked_body_goes_on_chunk_by_chunk_and_one_of_known_length_with_its_length() -> None:
    chunked = request("/v1/x", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        talk(proxy, chunked)
        talk(proxy, request(body=b"fghij"))
        first, second = upstream.requests
        assert (first.chunks, first.header("Transfer-Encoding")) == ([b"abc", b"de"], "chunked")
        assert (bytes(second.body), second.header("Content-Length")) == (b"fghij", "5")
        proxy.seen.wait_until(lambda: len(proxy.seen.exchanges) == 2)
        assert [bytes(seen.request) for seen in proxy.seen.exchanges] == [b"abcde", b"fghij"]


def test_a_body_reaches_the_upstream_while_the_client_still_sends_it() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        connection.sendall(request("/v1/x", "Content-Length: 8") + b"half")
        upstream.wait_until(lambda: bytes(upstream.requests[0].body) == b"half" if upstream.requests else False)
        connection.sendall(b"rest")
        assert until_closed(connection).endswith(b"\r\n\r\nok")


def test_a_packed_body_goes_on_packed() -> None:
    packed = scripted.gzip_of(scripted.json_answer({"model": "m"})).body
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        talk(proxy, request("/v1/x", "Content-Encoding: gzip", body=packed))
        assert bytes(upstream.requests[0].body) == packed == bytes(proxy.seen.one().request)


def test_a_body_of_many_megabytes_arrives_whole() -> None:
    body = bytes(range(256)) * (32 * 4096)
    answer = Answer((body,), framing=Framing.LENGTH)
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request(body=body))
        assert bytes(upstream.requests[0].body) == body
        assert got.endswith(body)
        assert proxy.seen.one().body == body


def test_a_client_that_expects_100_gets_it_and_the_upstream_is_not_asked() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        connection.sendall(request("/v1/x", "Expect: 100-continue", "Content-Length: 2"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert until_closed(connection).endswith(b"\r\n\r\nok")
        assert upstream.requests[0].header("Expect") is None


def test_connections_are_kept_on_both_sides() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        for _ in range(3):
            connection.sendall(request(body=b"{}").replace(b"Connection: close\r\n", b""))
            assert until(connection, b"ok") == OK.head() + b"ok"
        assert upstream.connections == 1


def test_a_head_request_and_an_answer_without_a_body_end_with_their_head() -> None:
    head = Answer((Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),), bare=True)
    empty = Answer((Raw(b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n"),), bare=True)
    with running_upstream(head, empty) as upstream, recording(upstream) as proxy:
        assert (
            talk(proxy, request(method="HEAD")) == b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n"
        )
        for _ in range(2):
            assert talk(proxy, request()) == b"HTTP/1.1 204 No Content\r\nX-A: 1\r\nConnection: close\r\n\r\n"
        proxy.seen.wait_until(lambda: [seen.ends for seen in proxy.seen.exchanges] == [[ExchangeEnd.COMPLETE]] * 3)


def test_a_client_of_http_1_0_gets_a_stream_that_ends_with_the_connection() -> None:
    answer = scripted.chat_stream("Rain")
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got = talk(proxy, b"POST /v1/x HTTP/1.0\r\n\r\n")
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK")
    assert b"chunked" not in head
    assert body == answer.body


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("reset", [True, False])
def test_a_dropped_upstream_is_never_a_clean_end(framing: Framing, reset: bool) -> None:
    if framing is Framing.CLOSE and not reset:
        pytest.skip("Where only closing tells the end, a closing is the end: nobody can tell.")
    answer = Answer((b"first", Pause("read"), b"second", Drop(reset=reset)), framing=framing, length=99)
    with running_upstream(answer) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        connection.sendall(request())
        until(connection, b"first")
        upstream.release("read")
        try:
            rest = until_closed(connection)
        except ConnectionResetError:
            rest = b"reset"
        seen = proxy.seen.one()
    assert seen.ends == [ExchangeEnd.UPSTREAM_DROPPED]
    assert seen.body == b"firstsecond"
    if framing is Framing.CLOSE:
        assert rest.endswith(b"reset")
    else:
        assert b"second" in rest
        assert not rest.endswith(b"0\r\n\r\n")


def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    answer = Answer((b"first", b"second"), framing=Framing.CLOSE)
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        assert talk(proxy, request()) == answer.head() + b"firstsecond"
        assert proxy.seen.one().ends == [ExchangeEnd.COMPLETE]


def test_half_a_chunk_is_passed_on_and_recorded() -> None:
    answer = Answer((b"first", Raw(b"ff\r\nonly this"), Drop(reset=False)))
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request())
        seen = proxy.seen.one()
    assert (seen.body, seen.ends) == (b"firstonly this", [ExchangeEnd.UPSTREAM_DROPPED])
    assert b"only this" in got
    assert not got.endswith(b"0\r\n\r\n")


def test_bytes_that_are_no_chunk_break_the_answer_off() -> None:
    answer = Answer((b"first", Pause("read"), Raw(b"nonsense\r\n"), Pause()))
    with running_upstream(answer) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        connection.sendall(request())
        proxy.seen.wait_until(lambda: bool(proxy.seen.exchanges and proxy.seen.exchanges[0].chunks))
        upstream.release("read")
        assert not until_closed(connection).endswith(b"0\r\n\r\n")
        assert proxy.seen.one().ends == [ExchangeEnd.UPSTREAM_DROPPED]


@pytest.mark.parametrize("pieces", [(Drop(),), (Drop(reset=False),), (Raw(b"SMTP ready\r\n\r\n"), Pause())])
def test_an_upstream_that_drops_before_it_answers_is_a_502_in_words(pieces: tuple[Drop | Raw | Pause, ...]) -> None:
    with running_upstream(Answer(pieces, bare=True)) as upstream, recording(upstream) as proxy:
        got = talk(proxy, request("/v1/x?key=hunter2", body=b"{}"))
        seen = proxy.seen.one()
        message = _refusal(got, 502, "upstream_dropped")
        assert upstream.url in message
    assert (seen.ends, seen.message) == ([ExchangeEnd.UPSTREAM_DROPPED], message)


def test_an_upstream_that_is_not_there_is_a_502_that_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with recording(url) as proxy:
        message = _refusal(talk(proxy, request("/v1/x?key=hunter2", body=b"{}")), 502, "upstream_not_connected")
        assert url in message
        assert proxy.seen.one().ends == [ExchangeEnd.NOT_CONNECTED]


def test_an_upstream_that_sends_nothing_is_a_504_after_the_read_timeout_and_a_stalled_stream_breaks_off() -> None:
    silent, stalled = Answer((Pause(),), bare=True), scripted.sse(b"first", Pause())
    with running_upstream(silent, stalled) as upstream, recording(upstream, read_timeout_s=0.3) as proxy:
        _refusal(talk(proxy, request("/v1/x?key=hunter2", body=b"{}")), 504, "upstream_read_timeout")
        got = talk(proxy, request(body=b"{}"))
        assert b"first" in got
        assert not got.endswith(b"0\r\n\r\n")
        proxy.seen.wait_until(lambda: [seen.ends for seen in proxy.seen.exchanges] == [[ExchangeEnd.TIMED_OUT]] * 2)


def test_an_answer_that_comes_before_the_whole_request_is_passed_on() -> None:
    early = Answer((b"too much",), status=413, reason="Content Too Large", framing=Framing.LENGTH, early=True)
    with running_upstream(early) as upstream, recording(upstream) as proxy, connected(proxy) as connection:
        connection.sendall(request("/v1/x", "Content-Length: 1000") + b"some")
        assert until(connection, b"too much").startswith(b"HTTP/1.1 413 Content Too Large")
        assert proxy.seen.one().status == 413


def test_a_websocket_is_refused_in_words() -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        raw = request("/v1/x", "Upgrade: websocket", method="GET").replace(b"Connection: close", b"Connection: Upgrade")
        _refusal(talk(proxy, raw), 501, "upgrade_not_supported")
        assert not upstream.requests


def _refusal(got: bytes, status: int, code: str) -> str:
    """The message of one of the proxy's own answers."""
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), got
    error = json.loads(body)["error"]
    assert (error["type"], error["code"]) == ("weaklink_proxy_error", code)
    assert error["message"].endswith(".")
    assert "hunter2" not in error["message"]
    return str(error["message"])


HIGH = bytes(range(0x80, 0x100))
LATIN_1 = "Zürich".encode("latin-1")


def header_line(head: bytes, name: bytes) -> bytes:
    return next(line for line in head.split(b"\r\n") if line.lower().startswith(name + b":"))


@pytest.mark.parametrize("value", [LATIN_1, "Zürich".encode(), HIGH, b"\xc3", b"a\t\xff b"], ids=repr)
@pytest.mark.parametrize(
    ("method", "body"),
    [
        (b"GET", b"\r\n"),
        (b"POST", b"\r\n"),
        (b"POST", b"Content-Length: 4\r\n\r\nbody"),
        (b"POST", b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
    ],
    ids=["GET", "POST", "with a length", "chunked"],
)
def test_a_header_of_any_bytes_reaches_the_upstream_as_it_was(method: bytes, body: bytes, value: bytes) -> None:
    raw = b"%s /v1/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Name: %s\r\nX-Last: 1\r\n%s"
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        for sent in (value, b"plain"):
            assert b" 200 " in talk(proxy, raw % (method, sent, body))
        odd, plain = upstream.requests
        assert header_line(odd.head, b"x-name") == b"X-Name: " + value
        assert odd.head.replace(value, b"plain") == plain.head  # and nothing else differs
        assert (odd.body, odd.is_whole) == (plain.body, True)


def test_a_header_of_any_bytes_reaches_the_client_as_it_was() -> None:
    head = b"HTTP/1.1 200 Gr\xfc\xdfe\r\nX-A: " + HIGH + b"\r\nX-B: " + LATIN_1 + b"\r\nContent-Length: 2\r\n"
    with running_upstream(Answer((Raw(head + b"\r\nok"),), bare=True)) as upstream, recording(upstream) as proxy:
        assert talk(proxy, request()) == head + b"Connection: close\r\n\r\nok"


@pytest.mark.parametrize(
    "target",
    [
        "/v1//x/../%e9%2F%zz",
        "/v1/x;a=%20+",
        "/v1/x?q=caf%e9&u=%C3%A9/%E9?x[]={'a'}&p=../",
        "/v1/%",
        "/v1/x|^`",
    ],
)
def test_a_target_reaches_the_upstream_as_it_was(target: str) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        assert b" 200 " in talk(proxy, request(target))
        assert upstream.requests[0].target == target


@pytest.mark.parametrize("target", [b"/v1/caf\xe9", b"/v1/x?q=\xc3\xa9"])
def test_a_target_with_bytes_that_no_target_has_is_refused_and_not_forwarded_as_another(target: bytes) -> None:
    with running_upstream(OK) as upstream, recording(upstream) as proxy:
        assert b" 400 " in talk(proxy, request("/v1/x").replace(b"/v1/x", target))
        assert (upstream.requests, proxy.seen.exchanges) == ([], [])


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
GOOD = b"5\r\nhello\r\n7\r\n world\n\r\n"
AFTER = {
    "no length": b"zz\r\nnonsense\r\n",
    "a length too long": b"fffffffffffffffff\r\n",
    "no end of a chunk": b"3\r\nabcX",
    "another answer": b"HTTP/1.1 200 OK\r\n\r\n",
    "binary": b"\xff\x00\x01",
}


@pytest.mark.parametrize("hints", [b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"], ids=["", "after hints"])
@pytest.mark.parametrize("wrong", AFTER)
def test_good_chunks_that_come_with_an_invalid_one_are_delivered_and_kept(wrong: str, hints: bytes) -> None:
    """However they are cut, also on a connection that was used before."""
    raw = hints + CHUNKED + GOOD + AFTER[wrong]
    whole = len(hints + CHUNKED + GOOD)
    said = b"hello world\n" + (b"abc" if wrong == "no end of a chunk" else b"")
    cuts = [0, len(hints), len(hints + CHUNKED) - 2, len(hints + CHUNKED), whole - 9, whole, len(raw)]
    wrongs = [Answer((Raw(raw[:cut]), Pause(f"{cut}"), Raw(raw[cut:])), bare=True) for cut in cuts]
    answers = [answer for wrong_answer in wrongs for answer in (OK, wrong_answer)]
    with running_upstream(*answers) as upstream, recording(upstream) as proxy:
        for cut in cuts:
            assert talk(proxy, request()).endswith(b"ok")
            with connected(proxy) as client:
                client.sendall(request())
                upstream.wait_until(lambda: len(upstream.requests) % 2 == 0)
                upstream.release(f"{cut}")
                head, _, body = until_closed(client).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK"), cut
            assert dechunked(body) == said, cut
        proxy.seen.wait_until(lambda: all(seen.ends for seen in proxy.seen.exchanges))
        kept = proxy.seen.exchanges[1::2]
        assert [(seen.status, seen.body, seen.ends) for seen in kept] == [
            (200, said, [ExchangeEnd.UPSTREAM_DROPPED])
        ] * len(cuts)


def dechunked(body: bytes) -> bytes:
    """The chunks of a body that breaks off; it has no end."""
    said = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        assert length, "a body that broke off is not ended"
        said, body = said + rest[:length], rest[length + 2 :]
    return said
