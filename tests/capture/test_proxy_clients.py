"""Real clients through the proxy: what they get is what the upstream sent, byte for byte."""

import asyncio
import gzip
import shutil
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.proxies import Proxy, recording
from tests.capture.upstream import Answer, Drop, Pause, running_upstream
from tests.lazy_module import LazyModule
from weaklink.inspector.sessions.exchange import ExchangeEnd

if TYPE_CHECKING:
    import anthropic
    import ollama
    import openai
else:
    anthropic, ollama, openai = LazyModule("anthropic"), LazyModule("ollama"), LazyModule("openai")

HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 🌧"}}\n</tool_call>'
CUT_ARGUMENTS = '{"city": "Zür'
TOOL: Any = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}},
}
WORDS: Any = [{"role": "user", "content": "How is the weather in Zürich?"}]


def _openai(proxy: Proxy) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="sk-scripted", max_retries=0)


def _curl(proxy: Proxy, *more: str, path: str = "/v1/chat/completions") -> subprocess.CompletedProcess[bytes]:
    curl = shutil.which("curl")
    assert curl is not None
    call = [curl, "--silent", "--no-buffer", "--max-time", "60", *more, proxy.url + path]
    return subprocess.run(call, capture_output=True, check=False)


STREAMS = {
    "plain": scripted.chat_stream("Rain", " in ", "Zürich 🌧."),
    "split into single bytes": scripted.resplit(scripted.chat_stream("Zürich 🌧"), size=1),
    "split at sevens": scripted.resplit(scripted.chat_stream("Zürich 🌧", "\r\n\u2028"), size=7),
    "gzip": scripted.gzipped(scripted.chat_stream("Zürich", " 🌧")),
    "gzip, split": scripted.resplit(scripted.gzipped(scripted.chat_stream("Zürich", " 🌧")), size=5),
    "in-band Hermes call": scripted.chat_stream(*HERMES),
    "without [DONE]": scripted.chat_stream("Rain", done=False),
    "malformed arguments": scripted.chat_tool_stream("get_weather", CUT_ARGUMENTS, "<garbage>"),
    "an error inside a 200": scripted.chat_error_inside_200("Ra"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_curl_gets_each_stream_byte_for_byte_and_the_observer_each_chunk(name: str) -> None:
    answer = STREAMS[name]
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got = _curl(proxy, "--data", "{}")
        seen = proxy.seen.one()
    assert got.stdout == answer.body
    assert seen.chunks == answer.chunks
    assert seen.ends == [ExchangeEnd.COMPLETE]
    assert seen.times == sorted(seen.times)


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "an error inside a 200"])
def test_the_openai_client_reads_each_stream_as_from_the_upstream_itself(name: str) -> None:
    def text_from(url: str) -> list[str]:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        with client, client.chat.completions.create(model="m", messages=WORDS, tools=[TOOL], stream=True) as stream:
            return [chunk.model_dump_json() for chunk in stream]

    with running_upstream(STREAMS[name]) as upstream, recording(upstream) as proxy:
        assert text_from(proxy.url) == text_from(upstream.url)
        direct, through = upstream.requests[1], upstream.requests[0]
        recorded, sent = proxy.seen.one().body, STREAMS[name].body
        assert sent.startswith(recorded)
        assert len(recorded) >= _length_of_all_text(sent)
    assert through.body == direct.body
    assert _comparable(through.headers) == _comparable(direct.headers)


def _length_of_all_text(sent: bytes) -> int:
    """How much of a body has all of its text; the client leaves there, and may not wait for gzip's end behind it."""
    if not sent.startswith(b"\x1f\x8b"):
        return len(sent)
    text = gzip.decompress(sent)
    return next(
        end for end in range(len(sent)) if zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(sent[:end]) == text
    )


