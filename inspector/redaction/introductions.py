r"""Finds secrets after introductions: names of values, addresses with passwords, headers, command lines, PEM blocks.

A detector has `signs`, literals of which every text with a match contains one, a `pattern` that finds an introduction,
and `judge`, which examines what follows it. Signs and patterns are for the text in lower case with `?` for every
non-ASCII character. No match is longer than `LONGEST_INTRODUCTION`; quotes, separators and markup are recognised in
plain form and as JSON (`\"`, `\u003d`), HTML (`&quot;`) and addresses (`%3D`) escape them.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from inspector.redaction.keys import begins_word
from inspector.redaction.secret_values import (
    BARE,
    ELEMENT,
    LINE,
    LOOKAHEAD,
    PEM,
    Ending,
    PatternRun,
    Quoted,
    Secret,
    SecretConfidence,
    SecretVerdict,
    Undecided,
    can_be_bare_secret,
    can_be_quoted_secret,
    is_placeholder,
    looks_random,
    secret_confidence,
    until,
)
from inspector.scanning import lazy_pattern

LONGEST_INTRODUCTION = 512
"""The longest match of a detector's pattern, in code points."""

_PEEK = 200  # code points of a value that are examined
_LONGEST_NAME = 48
_LONGEST_ADDRESS = 400
_LONGEST_COMMAND = 240


class FoundIntroduction(Struct, frozen=True):
    """An introduction that was found in a text; `free_at` is the end of the last secret before it, -1 for none."""

    text: str
    found: re.Match[str]
    free_at: int
    is_final: bool

    @property
    def begins(self) -> bool:
        """Whether a word begins here."""
        return begins_word(self.text, self.found.start(), self.free_at)


class Detector(Struct, frozen=True):
    """Finds introductions by `pattern`, in lower case, if one of `signs` is in the text; `judge` decides.

    With `can_hold_secrets`, other secrets may be within an introduction; its value then begins at its end. If there are
    `marks`, a text must also contain one of them. Patterns begin with a character and not with a lookbehind, so that
    the search goes from one such character to the next.
    """

    name: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Callable[["FoundIntroduction"], SecretVerdict]
    can_hold_secrets: bool = False
    marks: tuple[str, ...] = ()


_BACKSLASHES = r"\\{1,64}"
_ESCAPED_QUOTE = rf"&quot;|&\#0?3[49];|&\#x2[27];|&apos;|%2[27]|{_BACKSLASHES}u002[27]"
_QUOTE = rf"(?:\\{{0,64}}[\"'`]|{_ESCAPED_QUOTE})"


def _open(name: str) -> str:
    """An opening quote; a triple quote has the same backslashes before each of its signs. `name` is for a group."""
    three = "|".join(f"{one}(?:(?P={name}){one}(?P={name}){one})?" for one in "\"'")
    return rf"[rbf]?(?:(?P<{name}>\\{{0,64}})(?:{three}|`)|{_ESCAPED_QUOTE})"


_BLANK = rf"(?:\s|{_BACKSLASHES}[nrt]){{0,12}}"
_CONTINUED = r"(?:\\\r?\n|\\{3,64}(?:r\\{1,64})?n)[ \t]{0,12}"
"""The end of a command's line that continues on the next, also as JSON escapes it."""
_IS = rf"(?:={{1,3}}|:=|=>|->|:|%3[ad]|{_BACKSLASHES}u003[ad]|&\#(?:61|58|x3[ad]);)"
_TYPE = r"(?::\s?&?(?:str|string|text|secretstr|optional\[str\])(?:\s?\|\s?none)?\s{0,2})?"
_NAME = r"""(?P<sign>pass(?:w(?:or)?d|phrase|code)?|pwd|secret(?:string)?|token|key|credentials?|cookie
        |auth(?:orization)?|session|sig(?:nature)?|code|jwt)
    (?:[_-]?(?:[0-9]{1,2}|confirm(?:ation)?|value)|(?P<id>[_-]?id))?"""
