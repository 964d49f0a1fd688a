"""A test of an agent that needs no model: its requests are answered from `runs/weather.jsonl`, beside this file.

Run it with `pytest examples/test_agent_replay.py`. To record the file anew, name a server that speaks OpenAI's API:
`OPENAI_BASE_URL=http://127.0.0.1:8000/v1 pytest --weaklink-record examples/test_agent_replay.py`.
"""

import json
import os
import urllib.request

from weaklink.inspector.pytest_plugin.replaying import WeaklinkReplay


def ask(words: str) -> str:
    """Ask the model that the environment names."""
    body = {"model": "hermes-4-70b", "messages": [{"role": "user", "content": words}]}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        text: str = json.load(answer)["choices"][0]["message"]["content"]
    return text


def test_the_agent_says_that_it_is_warm(weaklink_replay: WeaklinkReplay) -> None:
    """The recording answers; a request that says something else fails this test."""
    weaklink_replay("runs/weather.jsonl")
    assert ask("Is it warm in Oslo?") == "It is warm in Oslo."
