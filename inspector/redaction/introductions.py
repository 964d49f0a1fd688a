"""The grammar of introductions: what gives a secret away that has no shape of its own.

An introduction is a name of the family (`DB_PASSWORD`), a relation (`: `) and the opening of a value (`"`). `_NEAR`,
`_ELEMENTS` and `_RECORDS` are the table of relations, by the containers that write them; any `NAME` may be before each,
and each escape of JSON, HTML (`&quot;`) and addresses (`%3D`) may be in their punctuation. In `_ELEMENTS` and
`_RECORDS`, other text may be between name and value, which may hold secrets itself. A relation is needed for values
that are words or have blanks; values that look made are found beside a name in any relation (see `beside`). `DETECTORS`
adds what needs no name: addresses with a password, commands, PEM blocks, webhooks.

A detector has `signs`, literals of which every text with a match contains one, a `pattern` that finds an introduction,
and `judge`, which examines what follows it. Signs and patterns are for the text's `view` (see `names`): lower case,
ASCII, and of the same length.
"""

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.beside import judge_before_name, judge_beside
from weaklink.inspector.redaction.places import (
    AHEAD,
    BACKSLASHES,
    BLANK,
    NEWLINE,
    PEEK,
    QUOTE,
    Detector,
    FoundIntroduction,
    ending_of,
    open_quote,
)
from weaklink.inspector.redaction.secret_values import Secret, SecretConfidence, SecretVerdict, Undecided
from weaklink.inspector.scanning import lazy_pattern

_MAX_ADDRESS_CHARS = 400
_MAX_COMMAND_CHARS = 240


_CONTINUED = r"(?:\\\r?\n|\\{3,64}(?:r\\{1,64})?n)[ \t]{0,12}"
"""The end of a command's line that continues on the next, also as JSON escapes it."""
_IS = (
    rf"(?:(?:\|\||\?\?|\+)?={{1,3}}(?:(?:&gt;|>|{BACKSLASHES}u003e))?|:=|->|:|%3[ad]|{BACKSLASHES}u003[ad]"
    r"|&\#(?:61|58|x3[ad]);)"
)
_TYPE = r"(?::\s?&?(?:str|string|text|secretstr|optional\[str\])(?:\s?\|\s?none)?\s{0,2}|\s?as\sstring\s{0,2})?"
_YAML = (
    rf"(?:(?:&[\w.-]{{1,40}}|!{{1,2}}[\w/.:-]{{0,40}})\s{{1,4}}){{0,2}}"
    rf"(?:(?:[|>][0-9+-]{{0,2}}|<<[-~]?\w{{1,16}})\s{{0,4}}{NEWLINE}\s{{0,24}})?"
)
_WRAPPED = (
    r"(?:(?:new\s)?(?:[\w.:]{0,40}(?:secret|secure|password|string|str|bytes)\w{0,12}|\[\]byte|b64encode)"
    r"\s?\(\s?(?=\\{0,64}[\"'])|string\([0-9]{1,5}\)\s"
    r"|[^\s;,{}<>]{1,60}\s(?:\|\||\?\?|or)\s{1,2}(?=\\{0,64}[\"'`]))?"
)
_MARKED = r"(?:\*{1,3}|_{1,2})?"
_LESS, _GREATER = rf"(?:<|&lt;|{BACKSLASHES}u003c)", rf"(?:>|&gt;|{BACKSLASHES}u003e)"
_FIELD = r"(?:(?:(?:string|default|plain|parameter)_?)?value|default|const|examples?|content)"


class _Relation(Struct, frozen=True):
    """What is between a name and its value in some containers; `{open}` in the pattern opens the value."""

    containers: str
    pattern: str
    judge: Callable[["_Named"], SecretVerdict]


class _Named(Struct, frozen=True):
    """A name with a relation: where the name begins, how strongly it indicates, and how the value is opened."""

    place: FoundIntroduction
    name_at: int
    confidence: SecretConfidence
    opened: str
    relation: str

    @property
    def is_option(self) -> bool:
        """Whether the name is an option of a command."""
        return self.place.text.startswith("-", self.name_at) and not self.place.text.startswith("---", self.name_at)


def _judge_assigned(named: _Named) -> SecretVerdict:
    place, relation = named.place, named.relation
    text, found = place.text, place.found
    sign, start = found["sign"], found.end()
    if found["quote"] is None and found["gap"] is not None and _LINE_END.search(found["gap"]):
        return None  # a heading, or a line of code that ends after a name
    block = _BLOCK_BEGIN.search(relation)
    if block is not None and not named.opened:
        return _judge_plain(place, start, secret_values.block(block[1], block[2]), named.confidence)
    if sign in {"authorization", "cookie"}:
        return _judge_header(named)
    if named.opened and found["quote"] is None and _closes(text, named.name_at, named.opened):
        return None
    return _judge_value(named, found["gap"] or "=")


