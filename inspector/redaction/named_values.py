r"""The value of a name: `DB_PASSWORD=x`, `the API key for staging is x`, `<key>password</key><string>x</string>`.

A name alone introduces nothing; what is between it and a word (the gap) and what the word looks like decide together.

1. Relations (`_GAPS`): the gap is the punctuation of an assignment, in whatever container, with any escape of JSON,
   HTML and addresses, or the end of a line (a here-document, a heading), or the rows of a table or an INSERT. A value
   in quotes may be anything but a placeholder or prose, and a bare one anything but code and a sentence's first word.
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
from operator import attrgetter

from msgspec.structs import replace

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.names import begins_word
from weaklink.inspector.redaction.rules import PATTERNS, PEEK, RULES, part, pattern
from weaklink.inspector.redaction.secret_values import FoundIntroduction, Secret, SecretConfidence, ending_of
from weaklink.inspector.scanning import lazy_pattern

_ASSIGNMENT = "JSON, YAML, TOML, ini, env, XML, URL, header, code"
_OPEN = rf"(?P<open>{part('OPENING')}|<\|\\{{0,64}}\"\|>|<escape>)?(?=\S)"
_GAPS, _GAPS_OUTSIDE_TAGS = (
    {
        name: lazy_pattern(f"(?:{pattern(relation).replace(part('TAG_REST'), tag)}){_OPEN}")
        for name, relation in RULES.relations.items()
    }
    for tag in (part("TAG_REST"), "(?P<tag>(?!))")
)
"""What may be between a name and its value, by what reads it; a name with no tag before it needs no end of one."""
_MAX_TAG_CHARS = 208
_TAG_BEGINS = ("<", "&lt;", "u003c", "argument")
_MAX_FIELD_CHARS = 340


class _Named:
    """A name, how strongly it indicates a secret, and the judges of what follows it."""

    def __init__(self, place: FoundIntroduction, start: int, confidence: SecretConfidence) -> None:
        self.place, self.text, self.lowered, self.end = place, place.text, place.lowered, place.found.end()
        self.sign: str = place.found["sign"]
        self.start, self.is_option = start, self.text.startswith("-", start)
        is_set = self.sign == "pass" and self.lowered[self.end : self.end + 1] in {"=", ":"}
        is_token = self.sign == "token" and self.is_option
        self.confidence = SecretConfidence.SECRET if is_set or is_token else confidence
        self._is_strong = self.confidence in {SecretConfidence.PASSWORD, SecretConfidence.SECRET}
        self._is_pass = self.sign.startswith(("cred", "pass"))
        self._is_read = self.lowered[max(start - 4, 0) : place.found.start()].endswith(("get", "get_"))

    def follows(self, pattern: re.Pattern[str], chars: int) -> bool:
        """Whether a pattern that ends where the text ends matches right before the name."""
        return pattern.search(self.lowered, max(self.start - chars, 0), self.start) is not None

    def judge(self, relation: str, found: re.Match[str]) -> Secret | None:
        """The secret behind a relation."""
        start, opened = found.end(), found["open"]
        if relation == _ASSIGNMENT:
            after_label = self._judge_bare(start, ": ", SecretConfidence.LIKELY) if found["label"] else None
            return self._judge_assigned(found) or after_label  # `<b>Password:</b> x`
        if relation == "line below":
            return self._judge_below(found)
        if relation == "option, clause":
            return self._judge_spaced(start, opened)
        if relation == "prompt" and not self.follows(PATTERNS.prompt_before, 16):
            return self._judge_bare(start, ": ", SecretConfidence.LIKELY)
        is_set = self.is_option or self.follows(PATTERNS.setter, 64)
        if relation == "argument" and (self.text.startswith("--", start) or not is_set):
            return None
        return self._judge_value(start, opened, "," if relation == "argument" else ": ")

    def _judge_assigned(self, found: re.Match[str]) -> Secret | None:
        start, opened, gap, quote = found.end(), found["open"], found["gap"], found["quote"]
        is_tag = found["tag"] is not None and self.follows(PATTERNS.tag_begin, 160)
        if found["tag"] is not None and not is_tag:
            return None
        is_tag = is_tag or found["label"] is not None
        if found["sibling"] and self.follows(PATTERNS.sentence_in_tag, 80):
            return None
        if quote is None and not is_tag:
            around = PATTERNS.quoted_words.search(self.text, max(self.start - 64, 0), self.start)
            if PATTERNS.NEWLINE.search(gap) or (opened and around and opened == around[1]):
                return None  # a heading, a line of code that ends after a name, or a prompt whose quote closes
        block = None if opened or is_tag else PATTERNS.block_begin.search(found[0])
        if block is not None:
            return self._judge_until(secret_values.block(block[1], block[2]), start)
        for opening, closing in (("<![cdata[", "]]>"), ("{", "}")):
            if found[0].endswith(opening):
                return self._judge_until(secret_values.until(closing), start)
        if is_tag and not opened:
            is_argument = found["sibling"] is not None or "|tool_arg:" in found[0]
            is_argument = is_argument or self.follows(PATTERNS.argument_tag, 160)
            return self._judge_element(start, is_argument=is_argument)
        if gap.endswith("(") and self._is_read:
            return None
        return self._judge_value(start, opened, gap or "=")

    def _judge_value(self, start: int, opened: str | None, gap: str) -> Secret | None:
        if self.sign in {"authorization", "cookie"}:
            return self._judge_header(start, opened)
        if not opened:
            return self._judge_bare(start, gap)
        value, _ = self.place.value(ending_of(opened), start)
        is_prompt = "(" in gap and (value.rstrip().endswith((":", "?")) or value[:1].isspace())
        return None if is_prompt else self._judge_until(ending_of(opened), start)

    def _judge_bare(self, start: int, gap: str, confidence: SecretConfidence | None = None) -> Secret | None:
        is_phrase = self.sign.endswith(("phrase", "mnemonic")) and gap.strip()
        secret = self._judge_until(secret_values.LINE, start) if is_phrase else None
        return secret or judge_bare(self.place, start, confidence or self.confidence, gap=gap, name=self.sign)

    def _judge_until(self, ending: secret_values.Ending, start: int) -> Secret | None:
        return self.place.judge(ending, start, lambda value: secret_values.can_be_quoted_secret(value, self.confidence))

    def _judge_element(self, start: int, *, is_argument: bool) -> Secret | None:
        """Judge the text of an element, which must be closed, or be the end of the text.

        `is_argument`: the tags are those of a call or a record, and no placeholder or prose is between them, so any
        other tag ends the text too.
        """
        value, _ = self.place.value(secret_values.ELEMENT, start)
        end = start + len(value)
        is_ended = PATTERNS.closing.match(self.text, end) or (is_argument and self.text.startswith("<", end))
        if len(value) >= PEEK:
            is_ended = is_argument or len(value.split()) <= 1
        is_cut = PATTERNS.cut_closing.match(self.text, end) and (is_argument or PATTERNS.bare_element.fullmatch(value))
        return self._judge_until(secret_values.ELEMENT, start) if is_ended or is_cut else None

    def _judge_header(self, start: int, opened: str | None) -> Secret | None:
        """Judge a header's value: the scheme stays, cookies and signatures have several fields."""
        scheme = PATTERNS.scheme.match(self.text, start)
        start = scheme.end() if scheme else start
        if self.sign == "cookie" or (scheme and scheme["line"]):
            return self.place.judge(ending_of(opened) if opened else secret_values.FIELDS, start, _has_long_field)
        if opened:
            return self._judge_until(ending_of(opened), start)
        if PATTERNS.field_begin.match(self.text, start):  # `Token token="x"`: the field introduces it
            return None
        is_unknown = scheme is not None and not scheme["known"]
        return self._judge_bare(start, " " if scheme else ": ", SecretConfidence.LIKELY if is_unknown else None)

    def _judge_spaced(self, start: int, opened: str | None) -> Secret | None:
        """Judge what follows a blank: an argument, a clause of SQL, a line of netrc or of settings."""
        spoken = PATTERNS.spoken_phrase.match(self.text, start) if self.sign.endswith(("phrase", "mnemonic")) else None
        if spoken is not None:
            return Secret(*spoken.span("words"))
        if self.is_option:
            return self._judge_value(start, opened, " ")
        if opened:
            is_introduced = self.follows(PATTERNS.sql_before, 160) or self.follows(PATTERNS.set_before, 160)
            return self._judge_value(start, opened, " ") if is_introduced else None
        if self.follows(PATTERNS.netrc_before, 160):
            return self._judge_bare(start, "=", SecretConfidence.PASSWORD)
        secret = self._judge_bare(start, " ", SecretConfidence.LIKELY)
        return secret if secret and self.follows(PATTERNS.set_before, 160) else None

    def _judge_below(self, found: re.Match[str]) -> Secret | None:
        """Judge a word alone on the line below: a here-document, a line that `read` takes, what is below a heading."""
        before = PATTERNS.line_before.search(self.lowered, max(self.start - 160, 0), self.start)
        is_document = bool(found["here"] or (before and before["document"]))
        if not (is_document or before) or "$" in self.text[self.start : self.end]:
            return None
        ending = ending_of(found["open"]) if found["open"] else secret_values.LINE
        word = self.place.value(ending, found.end())[0].strip()
        is_word = not (any(map(str.isspace, word)) or word.startswith("#") or PATTERNS.no_password.match(word))
        is_value = is_word and (is_document or secret_values.has_letters_and_digits(word))
        return self._judge_until(ending, found.end()) if is_value else None

    def cells(self) -> Iterator[Secret]:
        """The values below this name in a table, or in the rows of an INSERT."""
        end = PATTERNS.cell_end.match(self.lowered, self.end)
        head = self._head(is_aligned=end["blanks"] is not None) if end else None
        if head is None:
            return
        is_insert, start = "insert" in head.re.groupindex, head.end()
        pattern = PATTERNS.insert_row if is_insert else PATTERNS.row
        while start < self.end + _MAX_TABLE_CHARS and (row := pattern.match(self.lowered, start)) is not None:
            start, span = row.end(), self._cell(head, row)
            if span is None and not PATTERNS.ruler.fullmatch(row["cells"]):
                return
            is_whole = (row["end"] or self.place.is_final) and len(row["cells"]) <= _MAX_ROW_CHARS
            if span is None or not is_whole:
                continue
            begin = PATTERNS.cell_begin.match(self.text, *span).end()  # type: ignore[union-attr]  # it may match nothing
            is_text = is_insert and self.text[begin - 1] == "'"
            text = PATTERNS.other_cell.sub("", self.text[begin : span[1]].rstrip(" \"'`*\\"))
            if (is_text or self._is_strange(text)) and secret_values.can_be_quoted_secret(text, self.confidence):
                yield Secret(begin, begin + len(text), rule="name of a column")

    def _head(self, *, is_aligned: bool) -> re.Match[str] | None:
        """The head of a table, or the columns of an INSERT, with this name."""
        least = max(self.start - _MAX_HEAD_CHARS, 0)
        line = max((least, *(match.end() for match in PATTERNS.row_begin.finditer(self.lowered, least, self.start))))
        insert = max(self.lowered.rfind("into ", least, self.start), 0)
        begins = {} if is_aligned else {PATTERNS.insert: insert, PATTERNS.head: line}
        heads = (
            pattern.match(self.lowered, begin) for pattern, begin in (begins | {PATTERNS.aligned_head: line}).items()
        )
        return next((head for head in heads if head and head.start("cells") <= self.start < head.end("cells")), None)

    def _cell(self, head: re.Match[str], row: re.Match[str]) -> tuple[int, int] | None:
        """Where the value of this column is in a row; None if the row has other columns."""
        separator = head["separator"] or ","
        if separator.isspace() and separator != "\t":  # its word begins or ends where the name does
            begin, end = self.start - head.start() + row.start(), self.end - head.start() + row.start()
            spans = (word.span() for word in PATTERNS.row_word.finditer(self.text, row.start(), row.end("cells")))
            return next((span for span in spans if span[0] == begin or span[1] == end), None)
        is_insert = "insert" in head.re.groupindex
        values = PATTERNS.insert_item.findall(row["cells"])[:-1] if is_insert else row["cells"].split(separator)
        column = self.lowered.count(separator, head.start("cells"), self.start)
        words = head["cells"].count(separator) + 1 - len(values)  # 1 if words are before a head's first bar
        if words and not (words == 1 and column and row[0].lstrip(" ").startswith("|")):
            return None
        start = row.start("cells") + sum(len(value) + len(separator) for value in values[: column - words])
        return start, start + len(values[column - words])

    def _is_strange(self, cell: str) -> bool:
        """Whether a cell without quotes is no word or number; it may be a file's name."""
        if not self._is_strong:
            return secret_values.is_made(cell)
        is_mixed = any(map(str.isdigit, cell)) and any(map(str.isalpha, cell))
        return is_mixed or bool(secret_values.changes_often(cell) and PATTERNS.inner_capitals.search(cell))

    def beside(self) -> Iterator[Secret]:
        """The second net: words that look like secrets."""
        name_end = PATTERNS.name_end.match(self.lowered, self.end)
        limit = self.end + _BESIDE_CHARS
        digit = PATTERNS.digit.search(self.lowered, self.end, limit)
        if self.sign in _IDENTIFIERS or name_end is None or digit is None:
            return
        remark = PATTERNS.remark.match(self.lowered, name_end.end())
        begin = remark.end() if remark else name_end.end()
        first = max(name_end.end(), digit.start() - _MAX_LETTERS)
        last = begin + _LIKELY_CHARS if self.sign == "token" and not self._is_strong else limit
        stop = PATTERNS.record_end.search(self.lowered, begin, limit)
        for match in PATTERNS.word.finditer(self.lowered, first, limit):
            if match.start() > last or (stop and match.start() >= stop.end()):
                return
            gap = self.lowered[begin if begin <= match.start() else name_end.end() : match.start()]
            if remark and remark["alone"] and not gap:
                gap = ": "
            may_be = _may_introduce(gap) or PATTERNS.group.match(gap) or self._is_pair(match.start())
            ending = self._quoted_beside(match.start(), gap) if may_be else None
            if ending is not None:
                secret = Secret.of(self.text, match.start(), ending, is_final=self.place.is_final)
                yield replace(secret, rule="word beside a name")

    def _is_pair(self, at: int) -> bool:
        """Whether a user's name in the same quotes is before a word."""
        return PATTERNS.quoted_pair.search(self.lowered, max(at - 48, 0), at) is not None

    def _quoted_beside(self, at: int, gap: str) -> secret_values.Ending | None:
        """Where a word beside the name ends that is a secret: at its quote if it is alone in quotes."""
        ending = self._ending_beside(at, gap)
        opened = PATTERNS.opening_quote.search(self.text, max(at - 65, 0), at)
        if opened is None:
            return ending
        quoted = ending_of(opened[0])
        value, _ = self.place.value(quoted, at)
        if len(value) >= PEEK or any(map(str.isspace, value)):
            return ending
        return quoted if ending or self._introduces(value, gap, at) else None

    def _ending_beside(self, at: int, gap: str) -> secret_values.Ending | None:
        """Where a word beside the name ends that is a secret; None if it is none, or a label.

        A colon, comma or semicolon belongs to it if more of it follows and the gap says that it is the value, and it is
        no place, such as a host with a port; a colon does too if the word looks made before it.
        """
        word, after = self.place.value(secret_values.WORD, at)
        if PATTERNS.joint.match(after):
            joined, _ = self.place.value(secret_values.JOINED_WORD, at)
            is_value = self._is_clear(joined, gap) and not PATTERNS.location.match(joined)
            is_mixed = secret_values.has_letters_and_digits(word) or any(map(str.isupper, joined))
            is_told = bool(gap.strip()) or secret_values.is_made(joined)
            if is_value and (after[0] == ":" or (is_told and is_mixed)):
                return secret_values.JOINED_WORD if self._introduces(joined, gap, at) else None
            if after[0] == ":":
                is_secret = secret_values.is_made(word) and self._introduces(word, gap, at)
                return secret_values.JOINED_WORD if is_secret else None
        is_secret = not PATTERNS.label_after.match(after) and self._introduces(word, gap, at)
        return secret_values.WORD if is_secret else None

    def _introduces(self, word: str, gap: str, at: int) -> bool:
        """Whether a word is a secret after this name, and so much text between them."""
        if word.rstrip(".,").isdigit():
            is_told = PATTERNS.copula.fullmatch(gap) is not None or (gap == " " and self.sign.endswith("code"))
            return self.confidence is SecretConfidence.PASSWORD and len(word) >= 5 and is_told
        if not secret_values.has_letters_and_digits(word):
            return False
        setting = PATTERNS.assigned.match(word)  # unless it is `Wasser=Fall77`
        is_told = bool(gap.strip()) or secret_values.is_made(word)
        is_value = setting and (is_told or secret_values.has_letters_and_digits(word[setting.end() - 1 :]))
        if setting and not (is_value and self._is_clear(word, gap)):
            return False
        is_pair = self._is_pair(at)
        is_quoted = (is_pair or self.text[at - 1] in "\"'`") and not self._is_read
        is_made = secret_values.is_made(word, at_least=6 if is_quoted else 8)
        is_group = PATTERNS.group.match(gap) is not None
        if self._is_strong:
            is_bare_list = self.place.found["many"] and not gap.strip(" \"'`\\")  # `secrets "db-creds-v2" not found`
            is_near = is_quoted and len(word) >= 6 and len(gap.replace("\\", "")) <= _NEAR_CHARS and not is_bare_list
            return is_made or self._is_clear(word, gap) or is_near
        if self._is_pass:
            is_listed = is_group and is_quoted and len(word) >= 8 and self.sign.startswith("passw")
            return is_listed or (is_made and (len(gap) <= _NEAR_CHARS or is_group)) or self._is_clear(word, gap)
        is_alone = is_quoted or gap in (" ", ": ") or len(word) >= 16
        is_near = (is_group and self.sign != "token") or (is_alone and len(gap) <= _LIKELY_CHARS)
        return is_made and len(word) >= 8 and is_near

    def _is_clear(self, word: str, gap: str) -> bool:
        """Whether a gap says that a word is the value of this name, so that letters and digits suffice."""
        if len(word) < 5 or self.place.found["many"] or PATTERNS.clear.fullmatch(gap) is None:
            return False
        is_loose = PATTERNS.LOOSE_GAP.fullmatch(gap) is not None
        setting = PATTERNS.no_password.match(word)
        if setting is not None:  # but `the password is a=b7Kx`
            return self._is_strong and not is_loose and secret_values.changes_often(word[setting.end() :])
        return not is_loose or self.confidence is SecretConfidence.PASSWORD


