"""The events of a stream, whose frames are searched for signs once, hold the same secrets as any other text."""

import json
from random import Random

import pytest

from weaklink.inspector.redaction import finding
from weaklink.inspector.redaction.finding import find_secrets

_FRAMES = (
    '{{"choices": [{{"index": 0, "delta": {{"content": {}}}, "finish_reason": null}}]}}',
    '{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{}}}}}',
    '{{"model":"qwen3","message":{{"role":"assistant","content":{}}},"password":"Tr0ub4dor&3","done":false}}',
    '{{"id":"run-of-today","by":"ghp_x7Tq0RkW3mZbY8vLc2NfPd5HsJ1uGa9EoXiC","choices":[{{"text":{}}}],"usage":null}}',
)
_PLANTED = (
    " password: hunter2hunter2",
    "--password s3cr3tS3cr3t",
    " api_key=12345678abcd",
    "https://user:hunter2@example.org/x",
    "mysql -phunter2",
    " curl -u user:hunter2",
    " Bearer abcdef0123456789",
    " ghp_x7Tq0RkW3mZbY8vLc2NfPd5HsJ1uGa9EoXiC",
    "AKIAQ3EGT7XKZ5PLM2VB",
)


@pytest.mark.parametrize("seed", range(40))
def test_a_stream_of_events_holds_the_secrets_of_its_text(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    frame = random.choice(_FRAMES)
    words = [random.choice((" harbour", " the", " of", " 1890", " boats")) for _ in range(200)]
    at = random.randrange(len(words))
    planted = random.choice(_PLANTED)
    words[at] = planted
    if random.random() < 0.5:  # in several pieces, each of which stands in a frame of its own
        cut = random.randrange(1, len(planted))
        words[at : at + 1] = [planted[:cut], planted[cut:]]
    start, end = random.choice((("data: ", "\n\n"), ("", "\n"), ("event: message\ndata: ", "\n\n")))
    text = "".join(start + frame.format(json.dumps(word)) + end for word in words)
    if "password" not in frame and "event:" not in start:
        assert len(finding._without_frames(text.lower().encode())) < len(text)  # it was shortened
    found = find_secrets(text)
    monkeypatch.setattr(finding, "_without_frames", lambda lowered: lowered)
    assert found == find_secrets(text)
