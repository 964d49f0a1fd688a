r"""The second net: a value that looks like a secret, beside a name of the family.

No relation has to be known: it is the value that is recognised, and then a name is looked for in the 160 characters
before it, so a new form needs no new row. A value looks made (`secret_values.is_made`) if it has letters and digits and
a part of it is no word with a number: `Tr0ub4dor3`, `9xQ!vTz2mL`, but not `Llama-3.1-8B`, a date, a digest, a file or a
pod. After a name that says password or secret, it is one; in quotes and near such a name, letters and digits are
enough; after `token`, `key` and other names that are also used for other things, it must be nearer, and quoted or long.

The name does not count if the text between names something else (`"password": "", "id": "x"`) or ends a sentence, a
record or a paragraph. Labels that say nothing (`value`, `production`, `1`) and groups that the name opens
(`passwords: {a: ..., b: ...}`) do not hide it. In `echo X | sudo -S` and `value: X, name: DB_PASSWORD`, the name is
what follows the value.

Cost: a word of six characters with a digit among its first 24, in a text with a name, is judged by at most `PEEK` of
its characters and 160 before it.
"""

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.keys import begins_word
from weaklink.inspector.redaction.places import AHEAD, BLANK, NEWLINE, PEEK, QUOTE, FoundIntroduction, ending_of
from weaklink.inspector.redaction.secret_values import Secret, SecretConfidence, SecretVerdict, Undecided
from weaklink.inspector.scanning import lazy_pattern

_NAME_AFTER = lazy_pattern(
    rf"(?:[ ]as[ ](?:[a-z]+[ ]){{0,2}}|{QUOTE}?\s{{1,4}}\|[^\r\n|]{{0,60}}?\s"
    rf"|{QUOTE}?\s{{0,2}}[,;]?{BLANK}(?:where\s|--)?{QUOTE}?(?:name|key|field){QUOTE}?\s{{0,4}}[=:\s]\s{{0,4}}{QUOTE}?)"
    rf"[\w.-]{{0,40}}?{names.NAME}(?![\w-])"
)
_READER_AFTER = lazy_pattern(
    r"(?:\\{0,64}[\"'])?\s{0,4}\|[^\r\n]{0,60}?(?:--\w{0,20}-?stdin|chpasswd|sudo\s-s|--passphrase-fd|--with-token)"
)
_MAX_AFTER_CHARS = 120


def judge_before_name(place: FoundIntroduction) -> SecretVerdict:
    """Judge a value before its name, `value: x` and then `name: DB_PASSWORD`, or before a command that reads it."""
    text, start = place.text, place.found.end()
    ending = ending_of(place.found["open"]) if place.found["open"] else secret_values.BARE
    end = ending.end(text, start, min(start + AHEAD, len(text)), is_final=place.is_final)
    if not place.is_final and len(text) < (start + AHEAD if end is None else end) + _MAX_AFTER_CHARS:
        return Undecided(start)
    if end is None or end >= start + PEEK:
        return None
    confidence = _confidence_after(place, end)
    is_secret = confidence and secret_values.can_be_quoted_secret(text[start:end], confidence)
    return Secret(start, end) if is_secret else None


def _confidence_after(place: FoundIntroduction, end: int) -> SecretConfidence | None:
    """How strongly what follows a value that ends here indicates a secret."""
    if _READER_AFTER.match(place.lowered, end, end + _MAX_AFTER_CHARS):
        return SecretConfidence.PASSWORD
    name = _NAME_AFTER.match(place.lowered, end, end + _MAX_AFTER_CHARS)
    if name is None:
        return None
    at = name.start("sign")
    return names.name_confidence(
        place.text, name, names.name_start(place.text, at, -1), begins=begins_word(place.text, at)
    )