def _judge_value(named: _Named, gap: str) -> SecretVerdict:
    start = named.place.found.end()
    if named.opened:
        return _judge_quoted(named.place, start, named.opened, named.confidence)
    return _judge_bare(named.place, start, named.confidence, gap=gap)


def _judge_pair(named: _Named) -> SecretVerdict:
    """Judge the argument after a name: of an option, or of a call that sets or gets it."""
    place = named.place
    if named.is_option or _SETTER.search(place.lowered, max(named.name_at - 64, 0), named.name_at):
        return _judge_quoted(place, place.found.end(), named.opened, named.confidence)
    return None


def _judge_spaced(named: _Named) -> SecretVerdict:
    """Judge what follows a name and a blank: of an option, a clause of SQL, a line of netrc or of settings."""
    place, at = named.place, named.name_at
    if named.is_option:
        is_token = place.found["sign"] == "token"
        return _judge_value(replace(named, confidence=SecretConfidence.SECRET) if is_token else named, " ")
    before = place.lowered[max(at - 160, 0) : at]
    if named.opened:
        is_clause = named.confidence is SecretConfidence.PASSWORD and _SQL_BEFORE.search(before)
        return _judge_value(named, " ") if is_clause and not _closes(place.text, at, named.opened) else None
    if _NETRC_BEFORE.search(before) or place.lowered.startswith(("requirepass", "bindpw", "rootpw"), at):
        return _judge_bare_option(place, place.found.end())
    return (
        _judge_bare(place, place.found.end(), SecretConfidence.LIKELY, gap=" ") if _SET_BEFORE.search(before) else None
    )


def _judge_called(named: _Named) -> SecretVerdict:
    """Judge the argument of a call with a name: `setPassword("x")`, `SecretStr('x')`; a question has blanks."""
    place, at = named.place, named.place.found.start("sign")
    if place.lowered[max(at - 4, 0) : at].rstrip("_").endswith("get"):
        return None  # it is the name of what is read

    def is_secret(value: str, _: str) -> bool:
        is_prompt = value.rstrip().endswith((":", "?")) or value[:1].isspace()
        return not is_prompt and secret_values.can_be_quoted_secret(value, named.confidence)

    return place.judge(ending_of(named.opened), place.found.end(), is_secret)


def _judge_braces(named: _Named) -> SecretVerdict:
    return _judge_plain(named.place, named.place.found.end(), secret_values.BRACES, named.confidence)


def _judge_said(named: _Named) -> SecretVerdict:
    """Judge a value in a sentence: `the password is hunter2`."""

    def is_secret(word: str, after: str) -> bool:
        value = word.rstrip(".,;:!?)")
        is_password = named.confidence is SecretConfidence.PASSWORD
        is_word = (
            is_password and (value.isdigit() or secret_values.is_mixed(value)) and len(value) >= 6 - value.isdigit()
        )
        is_value = is_word or secret_values.is_made(value, at_least=6)
        return is_value and _can_be_bare(named.place, word, named.confidence, gap="=", after=after)

    return named.place.judge(secret_values.BARE, named.place.found.end(), is_secret)


def _judge_element(named: _Named) -> SecretVerdict:
    """Judge the text of an element, which must be closed."""
    place, relation = named.place, named.relation
    start = place.found.end()
    if _is_element(named) and relation.endswith("[cdata["):
        return _judge_plain(place, start, secret_values.until("]]>"), named.confidence)
    if not _is_element(named):
        return None
    text = place.text
    limit = min(start + AHEAD, len(text))
    end = secret_values.ELEMENT.end(text, start, limit, is_final=place.is_final)
    end = end if end is not None and end < start + PEEK else None
    is_closed = end is not None and _CLOSING.match(text, end) is not None
    if not (is_closed or place.is_final) and len(text) - (end or start) < AHEAD:
        return Undecided(start)
    value = text[start : start + PEEK if end is None else end]
    if not is_closed and (any(sign.isspace() for sign in value.strip()) or (end is not None and end + 1 < len(text))):
        return None
    if not secret_values.can_be_quoted_secret(value, named.confidence):
        return None
    return Secret.of(text, start, secret_values.ELEMENT, is_final=place.is_final)


