r"""The names of secrets: the family of words, the view in which they are recognised, and how strongly one indicates.

`view` is a text in lower case, ASCII and of the same length, in which each spelling of a name that is not plain is a
run of `OTHER`: the word for password in other languages, and a word with escaped letters (`pass\u0077ord`). Punctuation
of full width is plain there, and every other character that is not ASCII is `?`.
"""

import re
from collections.abc import Iterator

from weaklink.inspector.redaction.rules import words
from weaklink.inspector.redaction.secret_values import SecretConfidence
from weaklink.inspector.scanning import lazy_pattern, one_of

OTHER = "\x01"


_PASSWORDS = words("passwords")
_WORDS = (*_PASSWORDS, *words("names"))
"""The family: the last words of names; `_confidence` says how strongly each indicates a secret."""

_PHRASES = r"(?:recovery|backup|one-time|verification)[ _-]?code|(?:seed|recovery)[ _-]?phrase|security[ _-]?answer"
SIGNS = (
    *(word for word in _WORDS if not any(other in word for other in _WORDS if other != word)),
    *("phrase", "answer", OTHER),
)
"""Every text with a name contains one of these."""

PROSE_PARTS = words("prose_parts")
"""A name with one of these counts in plain prose too, where no sign is between it and its value."""

NAME = (
    rf"(?P<sign>{_PHRASES}|{one_of(_WORDS)}|\x01(?<!\x01\x01)\x01*)"
    r"(?:(?:et|en|n?iz|nya|un|em|a|u)(?![a-z]))?"
    r"(?:[ _-]?code|[ ][0-9]{1,2}(?=:)"
    r"|[_-]?(?:[0-9]{1,2}|hex|confirm(?:ation)?|value|data|base64|b64|pem|plain(?:text)?|text|base"
    r"|prod(?:uction)?|dev|test|stag(?:e|ing)|live|old|new|root|admin|user|db|main|backup|default)"
    r"|(?P<many>s(?!pec))|(?P<id>[_-]?id))?"
)
"""The last word of a name, with what may follow it in a name, as a pattern for the view."""

_KEY_KINDS, _OTHER_KEYS = words("key_kinds"), words("other_keys")
_TOKEN_KINDS, _OTHER_TOKENS = words("token_kinds"), words("other_tokens")
_QUERY_SIGNS = frozenset({"sig", "signature", "code"})
_MAX_NAME_CHARS = 48
_NAME_BEGIN = lazy_pattern(r"[A-Za-z0-9_.$-]{1,48}\Z")
_LABEL = lazy_pattern(r"\b[A-Za-z]{2,12}(?= \Z)")
_PASS_KINDS = lazy_pattern(
    r"(?:bind|store|key|user|db|admin|root|mysql|my|login|require|svn|ftp|smtp|mail|proxy|http|pg|new|ssh)\Z",
    re.IGNORECASE,
)
_IN_QUERY = lazy_pattern(r"(?:[?&;#]|amp;|%26|%3f|%23|u0026)[A-Za-z0-9_.-]{0,40}\Z", re.IGNORECASE)
_RESOURCE_NAME = lazy_pattern(r"\barn:[^\s\"']{1,110}:\Z", re.IGNORECASE)
_ESCAPE_LETTER = lazy_pattern(r"u[0-9a-fA-F]{4}|[nrtbf]")
_ESCAPE_CODE = lazy_pattern(r"(?:25)*[0-9A-Fa-f]{2}")

_PUNCTUATION = dict(zip("：＝→“”「」＂", ':=:"""""', strict=True))
_FOREIGN = words("foreign")
_FOREIGN_WORD = lazy_pattern("|".join(_FOREIGN))
_FOREIGN_LETTER = lazy_pattern(f"[{''.join({max(word) for word in _FOREIGN})}]")
"""A letter of each: most texts have none of them, and no word is searched for."""
_ESCAPED_COLON = lazy_pattern(r"\\{1,32}u(?:ff1[ad]|2192)")
_LETTER = (
    r"(?:\\{1,32}u(?!ff1[ad]|2192)(?:00[46][1-9a-f]|002d|00[c-f][0-9a-f]|00[57][0-9af]|0[1-9a-f][0-9a-f]{2}|[1-9a-f][0-9a-f]{3})"
    r"|%(?:25){0,3}(?:[46][1-9a-f]|[57][0-9af]|2d))"
)  # an escaped letter
_ESCAPED_WORD = lazy_pattern(rf"(?:{_LETTER}(?:[a-z ]{{0,16}}(?=[\\%])|[a-z]{{0,16}})){{1,32}}")
_ESCAPED_LETTER_PATTERN = r"\\{1,32}u([0-9a-f]{4})|%(?:25){0,3}([0-9a-f]{2})"
_ESCAPED_LETTER = lazy_pattern(_ESCAPED_LETTER_PATTERN)
_ANY_LETTER = lazy_pattern(rf"{_ESCAPED_LETTER_PATTERN}|.")
_WORD_BEFORE = lazy_pattern(r"[a-z]{1,16}\Z")
_PIECE = 1 << 20  # characters
_NAME_AT_END = lazy_pattern(rf"{NAME}\Z")


