r"""The value of a name: `DB_PASSWORD=x`, `the API key for staging is x`, `<key>password</key><string>x</string>`.

A name alone introduces nothing; what is between it and a word (the gap) and what the word looks like decide together.

1. Relations (`_RELATIONS`): the gap is the punctuation of an assignment, in whatever container, with any escape of
   JSON, HTML and addresses. Then a value in quotes may be anything but a placeholder or prose, and a bare one anything
   but code and the first word of a sentence.
2. The second net: no relation has to be known. A word with letters and digits, up to 160 characters after the name, is
   a secret if it is strange enough for what the gap says. After a copula, a sign, markup or words like `value`, letters
   and digits suffice (`hunter2`). After other words, it must look made: a part of it is no word with a number
   (`Tr0ub4dor3`, but not `Llama-3.1-8B`, a date, a digest, a file or a pod). After names that are also used for other
   things (`token`, `key`), it must be quoted or long besides, and near.

The gap hides the name if it names something else (`"password": "", "id": "x"`, `password policy`) or ends a sentence, a
record or a paragraph. Labels that say nothing (`value`, `production`, `1`) and groups that the name opens (`passwords:
{a: ..., b: ...}`) do not. `value: x, name: DB_PASSWORD`, `echo x | sudo -S` and `x as the password` name the value
behind it.

Cost: one search for names; behind each, one match and at most 160 characters of words, each examined up to `PEEK`.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.keys import begins_word
from weaklink.inspector.redaction.places import PEEK, FoundIntroduction, ending_of
from weaklink.inspector.redaction.rules import RULES, part, pattern
from weaklink.inspector.redaction.secret_values import Secret, SecretConfidence
from weaklink.inspector.scanning import lazy_pattern

QUOTE, NEWLINE, BLANK = part("QUOTE"), part("NEWLINE"), part("BLANK")
_RELATIONS = {
    name: rf"(?:{pattern(relation)})(?P<open>{part('OPENING')}|<\|\\{{0,64}}\"\|>|<escape>)?(?=\S)"
    for name, relation in RULES.relations.items()
}
"""What may be between a name and its value, by what reads it."""
_PATTERNS = {name: lazy_pattern(relation) for name, relation in _RELATIONS.items()}
_MAX_RECORD_CHARS = 384
_OUTSIDE_TAGS = lazy_pattern(_RELATIONS["assignment"].replace(part("TAG_REST"), "(?P<tag>(?!))"))
"""An assignment where no tag ends: the rest of a line is searched for no end of one."""


def _patterns(ahead: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The relations that can be in a text that begins so after a name, which are few of them in prose."""
    is_marked = ":" in ahead or "=" in ahead or "value " in ahead or "\n" in ahead or "\\" in ahead
    is_tag = ">" in ahead or "&gt;" in ahead or "u003e" in ahead
    for name, relation in _PATTERNS.items():
        if name == "assignment":
            yield name, relation if is_tag else _OUTSIDE_TAGS
        elif is_marked or name != "record":
            yield name, relation


