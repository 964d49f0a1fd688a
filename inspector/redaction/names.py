r"""The names of secrets: the family of words, the view in which they are recognised, and how strongly one indicates.

`view` is a text in lower case, ASCII and of the same length, in which each spelling of a name that is not plain is a
run of `OTHER`: the word for password in other languages, and a word with escaped letters (`pass\u0077ord`). Punctuation
of full width is plain there, and every other character that is not ASCII is `?`.
"""

import json
import re
from functools import cache, lru_cache
from string import ascii_letters, digits

from ahocorasick_rs import BytesAhoCorasick, Implementation

from weaklink.inspector.redaction.rules import PATTERNS, part, words
from weaklink.inspector.redaction.secret_values import SecretConfidence
from weaklink.inspector.scanning import lazy_pattern

OTHER = "\x01"
_PASSWORDS = words("passwords")
_WORDS = (*_PASSWORDS, *words("names"))
"""The family: the last words of names; `_confidence` says how strongly each indicates a secret."""

_PHRASE_BEGINS = ("recovery", "backup", "one-time", "verification", "seed", "security", "2fa", "mfa")
_QUERY_SIGNS = frozenset({"sig", "signature", "code"})
SIGNS = (
    *(word for word in _WORDS if word not in _QUERY_SIGNS),
    *(word + sign for word in sorted(_QUERY_SIGNS) for sign in ("=", "%", "\\", "&")),
    *_PHRASE_BEGINS,
    OTHER,
)
"""Every name begins with one of these; those of a query are names only there."""

NAME = part("NAME")
"""The last word of a name, with what may follow it in a name, as a pattern for the view."""

_KEY_KINDS, _OTHER_KEYS = words("key_kinds"), words("other_keys")
_TOKEN_KINDS, _OTHER_TOKENS = words("token_kinds"), words("other_tokens")
_MAX_NAME_CHARS = 48
_NAME_CHARACTERS = f"{ascii_letters}{digits}_.$-"

_FOREIGN = words("foreign")
_FOREIGN_WORD = lazy_pattern("|".join(_FOREIGN))
_FOREIGN_FORMS = {
    form: OTHER * len(word)
    for word in sorted(_FOREIGN, key=len, reverse=True)
    for form in (word, word.capitalize(), word.title(), word.upper())
    if len(form) == len(word)
}
_SPELLINGS = (*_FOREIGN_FORMS.items(), *zip("：＝→“”「」＂", ':=:"""""', strict=True))
"""The foreign words as they are written, and punctuation, with what they are in the view."""
_COLONS = frozenset({"\\uff1a", "\\uff1d", "\\u2192"})
_ESCAPES = (
    *(json.dumps(form)[1:-1].lower() for form in _FOREIGN_FORMS),
    *(f"\\u{code}" for code in ("004", "005", "006", "007", "002d", "0130")),
    *_COLONS,
    *(f"%{'25' * level}{code}" for level in range(4) for code in ("4", "5", "6", "7", "2d")),
)
"""Every name with escaped letters, and every escaped colon, has one of these; most other escaped texts have none."""


@cache
def _spellings() -> BytesAhoCorasick:
    return BytesAhoCorasick(
        (spelling.encode() for spelling, _ in _SPELLINGS), implementation=Implementation.ContiguousNFA
    )


@cache
def _escapes() -> BytesAhoCorasick:
    return BytesAhoCorasick(map(str.encode, _ESCAPES), implementation=Implementation.DFA)


def _escapes_in(lowered: str) -> set[str]:
    """The escapes in a text in lower case that are something else in the view."""
    if "%" not in lowered and ("\\" not in lowered or "\\u" not in lowered):  # the first is the faster search
        return set()
    while "\\\\" in lowered:
        lowered = lowered.replace("\\\\", "\\")
    return {_ESCAPES[number] for number, _, _ in _escapes().find_matches_as_indexes(lowered.encode())}


def view(text: str) -> str:
    """The text in lower case, ASCII, with names of other spellings as runs of `OTHER`; it has the same length."""
    if not text.isascii():
        text = _in_plain_words(text)
    lowered = text.encode("ascii", "replace").lower().decode("ascii")
    escapes = _escapes_in(lowered)
    if escapes - _COLONS:
        lowered = PATTERNS.escaped_word.sub(_plain_word, lowered)
    if escapes & _COLONS:
        lowered = PATTERNS.escaped_colon.sub(lambda found: f"{'':{len(found[0]) - 1}}:", lowered)
    if escapes and OTHER in lowered:
        lowered = PATTERNS.letters_before.sub(lambda found: OTHER * len(found[0]), lowered)  # they belong to it
    return lowered


def _in_plain_words(text: str) -> str:
    """The text with the other spellings replaced, in the order of their table."""
    raw = text.encode("utf-8", "surrogatepass")
    for number in sorted({number for number, _, _ in _spellings().find_matches_as_indexes(raw, overlapping=True)}):
        text = text.replace(*_SPELLINGS[number])
    return text


def _plain_word(found: re.Match[str]) -> str:
    """A run of `OTHER` for the part of a word with escaped letters that is a name; the word may begin before them."""
    before = PATTERNS.word_before.search(found.string, max(found.start() - 16, 0), found.start())
    return _plain_letters(before[0] if before else "", found[0])


@lru_cache(maxsize=4_096)
def _plain_letters(before: str, letters: str) -> str:
    decoded = PATTERNS.ESCAPED_LETTER.sub(lambda code: chr(int(code[1] or code[2], 16)), letters)
    word = before + decoded.replace("İ", "i").lower()  # of the first, the lower case is longer
    name = (PATTERNS.name_at_end if word.isascii() else _FOREIGN_WORD).search(word)
    if name is None or name.end() <= len(before):
        return letters
    spans = [letter.span() for letter in PATTERNS.any_letter.finditer(letters)]
    start, end = spans[max(name.start() - len(before), 0)][0], spans[name.end() - len(before) - 1][1]
    return f"{letters[:start]}{OTHER * (end - start)}{letters[end:]}"