_NAMED = lazy_pattern(
    rf"""{_NAME}
    (?: (?P<quote>{_QUOTE})?\]?(?P<gap>{_BLANK}{_TYPE}{_IS}{_BLANK})(?P<open>{_open("b1")}|<\|\\{{0,64}}"\|>|<escape>)?
      | {_QUOTE}\s{{0,4}},\s{{0,8}}{_QUOTE}value{_QUOTE}\s{{0,4}}:\s{{0,4}}(?P<pair>{_open("b2")})
      | (?P<option>{_QUOTE}\s{{0,4}},{_BLANK}(?P<listed>{_open("b3")})
                  |[ \t]{{1,4}}(?:{_CONTINUED})?(?P<shell>{_open("b4")})?)
    )""",
    re.VERBOSE,
)
_LESS, _GREATER = rf"(?:<|&lt;|{_BACKSLASHES}u003c)", rf"(?:>|&gt;|{_BACKSLASHES}u003e)"
_TAGGED = lazy_pattern(
    rf"""{_NAME}
    (?: {_QUOTE}?(?:\s[^<>]{{0,300}}?)?(?P<tag>{_GREATER}){_BLANK}
      | {_QUOTE}\s[^<>]{{0,300}}?{_LESS}\|(?P<sep>sep)\|{_GREATER}
      | <\\{{0,64}}/(?:arg_key|key|name)>{_BLANK}<(?P<arg>arg_value|value|string)>{_BLANK}
    )""",
    re.VERBOSE,
)
_SCHEME = lazy_pattern(
    r"(?:bearer|basic|token|apikey|api-key|digest|negotiate|bot|aws4-hmac-sha256)(?:[ \t+]{1,4}|%20)", re.IGNORECASE
)
_LINE_SCHEMES = ("digest", "aws4-hmac-sha256")
_NAME_END = lazy_pattern(r"[A-Za-z0-9_.$-]{1,48}\Z")
_IN_QUERY = lazy_pattern(r"(?:[?&;]|amp;|%26|%3f|u0026)[A-Za-z0-9_.-]{0,40}\Z", re.IGNORECASE)
_ESCAPED_LETTER = lazy_pattern(r"u[0-9a-fA-F]{4}|[nrtbf]")
_ESCAPED_CODE = lazy_pattern(r"(?:25)*[0-9A-Fa-f]{2}")


