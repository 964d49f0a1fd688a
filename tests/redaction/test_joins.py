"""Forms that are recognised alone are recognised between others: joined by lines, blanks, commas, JSON, a shell."""

import html
import json
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.redaction.introductions import introduced, one_of_each_container
from tests.redaction.planted import ALL, Planted
from tests.redaction.rounds import planted
from tests.redaction.secrets_in_the_wild import FORMS
from tests.shares import in_shares
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor

_FORMS = tuple(form for form in (*ALL, *FORMS, *one_of_each_container(), *planted()) if len(form.secret) >= 10)
_OF_ONE_LINE = tuple(form for form in _FORMS if "\n" not in form.text.strip() and " " not in form.secret)
"""What can be on a line with others: a table, and a phrase of words, end with their line."""
_ON_ONE_LINE = ("blanks", "commas", "a shell")
_JOINS: dict[str, Callable[[Sequence[str]], str]] = {
    "lines": "\n".join,
    "blanks": " ".join,
    "commas": ", ".join,
    "a shell": " && ".join,
    "paragraphs": "\n\n".join,
    "a text of JSON": lambda texts: json.dumps({"stdout": "\n".join(texts)}),
    "JSON in JSON": lambda texts: json.dumps({"a": json.dumps({"stdout": "\n".join(texts)})}),
    "a list of JSON": lambda texts: json.dumps(list(texts)),
}


def _groups(join: str, seed: int, count: int) -> Iterator[Sequence[Planted]]:
    rng = random.Random(seed)
    forms = _OF_ONE_LINE if join in _ON_ONE_LINE else _FORMS
    for _ in range(count):
        yield rng.sample(forms, rng.choice((2, 2, 3, 8)))


def _left(forms: Sequence[Planted], redacted: str) -> list[Planted]:
    return [form for form in forms if form.secret in redacted or json.dumps(form.secret)[1:-1] in redacted]


def _streamed(text: str, size: int) -> str:
    stream = SecretStream()
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    return "".join([*map(stream.feed, pieces), stream.close()])


def _assert_found_in(join: str, seed: int, count: int) -> None:
    for number, forms in enumerate(_groups(join, seed, count)):
        text = _JOINS[join]([form.text for form in forms])
        redacted = Redactor().text(text)
        assert not _left(forms, redacted), redacted
        assert len(redacted) == len(text)
        if number % 4 == 0:
            assert not _left(forms, _streamed(text, 1 + number % 13)), text


@pytest.mark.parametrize("join", [" && ", "\\n", "; "], ids=["a shell", "escaped lines", "a list"])
@pytest.mark.parametrize(
    "before",
    [
        "nmcli dev wifi connect x password ",
        "smbclient //h/s -U ann%",
        "rpcclient h -U ann%",
        "rar a -hp",
        "rar a x -hp",
    ],
)
def test_the_same_command_twice_in_a_line_keeps_neither_secret(before: str, join: str) -> None:
    """What may be between a command and its option does not reach over the secret to the option of another one."""
    first, second = "Tr0ub4dor3xtra", "cedar.Saffron65"
    text = f"{before}{first}{join}{before}{second}"
    assert Redactor().text(text) == f"{before}{'*' * len(first)}{join}{before}{'*' * len(second)}"


def test_a_sentence_with_the_word_of_an_option_hides_no_secret_before_it() -> None:
    text = r"nmcli dev wifi connect Home password qjPTUmWUuaYy\nthe new password is cedar.Saffron65"
    redacted = Redactor().text(text)
    assert "qjPTUmWUuaYy" not in redacted
    assert "cedar.Saffron65" not in redacted


@pytest.mark.parametrize("join", _JOINS)
def test_forms_are_found_between_others(join: str) -> None:
    _assert_found_in(join, 0, 150)


@in_shares(dict.fromkeys(form.text for form in (*_FORMS, *introduced())))
def test_redacting_a_form_twice_changes_nothing_more(text: str) -> None:
    for whole in (text, html.escape(text), json.dumps({"content": text}), text[: 2 * len(text) // 3]):
        redacted = Redactor().text(whole)
        assert Redactor().text(redacted) == redacted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
@pytest.mark.parametrize("join", _JOINS)
def test_forms_are_found_between_many_others(join: str, seed: int) -> None:
    _assert_found_in(join, seed, 600)
