"""The SDKs of OpenAI, Anthropic and Ollama replay offline from a recording of `weaklink run`, streamed and whole."""

import sys
from pathlib import Path

import pytest

from tests.capture import scripted_answers as scripted
from tests.capture.upstream import Answer, Received, running_upstream
from tests.ui.cli.test_replay import weaklink
from weaklink.inspector.model import Json

_CLIENTS = """
import anthropic, ollama, openai
words = [{"role": "user", "content": "Is it warm?"}]
client = openai.OpenAI(api_key="none", max_retries=2)
print(client.chat.completions.create(model="m", messages=words).choices[0].message.content)
with client.chat.completions.create(model="m", messages=words, stream=True) as stream:
    print([chunk.choices[0].delta.content for chunk in stream if chunk.choices])
messages = anthropic.Anthropic(api_key="none", max_retries=0).messages
print(messages.create(model="m", max_tokens=9, messages=words).content[0].text)
with messages.stream(model="m", max_tokens=9, messages=words) as stream:
    print(list(stream.text_stream))
print(ollama.Client().chat(model="m", messages=words).message.content)
print([one.message.content for one in ollama.Client().chat(model="m", messages=words, stream=True)])
"""


def _chat(text: str) -> Json:
    choice: Json = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _ollama(text: str) -> Json:
    message: Json = {"role": "assistant", "content": text}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}


@pytest.mark.slow
def test_the_sdks_replay_offline_with_the_same_output(tmp_path: Path) -> None:
    has_failed = False

    def answer(request: Received) -> Answer:
        nonlocal has_failed
        streams = b'"stream":true' in request.body.replace(b" ", b"")
        if request.target.endswith("/messages"):
            return scripted.messages_stream("Ye", "s.") if streams else scripted.messages_answer("Yes, warm.")
        if request.target.endswith("/api/chat"):
            return scripted.ollama_stream("Wa", "rm.") if streams else scripted.json_answer(_ollama("Warm it is."))
        if request.is_whole and not has_failed:
            has_failed = True
            return scripted.error(429, "Slow down")
        return scripted.chat_stream("It", " is.") if streams else scripted.json_answer(_chat("It is warm."))

    with running_upstream(answer) as upstream:
        done = weaklink(tmp_path, "run", "--upstream", upstream.url, "--", sys.executable, "-c", _CLIENTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "It is warm."
    for _ in range(2):
        again = weaklink(tmp_path, "replay", "latest", "--", sys.executable, "-c", _CLIENTS)
        assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
        assert "replayed 7 of 7 recorded requests" in again.stderr