def _is_element(named: _Named) -> bool:
    """Whether the name is in an opening tag, or is the text of one that names an argument."""
    text, at, found = named.place.text, named.name_at, named.place.found
    if found["sep"] is not None:
        return _ARGUMENT_BEGIN.search(text, max(at - 64, 0), at) is not None
    if found["label"] is not None:
        return text.rfind("<", max(at - 64, 0), at) >= 0
    return _TAG_BEGIN.search(text, max(at - 160, 0), at) is not None


def _judge_field(named: _Named) -> SecretVerdict:
    if named.place.found["sign"] in {"authorization", "cookie"}:
        return _judge_header(named)
    return _judge_value(named, ": ")


_NEAR = (
    _Relation("ODBC", r"\s?=\s?\{(?=[^\s{}])", _judge_braces),
    _Relation(
        "JSON, YAML, TOML, ini, env, URL, header, code, Markdown",
        rf"{_MARKED}(?P<quote>{QUOTE})?[)\]]?(?P<gap>{BLANK}{_TYPE}{_IS}{_MARKED}{BLANK}){_YAML}{_WRAPPED}{{open}}?",
        _judge_assigned,
    ),
    _Relation("arguments of a call, a command's list", rf"{QUOTE}\s{{0,4}},{BLANK}{{open}}", _judge_pair),
    _Relation("call", r"(?:spec)?\(\s?{open}", _judge_called),
    _Relation(
        "prose",
        rf"(?:{QUOTE}|\*\*)?(?:(?:\s{{1,3}}(?:is|was|are|has|been|now|set|changed|to|as|equals|lautet|ist|est|es)){{1,4}}:?\s{{1,2}}|\s{{0,2}}[?]{{1,3}}\s{{1,2}}\"?)(?=[^\s\"'`])",
        _judge_said,
    ),
    _Relation(
        "shell, SQL, netrc",
        rf"(?:[ \t]{{1,24}}|{BACKSLASHES}t|;|[ ]::[ ]|[. ]{{2,24}}:[ ])(?:{_CONTINUED}|[0-9][ ])?{{open}}?(?=\S)",
        _judge_spaced,
    ),
)
"""The relations in which a value is beside its name."""

_ELEMENTS = (
    _Relation(
        "element of XML and HTML",
        rf"{QUOTE}?(?:\s[^<>]{{0,300}}?)?{_GREATER}{BLANK}(?:<[\w:]{{0,24}}value>)?{BLANK}(?:<!\[cdata\[)?",
        _judge_element,
    ),
    _Relation("call of Kimi K3", rf"{QUOTE}\s[^<>]{{0,300}}?{_LESS}\|(?P<sep>sep)\|{_GREATER}", _judge_element),
    _Relation(
        "label of XML and HTML",
        r":?\s?<\\{0,64}(?:/|\|tool_arg:)"
        r"(?P<label>[\w:|-]{0,16}(?:key|name)(?::\w{1,32})?|td|th|dt|b|strong|label|code|value\|)>:?"
        rf"{BLANK}(?:<(?:[\w:|-]{{0,16}}value|string|data|td|dd|code|span)[^<>]{{0,80}}>)?{BLANK}",
        _judge_element,
    ),
)
_RECORD = (
    rf"{QUOTE}?(?:\s{{0,4}}[:=]?\s{{0,4}}\{{|\s{{0,4}},|{NEWLINE}|\s(?!\s{{0,4}}[:=]))"
    rf"(?:(?!(?:name|key)[\\\"']{{0,64}}\s{{0,2}}[:=]|-\s|\*{{5}})[^{{}}\]<>]){{0,160}}?"
    rf"(?:(?<![\w-]){_FIELD}{QUOTE}?\s{{0,6}}[:=]|--value[ ])"
)
_VALUE = r"\s{0,6}\[?\s{0,4}{open}?(?=\S)"
_RECORDS = (
    _Relation("record: Kubernetes, .NET, HTML forms, schemas, Terraform", f"{_RECORD}{_VALUE}", _judge_field),
    _Relation("form data", rf"{QUOTE}(?:;[^\r\n]{{0,100}})?{NEWLINE}{NEWLINE}", _judge_field),
)
"""In `_ELEMENTS` and `_RECORDS`, other text may be between a name and its value."""


