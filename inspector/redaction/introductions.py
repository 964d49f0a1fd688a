"""What introduces a secret: the table of detectors, and those that need no name: prefixes of keys, addresses, commands.

A detector has `signs`, literals of which every text with a match contains one, a `pattern` that finds an introduction,
and `judge`, which examines what follows it. Signs and patterns are for the text's `view` (see `names`): lower case,
ASCII, and of the same length.

A key is identified by its prefix, which counts only where a word begins: at the text's beginning, after any character
that is no letter or digit, and after an escape, whose last letter is not part of the word after it: a line end in JSON
at any level, `%0A`, a colour of a terminal. Within a long run of key characters a dash begins no word, because such a
run is one value.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.named_values import introduces_nothing, judge_bare, judge_before_name, judge_named
from weaklink.inspector.redaction.rules import PATTERNS, RULES, DetectorRule, pattern
from weaklink.inspector.redaction.secret_values import FoundIntroduction, Secret, SecretConfidence, ending_of
from weaklink.inspector.scanning import lazy_pattern

_Judge: TypeAlias = Callable[[FoundIntroduction], Secret | None]


class Detector(Struct, frozen=True):
    """Finds introductions by `pattern`, in the view, if one of `signs` is in the text; `judge` decides.

    With `can_hold_secrets`, other secrets may be within an introduction; its value then begins at its end or later.
    With a `span` of 0, a match begins with a sign; else it begins at most `span` characters before one of its signs,
    and has the parts that make it one at most `span` behind it. Patterns begin with a character and not with a
    lookbehind, so that the search goes from one such character to the next. No match in plain letters is longer than
    `longest`. `is_idle` rejects most places in a view with
    little work; it is asked when the text that a verdict needs is there, which is `window` characters behind a match.
    With `is_exact`, signs and pattern are for the text and not its view.
    """

    rule: DetectorRule
    pattern: re.Pattern[str]
    judge: Callable[[FoundIntroduction], Iterable[Secret]]
    is_idle: Callable[[str, re.Match[str]], bool] | None = None


class KeyShape(Struct, frozen=True):
    """A key whose `prefix` begins a word; at least `at_least` characters of the set `secret` follow.

    The prefix stays readable and the whole run of `secret` characters after it is redacted. One that begins with a sign
    may follow a letter or digit. `must_mix`: within the first 64 characters there must be a segment with a digit and a
    letter, or with both cases, because words joined by dashes have the same shape.
    """

    prefix: str
    at_least: int
    secret: str
    must_mix: bool


def _shapes() -> Iterator[KeyShape]:
    for row in RULES.keys.strip().replace("\n  ", " ").splitlines():
        head, _, prefixes = row.partition(": ")
        characters, at_least, *words = head.split(" ")
        secret = RULES.characters.get(characters, characters)
        yield from (KeyShape(prefix, int(at_least), secret, not words) for prefix in prefixes.split(" "))


KEYS = tuple(_shapes())
_BY_FIRST: dict[str, list[KeyShape]] = {}
for _key in sorted(KEYS, key=lambda key: -len(key.prefix)):
    _BY_FIRST.setdefault(_key.prefix[0], []).append(_key)
_KEY_RUNS = {signs: secret_values.PatternRun(lazy_pattern(f"[{signs}]*")) for signs in {key.secret for key in KEYS}}
_MIN_KEY_CHARS = min(len(key.prefix) + key.at_least for key in KEYS)
_PREFIXES = (*dict.fromkeys(key.prefix for key in KEYS), "eyJ", *map("".join, product("MNO", "DTjz")))
"""What keys begin with; those of Discord's bots begin with digits in base 64."""

_KEY_CHARACTER, _LOOK, _MAX_EXAMINED_CHARS, _LONGER_THAN_WORDS = "[A-Za-z0-9_.+/=~-]", 64, 448, 24
_TOKENS = {"JSON Web Token": PATTERNS.json_web_token, "Discord bot": PATTERNS.discord_bot}
_TOKEN_REST = secret_values.PatternRun(PATTERNS.token_rest)