def begins_word(text: str, at: int, free_at: int = -1) -> bool:
    """Whether a word begins at a position, also after an escape or a secret, the last of which ended at `free_at`."""
    if at in {0, free_at}:
        return True
    before = text[at - 1]
    if before.isascii() and before.isalnum():
        return PATTERNS.escape_end.search(text, max(at - 16, 0), at) is not None
    return before not in "_-" or PATTERNS.blob.search(text, max(at - 40, free_at, 0), at) is None


def name_start(text: str, at: int, free_at: int) -> int:
    """The start of the name whose last word begins at `at`; an escape or a secret before it is not part of it."""
    start = len(text[max(at - _MAX_NAME_CHARS, 0) : at].rstrip(_NAME_CHARACTERS)) + max(at - _MAX_NAME_CHARS, 0)
    if start == at:
        return at
    escape = None
    if start and text[start - 1] == "\\":
        escape = PATTERNS.escape_letter.match(text, start, at)
    elif start and text[start - 1] == "%":
        escape = PATTERNS.escape_code.match(text, start, at)
    return max(escape.end() if escape else start, free_at)


def name_confidence(text: str, found: re.Match[str], start: int, *, begins: bool) -> SecretConfidence | None:
    """How strongly a name indicates a secret whose last word `NAME` found and that begins at `start`; None if not.

    `begins`: a word begins where it was found.
    """
    sign, at = found["sign"], found.start("sign")
    if (found["id"] and sign not in {"key", "secret"}) or not (begins or at == start or _may_begin(text, at, sign)):
        return None
    if sign in _QUERY_SIGNS and not PATTERNS.in_query.search(text, max(at - 48, 0), at):
        return None
    word = text[start:at].rstrip("_-. ").lower() or label_before(text, at)
    confidence = _confidence(text, found, sign, word)
    if confidence and found["id"] and sign == "key":
        return SecretConfidence.UNLIKELY
    is_vague = (found["many"] and confidence is SecretConfidence.PASSWORD) or (found["id"] and sign == "secret")
    return SecretConfidence.LIKELY if is_vague and confidence else confidence


def label_before(text: str, at: int) -> str:
    """The word before a name, if it says which key or token it is: `API key`."""
    match = PATTERNS.label.search(text, max(at - 16, 0), at)
    word = match[0].lower() if match is not None else ""
    return word if word.endswith((*_KEY_KINDS, *_TOKEN_KINDS)) else ""


def confidence_of(name: str) -> SecretConfidence | None:
    """How strongly a whole name, such as one of an environment variable, indicates that its value is a secret."""
    match = PATTERNS.name_at_end.search(view(name))
    if match is None:
        return None
    at = match.start("sign")
    begins = at == 0 or not name[at - 1].isalnum()
    return name_confidence(name, match, name_start(name, at, -1), begins=begins)


def _may_begin(text: str, at: int, sign: str) -> bool:
    """Whether the sign, with letters before it, is the end of a word with the same meaning."""
    before = text[at - 1]
    if before in "_-." or (text[at].isupper() and not before.isupper()) or sign[0] == OTHER:
        return True
    if sign in {"pass", "pw"} or (sign == "pwd" and before.isupper()):
        return PATTERNS.pass_kinds.search(text, max(at - 8, 0), at) is not None
    return sign.startswith(("p", "secret", "key", "token"))  # `apikey`: the word before decides


def _confidence(text: str, found: re.Match[str], sign: str, word: str) -> SecretConfidence | None:
    last, at = re.split(r"[_\-. ]", word)[-1], found.start("sign")
    is_code = sign.endswith(("phrase", "answer", "code")) and sign != "code"
    if sign in _PASSWORDS or is_code or sign[0] == OTHER or sign in {"pwd", "pw"}:
        return SecretConfidence.PASSWORD
    if sign == "pass":
        return SecretConfidence.PASSWORD if word else SecretConfidence.LIKELY
    if sign.startswith("secret"):
        is_reference = last == "existing" or PATTERNS.resource_name.search(text, max(at - 120, 0), at)
        return None if is_reference else SecretConfidence.SECRET
    is_shouted = text[at : at + len(sign)].isupper() and word != ""
    if sign == "key":
        before = text[at - 1] if at else ""
        is_service = before == "_" or (before.islower() and text[at].isupper())
        is_named = is_service or (before == " " and word != "") or is_shouted
        is_named = is_named or PATTERNS.in_query.search(text, max(at - 48, 0), at) is not None
        is_key = word.endswith(_KEY_KINDS)
        likely = SecretConfidence.LIKELY if is_named and not word.endswith(_OTHER_KEYS) else None
        return SecretConfidence.SECRET if is_key else likely
    if sign in {"token", "tok"}:
        is_other = last in _OTHER_TOKENS or last.endswith(("page", "next", "continuation"))
        is_token = word.endswith(_TOKEN_KINDS) or (is_shouted and not is_other)
        likely = None if is_other else SecretConfidence.LIKELY
        return SecretConfidence.SECRET if is_token else likely
    return _OF_OTHERS.get(sign, SecretConfidence.LIKELY)


_OF_OTHERS = {
    "authorization": SecretConfidence.SECRET,
    "dockerconfigjson": SecretConfidence.SECRET,
    "session": SecretConfidence.UNLIKELY,
}