class _Relations:
    """A table of relations as one pattern, and the judge of its matches."""

    def __init__(self, relations: tuple[_Relation, ...]) -> None:
        self._relations = relations
        rows = "|".join(map(_row_pattern, relations, range(len(relations))))
        self.pattern: re.Pattern[str] = lazy_pattern(f"{names.NAME}(?:{rows})")

    def judge(self, place: FoundIntroduction) -> SecretVerdict:
        """The verdict on a name with one of the relations."""
        found, text = place.found, place.text
        start = names.name_start(text, found.start(), place.free_at)
        confidence = names.name_confidence(text, found, start, begins=place.begins)
        if confidence is None:
            return None
        groups = found.groupdict()
        number = next(number for number in range(len(self._relations)) if groups[f"r{number}"] is not None)
        opened = groups.get(f"o{number}") or ""
        named = _Named(place, start, confidence, opened, groups[f"r{number}"])
        relation = self._relations[number]
        verdict = relation.judge(named)
        return replace(verdict, rule=f"name, {relation.containers}") if isinstance(verdict, Secret) else verdict


def _row_pattern(row: _Relation, number: int) -> str:
    opening = f"(?P<o{number}>{open_quote(f'b{number}')}|{_SPECIAL})"
    return f"(?P<r{number}>{row.pattern.replace('{open}', opening)})"


_SPECIAL = r"<\|\\{0,64}\"\|>|<escape>"
_LINE_END = lazy_pattern(NEWLINE)
_BLOCK_BEGIN = lazy_pattern(rf"(?:[|>][0-9+-]{{0,2}}|<<[-~]?\w{{1,16}})[ ]{{0,4}}({NEWLINE})(\s{{0,24}})\Z")


def _before(words: str) -> re.Pattern[str]:
    """A pattern of words before a name, which begin a word, also behind an escaped line end."""
    return lazy_pattern(rf"(?:\b|(?<=\\[nrt]))(?:{words})\Z")


_SETTER = _before(
    r"(?:setenv|putenv|define|put|set\w{0,16}|get(?:env)?|getproperty|env|add\w{0,8}|header|append|config|prop\w{0,8}"
    r"|insert|withenv|environ\.\w{3,12}|constant|secret|var(?:iable)?|option|store)\(\s?"
    r"(?:[\w.]{1,40},\s?)?\\{0,64}[\"'`][\w.:/-]{0,40}"
)
_SQL_BEFORE = _before(r"(?:with|role|user|login|encrypted|identified|for|\w{1,24}')\s{1,4}(?:\w{1,24}\s{1,4})?")
_NETRC_BEFORE = _before(r"login\s{1,4}\S{1,60}\s{1,12}(?:account\s\S{1,40}\s{1,12})?")
_SET_BEFORE = _before(r"(?:set(?:x|env)?|env|arg|export|config)(?:[ ]-\w{1,3})?\s{1,4}")
_QUOTED_WORDS = lazy_pattern(
    r"""(?<![\w.!?)\]}"'`\\])[rbfu]?(\\{0,64}["'`])(?!\s?,)[\w .,:-]{0,40}\Z""", re.IGNORECASE
)  # the quote opens a text: no word ends before it, and no comma follows


def _closes(text: str, name_at: int, quote: str) -> bool:
    """Whether a quote after a name closes the text that contains the name, for example a prompt."""
    found = _QUOTED_WORDS.search(text, max(name_at - 64, 0), name_at)
    return found is not None and found[1] == quote


_TAG_BEGIN = lazy_pattern(r"(?:<|&lt;|u003c)[^\s<>/]{0,48}(?:\s[^<>]{0,48}=\s?[^\s<>]{0,40})?\Z", re.IGNORECASE)
_ARGUMENT_BEGIN = lazy_pattern(r"\bargument\s{1,4}key\s?=\s?[^\s<>]{1,40}\Z", re.IGNORECASE)
"""Kimi K3 writes before a name: `<|open|>argument key="name" type="string"<|sep|>value<|close|>argument<|sep|>`."""
_CLOSING = lazy_pattern(
    r"\]?(?:<|&lt;|\\{1,64}u003c)(?:\\{0,64}/|\|(?:close\||tool_arg:end)|\]minimax\[)", re.IGNORECASE
)


def _judge_quoted(place: FoundIntroduction, start: int, opened: str, confidence: SecretConfidence) -> SecretVerdict:
    return _judge_plain(place, start, ending_of(opened), confidence)


def _judge_plain(
    place: FoundIntroduction, start: int, ending: secret_values.Ending, confidence: SecretConfidence
) -> SecretVerdict:
    """Judge a value whose end its opening decides."""
    return place.judge(ending, start, lambda value, _: secret_values.can_be_quoted_secret(value, confidence))


