"""Real SDK clients, recorded in their own process: what they get is what they got, and every exchange is told whole."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Drop, Pause, Upstream, running_upstream
from tests.lazy_module import LazyModule
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.capture.client_recording import is_observed, observe, unobserve
from weaklink.inspector.capture.safeguards import ErrorCounters
from weaklink.inspector.sessions.exchange import ExchangeEnd, Headers, RequestHead
from weaklink.inspector.wire.decoder import decode_answer

if TYPE_CHECKING:
    import anthropic
    import ollama
    import openai
else:
    anthropic, ollama, openai = LazyModule("anthropic"), LazyModule("ollama"), LazyModule("openai")


@dataclass
class Seen:
    """One exchange as an observer was told of it."""

    head: RequestHead
    request: bytes = b""
    status: int | None = None
    headers: Headers = ()
    pieces: list[bytes] = field(default_factory=list)
    end: ExchangeEnd | None = None
    message: str = ""
    times: list[float] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def request_arrived(self, raw: bytes) -> None:
        self.request += raw

    def answer_began(self, status: int, headers: Headers, at_s: float | None) -> None:
        assert self.status is None
        self.status, self.headers = status, headers
        self.times.append(at_s or 0.0)

    def answer_arrived(self, raw: bytes, at_s: float | None) -> None:
        assert self.end is None
        self.pieces.append(raw)
        self.times.append(at_s or 0.0)

    def ended(self, end: ExchangeEnd, at_s: float | None, message: str = "") -> None:
        assert self.end is None
        self.end, self.message = end, message
        self.times.append(at_s or 0.0)


class Watching:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def began(self, head: RequestHead) -> Seen:
        self.seen.append(Seen(head))
        return self.seen[-1]

    @property
    def only(self) -> Seen:
        (seen,) = self.seen
        return seen


MESSAGES: Any = [{"role": "user", "content": "Hello"}]


def openai_sync(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool, **options: Any) -> str:
    with openai.OpenAI(base_url=url + "/v1", api_key="sk-none", max_retries=0, **options) as client:
        assert observe(client, watching, mistakes) is client
        made: Any = client.chat.completions.create(model="h", messages=MESSAGES, stream=stream)
        if not stream:
            return str(made.choices[0].message.content)
        return "".join(chunk.choices[0].delta.content or "" for chunk in made if chunk.choices)


def openai_async(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool, **options: Any) -> str:
    async def run() -> str:
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="sk-none", max_retries=0, **options) as client:
            observe(client, watching, mistakes)
            made: Any = await client.chat.completions.create(model="h", messages=MESSAGES, stream=stream)
            if not stream:
                return str(made.choices[0].message.content)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in made if chunk.choices])

    return asyncio.run(run())


def anthropic_sync(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool) -> str:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        observe(client, watching, mistakes)
        if not stream:
            said: Any = client.messages.create(model="h", max_tokens=9, messages=MESSAGES).content[0]
            return str(said.text)
        with client.messages.stream(model="h", max_tokens=9, messages=MESSAGES) as events:
            return "".join(events.text_stream)


def anthropic_async(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool) -> str:
    async def run() -> str:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            observe(client, watching, mistakes)
            if not stream:
                made: Any = await client.messages.create(model="h", max_tokens=9, messages=MESSAGES)
                return str(made.content[0].text)
            async with client.messages.stream(model="h", max_tokens=9, messages=MESSAGES) as events:
                return "".join([text async for text in events.text_stream])

    return asyncio.run(run())


def ollama_sync(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool) -> str:
    client = observe(ollama.Client(host=url), watching, mistakes)
    made: Any = client.chat(model="h", messages=MESSAGES, stream=True)
    said = "".join(part.message.content or "" for part in made)
    client._client.close()
    return said


def ollama_async(url: str, watching: Watching, mistakes: ErrorCounters, *, stream: bool) -> str:
    async def run() -> str:
        client = observe(ollama.AsyncClient(host=url), watching, mistakes)
        made: Any = await client.chat(model="h", messages=MESSAGES, stream=True)
        said = "".join([part.message.content or "" async for part in made])
        await client._client.aclose()
        return said

    return asyncio.run(run())


OPENAI = (openai_sync, openai_async)
SPLIT = scripted.resplit(scripted.chat_stream("Hel", "lo"), size=3)
CASES: list[tuple[Callable[..., str], Answer, bool, str]] = [
    *((use, scripted.chat_stream("Hel", "lo"), True, "/v1/chat/completions") for use in OPENAI),
    *((use, scripted.chat_answer("Hello"), False, "/v1/chat/completions") for use in OPENAI),
    *(
        (use, scripted.resplit(scripted.chat_stream("Hel", "lo"), size=3), True, "/v1/chat/completions")
        for use in OPENAI
    ),
    *((use, scripted.gzipped(scripted.chat_stream("Hel", "lo")), True, "/v1/chat/completions") for use in OPENAI),
    (anthropic_sync, scripted.messages_stream("Hel", "lo"), True, "/v1/messages"),
    (anthropic_async, scripted.messages_stream("Hel", "lo"), True, "/v1/messages"),
    (anthropic_sync, scripted.messages_answer("Hello"), False, "/v1/messages"),
    (anthropic_async, scripted.messages_answer("Hello"), False, "/v1/messages"),
    (ollama_sync, scripted.ollama_stream("Hel", "lo"), True, "/api/chat"),
    (ollama_async, scripted.ollama_stream("Hel", "lo"), True, "/api/chat"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("use", "answer", "stream", "target"), CASES)
def test_a_client_gets_what_it_got_and_the_exchange_is_told_as_it_was_sent(
    use: Callable[..., str], answer: Answer, stream: bool, target: str
) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    with running_upstream(answer) as upstream:
        said = use(upstream.url, watching, mistakes, stream=stream)
        received = upstream.requests[0]
    assert said == "Hello"
    seen = watching.only
    assert (seen.head.method, seen.head.target, seen.head.upstream) == ("POST", target, upstream.url)
    assert seen.head.client.startswith("process ")
    assert seen.request == bytes(received.body)
    sent = {name.lower(): value for name, value in seen.head.headers}
    assert sent["content-type"] == received.header("Content-Type")
    assert seen.status == 200
    assert dict(answer.headers).items() <= dict(seen.headers).items()
    assert answer.body.startswith(seen.body)
    assert seen.end in (ExchangeEnd.COMPLETE, ExchangeEnd.CLIENT_LEFT)
    if seen.end is ExchangeEnd.COMPLETE:
        assert seen.body == answer.body
    assert seen.times == sorted(seen.times)
    assert seen.head.at_s is not None
    assert seen.head.at_s <= seen.times[0]
    is_packed = any(name.lower() == "content-encoding" for name, _ in seen.headers)
    raw = zlib.decompressobj(47).decompress(seen.body) if is_packed else seen.body
    decoded = decode_answer(decoder_for(target), [(None, raw)])
    assert [part.text for part in decoded.turn.parts if part.name == "text"] == ["Hello"]
    assert mistakes.count == 0


@pytest.mark.parametrize("use", OPENAI)
def test_a_dropped_upstream_is_told_with_what_came(use: Callable[..., str]) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    answer = scripted.chat_stream("Hel", Drop(reset=False), "lo")
    with running_upstream(answer) as upstream, pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
        use(upstream.url, watching, mistakes, stream=True)
    assert watching.only.end is ExchangeEnd.UPSTREAM_DROPPED
    assert "Hel" in watching.only.body.decode()
    assert "Error: " in watching.only.message


@pytest.mark.parametrize("use", OPENAI)
def test_a_stall_is_told_as_timed_out(use: Callable[..., str]) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    with running_upstream(scripted.chat_stream("Hel", Pause())) as upstream, pytest.raises(openai.APITimeoutError):
        use(upstream.url, watching, mistakes, stream=True, timeout=0.3)
    assert watching.only.end is ExchangeEnd.TIMED_OUT
    assert watching.only.status == 200


@pytest.mark.parametrize("use", OPENAI)
def test_nobody_there_is_told_as_not_connected(use: Callable[..., str]) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    with running_upstream(scripted.chat_answer("Hello")) as upstream:
        url = upstream.url
    with pytest.raises(openai.APIConnectionError):
        use(url, watching, mistakes, stream=False)
    assert watching.only.end is ExchangeEnd.NOT_CONNECTED
    assert watching.only.status is None
    assert b'"messages"' in watching.only.request


def test_retries_are_exchanges_of_their_own() -> None:
    watching, mistakes = Watching(), ErrorCounters()
    busy = scripted.error(429, "Too Many Requests")
    with running_upstream(busy, busy, scripted.chat_answer("Hello")) as upstream:
        client = openai.OpenAI(base_url=upstream.url + "/v1", api_key="none", max_retries=2)
        with observe(client, watching, mistakes):
            client.chat.completions.create(model="h", messages=MESSAGES)
    assert [seen.status for seen in watching.seen] == [429, 429, 200]
    assert [seen.end for seen in watching.seen] == [ExchangeEnd.COMPLETE] * 3
    assert len({seen.request for seen in watching.seen}) == 1


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_a_client_that_leaves_is_told_so(module: Any) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    with (
        running_upstream(scripted.chat_stream("Hel", Pause("more"), "lo")) as upstream,
        observe(module.Client(), watching, mistakes) as client,
    ):
        with client.stream("POST", upstream.url + "/v1/chat/completions", json={}) as answer:
            assert b"".join(next(answer.iter_raw()) for _ in range(1)).startswith(b"data:")
        assert watching.only.end is ExchangeEnd.CLIENT_LEFT
        upstream.release("more")


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_a_cancelled_task_is_a_client_that_left(module: Any) -> None:
    watching, mistakes = Watching(), ErrorCounters()

    async def run(upstream: Upstream) -> None:
        async with observe(module.AsyncClient(), watching, mistakes) as client:
            asking = asyncio.create_task(client.post(upstream.url + "/v1/chat/completions", json={}))
            while not (watching.seen and watching.only.pieces):
                await asyncio.sleep(0.005)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    with running_upstream(scripted.chat_stream("Hel", Pause())) as upstream:
        asyncio.run(run(upstream))
    assert watching.only.end is ExchangeEnd.CLIENT_LEFT


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_a_request_that_is_streamed_is_told_while_it_goes_out(module: Any) -> None:
    watching, mistakes = Watching(), ErrorCounters()

    def pieces() -> Iterator[bytes]:
        yield b"a" * 10
        yield b"b" * 10

    async def later() -> AsyncIterator[bytes]:
        for piece in pieces():
            yield piece

    async def run(url: str) -> None:
        async with observe(module.AsyncClient(), watching, mistakes) as client:
            await client.post(url, content=later())

    with running_upstream(scripted.chat_answer("Hello")) as upstream:
        with observe(module.Client(), watching, mistakes) as client:
            client.post(upstream.url, content=pieces())
        asyncio.run(run(upstream.url))
        received = [bytes(request.body) for request in upstream.requests]
    assert received == [b"a" * 10 + b"b" * 10] * 2
    assert [seen.request for seen in watching.seen] == received


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_mounts_are_recorded_and_everything_can_be_undone(module: Any) -> None:
    watching, mistakes = Watching(), ErrorCounters()
    fake = module.MockTransport(lambda request: module.Response(200, json={"made": "up"}))
    other = module.HTTPTransport()
    with module.Client(mounts={"http://fake": fake, "http://none": None}, transport=other) as client:
        observe(client, watching, mistakes)
        assert client.get("http://fake/x?y=1").json() == {"made": "up"}
        assert (watching.only.head.target, watching.only.end) == ("/x?y=1", ExchangeEnd.COMPLETE)
        assert watching.only.body == b'{"made":"up"}'
        assert is_observed(client)
        with pytest.raises(ValueError, match="This Client is already recorded"):
            observe(client, watching, mistakes)
        unobserve(client)
        assert client._transport is other
        assert {id(mounted) for mounted in client._mounts.values()} == {id(fake), id(None)}
        client.get("http://fake/x")
    assert len(watching.seen) == 1


class Raising:
    """An observer that raises whatever it is told."""

    def began(self, head: RequestHead) -> "Raising":
        return self

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize("use", OPENAI)
def test_an_observer_that_raises_does_no_harm(use: Callable[..., str]) -> None:
    mistakes = ErrorCounters()
    with running_upstream(scripted.chat_stream("Hel", "lo")) as upstream:
        assert use(upstream.url, Raising(), mistakes, stream=True) == "Hello"
    assert mistakes.count >= 4


@pytest.mark.parametrize("client", [object(), "client", None, openai])
def test_what_is_no_client_is_refused_in_words(client: object) -> None:
    with pytest.raises(TypeError, match="cannot be recorded: it is not an httpx or httpx2 client"):
        observe(client, Watching(), ErrorCounters())