def may_differ(text: str) -> bool:
    """Whether the view may have more than lower case and replaced characters."""
    return not text.isascii() or "\\u" in text or "%" in text


def view(text: str) -> str:
    """The text in lower case, ASCII, with names of other spellings as runs of `OTHER`; it has the same length."""
    if not text.isascii():
        text = _in_plain_words(text)
    lowered = text.encode("ascii", "replace").lower().decode("ascii")
    if "\\u" in lowered or "%" in lowered:
        lowered = _ESCAPED_WORD.sub(_plain_word, lowered)
        lowered = _ESCAPED_COLON.sub(lambda found: f"{'':{len(found[0]) - 1}}:", lowered)
        if OTHER in lowered:
            lowered = _joined_words(lowered)
    return lowered


def _in_plain_words(text: str) -> str:
    lowered = "".join(_lowered(text))
    if len(lowered) != len(text):  # of a capital with a dot, lower case is two characters
        lowered = "".join(sign if len(sign.lower()) > 1 else sign.lower() for sign in text)
    for word in _FOREIGN if _FOREIGN_LETTER.search(lowered) else ():
        if word in lowered:
            lowered = lowered.replace(word, OTHER * len(word))
    for sign, plain in _PUNCTUATION.items():
        if sign in lowered:
            lowered = lowered.replace(sign, plain)
    return lowered


def _lowered(text: str) -> Iterator[str]:
    """The text in lower case, in pieces that end after a space: one call holds the interpreter, 7 ms for a million."""
    start = 0
    while start < len(text):
        end = start + _PIECE
        end = text.rfind(" ", start, end) + 1 or end if end < len(text) else len(text)
        yield text[start:end].lower()
        start = end


def _plain_word(found: re.Match[str]) -> str:
    """A run of `OTHER` for the part of a word with escaped letters that is a name; the word may begin before them."""
    before = _WORD_BEFORE.search(found.string, max(found.start() - 16, 0), found.start())
    known = len(before[0]) if before else 0
    word = (before[0] if before else "") + _ESCAPED_LETTER.sub(_letter, found[0]).lower()
    name = (_NAME_AT_END if word.isascii() else _FOREIGN_WORD).search(word)
    if name is None or name.end() <= known:
        return found[0]
    letters = [letter.span() for letter in _ANY_LETTER.finditer(found[0])]
    start, end = letters[max(name.start() - known, 0)][0], letters[name.end() - known - 1][1]
    return f"{found[0][:start]}{OTHER * (end - start)}{found[0][end:]}"


def _letter(found: re.Match[str]) -> str:
    return chr(int(found[1] or found[2], 16))


def _joined_words(lowered: str) -> str:
    """The view with the letters before a run of `OTHER` as part of the run."""
    return _LETTERS_BEFORE.sub(lambda found: OTHER * len(found[0]), lowered)


_LETTERS_BEFORE = lazy_pattern(r"[a-z]{1,16}(?=\x01)")


def name_start(text: str, at: int, free_at: int) -> int:
    """The start of the name whose last word begins at `at`; an escape or a secret before it is not part of it."""
    found = _NAME_BEGIN.search(text, max(at - _MAX_NAME_CHARS, 0), at)
    if found is None:
        return at
    start = found.start()
    escape = None
    if start and text[start - 1] == "\\":
        escape = _ESCAPE_LETTER.match(text, start, at)
    elif start and text[start - 1] == "%":
        escape = _ESCAPE_CODE.match(text, start, at)
    return max(escape.end() if escape else start, free_at)


