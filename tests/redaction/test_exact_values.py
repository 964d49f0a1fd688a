"""The values of a process's environment go, in every encoding and however a stream is cut; other texts stay."""

import base64
import html
import json
import random
from urllib.parse import quote, quote_plus

import pytest

from weaklink.inspector.redaction.exact_values import ExactValues, secret_variables
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor

_VALUE = 'gr8 "Fjörd" pass/w0rd&<x>'
_PLAIN = "Zx81-blue-harbour"
_ENVIRONMENT = {
    "DB_PASSWORD": _VALUE,
    "ACME_TOKEN": _PLAIN,
    "DATABASE_URL": "postgresql://joe:s3cr3t-in-url@db.example/x",
    "HOME": "/home/joe",
    "ADMIN_PASSWORD": "changeme",
    "API_KEY": "$OTHER_KEY",
    "SSH_AUTH_SOCK": "/tmp/ssh-1234/agent.5678",
    "PIN_CODE": "1234567890",
    "PWD": "/home/joe/work-2026",
    "EMPTY_PASSWORD": "",
}


def _as_json(value: str, times: int) -> str:
    for _ in range(times):
        value = json.dumps(value)[1:-1]
    return value


_ENCODED = {
    "as it is": _VALUE,
    **{f"JSON {times} times": _as_json(_VALUE, times) for times in (1, 2, 3)},
    "JSON with its letters": json.dumps(_VALUE, ensure_ascii=False)[1:-1],
    "HTML": html.escape(_VALUE),
    "address": quote(_VALUE),
    "address, all signs": quote(_VALUE, safe=""),
    "form": quote_plus(_VALUE),
    "base 64": base64.b64encode(_VALUE.encode()).decode(),
    "base 64 of user and password": base64.b64encode(f"joe:{_VALUE}".encode()).decode(),
    "base 64 within a text": base64.b64encode(f"key={_VALUE}; x".encode()).decode(),
    "base 64 for addresses": base64.urlsafe_b64encode(f"jo:{_VALUE}".encode()).decode(),
}


def _redactor() -> Redactor:
    return Redactor(values=secret_variables(_ENVIRONMENT))


def test_only_secret_variables_are_known() -> None:
    assert secret_variables(_ENVIRONMENT) == (_VALUE, _PLAIN, "s3cr3t-in-url")


@pytest.mark.parametrize("name", _ENCODED)
def test_a_value_goes_in_every_encoding(name: str) -> None:
    text = f"Look here: {_ENCODED[name]} and on."
    redacted = _redactor().text(text)
    assert len(redacted) == len(text)
    assert "********" in redacted
    assert not any(_ENCODED[name][at : at + 8] in redacted for at in range(len(_ENCODED[name]) - 8)), redacted


@pytest.mark.parametrize("name", _ENCODED)
def test_cut_anywhere_gives_the_same(name: str) -> None:
    text = f"Look here: {_ENCODED[name]}{_PLAIN}, Zx81-blue and on Zx81-blue-harb"
    values = ExactValues(secret_variables(_ENVIRONMENT))
    whole = _redactor().text(text)
    source = random.Random(3)
    for cuts in (
        *([cut] for cut in range(len(text))),
        *(sorted(source.sample(range(len(text)), 9)) for _ in range(20)),
    ):
        stream = SecretStream((), values)
        ends = [*cuts, len(text)]
        pieces = [text[start:end] for start, end in zip([0, *cuts], ends, strict=True)]
        assert "".join([*map(stream.feed, pieces), stream.close()]) == whole


def test_other_texts_stay() -> None:
    text = "The harbour is blue; changeme 1234567890 /home/joe Zx81 gr8"
    redactor = _redactor()
    assert redactor.text(text) == text
    assert redactor.count == 0


def test_one_value_that_begins_another_is_not_taken_for_it() -> None:
    values = ExactValues(["abcd1234", "abcd1234efgh5678"])
    stream = SecretStream((), values)
    assert stream.feed("x abcd1234") + stream.feed("efgh5678") + stream.feed(" y") + stream.close() == f"x {'*' * 16} y"