def _judge_key(place: FoundIntroduction) -> Secret | None:
    """The key whose prefix begins a run, if it is one."""
    text, at, is_final = place.text, place.found.start(), place.is_final
    begins = names.begins_word(text, at, place.free_at)
    for key in _BY_FIRST.get(text[at], ()):
        if text.startswith(key.prefix, at) and (begins or not key.prefix[0].isalnum()):
            start, run = at + len(key.prefix), _KEY_RUNS[key.secret]
            body = text[start : run.pattern.match(text, start, start + max(key.at_least, _LOOK)).end()]  # type: ignore[union-attr]  # it may match nothing
            words = PATTERNS.segment.findall(body)
            is_random = any(len(word) >= _LONGER_THAN_WORDS or secret_values.is_mixed(word) for word in words)
            if len(body) >= key.at_least and (is_random or not key.must_mix):
                return replace(Secret.of(text, start, run, is_final=is_final), rule=f"prefix {key.prefix}")
    for name, token in _TOKENS.items() if begins else ():
        match = token.match(text, at)
        if match is not None and secret_values.is_mixed(match["body"]):
            return replace(Secret.of(text, match.start("body"), _TOKEN_REST, is_final=is_final), rule=name)
    return None


def _judge_address(place: FoundIntroduction) -> Secret | None:
    """Judge an address: a password before the host, or only a token there. The password may contain `/`, `?`, `#`."""
    text, start = place.text, place.found.end()
    if place.found["escaped"]:
        escaped = PATTERNS.escaped_password.match(text, start)
        if escaped and not secret_values.is_placeholder(escaped[1]):
            return Secret(*escaped.span(1))
        return None
    end = PATTERNS.authority.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    at = text.rfind("@", start, end)
    if at < 0 and not PATTERNS.port.match(text[start:end].partition(":")[2] or "0"):
        at = text.rfind("@", end, PATTERNS.authority_rest.match(text, end).end())  # type: ignore[union-attr]  # the same
    user, _, password = text[start:at].partition(":") if at >= 0 else ("", "", "")
    if _is_token(user):
        return Secret(start, at)
    return Secret(at - len(password), at) if _is_password(password) else None


def _is_token(user: str) -> bool:
    """Whether the text in place of a user's name is a token, as in `https://ghp_...:x-oauth-basic@host`."""
    return len(user) >= 16 and secret_values.is_mixed(user) and "." not in user[16:]


_NO_USER = ("mailto", "mail", "email", "e-mail", "to", "cc", "bcc", "from", "sip", "acct", "git", "npm", "by")


def _judge_pair_at_host(place: FoundIntroduction) -> Secret | None:
    """Judge `user:password@host` without a scheme."""
    user, password, host = place.found["user"], place.text[slice(*place.found.span("password"))], place.found["host"]
    start = place.found.start("user")
    if place.text[start - 1 : start] == "\\" and user[0] in "nrt":  # the end of a line in JSON
        user = user[1:]
    is_strange = secret_values.has_letters_and_digits(password) or not password.isalnum() or place.found["port"]
    is_other = user in _NO_USER or host.startswith("sha") or password.isdigit()
    is_secret = is_strange and not is_other and not secret_values.is_placeholder(password)
    return Secret(*place.found.span("password")) if is_secret else None


def _judge_pem(place: FoundIntroduction) -> Secret | None:
    lines = PATTERNS.lines.findall
    return place.judge(secret_values.PEM, place.found.end(), lambda body: any(map(secret_values.is_mixed, lines(body))))


_ON_THE_LINE = r"(?:[^\n|;&\\]|\\(?:\r?\n)?)"
_QUOTE = r"(?:\\{0,64}[\"'])"
_COMMANDS = {
    option: lazy_pattern(rf"(?s:.*)(?:{pattern(commands)}){_QUOTE}?[\s,](?:{_ON_THE_LINE}{{0,200}}[\s,])?{_QUOTE}?\Z")
    for option, commands in RULES.commands.items()
}
_MAX_COMMAND_CHARS, _MIN_PAIRED_CHARS, _MIN_WEB_KEY_CHARS = 240, 8, 20