def _has_long_field(value: str) -> bool:
    """Whether a field of a cookie or a signature has a value as sessions and digests have."""
    values = (field.partition("=")[2] for field in PATTERNS.field_end.split(value.strip()))
    return any(secret_values.is_mixed(field) or len(field) >= 16 for field in values if " " not in field)


def introduces_nothing(view: str, found: re.Match[str]) -> bool:
    """Whether what is around a name says at once that it has no value, as most in prose and code; see `judge_named`."""
    start, end = found.span()
    if found["sign"] == "key" and (
        view[start - 1] in _BEFORE_A_KEY or (view[start - 1] == " " and not names.label_before(view, start))
    ):
        return True  # `names.name_confidence` knows it as the name of no secret
    follows = PATTERNS.follows.match(view, end)
    if follows is None or follows["nothing"]:
        return follows is not None
    sign, are_words = found["sign"], follows["words"] is not None
    if not (are_words and sign in _IDENTIFIERS) and PATTERNS.strange_digit.search(view, end, end + _STRANGE_CHARS):
        return False
    return not are_words or not (
        sign.endswith(_WHOLE_LINES)
        or _may_be_in_tag(view, start)
        or PATTERNS.before_words.search(view, max(start - _MAX_TAG_CHARS, 0), start)
        or _may_have_field(view, end)
    )


