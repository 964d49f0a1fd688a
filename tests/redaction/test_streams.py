"""A text that arrives in pieces is redacted as the whole text is: fragments of secrets, in any order, cut anywhere."""

import random
from collections.abc import Iterator

import pytest

from tests.redaction.secrets_made_up import INTRODUCED
from weaklink.inspector.redaction.keys import KEYS
from weaklink.inspector.redaction.redactor import Redactor

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_WORDS = (
    *("The", "harbour", "lies", "on", "quay.", "it's", "In", "1890", "kept:", "key.", "password.", "pass:", "secret"),
    *("hvs.", "pat.", "sl.", "dapi", "cio", "token:", "Bearer", "bearer", "Basic", "-u", "--user", "mysql", "-p"),
    *("--password", "x", "https://a:b@h", "sk-ant-", "ghp_", "SG.", "eyJ", ".atlasv1.", "auth.", "curl"),
    *("<token>", "</token>", '<secret id="', '">', "&quot;", '\\"', '"', "'", "{", "}", "=", "\\n", "%20", "@", "\n"),
    *("redis-cli", "-a", "docker", "login", "sshpass", "set-cookie:", "session=", "é", "api_key", "://", "&x=1"),
    "joe:x1y2z3w4",
)
_GAPS = (" ", " ", " ", "", "\n", ".", ":")
_SIZES = (1, 2, 5, 20, 30)


def _text(rng: random.Random) -> str:
    return "".join(rng.choice(_GAPS) + _fragment(rng) for _ in range(rng.randrange(3, 40)))


def _fragment(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.15:
        shape = rng.choice(KEYS)
        return shape.prefix + _random_letters(rng, shape.at_least + rng.randrange(3))
    if kind < 0.2:
        before, secret, after = rng.choice(list(INTRODUCED.values()))
        return before + secret + rng.choice((after, ""))
    return _random_letters(rng, rng.choice((8, 24))) if kind < 0.3 else rng.choice(_WORDS)


def _random_letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(_LETTERS) for _ in range(count))


def _pieces(rng: random.Random, text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = rng.choice(_SIZES)
        yield text[at : at + size]
        at += size


def _streamed(pieces: Iterator[str]) -> str:
    stream = Redactor().new_stream()
    arrived = [piece if stream.accepts_unchanged(piece) else stream.feed(piece) for piece in pieces]
    return "".join((*arrived, stream.close()))


def _compare(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        text = _text(rng)
        pieces = list(_pieces(rng, text))
        assert _streamed(iter(pieces)) == Redactor().text(text), pieces


@pytest.mark.parametrize("seed", range(4))
def test_fragments_in_pieces_give_what_the_whole_text_gives(seed: int) -> None:
    _compare(seed, 250)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_fragments_in_pieces_give_what_the_whole_text_gives(seed: int) -> None:
    _compare(seed, 3_000)