def _judge_option(place: FoundIntroduction) -> Secret | None:
    """Judge the password of a command: of `-u joe:x`, or an option, if its command is before it on the line."""
    text, view, found, at = place.text, place.lowered, place.found, place.found.start() + 1
    if found["cut"] is not None:
        return None
    if found["option"] is None:
        secret = _argument(place, found["quote"] or found["open"])
        start, end = found.span("user")
        if _is_token(text[start:end]):
            return Secret(start, secret.end if secret else end, secret.goes_on if secret else ())
        return secret
    begin = max(at - _MAX_COMMAND_CHARS, 0)
    command = _COMMANDS[found["option"]].match(view, begin, at)
    is_option = command is not None and not (found["blank"] and command.groupdict().get("joined"))
    if command is None and found["option"] == "p" and PATTERNS.user_before.search(view, begin, at):
        value, _ = place.value(secret_values.WORD, found.end())
        is_option = len(value) >= 6 and secret_values.has_letters_and_digits(value)
    return _argument(place, found["open"]) if is_option else None


def _argument(place: FoundIntroduction, quote: str | None) -> Secret | None:
    """A password as an argument of a known command; a bare number is none."""
    start, ends_at_host = place.found.end(), place.found.groupdict().get("until")
    if quote or ends_at_host:
        return place.judge(ending_of(quote) if quote else secret_values.BEFORE_AT, start, _is_password)
    secret = judge_bare(place, start, SecretConfidence.PASSWORD, gap="=")
    if secret is None:  # a comma or semicolon in it looked like the end of a field
        return place.judge(secret_values.JOINED_WORD, start, secret_values.has_letters_and_digits)
    return None if place.text[secret.start : secret.end].isdigit() else secret


def _is_password(value: str) -> bool:
    return secret_values.can_be_quoted_secret(value, SecretConfidence.PASSWORD)


def _judge_login(place: FoundIntroduction) -> Secret | None:
    def is_secret(value: str) -> bool:
        is_told = place.found["told"] or place.found["are"] or place.found["named"]
        is_pair = PATTERNS.paired.search(place.found[0]) or not value.islower()  # no `login: owner/project2`
        is_secret = is_told and is_pair and len(value) >= _MIN_PAIRED_CHARS
        return secret_values.is_made(value) or bool(is_secret and secret_values.has_letters_and_digits(value))

    return place.judge(secret_values.WORD, place.found.end(), is_secret)


_JUDGES: dict[str, _Judge] = {
    "before_name": judge_before_name,
    "address": _judge_address,
    "pair_at_host": _judge_pair_at_host,
    "pem": _judge_pem,
    "option": _judge_option,
    "argument": lambda place: _argument(place, place.found["open"]),
    "login": _judge_login,
    "made": lambda place: place.judge(
        secret_values.WORD, place.found.end(), lambda value: secret_values.is_made(value, at_least=_MIN_WEB_KEY_CHARS)
    ),
}


def _detector(rule: DetectorRule, judge: _Judge) -> Detector:
    return Detector(rule, lazy_pattern(pattern(rule.pattern)), lambda place: filter(None, (judge(place),)))


def _run(name: str, introduction: str, characters: str, at_least: int) -> Detector:
    """A detector of a run of characters: a secret has at least so many, and mixes them."""
    run = secret_values.PatternRun(lazy_pattern(f"(?:{pattern(characters)})*"), "\\" if "SLASH" in characters else "")
    sign = re.match("[a-z:~]+", introduction.replace("(?=", ""))[0]  # type: ignore[index]  # each begins with its sign

    def judge(place: FoundIntroduction) -> Secret | None:
        return place.judge(run, place.found.end(), lambda text: len(text) >= at_least and secret_values.is_mixed(text))

    return _detector(DetectorRule(name, (sign,), introduction, "run", can_hold_secrets=True, span=0), judge)


_NAME = DetectorRule("name", names.SIGNS, names.NAME, "", can_hold_secrets=True, span=0, longest=64)
_KEY_RUN = f"{_KEY_CHARACTER}{{{_MIN_KEY_CHARS},{_MAX_EXAMINED_CHARS}}}|{_KEY_CHARACTER}*\\Z"
_KEY = DetectorRule("key", _PREFIXES, _KEY_RUN, "", span=0, window=1, is_exact=True)
DETECTORS = (
    Detector(_NAME, lazy_pattern(names.NAME), judge_named, is_idle=introduces_nothing),
    _detector(_KEY, _judge_key),
    *(_run(name, *run) for name, run in RULES.runs.items()),
    *(_detector(rule, _JUDGES[rule.judge]) for rule in RULES.detectors),
)