def _judge_named(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    name_at = _name_start(place)
    confidence = _name_confidence(place, name_at)
    if confidence is None or _ends_line(found):
        return None
    sign, start = found["sign"], found.end()
    if sign in {"authorization", "cookie"} and found["option"] is None:
        return _judge_header(text, start, sign, found["open"] or found["pair"], confidence, is_final=is_final)
    return _judge_value(place, name_at, confidence)


def _judge_tagged(place: FoundIntroduction) -> SecretVerdict:
    text, found = place.text, place.found
    name_at = _name_start(place)
    confidence = _name_confidence(place, name_at)
    if confidence is None or not _is_tag(text, found, name_at):
        return None
    return _judge_element(text, found.end(), confidence, is_final=place.is_final)


def _name_confidence(place: FoundIntroduction, name_at: int) -> SecretConfidence | None:
    """How strongly the name that begins at `name_at` indicates a secret; None if it does not."""
    text, found = place.text, place.found
    sign, at = found["sign"], found.start()
    if (found["id"] is not None and sign != "key") or not (place.begins or at == name_at or _may_begin(text, at, sign)):
        return None
    is_query = _IN_QUERY.search(text, max(at - 48, 0), at) is not None
    is_shouted = text[at : at + len(sign)].isupper()
    return secret_confidence(sign, text[name_at:at], is_query=is_query, is_shouted=is_shouted)


def _ends_line(found: re.Match[str]) -> bool:
    """Whether a heading or a line of code ends after a name without a closing quote."""
    return found["gap"] is not None and "\n" in found["gap"] and found["quote"] is None


def _judge_value(place: FoundIntroduction, name_at: int, confidence: SecretConfidence) -> SecretVerdict:
    """Judge what follows a name that is no tag and no header: the value of a member, a variable or an option."""
    text, found, is_final = place.text, place.found, place.is_final
    sign, start, gap = found["sign"], found.end(), found["gap"] or "="
    opened = found["open"] or found["pair"]
    if found["option"] is not None:
        if not text.startswith("-", name_at):
            return None
        opened, gap = found["listed"] or found["shell"], " "
    elif found["open"] is not None and found["quote"] is None and _closes(text, name_at, found["open"]):
        return None
    if opened:
        return _judge_quoted(text, start, opened, confidence, is_final=is_final)
    return _judge_bare(text, start, confidence, name=sign, gap=gap, is_final=is_final)


def _name_start(place: FoundIntroduction) -> int:
    """The start of the name whose last word was found; an escape or a secret before it is not part of it."""
    text, at = place.text, place.found.start()
    found = _NAME_END.search(text, max(at - _LONGEST_NAME, 0), at)
    if found is None:
        return at
    start = found.start()
    escape = None
    if start and text[start - 1] == "\\":
        escape = _ESCAPED_LETTER.match(text, start, at)
    elif start and text[start - 1] == "%":
        escape = _ESCAPED_CODE.match(text, start, at)
    return max(escape.end() if escape else start, place.free_at)


def _may_begin(text: str, at: int, sign: str) -> bool:
    """Whether the sign, with letters before it, is the end of a word with the same meaning."""
    before = text[at - 1]
    if before in "_-." or (text[at].isupper() and not before.isupper()):
        return True
    if sign == "pwd":
        return not before.isupper()
    return sign.startswith(("passw", "passp", "secret", "key", "token"))  # `apikey`: the word before decides


_QUOTED_WORDS = lazy_pattern(
    r"""(?<![\w.!?)\]}"'`\\])[rbfu]?(\\{0,64}["'`])(?!\s?,)[\w .,:-]{0,40}\Z""", re.IGNORECASE
)  # the quote opens a text: no word ends before it, and no comma follows


def _closes(text: str, name_at: int, quote: str) -> bool:
    """Whether a quote after a name closes the text that contains the name, for example a prompt."""
    found = _QUOTED_WORDS.search(text, max(name_at - 64, 0), name_at)
    return found is not None and found[1] == quote


_TAG_BEGIN = lazy_pattern(r"(?:<|&lt;|u003c)[^\s<>/]{0,48}(?:\s[^<>]{0,48}=\s?[^\s<>]{0,40})?\Z", re.IGNORECASE)


def _is_tag(text: str, found: re.Match[str], name_at: int) -> bool:
    """Whether the name is in an opening tag, or is the text of one that names an argument."""
    if found["sep"] is not None:
        return _ARGUMENT_BEGIN.search(text, max(name_at - 64, 0), name_at) is not None
    if found["arg"] is not None:
        return text.rfind("<", max(name_at - 64, 0), name_at) >= 0
    return _TAG_BEGIN.search(text, max(name_at - 160, 0), name_at) is not None


_ARGUMENT_BEGIN = lazy_pattern(r"\bargument\s{1,4}key\s?=\s?[^\s<>]{1,40}\Z", re.IGNORECASE)
"""Kimi K3 writes before a name: `<|open|>argument key="name" type="string"<|sep|>value<|close|>argument<|sep|>`."""

_CLOSING = lazy_pattern(r"\]?(?:<|&lt;|\\{1,64}u003c)(?:\\{0,64}/|\|close\||\]minimax\[)", re.IGNORECASE)


def _judge_element(text: str, start: int, confidence: SecretConfidence, *, is_final: bool) -> SecretVerdict:
    end = _near_end(ELEMENT, text, start, is_final=is_final)
    is_closed = end is not None and _CLOSING.match(text, end) is not None
    if not (is_closed or is_final) and len(text) - (end or start) < _PEEK + LOOKAHEAD:
        return Undecided(start)
    value = text[start : start + _PEEK if end is None else end]
    if not is_closed and (any(sign.isspace() for sign in value.strip()) or (end is not None and end + 1 < len(text))):
        return None
    if not can_be_quoted_secret(value, confidence):
        return None
    return Secret.of(text, start, ELEMENT, is_final=is_final)


def _near_end(ending: Ending, text: str, start: int, *, is_final: bool) -> int | None:
    """The value's end if it is within the examined characters, so that it does not depend on later text."""
    end = ending.end(text, start, min(start + _PEEK + LOOKAHEAD, len(text)), is_final=is_final)
    return None if end is None or end >= start + _PEEK else end


def _ending_of(opened: str) -> Ending:
    """How a value ends that begins with `opened`, in lower case."""
    bare = opened.lstrip("rbf") if opened[-1] in "\"'`" else opened
    if bare[-1] in "\"'`" and not bare.startswith("<"):
        backslashes = len(bare) - len(bare.lstrip("\\"))
        return Quoted(bare[-1], backslashes)
    if bare == "<escape>":
        return until("<escape>")
    return until(opened)


def _judge_quoted(text: str, start: int, opened: str, confidence: SecretConfidence, *, is_final: bool) -> SecretVerdict:
    ending = _ending_of(opened)
    end = _near_end(ending, text, start, is_final=is_final)
    if end is None and start + _PEEK + LOOKAHEAD >= len(text) and not is_final:
        return Undecided(start)
    value = text[start : start + _PEEK if end is None else end]
    if not can_be_quoted_secret(value, confidence):
        return None
    return Secret.of(text, start, ending, is_final=is_final)


def _judge_bare(
    text: str, start: int, confidence: SecretConfidence, *, name: str, gap: str, is_final: bool
) -> SecretVerdict:
    limit = start + _PEEK + LOOKAHEAD
    end = BARE.end(text, start, min(limit, len(text)), is_final=is_final)
    if not is_final and len(text) < limit and (end is None or len(text) - end < 4):
        return Undecided(start)
    value = text[start : start + _PEEK if end is None else end]
    after = "" if end is None else text[end : end + 4]
    if not can_be_bare_secret(value, confidence, name=name, gap=gap, after=after):
        return None
    return Secret.of(text, start, BARE, is_final=is_final)


def _judge_header(
    text: str, start: int, sign: str, opened: str | None, confidence: SecretConfidence, *, is_final: bool
) -> SecretVerdict:
    """Judge a header's value: the scheme stays, cookies and signatures extend to the end of the line."""
    scheme = _SCHEME.match(text, start)
    ending: Ending = _ending_of(opened) if opened else LINE
    value_at = scheme.end() if scheme else start
    limit = min(value_at + _PEEK + LOOKAHEAD, len(text))
    end = ending.end(text, value_at, limit, is_final=is_final)
    if end is None and limit == len(text) and not is_final:
        return Undecided(start)
    value = text[value_at : value_at + _PEEK if end is None else end].strip()
    if sign == "cookie":
        name, is_pair, _ = value.partition("=")
        is_secret = bool(is_pair) and len(value) >= 8 and not any(one.isspace() for one in name)
    elif scheme is not None:
        is_one = " " not in value or bool(opened) or "=" in value
        is_secret = is_one and can_be_quoted_secret(value, SecretConfidence.PASSWORD)
        if " " in value and not opened and not scheme[0].lower().startswith(_LINE_SCHEMES):
            return _judge_bare(text, value_at, SecretConfidence.LIKELY, name=sign, gap="=", is_final=is_final)
    elif opened:
        is_secret = can_be_quoted_secret(value, confidence)
    else:
        return _judge_bare(text, value_at, confidence, name=sign, gap=": ", is_final=is_final)
    return Secret.of(text, value_at, ending, is_final=is_final) if is_secret else None


_AUTHORITY = lazy_pattern(r"""[^\s/"'`<>?#\\]{0,400}""")


def _judge_address(place: FoundIntroduction) -> SecretVerdict:
    """Judge an address: a password before the host, or only a token there."""
    text, found, is_final = place.text, place.found, place.is_final
    start = found.end()
    end = _AUTHORITY.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    if end == len(text) and end < start + _LONGEST_ADDRESS and not is_final:
        return Undecided(start)
    at = text.rfind("@", start, end)
    if at < 0:
        return None
    user, colon, password = text[start:at].partition(":")
    if _is_token(user):
        return Secret(start, at)
    return Secret(at - len(password), at) if colon and password and not is_placeholder(password) else None


def _is_token(user: str) -> bool:
    """Whether the text in place of a user's name is a token, as in `https://ghp_...:x-oauth-basic@host`."""
    return len(user) >= 16 and looks_random(user) and "." not in user[16:]


_BASE64_RUN = PatternRun(lazy_pattern(r"[A-Za-z0-9+/=_.~%-]*"))
_HOOK_RUN = PatternRun(lazy_pattern(r"(?:[A-Za-z0-9+_@=-]|\\{0,64}/)*"), "\\")


def _judge_run(text: str, start: int, run: PatternRun, at_least: int, *, is_final: bool) -> SecretVerdict:
    """Judge a run of characters: a secret has at least so many, and looks random."""
    limit = min(start + _PEEK + LOOKAHEAD, len(text))
    end = run.end(text, start, limit, is_final=is_final)
    if end is None and limit == len(text) and not is_final:
        return Undecided(start)
    value = text[start : start + _PEEK if end is None else end]
    is_secret = len(value) >= at_least and looks_random(value)
    return Secret.of(text, start, run, is_final=is_final) if is_secret else None


def _judge_bearer(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    return _judge_run(text, found.end(), _BASE64_RUN, 12, is_final=is_final) if place.begins else None


def _judge_basic(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    before = text[max(found.start() - 2, 0) : found.start()].rstrip()
    if not before.endswith((":", "=", '"', "'")):
        return None  # prose: basic understanding
    return _judge_run(text, found.end(), _BASE64_RUN, 8, is_final=is_final)


def _judge_hook(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    return _judge_run(text, found.end(), _HOOK_RUN, 20, is_final=is_final)


def _judge_telegram(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    if not (place.begins or text[max(found.start() - 3, 0) : found.start()].lower() == "bot"):
        return None
    return _judge_run(text, found.end(), PatternRun(re.compile(r"[A-Za-z0-9_-]*")), 30, is_final=is_final)


def _judge_azure(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    return _judge_run(text, found.end(), PatternRun(re.compile(r"[A-Za-z0-9_.~-]*")), 28, is_final=is_final)


def _judge_pem(place: FoundIntroduction) -> SecretVerdict:
    text, found, is_final = place.text, place.found, place.is_final
    start = found.end()
    limit = min(start + _PEEK + LOOKAHEAD, len(text))
    end = PEM.end(text, start, limit, is_final=is_final)
    if end is None and limit == len(text) and not is_final:
        return Undecided(start)
    value = text[start : start + _PEEK if end is None else end]
    is_secret = any(looks_random(one) for one in re.findall(r"[A-Za-z0-9+/=]{16,}", value))
    return Secret.of(text, start, PEM, is_final=is_final) if is_secret else None


_LONGEST_USER = 64
_USER = lazy_pattern(r"[\w.@%+-]{0,64}")
_OPENED = lazy_pattern(r"\\{0,64}[\"']?")


def _judge_user(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password after a user's name and a colon; with a token in place of the name, both are secret."""
    text, start, is_final = place.text, place.found.end(), place.is_final
    end = _USER.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    if end == len(text) and end < start + _LONGEST_USER and not is_final:
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
    text, quote, is_final = place.text, place.found["quote"], place.is_final
    if quote is not None:
        return _judge_quoted(text, start, quote, SecretConfidence.PASSWORD, is_final=is_final)
    opened = _OPENED.match(text, start)[0]  # type: ignore[index]  # it may match nothing
    if start + len(opened) == len(text) and not is_final:
        return Undecided(start)
    if opened[-1:] in {'"', "'"}:
        return _judge_quoted(text, start + len(opened), opened, SecretConfidence.PASSWORD, is_final=is_final)
    return _judge_bare_option(text, start, is_final=is_final)


_ON_THE_LINE = r"(?:[^\n|;&\\]|\\(?:\r?\n)?)"
_COMMANDS = {
    "p": lazy_pattern(
        r"(?s:.*)(?:(?P<joined>mysql|mariadb)[a-z_-]{0,12}|sshpass|(?:docker|podman|helm\sregistry|az|oc)\slogin)"
        rf"\s(?:{_ON_THE_LINE}{{0,200}}\s)?\Z",
        re.IGNORECASE,
    ),
    "a": lazy_pattern(rf"(?s:.*)redis-cli\s(?:{_ON_THE_LINE}{{0,200}}\s)?\Z", re.IGNORECASE),
}
"""The last command before an option `-p` or `-a` with a password; `joined` are the commands that take no blank."""


def _judge_command(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password as an option, if a command with such an option is before it on the line."""
    text, found = place.text, place.found
    at = found.start()
    command = _COMMANDS[found["option"]].match(text, max(at - _LONGEST_COMMAND, 0), at)
    if command is None or (found["blank"] and command.groupdict().get("joined")):
        return None
    return _judge_option(place)


def _judge_option(place: FoundIntroduction) -> SecretVerdict:
    """Judge a password as an option of a known command."""
    text, found, is_final = place.text, place.found, place.is_final
    if found["open"]:
        return _judge_quoted(text, found.end(), found["open"], SecretConfidence.PASSWORD, is_final=is_final)
    return _judge_bare_option(text, found.end(), is_final=is_final)


def _judge_bare_option(text: str, start: int, *, is_final: bool) -> SecretVerdict:
    verdict = _judge_bare(text, start, SecretConfidence.PASSWORD, name="pass", gap="=", is_final=is_final)
    return None if isinstance(verdict, Secret) and text[verdict.start : verdict.end].isdigit() else verdict


_COMMAND_QUOTE = r"(?P<open>\\{0,64}[\"'])?"
_NAME_SIGNS = ("pass", "pwd", "secret", "token", "key", "cred", "cookie", "auth", "sess", "sig", "code", "jwt")
DETECTORS = (
    Detector("named", _NAME_SIGNS, _NAMED, _judge_named),
    Detector("tagged", _NAME_SIGNS, _TAGGED, _judge_tagged, can_hold_secrets=True, marks=(">", "&gt;", "u003e")),
    Detector("address", ("://", ":\\"), lazy_pattern(r":(?:\\{0,64}/){2}"), _judge_address),
    Detector(
        "PEM private key",
        ("private",),
        lazy_pattern(
            r"-{4,5}\s?begin[a-z0-9 +%_-]{0,60}private(?:\s|\+|%20)key(?:(?:\s|\+|%20)block)?\s?-{4,5}"
            r"|private-lines:\s?[0-9]{1,4}"
        ),
        _judge_pem,
    ),
    Detector("bearer token", ("bearer",), lazy_pattern(r"bearer(?:[ \t+]{1,4}|%20|\\{1,64}u0020)"), _judge_bearer),
    Detector("basic credentials", ("basic",), lazy_pattern(r"basic(?:[ \t+]{1,4}|%20)"), _judge_basic),
    Detector(
        "webhook",
        ("hooks.slack", "/webhook", "webhookb2"),
        lazy_pattern(
            r"hooks\.slack\.com(?:\\{0,64}/)(?:services|workflows|triggers)(?:\\{0,64}/)"
            r"|discord(?:app)?\.com(?:\\{0,64}/)api(?:\\{0,64}/)(?:v[0-9]{1,2}(?:\\{0,64}/))?webhooks(?:\\{0,64}/)"
            r"[0-9]{5,30}(?:\\{0,64}/)|webhook\.office\.com(?:\\{0,64}/)webhookb2(?:\\{0,64}/)"
        ),
        _judge_hook,
    ),
    Detector("Telegram bot", (":a",), lazy_pattern(r"(?<![0-9])[0-9]{6,12}:(?=a)"), _judge_telegram),
    Detector("Azure client secret", ("q~",), lazy_pattern(r"q~(?<=[a-z0-9_~.]{3}[0-9]q~)"), _judge_azure),
    Detector(
        "user of a command",
        ("-u", "--user", "--proxy-user"),
        lazy_pattern(
            rf"-(?<=\s-)(?:u|-(?:proxy-)?user)(?:\s{{1,4}}(?:{_CONTINUED})?|=)?"
            r"(?P<quote>\\{0,64}[\"'])?(?=[\w.@%+-])"
        ),
        _judge_user,
    ),
    Detector(
        "password of a command",
        ("mysql", "mariadb", "sshpass", "login", "redis-cli"),
        lazy_pattern(rf"-(?<=[ \t]-)(?P<option>[pa])(?P<blank>\s{{0,4}}(?:{_CONTINUED})?){_COMMAND_QUOTE}(?=[^\s-])"),
        _judge_command,
    ),
)