def name_confidence(text: str, found: re.Match[str], start: int, *, begins: bool) -> SecretConfidence | None:
    """How strongly a name indicates a secret whose last word `NAME` found and that begins at `start`; None if not.

    `begins`: a word begins where it was found.
    """
    sign, at = found["sign"], found.start("sign")
    if (found["id"] and sign not in {"key", "secret"}) or not (begins or at == start or _may_begin(text, at, sign)):
        return None
    if sign in _QUERY_SIGNS and not _IN_QUERY.search(text, max(at - 48, 0), at):
        return None
    word = text[start:at].rstrip("_-. ").lower() or _label(text, at)
    confidence = _confidence(text, found, sign, word)
    if confidence and found["id"] and sign == "key":
        return SecretConfidence.UNLIKELY
    is_vague = (found["many"] and confidence is SecretConfidence.PASSWORD) or (found["id"] and sign == "secret")
    return SecretConfidence.LIKELY if is_vague and confidence else confidence


def _label(text: str, at: int) -> str:
    """The word before a name, if it says which key or token it is: `API key`."""
    found = _LABEL.search(text, max(at - 16, 0), at)
    word = found[0].lower() if found is not None else ""
    return word if word.endswith((*_KEY_KINDS, *_TOKEN_KINDS)) else ""


def confidence_of(name: str) -> SecretConfidence | None:
    """How strongly a whole name, such as one of an environment variable, indicates that its value is a secret."""
    found = _NAME_AT_END.search(view(name))
    if found is None:
        return None
    at = found.start("sign")
    begins = at == 0 or not name[at - 1].isalnum()
    return name_confidence(name, found, name_start(name, at, -1), begins=begins)


def _may_begin(text: str, at: int, sign: str) -> bool:
    """Whether the sign, with letters before it, is the end of a word with the same meaning."""
    before = text[at - 1]
    if before in "_-." or (text[at].isupper() and not before.isupper()) or sign[0] == OTHER:
        return True
    if sign in {"pass", "pw"} or (sign == "pwd" and before.isupper()):
        return _PASS_KINDS.search(text, max(at - 8, 0), at) is not None
    if sign.startswith("p"):
        return len(sign) > 2
    return sign.startswith(("secret", "key", "token"))  # `apikey`: the word before decides


def _confidence(text: str, found: re.Match[str], sign: str, word: str) -> SecretConfidence | None:
    last = re.split(r"[_\-. ]", word)[-1]
    is_phrase = sign.endswith(("phrase", "answer")) or (sign.endswith("code") and sign != "code")
    if (
        sign in _PASSWORDS
        or is_phrase
        or sign[0] == OTHER
        or sign == "pin"
        or (sign in {"pwd", "pw"} and last != "old")
    ):
        return SecretConfidence.PASSWORD
    if sign == "pass":
        return SecretConfidence.PASSWORD if word else SecretConfidence.LIKELY
    if sign == "dockerconfigjson":
        return SecretConfidence.SECRET
    if sign.startswith("secret"):
        at = found.start("sign")
        is_reference = last == "existing" or _RESOURCE_NAME.search(text, max(at - 120, 0), at)
        return None if is_reference else SecretConfidence.SECRET
    is_shouted = text[found.start("sign") : found.start("sign") + len(sign)].isupper()
    if sign == "key":
        at = found.start("sign")
        is_service = (
            at > 0 and not found["many"] and (text[at - 1] == "_" or (text[at - 1].islower() and text[at].isupper()))
        )
        is_service = is_service or (text[at - 1] == " " and word != "")
        return _of_key(word, last, is_named=is_service or _is_in_query(text, at) or bool(is_shouted and word))
    if sign in {"token", "tok"}:
        return _of_token(word, last, is_shouted=is_shouted)
    if sign == "authorization":
        return SecretConfidence.SECRET
    return SecretConfidence.UNLIKELY if sign == "session" else SecretConfidence.LIKELY


def _is_in_query(text: str, at: int) -> bool:
    return _IN_QUERY.search(text, max(at - 48, 0), at) is not None


def _of_key(word: str, last: str, *, is_named: bool) -> SecretConfidence | None:
    if word.endswith(_KEY_KINDS) or word.startswith("secret"):
        return SecretConfidence.SECRET
    if last in _OTHER_KEYS or word.endswith(_OTHER_KEYS):
        return None
    return SecretConfidence.LIKELY if is_named else None


def _of_token(word: str, last: str, *, is_shouted: bool) -> SecretConfidence | None:
    if word.endswith(_TOKEN_KINDS):
        return SecretConfidence.SECRET
    if last in _OTHER_TOKENS or last.endswith(("page", "next", "continuation")):
        return None
    return SecretConfidence.SECRET if is_shouted and word else SecretConfidence.LIKELY