class _Named:
    """A name, how strongly it indicates a secret, and the judges of what follows it."""

    def __init__(self, place: FoundIntroduction, start: int, confidence: SecretConfidence) -> None:
        self.place, self.text, self.lowered, self.end = place, place.text, place.lowered, place.found.end()
        self.sign: str = place.found["sign"]
        is_set = self.sign == "pass" and self.lowered[self.end : self.end + 1] in {"=", ":"}
        self.start, self.confidence = start, SecretConfidence.SECRET if is_set else confidence
        self.is_option = self.text.startswith("-", self.start) and not self.text.startswith("---", self.start)

    def follows(self, pattern: re.Pattern[str], chars: int) -> bool:
        """Whether a pattern that ends where the text ends matches right before the name."""
        return pattern.search(self.lowered, max(self.start - chars, 0), self.start) is not None

    def judge(self, relation: str, found: re.Match[str]) -> Secret | None:
        """The secret behind a relation."""
        start, opened = found.end(), found["open"]
        if relation == "assignment":
            return self._judge_assigned(found)
        if relation in {"record", "form data"}:
            return self._judge_value(start, opened, ": ")
        if relation == "argument":
            return self._judge_value(start, opened, ",") if self.is_option or self.follows(_SETTER, 64) else None
        return self._judge_spaced(start, opened)

    def _judge_assigned(self, found: re.Match[str]) -> Secret | None:
        start, opened, gap, quote = found.end(), found["open"], found["gap"], found["quote"]
        is_tag = found["tag"] is not None and self.follows(_TAG_BEGIN, 160)
        if found["tag"] is not None and not is_tag:
            return None
        is_tag = is_tag or found["label"] is not None
        if found["sibling"] and self.follows(_SENTENCE_IN_TAG, 80):
            return None
        if (
            quote is None
            and not is_tag
            and (_LINE_END.search(gap) or (opened and _closes(self.text, self.start, opened)))
        ):
            return None  # a heading, a line of code that ends after a name, or a prompt
        block = None if opened or is_tag else _BLOCK_BEGIN.search(found[0])
        if block is not None:
            return self._judge_until(secret_values.block(block[1], block[2]), start)
        for opening, closing in (("<![cdata[", "]]>"), ("{", "}")):
            if found[0].endswith(opening):
                return self._judge_until(secret_values.until(closing), start)
        if is_tag and not opened:
            return self._judge_element(start, is_argument=self._is_argument(found))
        if gap.endswith("(") and self.lowered[max(self.start - 4, 0) : self.place.found.start()].endswith(
            ("get", "get_")
        ):
            return None  # it is the name of what is read
        return self._judge_value(start, opened, gap or "=")

    def _judge_value(self, start: int, opened: str | None, gap: str) -> Secret | None:
        if self.sign in {"authorization", "cookie"}:
            return self._judge_header(start, opened)
        if not opened:
            return self._judge_bare(start, gap)

        def is_secret(value: str, _: str) -> bool:
            is_prompt = "(" in gap and (value.rstrip().endswith((":", "?")) or value[:1].isspace())
            return not is_prompt and secret_values.can_be_quoted_secret(value, self.confidence)

        return self.place.judge(ending_of(opened), start, is_secret)

    def _judge_bare(self, start: int, gap: str, confidence: SecretConfidence | None = None) -> Secret | None:
        if self.sign.endswith(("phrase", "mnemonic")) and gap.strip():
            secret = self._judge_until(secret_values.LINE, start)
            if secret is not None:
                return secret
        return judge_bare(self.place, start, confidence or self.confidence, gap=gap, name=self.sign)

    def _judge_until(self, ending: secret_values.Ending, start: int) -> Secret | None:
        return self.place.judge(ending, start, lambda one, _: secret_values.can_be_quoted_secret(one, self.confidence))

    def _judge_element(self, start: int, *, is_argument: bool) -> Secret | None:
        """Judge the text of an element, which must be closed, or be the end of the text.

        `is_argument`: the tags are those of a call or a record, and no placeholder or prose is between them, so any
        other tag ends the text too.
        """
        value, _ = self.place.value(secret_values.ELEMENT, start)
        end = start + len(value)
        is_ended = _CLOSING.match(self.text, end) or (is_argument and self.text.startswith("<", end))
        if len(value) >= PEEK:
            is_ended = is_argument or not _BLANKS.search(value.strip())
        is_cut = _CUT_CLOSING.match(self.text, end) and (
            is_argument or _BARE_ELEMENT.fullmatch(value) or self.follows(_ALONE_TAG, 48)
        )
        return self._judge_until(secret_values.ELEMENT, start) if is_ended or is_cut else None

    def _is_argument(self, found: re.Match[str]) -> bool:
        return found["sibling"] is not None or "|tool_arg:" in found[0] or self.follows(_ARGUMENT_TAG, 160)

    def _judge_header(self, start: int, opened: str | None) -> Secret | None:
        """Judge a header's value: the scheme stays, cookies and signatures have several fields."""
        scheme = _SCHEME.match(self.text, start)
        is_cookie = self.sign == "cookie"
        if not (scheme or opened or is_cookie):
            return self._judge_bare(start, ": ")
        if scheme and not scheme["known"]:
            return self._judge_bare(scheme.end(), "=", SecretConfidence.LIKELY)

        def is_secret(text: str, _: str) -> bool:
            value = text.strip()
            if is_cookie:
                values = (field.partition("=")[2] for field in _FIELD_END.split(value))
                return any(secret_values.is_mixed(field) or len(field) >= 16 for field in values if " " not in field)
            if scheme is None:
                return secret_values.can_be_quoted_secret(value, self.confidence)
            if _FIELD_BEGIN.fullmatch(value) and not scheme["line"]:  # `Token token="x"`: the field introduces it
                return False
            is_one = " " not in value or bool(opened or scheme["line"])
            return is_one and secret_values.can_be_quoted_secret(value, SecretConfidence.PASSWORD)

        start = scheme.end() if scheme else start
        is_line = is_cookie or (scheme is not None and scheme["line"])
        ending = ending_of(opened) if opened else secret_values.FIELDS if is_line else secret_values.LINE
        secret = self.place.judge(ending, start, is_secret)
        if secret is None and scheme and not opened:  # words follow it on the line
            return self.place.judge(
                secret_values.WORD,
                start,
                lambda word, _: (
                    len(word) >= _MIN_KEY_CHARS
                    and secret_values.has_letters_and_digits(word)
                    and not _FIELD_BEGIN.match(word)
                ),
            )
        return secret

    def _judge_spaced(self, start: int, opened: str | None) -> Secret | None:
        """Judge what follows a blank: an argument, a clause of SQL, a line of netrc or of settings."""
        if self.is_option:
            if self.sign == "token":
                self.confidence = SecretConfidence.SECRET
            return self._judge_value(start, opened, " ")
        if opened:
            is_clause = self.confidence is SecretConfidence.PASSWORD and self.follows(_SQL_BEFORE, 160)
            return self._judge_value(start, opened, " ") if is_clause else None
        is_login = "login" in self.lowered[max(self.start - 160, 0) : self.start] and self.follows(_NETRC_BEFORE, 160)
        if is_login or self.lowered.startswith(("requirepass", "bindpw", "rootpw"), self.start):
            return self._judge_bare(start, "=", SecretConfidence.PASSWORD)
        secret = self._judge_bare(start, " ", SecretConfidence.LIKELY)
        return secret if secret and self.follows(_SET_BEFORE, 160) else None

    def cells(self) -> Iterator[Secret]:
        """The cells below this name in the head of a table, separated by bars, tabs, commas or semicolons."""
        if not _CELL_END.match(self.lowered, self.end):
            return
        least = max(self.start - _MAX_HEAD_CHARS, 0)
        line = max(self.lowered.rfind(newline, least, self.start) + len(newline) for newline in ("\n", "\\n"))
        texts = [opening.end() for opening in _TEXT_BEGIN.finditer(self.lowered, least, self.start)]
        heads = (_HEAD.match(self.lowered, begin) for begin in (max(line, least), *texts[-1:]))
        for head in heads:
            if head is not None and head.end() > self.end:
                yield from self._cells_below(head)

    def _cells_below(self, head: re.Match[str]) -> Iterator[Secret]:
        separator, start = head["separator"], head.end()
        column = self.lowered.count(separator, head.start("cells"), self.start)
        cells = head["cells"].split(separator)
        if self.lowered[self.start : self.end] not in cells[column]:
            return
        while start < self.end + _MAX_TABLE_CHARS and (row := _ROW.match(self.lowered, start)) is not None:
            values, start = row["cells"].split(separator), row.end()
            if len(values) == len(cells) and (row["end"] or self.place.is_final):
                value = values[column]
                at = row.start("cells") + sum(map(len, values[:column])) + column * len(separator)
                at += len(value) - len(value.lstrip(" \"'`*"))
                text = _OTHER_CELL.sub("", self.text[at : at + len(value.strip(" \"'`*"))])
                if secret_values.has_letters_and_digits(text) and secret_values.can_be_quoted_secret(
                    text, self.confidence
                ):
                    yield Secret(at, at + len(text), rule="name of a column")
            elif not _RULER.fullmatch(row["cells"]):
                return

    def beside(self, known: Secret) -> Iterator[Secret]:
        """The second net: words that look like secrets; those of a `known` secret are not among them."""
        name_end = _NAME_END.match(self.lowered, self.end)
        limit = self.end + _BESIDE_CHARS
        if self.sign in _IDENTIFIERS or name_end is None or not _DIGIT.search(self.lowered, self.end, limit):
            return
        remark = _REMARK.match(self.lowered, name_end.end())
        begin = remark.end() if remark else name_end.end()
        limit = self._again(begin, limit)
        stop = _BREAK.search(self.lowered, begin, limit)
        for found in _WORD.finditer(self.lowered, name_end.end(), limit):
            if stop and found.start() >= stop.end():
                return
            if known.start <= found.start() < known.end:
                continue
            gap = self.lowered[begin if begin <= found.start() else name_end.end() : found.start()]
            word, after = self.place.value(secret_values.WORD, found.start())
            if not _LABEL_AFTER.match(after) and self._introduces(word, gap, found.start()):
                secret = Secret.of(self.text, found.start(), secret_values.WORD, is_final=self.place.is_final)
                yield replace(secret, rule="word beside a name")

    def _again(self, begin: int, limit: int) -> int:
        """Where the same name is again as a word, where the words behind it are judged; `limit` if it is not."""
        again = self.lowered.find(self.place.found[0], begin, limit)
        end = again + len(self.place.found[0])
        around = self.lowered[again - 1] + self.lowered[end : end + 1]
        is_word = self.confidence is SecretConfidence.PASSWORD and again >= 0 and not _NAME_CHARACTER.search(around)
        return again if is_word else limit

    def _introduces(self, word: str, gap: str, at: int) -> bool:
        """Whether a word is a secret after this name, and so much text between them."""
        if word.rstrip(".,").isdigit():
            return self.confidence is SecretConfidence.PASSWORD and len(word) >= 5 and _is_number_after(self.sign, gap)
        if not secret_values.has_letters_and_digits(word) or _ASSIGNED.match(word):
            return False
        is_pair = _QUOTED_PAIR.search(self.lowered, max(at - 48, 0), at) is not None
        is_read = self.lowered[self.end - len(self.place.found[0]) - 4 : self.place.found.start()].endswith(
            ("get", "get_")
        )
        is_quoted = (is_pair or self.text[at - 1] in "\"'`") and not is_read
        is_made = secret_values.is_made(word, at_least=6 if is_quoted else 8)
        is_group = _GROUP.match(gap) is not None
        if not (_PROSE_NAME.search(self.sign) or _MARK.search(self.text, max(at - _MARK_CHARS, self.end), at)):
            return False
        if not (is_pair or is_group or _may_introduce(gap)):
            return False
        if self.confidence in _STRONG:
            is_list = self.place.found["many"] and not gap.strip(
                " \"'`\\"
            )  # `secrets "db-creds-v2" not found` are named
            is_near = is_quoted and len(word) >= 6 and len(gap) <= _NEAR_CHARS and not is_list
            return is_made or self._is_clear(word, gap) or is_near
        if self.sign.startswith(("cred", "pass")):
            return (is_made and (len(gap) <= _NEAR_CHARS or is_group)) or self._is_clear(word, gap)
        is_alone = is_quoted or gap in (" ", ": ") or (len(word) >= 16 and secret_values.is_random(word))
        is_near = (is_group and self.sign != "token") or (is_alone and len(gap) <= _LIKELY_CHARS)
        return is_made and len(word) >= 8 and is_near

    def _is_clear(self, word: str, gap: str) -> bool:
        """Whether a gap says that a word is the value of this name, so that letters and digits suffice."""
        if len(word) < 5 or _NO_PASSWORD.match(word) or self.place.found["many"]:
            return False
        found = _CLEAR.fullmatch(gap)
        is_loose = _LOOSE.fullmatch(gap) is not None
        return found is not None and (not is_loose or self.confidence is SecretConfidence.PASSWORD)


