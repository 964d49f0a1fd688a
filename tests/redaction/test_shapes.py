"""Every shape goes, behind every escape, at every level of escaping and however it is cut; what is none stays."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.redaction.planted import ALL, CONTEXTS, KEY_SHAPES, NAMED, Planted
from tests.shares import in_shares
from weaklink.inspector.redaction.introductions import KEYS
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor

_KEPT = [json.loads(line) for line in Path("tests/cases/redaction/kept.jsonl").read_text("utf-8").splitlines()]
_ESCAPES = (
    *("\\n", "\\t", "\\r", '\\"', "\\\\", "\\/", "\\b", "\\f", "\\u000a", "\\u003c", "\\u00e9", "\\x0a", "\\012"),
    *("%0A", "%20", "%22", "%3D", "%250A", "&quot;", "&#34;", "&#x22;", "&amp;", "&lt;", "\x1b[31m", "\\u001b[1;32m"),
    *("\n", "\t", '"', "'", "`", "(", "[", "{", "<", ">", "=", ":", ",", ";", "|", "/", "@", "é", "—", "日", "*", "_"),
)


def _is_gone(planted: Planted, redacted: str) -> bool:
    """No six characters of the secret in a row are left, but what line ends it has."""
    secret = planted.secret
    return not any(secret[at : at + 6] in redacted for at in range(max(1, len(secret) - 5)))


@in_shares(ALL)
def test_every_shape_goes_and_nothing_else(planted: Planted) -> None:
    redacted = Redactor().text(planted.text)
    assert _is_gone(planted, redacted)
    assert len(redacted) == len(planted.text)
    assert redacted.startswith(planted.before)
    assert redacted.endswith(planted.after)
    assert Redactor().text(redacted) == redacted


@in_shares(KEY_SHAPES)
def test_a_key_goes_behind_every_escape(planted: Planted) -> None:
    for escape in _ESCAPES:
        text = f"my keys{escape}{planted.text} and on"
        redacted = Redactor().text(text)
        assert _is_gone(planted, redacted), (escape, redacted)
        assert redacted.startswith(f"my keys{escape}")
        assert redacted.endswith(" and on")


@in_shares(ALL)
def test_every_shape_goes_in_json_in_json_and_leaves_json(planted: Planted) -> None:
    whole: object = {"stdout": f'total 1\n"{planted.name}"\t{planted.text}\nend', "code": 0}
    for level in range(1, 5):
        text = json.dumps(whole)
        redacted = Redactor().text(text)
        assert _is_gone(planted, redacted), level
        inner: Any = redacted
        for _ in range(level):
            inner = json.loads(inner)
        assert inner["code"] == 0
        whole = text


@pytest.mark.one_in(6)
@in_shares([*NAMED, *CONTEXTS])
def test_cut_anywhere_gives_the_same(planted: Planted) -> None:
    text = f"Look: {planted.text} and on."
    whole = Redactor().text(text)
    for cut in range(len(text) + 1):
        assert _streamed(text[:cut], text[cut:]) == whole
    assert _streamed(*text) == whole


def test_shapes_joined_at_random_and_cut_at_random_give_the_same() -> None:
    _join_and_cut(random.Random(1), times=150)


@pytest.mark.slow
def test_many_shapes_joined_at_random_and_cut_at_random_give_the_same() -> None:
    for seed in range(2, 12):
        _join_and_cut(random.Random(seed), times=5_000)


def _join_and_cut(source: random.Random, *, times: int) -> None:
    bits = [*(one.text for one in ALL), *(one.before for one in ALL), *_ESCAPES, *_KEPT]
    for _ in range(times):
        text = "".join(source.choice(bits) for _ in range(source.randint(1, 6)))
        whole = Redactor().text(text)
        assert Redactor().text(whole) == whole, text
        for most in (1, 3, 40):
            pieces, at = [], 0
            while at < len(text):
                pieces.append(text[at : at + source.randint(1, most)])
                at += len(pieces[-1])
            assert _streamed(*pieces) == whole, (text, pieces)


@in_shares(_KEPT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text
    assert _streamed(*text) == text
    quoted = json.dumps({"content": text})
    assert Redactor().text(quoted) == quoted


_WITH_IDS = (
    *(
        "https://dashboard.example.com/webhooks/10482/deliveries/{uuid}",
        "/webhooks/9918237/{sha1}",
        "useWebhookb2/{sha1}",
    ),
    *("redis: key_{sha1}", '"key_{md5}": 1', "shard-000123:a{sha1}", "etag-123456:a{md5}", "1764540000:a{uuid}"),
    *("sl.{sha1}", "sl.{sha256}", "AKCp{sha1}", "pul-{md5}", "ico-{md5:.28}", "csa_{md5:.28}", "nyk_{md5:.28}"),
    *("ion_{md5:.28}", "AKID{md5:.24}", "cio{md5:.24}", "cmVmd{sha1}"),
)


@pytest.mark.parametrize("form", _WITH_IDS)
def test_an_id_or_a_digest_stays_where_keys_begin_alike(form: str) -> None:
    source = random.Random(form)
    for _ in range(20):
        digits = "".join(source.choice("0123456789abcdef") for _ in range(64))
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        text = form.format(sha1=digits[:40], sha256=digits, md5=digits[:32], uuid=uuid)
        for given in (text, f"see {text} now", json.dumps({"content": text})):
            assert Redactor().text(given) == given


def test_there_are_hundreds_of_texts_that_stay() -> None:
    assert len(set(_KEPT)) >= 300


def test_every_prefix_is_in_the_table_once() -> None:
    assert len({key.prefix for key in KEYS}) == len(KEYS)


_HOSTILE = (
    *("password", "password=", 'password="', "password: '", '"password":"a ', "token=", "key=", '\\"password\\":\\"'),
    *("sk-", "sk-a1", "hf_", "eyJ", "eyJa.", "eyJ-", "MTIzNDU2Nzg5MDEyMzQ1Njc4.", "AKIA", "ghp_a", "_", "-", "a1"),
    *("://", "://a", "://a:", "://a:b@", "Bearer ", "Bearer a1", "basic ", "-----BEGIN PRIVATE KEY-----", "\\", "\\n"),
    *(
        " -pa",
        " mysql a -p",
        " -u a",
        " -u a:b",
        "-----BEGIN PRIVATE KEY-----a",
        "<password>",
        "<password",
        "<token>a",
        "--password ",
        "--password",
        "mysql -p",
    ),
    *("mysql ", "mysql a ", "sshpass ", "-u a:", "Cookie: a=", "Authorization: ", "&quot;password&quot;:&quot;"),
    *(
        "?key=",
        "&key=",
        "123456:A",
        "a8Q~",
        "hooks.slack.com/services/",
        "%22password%22%3A%22",
        "secret\\\\\\",
        '"',
        "'",
    ),
    *('{"name": "password", "value": "', "password</arg_key><arg_value>", "a b ", "the password is ", "pass\nword: "),
    *(
        "password\n",
        "password\n\n",
        "value: a ",
        'value="a" ',
        "password | ",
        "password | a",
        '"password": {"',
        "password name",
    ),
    *(
        "password = 'a' -> ",
        "password 'a' or ",
        "password || ",
        "echo a ",
        "echo a | ",
        "%70",
        "\\u0070",
        "\\u0070a ",
        "пароль ",
    ),
    *(
        "login('a', ",
        "auth('a','",
        "identified by ",
        "passwords:\n - a1b2c3d4\n",
        "password: |\n  a\n",
        "password = [",
        '["a1b2c3d4", ',
    ),
    *(
        "password to for of ",
        "token a b c d ",
        "token\t",
        "password;",
        "password <<A\n",
        "</key>",
        "password</td> <td>",
        "a:5432:",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----a ",
        f"-----BEGIN PRIVATE KEY-----\n{'aA1' * 21}\n> ",
        "digest auth digest ",
        ":5432:a:",
        "a:b@",
    ),
)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("unit", _HOSTILE)
def test_time_is_linear(unit: str) -> None:
    """Four times the text takes about four times as long, and not sixteen times."""
    small, large = (unit * (size // len(unit)) for size in (4_000, 16_000))
    assert _takes_linear_time(lambda text: Redactor().text(text), small, large, least_s=0.002)
    assert _takes_linear_time(_streamed_whole, small, large, least_s=0.004)


def _takes_linear_time(work: Callable[[str], object], small: str, large: str, *, least_s: float) -> bool:
    """Whether the large text takes less than nine times as long; the least of more rounds before the answer is no."""
    small_s = large_s = float("inf")
    for _ in range(5):
        small_s = min(small_s, _timed(lambda: work(small)))
        large_s = min(large_s, _timed(lambda: work(large)))
        if large_s < 9 * max(small_s, least_s):
            return True
    return False


def _streamed_whole(text: str) -> str:
    return _streamed(*(text[at : at + 50] for at in range(0, len(text), 50)))


def _timed(work: Callable[[], object]) -> float:
    began_s = time.thread_time()
    work()
    return time.thread_time() - began_s


def _streamed(*pieces: str) -> str:
    stream = SecretStream()
    return "".join([*map(stream.feed, pieces), stream.close()])


def test_a_key_behind_a_block_without_an_end_goes_whole() -> None:
    block = next(one for one in CONTEXTS if one.name == "PuTTY")
    for planted in KEY_SHAPES:
        text = f"{block.text}\n{planted.text} and on"
        redacted = Redactor().text(text)
        assert _is_gone(planted, redacted), redacted
        assert _streamed(*text) == redacted
