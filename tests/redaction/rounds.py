"""Rounds of forms that were written before the rules were looked at, and the texts without secrets of each round.

`tests/cases/redaction/rounds/N-secrets.txt` has texts, separated by lines of `===`, with each secret in `«»`;
`N-harmless.txt` has texts in which nothing is secret. `unrecognised.txt` has the forms of all rounds that are not
recognised: a rule that recognises one moves it to its round. None of the secrets is real.
"""

import re
from pathlib import Path

from tests.redaction.planted import Planted

_FOLDER = Path("tests/cases/redaction/rounds")
_SECRET = re.compile("«(.*?)»", re.DOTALL)


def texts(pattern: str) -> list[str]:
    """The texts of the files that a pattern matches."""
    files = sorted(_FOLDER.glob(pattern))
    assert files
    return [text for file in files for text in file.read_text("utf-8").rstrip("\n").split("\n===\n")]


def without_marks(text: str) -> str:
    """A form as users would have it."""
    return _SECRET.sub(r"\1", text)


def secrets_of(text: str) -> list[str]:
    """The secrets of a form."""
    return _SECRET.findall(text)


def planted() -> list[Planted]:
    """The forms that are recognised, each with its first secret."""
    forms = []
    for text in texts("*-secrets.txt"):
        before, secret, after = _SECRET.split(text, maxsplit=1)
        forms.append(Planted(f"round: {text[:60]}", before, secret, without_marks(after)))
    return forms
