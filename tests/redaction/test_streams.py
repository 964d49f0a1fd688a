"""A text that arrives in pieces is redacted as the whole text is: fragments of secrets, in any order, cut anywhere."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.redaction.secrets_made_up import INTRODUCED
from weaklink.inspector.redaction import finding
from weaklink.inspector.redaction.introductions import KEYS
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.redaction.secret_values import FoundIntroduction

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
    return "".join((*map(stream.feed, pieces), stream.close()))


def _compare(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        text = _text(rng)
        pieces = list(_pieces(rng, text))
        assert _streamed(iter(pieces)) == Redactor().text(text), pieces


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
def test_fragments_in_pieces_give_what_the_whole_text_gives(seed: int) -> None:
    _compare(seed, 250)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_fragments_in_pieces_give_what_the_whole_text_gives(seed: int) -> None:
    _compare(seed, 3_000)


_REPEATED = (
    *("Bearer a1 ", "password a ", "token: x ", "<arg_key>password</arg_key> ", "pwd=", "Authorization: ", "secret "),
    *(
        "api_key_id ",
        '"password": ',
        "password is 1.2.3 ",
        "passwords a1 ",
        "db_key1: a1 ",
        "value: x ",
        "mysql -px ",
        "Cookie: a=",
    ),
    *("the password is hunter22 and ", "password: hunter22 ", "Bearer abcdefghij1234567 "),
)


@pytest.mark.parametrize("unit", _REPEATED)
def test_a_place_is_judged_once_however_small_the_pieces_are(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text in single characters takes as many verdicts as the whole one, and not as many again for each scan."""
    judged: list[int] = []

    def counted(*introduction: Any) -> FoundIntroduction:
        judged.append(1)
        return FoundIntroduction(*introduction)

    monkeypatch.setattr(finding, "FoundIntroduction", counted)
    text = unit * (3_000 // len(unit))
    whole = Redactor().text(text)
    verdicts = len(judged)
    assert verdicts
    assert _streamed(iter(text)) == whole
    assert len(judged) - verdicts <= verdicts


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 15])
@pytest.mark.parametrize(
    "text",
    ["app:s3cretPass9@db.example.com/x and\n", "app:pw12xyz@db.example.com\n", "app:key7Token1@tcp(db:3306)/x on\n"],
)
def test_a_password_that_holds_a_name_waits_for_its_host(text: str, size: int) -> None:
    stream = Redactor().new_stream()
    pieces = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*pieces, stream.close()]) == Redactor().text(text) != text


@pytest.mark.parametrize("unit", ["The token is a word. ", "password a ", "value: x ", "secret "])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_a_long_stream_loses_no_character(unit: str, size: int) -> None:
    text = (unit * 400)[:4_000]
    stream = Redactor().new_stream()
    pieces = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*pieces, stream.close()]) == Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2hunter2 key_iQxru5y10y7iX0f5nX2o9JVozJ04DkbWmb0hwqouAVzt69 and on",
        '{"note": "\\u05e1\\u05d9\\u05e1\\u05de\\u05d4: xK29fjQ0aL7pZr3V\\n"}',
        "secret id: -----BEGIN PRIVATE KEY-----\n"
        + "Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk0Ll1Mm2Nn3\n" * 3
        + "-----END PRIVATE KEY----- token: a "
        + "password is 1.2.3 " * 20,
    ],
)
def test_secrets_behind_others_go_in_pieces_of_any_size(text: str) -> None:
    whole = Redactor().text(text)
    assert whole != text
    for size in range(1, 40):
        assert _streamed(text[start : start + size] for start in range(0, len(text), size)) == whole