def judge_named(place: FoundIntroduction) -> Iterator[Secret]:
    """The secrets behind a name: the nearest that a relation introduces, and words beside it."""
    start = names.name_start(place.text, place.found.start(), place.free_at)
    confidence = names.name_confidence(place.text, place.found, start, begins=place.begins)
    if confidence is None:
        return
    named = _Named(place, start, confidence)
    first = None
    for relation, gap in _patterns(place.lowered[named.end : named.end + _MAX_RECORD_CHARS]):
        found = gap.match(place.lowered, named.end)
        secret = named.judge(relation, found) if found is not None else None
        if secret is not None and (first is None or secret.start < first.start):
            first = replace(secret, rule=f"name, {relation}")
    if first is None:
        yield from named.cells()
    else:
        yield first
    yield from named.beside(first or Secret(named.end, named.end))


def judge_bare(
    place: FoundIntroduction, start: int, confidence: SecretConfidence, *, gap: str, name: str = "pass"
) -> Secret | None:
    """Judge a value without quotes."""

    def is_secret(value: str, after: str) -> bool:
        return secret_values.can_be_bare_secret(value, confidence, name=name, gap=gap, after=after)

    return place.judge(secret_values.BARE, start, is_secret)


def judge_before_name(place: FoundIntroduction) -> Iterator[Secret]:
    """Judge a value before its name, `value: x` and then `name: DB_PASSWORD`, or before a command that reads it."""
    start, opened = place.found.end(), place.found["open"]
    value, _ = place.value(ending_of(opened) if opened else secret_values.BARE, start)
    end = start + len(value)
    confidence = _confidence_after(place, end)
    if confidence and secret_values.can_be_quoted_secret(value, confidence):
        yield Secret(start, end)


