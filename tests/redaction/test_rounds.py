"""Forms that were written before the rules were looked at: nothing of them is left, in JSON and in streams too."""

import json

from tests.redaction.rounds import secrets_of, texts, without_marks
from tests.shares import in_shares
from weaklink.inspector.redaction.masking import SecretStream
from weaklink.inspector.redaction.redactor import Redactor

_FORMS, _HARMLESS, _UNRECOGNISED = texts("*-secrets.txt"), texts("*-harmless.txt"), texts("unrecognised.txt")


def _left(form: str, redacted: str) -> list[str]:
    return [secret for secret in secrets_of(form) if secret in redacted]


def _streamed(*pieces: str) -> str:
    stream = SecretStream()
    return "".join([*map(stream.feed, pieces), stream.close()])


def test_there_are_five_hundred_forms_and_three_hundred_harmless_texts() -> None:
    assert len(set(_FORMS)) >= 500
    assert len(set(_HARMLESS)) >= 300
    assert len(_UNRECOGNISED) * 100 < 8 * (len(_FORMS) + len(_UNRECOGNISED))


@in_shares(_FORMS)
def test_nothing_is_left_of_a_form(form: str) -> None:
    text = without_marks(form)
    redacted = Redactor().text(text)
    assert not _left(form, redacted)
    assert len(redacted) == len(text)
    assert Redactor().text(redacted) == redacted
    assert _streamed(*text) == redacted
    for cut in range(1, len(text), 5):
        assert _streamed(text[:cut], text[cut:]) == redacted


@in_shares(_FORMS)
def test_nothing_is_left_of_a_form_in_json_in_json(form: str) -> None:
    once = json.dumps({"stdout": f"total 1\n{without_marks(form)}\nend", "code": 0})
    for text in (once, json.dumps({"result": once})):
        redacted = Redactor().text(text)
        stored = json.loads(redacted)
        assert not _left(form, redacted)
        assert not _left(form, json.loads(stored["result"])["stdout"] if "result" in stored else stored["stdout"])
        assert _streamed(text[: len(text) // 2], text[len(text) // 2 :]) == redacted


@in_shares(_HARMLESS)
def test_a_harmless_text_stays(text: str) -> None:
    assert Redactor().text(text) == text
    assert _streamed(*text) == text
    quoted = json.dumps({"content": text})
    assert Redactor().text(quoted) == quoted


@in_shares(_UNRECOGNISED)
def test_what_is_not_recognised_is_listed(form: str) -> None:
    assert _left(form, Redactor().text(without_marks(form))), "move this form to its round"