def _judge_bare(place: FoundIntroduction, start: int, confidence: SecretConfidence, *, gap: str) -> SecretVerdict:
    return place.judge(
        secret_values.BARE, start, lambda value, after: _can_be_bare(place, value, confidence, gap=gap, after=after)
    )


def _can_be_bare(place: FoundIntroduction, value: str, confidence: SecretConfidence, *, gap: str, after: str) -> bool:
    name = place.found.groupdict().get("sign") or "pass"
    return secret_values.can_be_bare_secret(value, confidence, name=name, gap=gap, after=after)


_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9_-]{1,30}(?:[ \t+]{1,4}|%20)")
_KNOWN_SCHEMES = ("bearer", "basic", "token", "apikey", "api-key", "negotiate", "bot", "ssws", "digest", "aws4")
_COOKIE = lazy_pattern(r"[^\s=]+=")
_FIELD_OF_HEADER = lazy_pattern(r"[\w-]{1,24}=\Z")
_LINE_SCHEMES = ("digest", "aws4-hmac-sha256")


def _judge_header(named: _Named) -> SecretVerdict:
    """Judge a header's value: the scheme stays, cookies and signatures extend to the end of the line."""
    place, opened, start = named.place, named.opened, named.place.found.end()
    scheme = _SCHEME.match(place.text, start)
    is_cookie, is_line = place.found["sign"] == "cookie", scheme and scheme[0].lower().startswith(_LINE_SCHEMES)
    if scheme and not scheme[0].lower().startswith(_KNOWN_SCHEMES):
        return _judge_bare(place, scheme.end(), SecretConfidence.LIKELY, gap="=")
    if not (scheme or opened or is_cookie):
        return _judge_bare(place, start, named.confidence, gap=": ")

    def is_secret(text: str, _: str) -> bool:
        value = text.strip()
        if is_cookie:
            return len(value) >= 8 and _COOKIE.match(value) is not None
        if not scheme:
            return secret_values.can_be_quoted_secret(value, named.confidence)
        if _FIELD_OF_HEADER.match(value) and not is_line:  # `Token token="x"`: the field introduces it
            return False
        is_one = " " not in value or (bool(opened) or is_line)
        return bool(is_one) and secret_values.can_be_quoted_secret(value, SecretConfidence.PASSWORD)

    value_at = scheme.end() if scheme else start
    return place.judge(ending_of(opened) if opened else secret_values.LINE, value_at, is_secret)


_AUTHORITY = lazy_pattern(r"""[^\s/"'`<>?#\\]{0,400}""")
_AUTHORITY_REST = lazy_pattern(r"""[^\s"'`<>\\]{0,200}""")
_PORT = lazy_pattern(r"[0-9]{0,5}\Z")


def _judge_address(place: FoundIntroduction) -> SecretVerdict:
    """Judge an address: a password before the host, or only a token there. The password may contain `/`, `?`, `#`."""
    text, found, is_final = place.text, place.found, place.is_final
    start = found.end()
    if found["escaped"]:
        return _judge_escaped_address(place)
    end = _AUTHORITY.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    if end == len(text) and end < start + _MAX_ADDRESS_CHARS and not is_final:
        return Undecided(start)
    at = text.rfind("@", start, end)
    if at < 0:
        _, colon, password = text[start:end].partition(":")
        if not colon or _PORT.match(password):
            return None
        rest = _AUTHORITY_REST.match(text, end).end()  # type: ignore[union-attr]  # the same
        if rest == len(text) and rest < end + 200 and not is_final:
            return Undecided(start)
        at = text.rfind("@", end, rest)
        if at < 0:
            return None
    user, colon, password = text[start:at].partition(":")
    if _is_token(user):
        return Secret(start, at)
    is_secret = colon and password and not secret_values.is_placeholder(password)
    return Secret(at - len(password), at) if is_secret else None


_ESCAPED_USER = lazy_pattern(r"[\w.+-]{0,64}%3a", re.IGNORECASE)
_ESCAPED_PASSWORD = lazy_pattern(r"(?:[\w.~!*+-]|%(?!40)[0-9a-f]{2}){0,200}", re.IGNORECASE)


def _judge_escaped_address(place: FoundIntroduction) -> SecretVerdict:
    """Judge an address that is itself escaped as a part of another: `postgres%3A%2F%2Fjoe%3Ax%40host`."""
    text, start = place.text, place.found.end()
    is_open = len(text) < start + _MAX_ADDRESS_CHARS and not place.is_final
    user = _ESCAPED_USER.match(text, start)
    at = user.end() if user else start
    end = _ESCAPED_PASSWORD.match(text, at).end()  # type: ignore[union-attr]  # it may match nothing
    if len(text) - end < 3 and is_open:
        return Undecided(start)
    is_secret = user and end > at and text.startswith("%40", end) and not secret_values.is_placeholder(text[at:end])
    return Secret(at, end) if is_secret else None


