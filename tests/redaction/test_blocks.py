"""A long text that begins and ends as an earlier one has the same secrets as if it were searched alone."""

import json
import random
import re
from collections.abc import Iterator

import pytest

from tests.redaction.rounds import texts, without_marks
from weaklink.inspector.redaction import finding
from weaklink.inspector.redaction.finding import Finder, find_secrets
from weaklink.inspector.redaction.introductions import Detector
from weaklink.inspector.redaction.redactor import Redactor

_TEXTS = [*map(without_marks, texts("*-secrets.txt")), *texts("*-harmless.txt")]


def _requests(source: random.Random) -> list[str]:
    """The requests of an agent whose messages grow, and at times lose one; tools are behind the messages."""
    tools = [{"type": "function", "function": {"name": "look", "description": source.choice(_TEXTS)}}] * 2
    share_of_plain, messages, requests = source.random(), list[dict[str, str]](), []
    for _ in range(8):
        for _ in range(source.randrange(1, 4)):
            plain = "plain words " * source.randrange(1, 120)
            content = plain if source.random() < share_of_plain else source.choice(_TEXTS)
            messages.append({"role": "user", "content": content})
        if source.random() < 0.2:
            messages.pop(source.randrange(len(messages)))
        requests.append(json.dumps({"messages": messages, "tools": tools}))
    return requests


@pytest.mark.parametrize("seed", range(48))
def test_what_earlier_texts_share_changes_nothing(seed: int) -> None:
    earlier: list[Finder] = []
    for text in _requests(random.Random(seed)):
        finder = Finder(text)
        finder.share(earlier)
        finder.scan(is_final=True)
        assert [(one.start, one.end) for one in finder.found()] == [(one.start, one.end) for one in find_secrets(text)]
        earlier.append(finder)


def test_nothing_is_looked_for_in_what_a_request_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "the token of the harbour lies there, " * 50
    messages = [{"role": "user", "content": f"Part {number}: {words}"} for number in range(40)]
    judged: list[int] = []
    matches = finding._matches

    def counted(detector: Detector, text: str, signs: list[int], start: int) -> Iterator[re.Match[str]]:
        judged.extend(signs)
        return matches(detector, text, signs, start)

    monkeypatch.setattr(finding, "_matches", counted)
    redactor = Redactor()
    numbers = []
    for count in (39, 40):
        judged.clear()
        body = json.dumps({"messages": messages[:count], "tools": []})
        assert redactor.text(body) == body
        numbers.append(len(judged))
    assert numbers[0] >= 39 * 50
    assert numbers[1] * 8 < numbers[0]