def judge_named(place: FoundIntroduction) -> Iterator[Secret]:
    """The secrets behind a name: the nearest that a relation introduces, and words beside it."""
    start = names.name_start(place.text, place.found.start(), place.free_at)
    begins = begins_word(place.text, place.found.start(), place.free_at)
    confidence = names.name_confidence(place.text, place.found, start, begins=begins)
    if confidence is None:
        return
    named = _Named(place, start, confidence)
    introduced = []
    for relation, gap in (_GAPS if _may_be_in_tag(place.lowered, start) else _GAPS_OUTSIDE_TAGS).items():
        if relation == "record" and not _may_have_field(place.lowered, named.end):
            continue
        match = gap.match(place.lowered, named.end)
        if match is not None and (secret := named.judge(relation, match)) is not None:
            introduced.append(replace(secret, rule=f"name, {relation}"))
    first = sorted(introduced, key=attrgetter("start"))[:1]
    yield from first
    yield from (cell for cell in named.cells() if not first or cell.start < first[0].start)
    yield from named.beside()


def _may_be_in_tag(view: str, start: int) -> bool:
    return any(map(view[max(start - _MAX_TAG_CHARS, 0) : start].__contains__, _TAG_BEGINS))


def _may_have_field(view: str, end: int) -> bool:
    """Whether a name that ends there is followed by the name of a field with the value of another, such as `value:`."""
    return PATTERNS.field.search(view, end, end + _MAX_FIELD_CHARS) is not None