def _confidence_after(place: FoundIntroduction, end: int) -> SecretConfidence | None:
    """How strongly what follows a value that ends here indicates a secret."""
    if _READER_AFTER.match(place.lowered, end, end + _MAX_AFTER_CHARS):
        return SecretConfidence.PASSWORD
    name = _NAME_AFTER.match(place.lowered, end, end + _MAX_AFTER_CHARS)
    if name is None:
        return None
    at, text = name.start("sign"), place.text
    return names.name_confidence(text, name, names.name_start(text, at, -1), begins=begins_word(text, at))


def _is_number_after(sign: str, gap: str) -> bool:
    """Whether a number may be the value of a name that a copula, or of a code a blank, is behind."""
    return _IS.fullmatch(gap) is not None or (gap == " " and sign.endswith("code"))


def _closes(text: str, name_at: int, quote: str) -> bool:
    """Whether a quote after a name closes the text that contains the name, for example a prompt."""
    found = _QUOTED_WORDS.search(text, max(name_at - 64, 0), name_at)
    return found is not None and found[1] == quote


def _may_introduce(gap: str) -> bool:
    """Whether the text between a name and a value gives the value no other name."""
    label = _OWN_LABEL.search(gap, max(len(gap) - _LABEL_CHARS, 0))
    if _OTHER_THING.search(gap, max(len(gap) - _LABEL_CHARS, 0)):
        return False
    if label is None or not label[1].strip("-_") or not _PUNCTUATION.search(gap, 0, label.start()):
        return True
    return _NEUTRAL.match(label[1]) is not None