_BESIDE_CHARS = 160  # of text before a value in which a name is looked for
_NEAR_CHARS = 48  # the same, for a quoted value that need not look made
_LIKELY_CHARS = 24  # the same, for names that are also used for other things
_FAMILY = lazy_pattern(rf"{names.NAME}(?:[_-]?(?:hash|salt|attempt|input|raw|enc(?:rypted)?))?(?![a-z0-9_-])")
_OWN_LABEL = lazy_pattern(rf"([\w$.*-]{{1,48}}){QUOTE}?[)\]]?\s{{0,4}}(?:=>|->|:=|[:=])\s{{0,4}}(?:{QUOTE}|[(\[{{])?\Z")
_PUNCTUATION = lazy_pattern(r"[^\w ]")
_NEUTRAL = lazy_pattern(
    r"(?:[0-9]+|u[0-9a-f]{4}|(?:\w{0,16}_)?val(?:ue)?s?|v|default|const|examples?|content|data|text|body|string|str|prod\w*|staging"
    r"|stage|dev\w*|test\w*|live|main|old|new|current|previous|primary|secondary|raw|plain|set|to|is"
    rf"|[\w.-]*{names.NAME})\Z"
)
_LIST_OF_YAML = rf"(?:{NEWLINE}[ ]{{0,12}}-[ ][^\r\n\\]{{0,80}})*"
_GROUP = lazy_pattern(rf"s?{QUOTE}?[)\]]?\s{{0,4}}(?:=>|[:=])?\s{{0,4}}(?:(?:%w)?[{{\[(][^}}\])]*|{_LIST_OF_YAML})\Z")
_BREAK = lazy_pattern(r"\n\s{0,12}\n|[.!?]\s{1,3}[a-z]|[;}][\s,]|\n(?:[^\n]{0,120}\n){2}|://|</")
_PROSE_NAME = lazy_pattern("pass|secret|token|key|cred|otp|pw|\x01")
_MARK, _MARK_CHARS = lazy_pattern(r"[^A-Za-z0-9 ,.;!?')\n]"), 64
"""In a stream of plain words, only these names are searched for; any other name only backwards from a mark."""
_REMARK = lazy_pattern(r"\A ?\([^()\r\n]{0,60}\)")
_QUOTED_PAIR = lazy_pattern(r"[\"'`]\w[\w.@-]{0,40}:\Z")


def judge_beside(place: FoundIntroduction) -> SecretVerdict:
    """The second net: judge a word by itself; if it looks like a secret, look for a name in the text before it."""
    text, start = place.text, place.found.start()
    begin = max(start - _BESIDE_CHARS, 0)
    before = place.lowered[begin:start]
    family = list(_FAMILY.finditer(before))
    value = place.value(secret_values.WORD, start) if family else ("", "")
    if value is None:
        return Undecided(start)
    word, after = value
    if not secret_values.has_letters_and_digits(word) or _LABEL_AFTER.match(after):
        return None
    is_pair = _QUOTED_PAIR.search(before) is not None
    is_quoted = is_pair or text[start - 1] in "\"'`"
    is_made = secret_values.is_made(word, at_least=6 if is_quoted else 8)
    if not (is_made or (is_quoted and len(word) >= 6)):
        return None
    for name in reversed(family):
        gap = _REMARK.sub("", before[name.end() :])
        if _BREAK.search(gap):
            return None
        confidence = _confidence_at(place, begin + name.start(), begin + name.end())
        is_seen = _PROSE_NAME.search(name["sign"]) or _MARK.search(gap[-_MARK_CHARS:])
        if confidence is None or not is_seen or name["sign"] in _IDENTIFIERS or not (is_pair or _may_introduce(gap)):
            continue
        is_read = before[: name.start()].endswith(("get_", "get"))  # the name of what is read, and another argument
        if _is_introduced(word, gap, name["sign"], confidence, is_made=is_made, is_quoted=is_quoted and not is_read):
            return Secret.of(text, start, secret_values.WORD, is_final=place.is_final)
    return None


def _is_introduced(
    word: str, gap: str, sign: str, confidence: SecretConfidence, *, is_made: bool, is_quoted: bool
) -> bool:
    """Whether a word is a secret after such a name, and so much text between them."""
    if confidence in _STRONG:
        return is_made or (is_quoted and len(gap) <= _NEAR_CHARS)
    is_group = _GROUP.match(gap) is not None
    if sign.startswith(("cred", "pass")):
        return is_made and (len(gap) <= _NEAR_CHARS or is_group)
    is_alone = is_quoted or (len(word) >= 16 and secret_values.is_random(word))
    is_near = (is_group and sign != "token") or (is_alone and len(gap) <= _LIKELY_CHARS)
    return is_made and len(word) >= 8 and is_near


def _confidence_at(place: FoundIntroduction, start: int, end: int) -> SecretConfidence | None:
    """How strongly a name of the family in this range indicates a secret."""
    found = _FAMILY.match(place.lowered, start, end)
    assert found is not None  # as it was found here
    begins = begins_word(place.text, start)
    return names.name_confidence(place.text, found, names.name_start(place.text, start, -1), begins=begins)


def _may_introduce(gap: str) -> bool:
    """Whether the text between a name and a value gives the value no other name."""
    label = _OWN_LABEL.search(gap)
    if label is None or not label[1].strip("-_") or not _PUNCTUATION.search(gap, 0, label.start()):
        return True
    return _NEUTRAL.match(label[1]) is not None or _GROUP.match(gap) is not None


_LABEL_AFTER = lazy_pattern(r"\\{0,64}[\"'`]?[ ]{0,2}[:(\[]|\(")
_IDENTIFIERS = ("session", "sig", "signature", "code", "cookie", "auth")
_STRONG = (SecretConfidence.PASSWORD, SecretConfidence.SECRET)