def judge_bare(
    place: FoundIntroduction, start: int, confidence: SecretConfidence, *, gap: str, name: str = "pass"
) -> Secret | None:
    """Judge a value without quotes."""
    value, after = place.value(secret_values.BARE, start)
    is_secret = secret_values.can_be_bare_secret(value, confidence, name=name, gap=gap, after=after)
    return Secret.of(place.text, start, secret_values.BARE, is_final=place.is_final) if is_secret else None


def judge_before_name(place: FoundIntroduction) -> Secret | None:
    """Judge a value before its name, `value: x` and then `name: DB_PASSWORD`, or before a command that reads it."""
    start, opened = place.found.end(), place.found["open"]
    value, _ = place.value(ending_of(opened) if opened else secret_values.BARE, start)
    end = start + len(value)
    confidence = _confidence_after(place, end)
    is_secret = confidence is not None and secret_values.can_be_quoted_secret(value, confidence)
    is_told = not place.found["verb"] or secret_values.has_letters_and_digits(value)
    return Secret(start, end) if is_secret and is_told else None


def _confidence_after(place: FoundIntroduction, end: int) -> SecretConfidence | None:
    """How strongly what follows a value that ends here indicates a secret."""
    if PATTERNS.reader_after.match(place.lowered, end, end + _MAX_AFTER_CHARS):
        return SecretConfidence.PASSWORD
    name = PATTERNS.name_after.match(place.lowered, end, end + _MAX_AFTER_CHARS)
    if name is None:
        return None
    if name["label"] is not None:  # it may be the label of a choice
        return SecretConfidence.LIKELY
    at, text = name.start("sign"), place.text
    return names.name_confidence(text, name, names.name_start(text, at, -1), begins=begins_word(text, at))