def _is_token(user: str) -> bool:
    """Whether the text in place of a user's name is a token, as in `https://ghp_...:x-oauth-basic@host`."""
    return len(user) >= 16 and secret_values.is_mixed(user) and "." not in user[16:]


def _run(
    characters: str, at_least: int, is_introduction: Callable[[FoundIntroduction], bool] = lambda _: True
) -> Callable[[FoundIntroduction], SecretVerdict]:
    """A judge of a run of characters: a secret has at least so many, and mixes them."""
    run = secret_values.PatternRun(lazy_pattern(f"(?:{characters})*"), "\\" if "\\" in characters else "")

    def is_secret(value: str, _: str) -> bool:
        return len(value) >= at_least and secret_values.is_mixed(value)

    return lambda place: place.judge(run, place.found.end(), is_secret) if is_introduction(place) else None


def _is_assigned(place: FoundIntroduction) -> bool:
    """Whether it is the value of something; elsewhere it is prose: basic understanding."""
    at = place.found.start()
    return place.text[max(at - 2, 0) : at].rstrip().endswith((":", "=", '"', "'"))


def _is_bot(place: FoundIntroduction) -> bool:
    at = place.found.start()
    return place.begins or place.lowered[max(at - 3, 0) : at] == "bot"


_LINES = lazy_pattern(r"[A-Za-z0-9+/=]{16,}")
_BASE64_SIGNS = r"[A-Za-z0-9+/=_.~%-]"


def _judge_pem(place: FoundIntroduction) -> SecretVerdict:
    return place.judge(
        secret_values.PEM, place.found.end(), lambda body, _: any(map(secret_values.is_mixed, _LINES.findall(body)))
    )


_MAX_USER_CHARS = 64
_USER = lazy_pattern(r"[\w.@%+-]{0,64}")
_OPENED = lazy_pattern(r"\\{0,64}[\"']?")