def _before(words: str) -> re.Pattern[str]:
    """A pattern of words before a name, which begin a word, also behind an escaped line end."""
    return lazy_pattern(rf"(?:(?<![\w*])|(?<=\\[nrt]))(?:{words})\Z")


_LINE_END = lazy_pattern(NEWLINE)
_BLOCK_BEGIN = lazy_pattern(rf"(?:[|>][0-9+-]{{0,2}}|<<[-~]?\w{{1,16}})[ ]{{0,4}}({NEWLINE})(\s{{0,24}})\Z")
_SETTER = _before(
    r"(?:setenv|putenv|define|put|set\w{0,16}|get(?:env)?|getproperty|env|add\w{0,8}|header|append|config|prop\w{0,8}"
    r"|insert|withenv|environ\.\w{3,12}|constant|secret|var(?:iable)?|option|store)\(\s?"
    r"(?:[\w.]{1,40},\s?)?\\{0,64}[\"'`][\w.:/-]{0,40}"
)
_SQL_BEFORE = _before(r"(?:with|role|user|login|encrypted|identified|for|\w{1,24}')\s{1,4}(?:\w{1,24}\s{1,4})?")
_NETRC_BEFORE = _before(r"login\s{1,4}\S{1,60}\s{1,12}(?:account\s\S{1,40}\s{1,12})?")
_SET_BEFORE = _before(r"(?:set(?:x|env)?|env(?:\s(?:add|set))?|arg|export|config)(?:[ ]-\w{1,3})?\s{1,4}")
_QUOTED_WORDS = lazy_pattern(
    r"""(?<![\w.!?)\]}"'`\\])[rbfu]?(\\{0,64}["'`])(?!\s?,)[\w .,:-]{0,40}\Z""", re.IGNORECASE
)  # the quote opens a text: no word ends before it, and no comma follows
_BARE_ELEMENT = lazy_pattern(r"\s*[^\s\"'\\]+\s*")
_TAG_BEGIN = lazy_pattern(
    r"(?:(?:<|&lt;|u003c)[^\s<>/]{0,48}(?:\s[^<>]{0,48}=\s?[^\s<>]{0,40})?|argument\s{1,4}key\s?=\s?[^\s<>]{1,40})\Z"
)
"""Kimi K3 writes `<|open|>argument key="name" type="string"<|sep|>value<|close|>argument<|sep|>`."""
_CLOSING = lazy_pattern(
    r"\]?(?:<|&lt;|\\{1,64}u003c)(?:\\{0,64}/|\|(?:close\||tool_arg:end)|\]minimax\[)", re.IGNORECASE
)
_SENTENCE_IN_TAG = lazy_pattern(r">\s*(?:[^\s<>]+\s+){3,}\Z")
_CUT_CLOSING = lazy_pattern(r"\\{0,64}\]?(?:(?:<|&lt;|\\{1,64}u003c|&l?t?|\\{1,64}u0{0,2}3?)[\w|:/\]\[]{0,24})?\Z")
"""A closing tag, or the beginning of one, at the end of the text."""
_BLANKS = lazy_pattern(r"\s")
_ARGUMENT_TAG = lazy_pattern(
    r"(?:(?:<|&lt;|u003c)\W{0,3}(?:\w{1,24}\W{1,2})?(?:param|arg|prop|attr|entry|variable|setting)\w{0,12}[\s=][^<>]{0,80}"
    r"|argument\s{1,4}key\s?=\s?[^\s<>]{1,40})\Z"
)
_ALONE_TAG = lazy_pattern(r"(?:\A|[>\n]\[?|\\n)\s{0,16}(?:<|&lt;|\\{1,64}u003c)\Z")
_SCHEME = lazy_pattern(
    r"(?:(?P<known>(?P<line>digest|aws4[\w-]{0,20})|bearer|basic|token|api-?key|negotiate|bot|ssws)|[a-z][\w-]{1,30})"
    r"(?:[ \t+]{1,4}|%20)",
    re.IGNORECASE,
)
_MIN_KEY_CHARS = 12
_FIELD_END = lazy_pattern(r"[;,]\s?")
_FIELD_BEGIN = lazy_pattern(r"[^\s=]{1,64}=")
_MEMBER = rf"{QUOTE}?\w{{1,16}}{QUOTE}?\s?[:=]\s?{QUOTE}?[\w .-]{{0,24}}{QUOTE}?\s?,?{BLANK}"
_NAME_AFTER = lazy_pattern(
    rf"(?:[ ]as[ ](?:[a-z]+[ ]){{0,2}}|{QUOTE}?\s{{1,4}}\|[^\r\n|]{{0,60}}?\s"
    rf"|{QUOTE}?\s{{0,2}}[,;]?{BLANK}(?:{_MEMBER}){{0,2}}(?:where\s|--)?{QUOTE}?(?:name|key|field|k){QUOTE}?\s{{0,4}}[=:\s]\s{{0,4}}{QUOTE}?)"
    rf"[\w.-]{{0,40}}?{names.NAME}(?![\w-])"
)
_READER_AFTER = lazy_pattern(
    r"(?:\\{0,64}[\"'])?\s{0,4}\|[^\r\n]{0,60}?(?:--\w{0,20}-?stdin|chpasswd|sudo\s-s|--passphrase-fd|--with-token)"
)
_MAX_AFTER_CHARS = 120
_BESIDE_CHARS = 160  # of text after a name in which a word is looked for
_LABEL_CHARS = 96  # of the end of a gap in which a name of something else is looked for
_NEAR_CHARS = 48  # the same, for a quoted word that need not look made
_LIKELY_CHARS = 24  # the same, for names that are also used for other things
_DIGIT = lazy_pattern("[0-9]")
_WORD = lazy_pattern(
    r"[a-z0-9_+/=.~!@#$%^&-](?:(?<![\w.\\%+/=*-].)|(?<=\\[nrt].)|(?<=\\u[0-9a-f]{4}.))"
    r"(?:(?<=[0-9])|(?=[^\s\"'`\\0-9]{0,24}[0-9]))(?=[a-z0-9_+/=.~!@#$%^&*-]{4})"
)
_LOOSE_GAP = r"(?:\\{0,64}'s)?[ ]|(?:[? ]|\\{1,64}u[0-9a-f]{4})+(?:\\{0,64}\")?"
_LOOSE = lazy_pattern(_LOOSE_GAP)
_OTHER_NOUN = (
    r"(?:polic|length|reset|file|name|id\b|hash|strength|rule|min|max|manager|store|type|size|count|version|expir"
    "|rotat)"
)
_COPULA = r"(?:is|was|are|now|(?:re)?set|changed|to|as|with|from|auf|til|para|es|est|ist|je|jest|on|er|\?r)"
_CLEAR = lazy_pattern(
    rf"""\s{{0,24}}{NEWLINE}(?:[-+|\s=]{{1,80}}{NEWLINE})?[|\s]{{0,4}}\S{{1,40}}[ \t|]{{2,24}}  # a row under its head
    | (?:\\{{0,64}}'s)?{QUOTE}?[)\]]?(?:[ ](?!{_OTHER_NOUN})(?:[a-z?']|\\{{1,64}}u[0-9a-f]{{4}}){{1,14}}){{0,3}}?
      (?:{BLANK}(?:[:=>|]|[a-z]?(?:\?|\\{{1,64}}u[0-9a-f]{{4}})[a-z]?(?=[?\s])|->|\b{_COPULA}\b)){{1,3}}
      {BLANK}(?:\\{{0,64}}[*"'`]){{0,3}}
    | {_LOOSE_GAP}
    """,
    re.VERBOSE,
)
_CELL_END = lazy_pattern(rf"[\"'`* ]{{0,8}}(?:[|,;\t]|\\{{1,64}}t|[^\n\\]{{0,1}}{NEWLINE})[^\r\n]")
_CELL = r"[^\r\n|,;\t\\]{0,40}"
_TEXT_BEGIN = lazy_pattern(r"[:\[,][ ]?\\{0,64}\"")  # of a value of JSON
_HEAD = lazy_pattern(
    rf"[ \"']{{0,8}}\|?(?P<cells>{_CELL}(?P<separator>\||,|;|\t|\\{{1,64}}t){_CELL}(?:(?P=separator){_CELL}){{0,16}})"
    rf"[ ]{{0,4}}{NEWLINE}"
)
_ROW = lazy_pattern(
    rf"[ ]{{0,8}}\|?(?P<cells>(?:[^\r\n\\]|\\{{1,64}}t){{1,160}}?)"
    rf"[ ]{{0,4}}(?P<end>{NEWLINE}|\\{{0,64}}[\"'](?=\W)|\Z)"
)
_OTHER_CELL = lazy_pattern(r"\s+(?:[<{&\"']|\S+=)(?s:.*)")
_RULER = lazy_pattern(r"[-+|\s:=]+")
_MAX_HEAD_CHARS, _MAX_TABLE_CHARS = 160, 300
_NAME_CHARACTER = lazy_pattern(r"[\w-]")
_IS = lazy_pattern(r"\s{1,3}(?:is|was|ist|est|es):?\s{1,3}")
_ASSIGNED = lazy_pattern(r"-{0,2}[A-Za-z][\w.:-]{2,60}=[^=]")
_NO_PASSWORD = lazy_pattern(r"[A-Za-z][\w.-]{0,40}=|[\w-]+/[\w-]+/|(?:[a-z_]+\.)?[A-Z]+_[A-Z0-9_]+\Z")
_NAME_END = lazy_pattern(r"(?:[_-]?(?:hash|salt|attempt|input|raw|enc(?:rypted)?))?(?![a-z0-9_-])")
_OWN_LABEL = lazy_pattern(rf"([\w$.*-]{{1,48}}){QUOTE}?[)\]]?\s{{0,4}}(?:=>|->|:=|[:=])\s{{0,4}}(?:{QUOTE}|[(\[{{])?\Z")
_OTHER_THING = lazy_pattern(r"\b(?:user(?:name)?|role|for|host|database|table|file|named|called)\s{1,3}\W{0,8}\Z")
_PUNCTUATION = lazy_pattern(r"(?![?']\w|\\{1,64}u00[c-f])[^\w ]")
_NEUTRAL = lazy_pattern(
    r"(?:[0-9]+|u[0-9a-f]{4}|(?:\w{0,16}_)?val(?:ue)?s?|v|default|const|examples?|content|data|text|body|string|str|prod\w*"
    r"|staging|stage|dev\w*|test\w*|live|main|old|new|current|previous|primary|secondary|raw|plain|set|to|is"
    rf"|[\w.-]*{names.NAME})\Z"
)
_LIST_OF_YAML = rf"(?:{NEWLINE}[ ]{{0,12}}-[ ][^\r\n\\]{{0,80}})*"
_GROUP = lazy_pattern(
    rf"s?{QUOTE}?[)\]]?\s{{0,4}}(?:=>|[:=])?\s{{0,4}}(?:(?:%w)?[{{\[(][^}}\])]*|{_LIST_OF_YAML}"
    rf"|(?<=:[ ])(?:\S{{4,40}},[ ]){{0,12}})\Z"
)
_BREAK = lazy_pattern(r"\n\s{0,12}\n|[.!?]\s{1,3}[a-z]|[;}][\s,]|\n(?:[^\n]{0,120}\n){2}|://|</|\*{5}")
_PROSE_NAME = lazy_pattern("|".join(("\x01", "cred", *map(str.lower, names.PROSE_PARTS))))
_MARK, _MARK_CHARS = lazy_pattern(r"[^A-Za-z0-9 ,.;!?')\n]"), 64
"""In a stream of plain words, only these names are searched for; any other name only backwards from a mark."""
_REMARK = lazy_pattern(r" ?\([^()\r\n]{0,60}\)")
_QUOTED_PAIR = lazy_pattern(r"[\"'`]\w[\w.@-]{0,40}:\Z")
_LABEL_AFTER = lazy_pattern(r"\\{0,64}[\"'`]?(?:[ ]{1,2}:(?![\w-])|[:(\[])")
_IDENTIFIERS = ("session", "sig", "signature", "code", "cookie", "auth")
_STRONG = (SecretConfidence.PASSWORD, SecretConfidence.SECRET)
