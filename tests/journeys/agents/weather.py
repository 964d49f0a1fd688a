"""What every agent here has: one tool, its arguments, and what it prints; only `--record` knows of weaklink.

    python openai_chat.py answered "How warm is it?" ["A second question, at the same time" ...] [--record PLACE]

The first word is the model. Each answer is printed on a line; an error of the SDK ends the agent with status 1.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SYSTEM = "Answer in one sentence. Use the tools."
SCHEMA: Any = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


TOOL_TAKES_S = 0.15
HOURS = 2_000 if sys.argv[1] == "odd-arguments" else 2
"""A recording is written meanwhile: what comes after the tool is written separately."""


class StoppedError(Exception):
    """The agent died inside its tool."""


def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: A city.
    """
    if MODEL == "unanswered":
        raise StoppedError
    time.sleep(TOOL_TAKES_S)
    hours = [{"hour": hour, "celsius": hour % 24 / 2, "sky": "rain"} for hour in range(HOURS)]
    return json.dumps({"city": city, "celsius": 3, "hours": hours}, ensure_ascii=False)


def called(arguments: str) -> str:
    """The result of the tool for arguments as the model wrote them, or what is wrong with them."""
    try:
        return get_weather(**json.loads(arguments))
    except ValueError as error:
        return f"Error: the arguments are not JSON: {error}"


def recorded(client: Any) -> Any:
    """The client; with `--record`, weaklink records what it sends and receives."""
    if PLACE is None:
        return client
    import weaklink

    return weaklink.record(client, PLACE)


def main(ask: Callable[[str], str]) -> None:
    """Ask all questions at once."""
    gc.enable()
    with ThreadPoolExecutor(max(len(QUESTIONS), 1)) as threads:
        asked = [threads.submit(ask, question) for question in QUESTIONS]
    status = 0
    for future in asked:
        try:
            print(future.result())
        except StoppedError:
            print("I stop here.")
        except Exception as error:
            print(f"agent: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
    sys.exit(status)


MODEL, *_words = sys.argv[1:]
PLACE = _words[_words.index("--record") + 1] if "--record" in _words else None
QUESTIONS = _words[: _words.index("--record")] if "--record" in _words else _words