def _judge_user(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password after a user's name and a colon; with a token in place of the name, both are secret."""
    text, start = place.text, place.found.end()
    end = _USER.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    if end == len(text) and end < start + _MAX_USER_CHARS and not place.is_final:
        return Undecided(start)
    if not text.startswith(":", end):
        return None
    verdict = _judge_password(place, end + 1)
    if not _is_token(text[start:end]):
        return verdict
    match verdict:
        case Secret():
            return Secret(start, verdict.end, verdict.goes_on)
        case Undecided():
            return Undecided(start)
        case None:
            return Secret(start, end)


def _judge_password(place: FoundIntroduction, start: int) -> SecretVerdict:
    """Judge the password after a user's name: in the quotes around both, in its own quotes, or bare."""
    text, quote = place.text, place.found["quote"]
    if quote is not None:
        return _judge_quoted(place, start, quote, SecretConfidence.PASSWORD)
    opened = _OPENED.match(text, start)[0]  # type: ignore[index]  # it may match nothing
    if start + len(opened) == len(text) and not place.is_final:
        return Undecided(start)
    if opened[-1:] in {'"', "'"}:
        return _judge_quoted(place, start + len(opened), opened, SecretConfidence.PASSWORD)
    return _judge_bare_option(place, start)


_ON_THE_LINE = r"(?:[^\n|;&\\]|\\(?:\r?\n)?)"
_COMMANDS = {
    option: lazy_pattern(rf"(?s:.*)(?:{commands})\s(?:{_ON_THE_LINE}{{0,200}}\s)?\Z", re.IGNORECASE)
    for option, commands in {
        "p": r"(?P<joined>mysql|mariadb|7za?)[a-z_-]{0,12}|sshpass|(?:docker|podman|helm\sregistry|az|oc|cf)\slogin"
        r"|sqlcmd|user(?:mod|add)|mongo[a-z]{0,8}|cqlsh|influx|unzip|zip|psexec|evil-winrm|nxc|crackmapexec|hydra|bcp",
        "a": r"redis-cli|snmp\w{3,8}",
        "x": r"snmp\w{3,8}",
        "w": r"ldap[a-z]{3,8}",
        "b": r"curl",
    }.items()
}
_USER_BEFORE = lazy_pattern(
    r"(?<![\w*./-])[\w./-]{2,40}\s(?:[^\r\n|;&*]{1,120}\s)?[-/](?:u|-?user(?:name)?)[ =:][^\r\n|;&*]{1,120}\Z",
    re.IGNORECASE,
)
"""The last command before an option with a password or cookies; `joined` are the commands that take no blank."""


def _judge_command(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password as an option, if a command with such an option is before it on the line."""
    text, found = place.text, place.found
    at = found.start()
    command = _COMMANDS[found["option"]].match(text, max(at - _MAX_COMMAND_CHARS, 0), at)
    if command is None and found["option"] == "p" and _USER_BEFORE.search(text, max(at - _MAX_COMMAND_CHARS, 0), at):
        value = place.value(secret_values.WORD, found.end())
        return (
            Undecided(found.end())
            if value is None
            else _judge_option(place)
            if len(value[0]) >= 6 and secret_values.has_letters_and_digits(value[0])
            else None
        )
    if command is None or (found["blank"] and command.groupdict().get("joined")):
        return None
    return _judge_option(place)


def _judge_option(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password as an argument of a known command."""
    opened, start = place.found["open"], place.found.end()
    if opened:
        return _judge_quoted(place, start, opened, SecretConfidence.PASSWORD)
    if place.found.groupdict().get("until"):
        return _judge_plain(place, start, secret_values.BEFORE_AT, SecretConfidence.PASSWORD)
    return _judge_bare_option(place, start)


def _judge_bare_option(place: FoundIntroduction, start: int) -> SecretVerdict:
    verdict = _judge_bare(place, start, SecretConfidence.PASSWORD, gap="=")
    return None if isinstance(verdict, Secret) and place.text[verdict.start : verdict.end].isdigit() else verdict


_COMMAND_QUOTE = r"(?P<open>\\{0,64}[\"'])?"
_near, _elements = _Relations(_NEAR), _Relations(_ELEMENTS)
_records = _Relations(_RECORDS)
_arguments = lazy_pattern(
    r"(?:(?P<until>(?:thin:|sqlplus\s(?:-\w{1,8}\s)?)[\w$#.]{1,64}/(?=[^\s@/]))"  # Oracle: up to the host
    r"|identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?"  # SQL
    r"|:(?:5432|6543):[\w*.-]{1,64}:[\w*.-]{1,64}:"  # .pgpass
    r"|sp_addlogin\s'[^']{1,64}',\s?(?=')"
    r"|lftp\s-u\s[^\s,]{1,64},"
    r"|\s/rp\s"
    r"|net\suse\s(?:[a-z*]:?\s)?\\{2,64}\S{1,100}\s(?=[^\s/*])"
    r"|(?:add_user|change_password)\s\S{1,64}\s"  # rabbitmqctl
    r"|(?:smb|rpc)client\s[^\r\n]{0,80}-u\s{0,2}[^\s%]{1,64}%"
    rf"|redis\S{{0,60}}>\sauth\s(?:[\w.-]{{1,60}}[ ])?){_COMMAND_QUOTE}(?=[^\s-])"
)
DETECTORS = (
    Detector("name", names.SIGNS, _near.pattern, _near.judge),
    Detector(
        *("element", names.SIGNS, _elements.pattern, _elements.judge),
        can_hold_secrets=True,
        marks=(">", "&gt;", "u003e"),
    ),
    Detector(
        *("record", names.SIGNS, _records.pattern, _records.judge),
        can_hold_secrets=True,
        marks=("value", "default", "const", "example", "content", "form-data"),
    ),
    Detector(
        "value before its name",
        ("value", "echo"),
        lazy_pattern(
            rf"(?:value{QUOTE}?\s{{0,4}}[=:]|(?P<echo>echo|printf)\s(?:-\w\s|'%s'\s)?)\s{{0,4}}(?P<open>{open_quote('b')})?(?=[^\s\[{{{{])"
        ),
        judge_before_name,
        marks=(*names.SIGNS, "stdin", "sudo"),
    ),
    Detector(
        "random value beside a name",
        names.SIGNS,
        lazy_pattern(
            r"[a-z0-9_+/=.~!@#$%^&-](?:(?<![\w.\\%+/=*-].)|(?<=\\[nrt].)|(?<=\\u[0-9a-f]{4}.))(?:(?<=[0-9])|(?=[^\s\"'`\\0-9]{0,24}(?:[0-9]|\Z)))(?=[a-z0-9_+/=.~!@#$%^&*-]{0,5}(?:\Z|(?<=.{5})))"
        ),
        judge_beside,
    ),
    Detector(
        "address",
        ("://", ":\\", "%3a%2f%2f"),
        lazy_pattern(r":(?:\\{0,64}/){2}|(?P<escaped>%3a%2f%2f)"),
        _judge_address,
    ),
    Detector(
        "PEM private key",
        ("private",),
        lazy_pattern(
            r"-{4,5}\s?begin[a-z0-9 +%_-]{0,60}private(?:\s|\+|%20)key(?:(?:\s|\+|%20)block)?\s?-{4,5}"
            r"|private-lines:\s?[0-9]{1,4}"
        ),
        _judge_pem,
    ),
    Detector(
        "bearer token",
        ("bearer",),
        lazy_pattern(r"bearer(?:[ \t+]{1,4}|%20|\\{1,64}u0020)"),
        _run(_BASE64_SIGNS, 12, lambda place: place.begins),
    ),
    Detector(
        "basic credentials", ("basic",), lazy_pattern(r"basic(?:[ \t+]{1,4}|%20)"), _run(_BASE64_SIGNS, 8, _is_assigned)
    ),
    Detector(
        "response of digest authentication",
        ("auth",),
        lazy_pattern(r"auth[^\r\n]{1,40}digest\s[^\r\n]{0,360}?\bresponse\s?=\s?\\{0,64}\"?(?=[0-9a-f])"),
        _run("[A-Fa-f0-9]", 8),
        can_hold_secrets=True,
    ),
    Detector(
        "webhook",
        ("hooks.slack", "/webhook", "webhookb2"),
        lazy_pattern(
            r"hooks\.slack\.com(?:\\{0,64}/)(?:services|workflows|triggers)(?:\\{0,64}/)"
            r"|discord(?:app)?\.com(?:\\{0,64}/)api(?:\\{0,64}/)(?:v[0-9]{1,2}(?:\\{0,64}/))?webhooks(?:\\{0,64}/)"
            r"[0-9]{5,30}(?:\\{0,64}/)|webhook\.office\.com(?:\\{0,64}/)webhookb2(?:\\{0,64}/)"
        ),
        _run(r"[A-Za-z0-9_+@=-]|\\{0,64}/", 20),
    ),
    Detector(
        "Telegram bot",
        (":a",),
        lazy_pattern(r"(?<![0-9])[0-9]{6,12}:(?=a)"),
        _run("[A-Za-z0-9_-]", 30, _is_bot),
    ),
    Detector(
        "Azure client secret",
        ("q~",),
        lazy_pattern(r"q~(?<=[a-z0-9_~.]{3}[0-9]q~)"),
        _run("[A-Za-z0-9_.~-]", 28),
    ),
    Detector(
        "user of a command",
        (" -u", " -a", "--user", "--proxy-user", "--auth", "\n-u"),
        lazy_pattern(
            rf"-(?<=\s-)(?:u|a|-auth|-(?:proxy-)?user)(?:\s{{1,4}}(?:{_CONTINUED})?|=)?"
            r"(?P<quote>\\{0,64}[\"'])?(?=[\w.@%+-])"
        ),
        _judge_user,
    ),
    Detector(
        "password of a command",
        (" -p", " /p:", " -a", " -w", " -b", " -x", "\t-p", "\t-a"),
        lazy_pattern(
            rf"[-/](?<=[ \t][-/])(?P<option>[pawbx])(?P<blank>:|\s{{0,4}}(?:{_CONTINUED})?){_COMMAND_QUOTE}(?=[^\s-])"
        ),
        _judge_command,
    ),
    Detector(
        *(
            "argument of a command",
            (
                "thin:",
                "sqlplus",
                "identified",
                "/rp ",
                ":5432:",
                ":6543:",
                "net use",
                "add_user",
                "> auth",
                "lftp",
                "sp_addlogin",
                "smbclient",
                "rpcclient",
            ),
            _arguments,
        ),
        _judge_option,
        can_hold_secrets=True,
    ),
    Detector(
        "user and password in a call",
        ("auth", "cred", "basic", "login", "connect", "pdo(", "ftp("),
        lazy_pattern(
            rf"(?:auth|credentials?|login|basic|connect|pdo|ftp)\w{{0,20}}\s?[=(]\s?\(?\s?(?:\$\w{{1,12}},\s?)?"
            rf"(?:{QUOTE}[^\"'\r\n\\]{{1,100}}{QUOTE}\s?,\s?){{1,3}}?{_COMMAND_QUOTE}(?=[^\"'\s]{{0,40}}(?:[0-9!$%^&#]|\Z))"
        ),
        lambda place: _judge_option(place) if place.found["open"] else None,
        can_hold_secrets=True,
    ),
)