def _may_introduce(gap: str) -> bool:
    """Whether the text between a name and a value gives the value no other name."""
    end = max(len(gap) - _SIGN_CHARS, 0)
    label = PATTERNS.label_sign.search(gap, end) and PATTERNS.own_label.search(gap, max(len(gap) - _LABEL_CHARS, 0))
    if PATTERNS.OWNER.fullmatch(gap):
        return True
    if PATTERNS.other_thing.search(gap, max(len(gap) - _LABEL_CHARS, 0)):
        return False
    if label is None or not label[1].strip("-_") or not PATTERNS.punctuation.search(gap, 0, label.start()):
        return True
    return PATTERNS.neutral.match(label[1]) is not None


_MAX_AFTER_CHARS = 120
_BEFORE_A_KEY = frozenset("\"'`([{,<:=/|\n\t@!+*>")  # what no name has, nor is before one in an address
_BESIDE_CHARS = 160  # of text after a name in which a word is looked for
_LABEL_CHARS = 96  # of the end of a gap in which a name of something else is looked for
_SIGN_CHARS = 72  # the same, in which the sign behind that name is
_NEAR_CHARS = 48  # the same, for a quoted word that need not look made
_LIKELY_CHARS = 24  # the same, for names that are also used for other things
_MAX_HEAD_CHARS, _MAX_ROW_CHARS, _MAX_TABLE_CHARS = 160, 160, 300
_MAX_LETTERS = 49  # of a word before its first digit
_STRANGE_CHARS = _BESIDE_CHARS + 40  # of text after a name that decide whether there is such a word
_WHOLE_LINES = ("phrase", "mnemonic", "cookie", "authorization")  # whose values may be words, to the end of the line
_IDENTIFIERS = ("session", "sig", "signature", "code", "cookie", "auth")