def _comparable(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers without those that name the connection or count requests, each in lower case, in an order of its own."""
    return sorted((name.lower(), value) for name, value in headers if name.lower() not in {"host", "connection"})


def test_the_openai_client_gets_an_answer_that_is_not_streamed() -> None:
    answer = scripted.chat_answer(None, tool="get_weather", arguments='{"city": "Zürich"}')
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        with _openai(proxy) as client:
            got = client.chat.completions.with_raw_response.create(model="m", messages=WORDS)
        assert got.http_response.content == answer.body
        assert proxy.seen.one().body == answer.body
        assert upstream.requests[0].header("Authorization") == "Bearer sk-scripted"


def test_the_asynchronous_openai_client_streams_many_at_once_each_its_own() -> None:
    def answer(request: object) -> Answer:
        body = bytes(getattr(request, "body", b""))
        return scripted.chat_stream(*body.decode().partition('"user":"')[2].partition('"')[0])

    async def ask(client: openai.AsyncOpenAI, word: str) -> str:
        stream = await client.chat.completions.create(model="m", messages=WORDS, user=word, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    async def main(url: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            return list(await asyncio.gather(*(ask(client, word) for word in words)))

    words = [f"word-{number}" for number in range(20)]
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        assert asyncio.run(main(proxy.url)) == words


def test_the_anthropic_client_streams_text_and_a_tool_call() -> None:
    answer = scripted.messages_stream("Let me ", "see 🌧.", tool="get_weather", arguments=['{"ci', 'ty": "Zürich"}'])
    with running_upstream(scripted.resplit(answer, size=11)) as upstream:
        with recording(f"/anthropic={upstream.url}", f"/other={upstream.url}/else") as proxy:
            client = anthropic.Anthropic(base_url=f"{proxy.url}/anthropic", api_key="sk-ant", max_retries=0)
            with client, client.messages.stream(model="m", max_tokens=99, messages=WORDS) as stream:
                message = stream.get_final_message()
            assert [block.type for block in message.content] == ["text", "tool_use"]
            assert proxy.seen.one().body == answer.body
        assert upstream.requests[0].target == "/v1/messages"
        assert upstream.requests[0].header("Authorization") == "Bearer sk-ant"


def test_the_ollama_client_streams_lines_of_json() -> None:
    answer = scripted.ollama_stream("Rain ", "in Zürich")
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        with ollama.Client(proxy.url) as client:
            got = client.chat(model="m", messages=WORDS, stream=True)
            assert "".join(piece.message.content or "" for piece in got) == "Rain in Zürich"
        assert proxy.seen.one().chunks == answer.chunks


def test_gemini_keeps_its_query_and_its_path() -> None:
    answer = scripted.gemini_stream("Rain")
    path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse&key=AIza%2Fx"
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        assert _curl(proxy, "--data", "{}", path=path).stdout == answer.body
        assert upstream.requests[0].target == path


ERRORS: list[tuple[int, str, type[openai.APIStatusError]]] = [
    (429, "Too Many Requests", openai.RateLimitError),
    (500, "Internal Server Error", openai.InternalServerError),
    (529, "Site Overloaded", openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "reason", "error"), ERRORS)
def test_http_errors_pass_through_with_body_and_reason(
    status: int, reason: str, error: type[openai.APIStatusError]
) -> None:
    answer = scripted.error(status, reason, "Slower, please.")
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        with _openai(proxy) as client, pytest.raises(error) as caught:
            client.chat.completions.create(model="m", messages=WORDS)
        assert caught.value.response.content == answer.body
        assert caught.value.response.reason_phrase == reason
        assert (proxy.seen.one().status, proxy.seen.one().body) == (status, answer.body)


def test_a_dropped_upstream_is_a_broken_stream_for_the_client_after_all_that_was_sent() -> None:
    answer = scripted.chat_stream("Rain", " in", Drop())
    with running_upstream(answer) as upstream, recording(upstream) as proxy:
        got: list[str | None] = []
        with _openai(proxy) as client:
            stream = client.chat.completions.create(model="m", messages=WORDS, stream=True)
            with pytest.raises(openai.APIConnectionError):
                got.extend(chunk.choices[0].delta.content for chunk in stream)
        seen = proxy.seen.one()
    assert got == ["", "Rain", " in"]
    assert seen.ends == [ExchangeEnd.UPSTREAM_DROPPED]
    assert seen.chunks == answer.chunks[:3]


def test_each_piece_reaches_the_client_before_the_next_one_is_sent() -> None:
    words = ["Rain", " in ", "Zürich"]
    pieces = [piece for word in words for piece in (word, Pause(word))]
    with running_upstream(scripted.chat_stream(*pieces)) as upstream, recording(upstream) as proxy:
        got = []
        with _openai(proxy) as client:
            for chunk in client.chat.completions.create(model="m", messages=WORDS, stream=True):
                if chunk.choices and (content := chunk.choices[0].delta.content):
                    got.append(content)
                    upstream.release(content)
    assert got == words


def test_a_client_that_leaves_ends_the_request_to_the_upstream_and_is_recorded_as_such() -> None:
    with running_upstream(scripted.chat_stream("Rain", Pause())) as upstream, recording(upstream) as proxy:
        with _openai(proxy) as client:
            stream = client.chat.completions.create(model="m", messages=WORDS, stream=True)
            assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "Rain"]
            stream.close()
        upstream.wait_until(lambda: upstream.requests[0].left)
        seen = proxy.seen.one()
    assert seen.ends == [ExchangeEnd.CLIENT_LEFT]
    assert b"Rain" in seen.body


def test_a_client_that_leaves_before_the_answer_began_is_recorded_too() -> None:
    with running_upstream(Answer((Pause(),), bare=True)) as upstream, recording(upstream) as proxy:
        with _openai(proxy) as client, pytest.raises(openai.APITimeoutError):
            client.with_options(timeout=0.3).chat.completions.create(model="m", messages=WORDS)
        upstream.wait_until(lambda: upstream.requests[0].left)
        seen = proxy.seen.one()
    assert (seen.status, seen.ends) == (None, [ExchangeEnd.CLIENT_LEFT])
