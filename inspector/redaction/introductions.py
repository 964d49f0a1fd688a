"""What introduces a secret: the table of detectors, and those that need no name: addresses, commands, keys in blocks.

A detector has `signs`, literals of which every text with a match contains one, a `pattern` that finds an introduction,
and `judge`, which examines what follows it. Signs and patterns are for the text's `view` (see `names`): lower case,
ASCII, and of the same length.
"""

import re
from collections.abc import Callable, Iterator

from weaklink.inspector.redaction import names, secret_values
from weaklink.inspector.redaction.named_values import CONTINUED, judge_bare, judge_before_name, judge_named
from weaklink.inspector.redaction.places import QUOTE, Detector, FoundIntroduction, ending_of, open_quote
from weaklink.inspector.redaction.secret_values import Secret, SecretConfidence
from weaklink.inspector.scanning import lazy_pattern

_LATIN_ESCAPE = r"\\{1,8}u(?:00[c-fC-F]|01[0-7])[0-9a-fA-F]"
_AUTHORITY = lazy_pattern(rf"""(?:[^\s/"'`<>?#\\]|{_LATIN_ESCAPE}){{0,200}}""")
_AUTHORITY_REST = lazy_pattern(rf"""(?:[^\s"'`<>\\]|{_LATIN_ESCAPE}){{0,100}}""")
_PORT = lazy_pattern(r"[0-9]{0,5}\Z")
_ESCAPED_PASSWORD = lazy_pattern(r"[\w.+-]{0,64}%3a((?:[\w.~!*+-]|%(?!40)[0-9a-f]{2}){1,200})%40", re.IGNORECASE)


def _judge_address(place: FoundIntroduction) -> Iterator[Secret]:
    """Judge an address: a password before the host, or only a token there. The password may contain `/`, `?`, `#`."""
    text, start = place.text, place.found.end()
    if place.found["escaped"]:
        escaped = _ESCAPED_PASSWORD.match(text, start)
        if escaped and not secret_values.is_placeholder(escaped[1]):
            yield Secret(*escaped.span(1))
        return
    end = _AUTHORITY.match(text, start).end()  # type: ignore[union-attr]  # it may match nothing
    at = text.rfind("@", start, end)
    if at < 0 and not _PORT.match(text[start:end].partition(":")[2] or "0"):
        at = text.rfind("@", end, _AUTHORITY_REST.match(text, end).end())  # type: ignore[union-attr]  # the same
    user, _, password = text[start:at].partition(":") if at >= 0 else ("", "", "")
    if _is_token(user):
        yield Secret(start, at)
    elif password and not secret_values.is_placeholder(password):
        yield Secret(at - len(password), at)


def _is_token(user: str) -> bool:
    """Whether the text in place of a user's name is a token, as in `https://ghp_...:x-oauth-basic@host`."""
    return len(user) >= 16 and secret_values.is_mixed(user) and "." not in user[16:]


_NO_USER = frozenset(
    {"mailto", "mail", "email", "e-mail", "to", "cc", "bcc", "from", "sip", "acct", "git", "npm", "by"}
)


def _judge_pair_at_host(place: FoundIntroduction) -> Iterator[Secret]:
    """Judge `user:password@host` without a scheme."""
    user, password, host = place.found["user"], place.text[slice(*place.found.span("password"))], place.found["host"]
    is_strange = secret_values.has_letters_and_digits(password) or not password.isalnum() or place.found["port"]
    is_other = user in _NO_USER or host.startswith("sha") or password.isdigit()
    if is_strange and not is_other and not secret_values.is_placeholder(password):
        yield Secret(*place.found.span("password"))


def _run(characters: str, at_least: int) -> Callable[[FoundIntroduction], Iterator[Secret]]:
    """A judge of a run of characters: a secret has at least so many, and mixes them."""
    run = secret_values.PatternRun(lazy_pattern(f"(?:{characters})*"), "\\" if "\\" in characters else "")

    def judge(place: FoundIntroduction) -> Iterator[Secret]:
        def is_secret(value: str, _: str) -> bool:
            return len(value) >= at_least and secret_values.is_mixed(value)

        secret = place.judge(run, place.found.end(), is_secret)
        return iter(()) if secret is None else iter((secret,))

    return judge


_LINES = lazy_pattern(r"[A-Za-z0-9+/=]{16,}")


def _judge_pem(place: FoundIntroduction) -> Iterator[Secret]:
    secret = place.judge(
        secret_values.PEM, place.found.end(), lambda body, _: any(map(secret_values.is_mixed, _LINES.findall(body)))
    )
    if secret is not None:
        yield secret


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
        "k": r"openssl",
        "n": r"ssh-keygen",
    }.items()
}
_USER_BEFORE = lazy_pattern(
    r"(?<![\w*./-])[\w./-]{2,40}\s(?:[^\r\n|;&*]{1,120}\s)?[-/](?:u|-?user(?:name)?)[ =:][^\r\n|;&*]{1,120}\Z",
    re.IGNORECASE,
)
"""The last command before an option with a password or cookies; `joined` are the commands that take no blank."""
_MAX_COMMAND_CHARS = 240


def _judge_option(place: FoundIntroduction) -> Iterator[Secret]:
    """Judge the password of a command: of `-u joe:x`, or an option, if its command is before it on the line."""
    text, found, at = place.text, place.found, place.found.start()
    if found["cut"] is not None:
        return
    if found["option"] is None:
        secret = _argument(place, found["quote"] or found["open"])
        if _is_token(text[slice(*found.span("user"))]):
            secret = Secret(
                found.start("user"), secret.end if secret else found.end("user"), secret.goes_on if secret else None
            )
    else:
        begin = max(at - _MAX_COMMAND_CHARS, 0)
        command = _COMMANDS[found["option"]].match(text, begin, at)
        is_option = command is not None and not (found["blank"] and command.groupdict().get("joined"))
        if command is None and found["option"] == "p" and _USER_BEFORE.search(text, begin, at):
            value, _ = place.value(secret_values.WORD, found.end())
            is_option = len(value) >= 6 and secret_values.has_letters_and_digits(value)
        secret = _argument(place, found["open"]) if is_option else None
    if secret is not None:
        yield secret


def _argument(place: FoundIntroduction, quote: str | None, ending: secret_values.Ending | None = None) -> Secret | None:
    """A password as an argument of a known command; a bare number is none."""
    start = place.found.end()
    if quote or ending:
        return place.judge(ending_of(quote) if quote else ending or secret_values.BARE, start, _is_password)
    secret = judge_bare(place, start, SecretConfidence.PASSWORD, gap="=")
    return None if secret is None or place.text[secret.start : secret.end].isdigit() else secret


def _judge_argument(place: FoundIntroduction) -> Iterator[Secret]:
    secret = _argument(place, place.found["open"], secret_values.BEFORE_AT if place.found["until"] else None)
    if secret is not None:
        yield secret


_ARGUMENTS = (
    r"(?P<until>(?:thin:|sqlplus\s(?:-\w{1,8}\s)?)[\w$#.]{1,64}/(?=[^\s@/]))"  # Oracle: up to the host
    r"|identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?"  # SQL
    r"|:(?:5432|6543):[\w*.-]{1,64}:[\w*.-]{1,64}:"  # .pgpass
    r"|sp_addlogin\s'[^']{1,64}',\s?(?=')|lftp\s-u\s[^\s,]{1,64},|\s/rp\s"
    r"|htpasswd\s-\w{1,4}\s\S{1,80}\s[\w.@-]{1,40}\s|net\suser\s[\w.-]{1,40}\s(?=[^\s/*])|net\suse\s(?:[a-z*]:?\s)?\\{2,64}\S{1,100}\s(?:/user:\S{1,60}\s)?(?=[^\s/*])"
    rf"|masterauth\s(?=[^\s-])|wifi\.begin\(\s?{QUOTE}[^\"'\\]{{1,40}}{QUOTE},\s?(?={QUOTE})"
    r"|wifi:(?:[^;\s]{0,60};){0,4}?p:"
    r"|snmp-server\scommunity\s|(?:radius|tacacs)-server\s(?:host\s\S{1,40}\s)?key\s(?:[0-9]\s)?"
    r"|jwt\.(?:sign|verify|(?:en|de)code)\([^\r\n\[=]{1,80}?,\s?(?=\\{0,64}[\"'])"
    r"|(?:add_user|change_password)\s\S{1,64}\s"  # rabbitmqctl
    r"|(?:smb|rpc)client\s[^\r\n]{0,80}-u\s{0,2}[\"']?[^\s%]{1,64}%"
    r"|redis\S{0,60}>\sauth\s(?:[\w.-]{1,60}[ ])?"
)
_ARGUMENT_SIGNS = (
    *("thin:", "sqlplus", "identified", "/rp ", ":5432:", ":6543:", "net use", "htpasswd -", "add_user"),
    *("change_password", "> auth", "sp_addlogin", " -u", "wifi", "masterauth", "-server ", "jwt."),
)


def _is_password(value: str, _: str) -> bool:
    return secret_values.can_be_quoted_secret(value, SecretConfidence.PASSWORD)


_QUOTED = r"(?P<open>\\{0,64}[\"'])"
_HOOKS = (
    r"hooks\.slack\.com(?:\\{0,64}/)(?:services|workflows|triggers)(?:\\{0,64}/)"
    r"|discord(?:app)?\.com(?:\\{0,64}/)api(?:\\{0,64}/)(?:v[0-9]{1,2}(?:\\{0,64}/))?webhooks(?:\\{0,64}/)"
    r"[0-9]{5,30}(?:\\{0,64}/)|webhook\.office\.com(?:\\{0,64}/)webhookb2(?:\\{0,64}/)"
)
DETECTORS = (
    Detector("name", names.SIGNS, lazy_pattern(names.NAME), judge_named, can_hold_secrets=True, span=24),
    Detector(
        "value before its name",
        ("value", "echo", "printf"),
        lazy_pattern(
            rf"(?:value{QUOTE}?\s{{0,4}}[=:]|(?:echo|printf)\s(?:-\w\s|'%s'\s)?)\s{{0,4}}(?P<open>{open_quote('b')})?"
            r"(?=[^\s\[{])"
        ),
        judge_before_name,
        span=0,
    ),
    Detector(
        "address",
        ("://", ":\\", "%3a%2f%2f"),
        lazy_pattern(r":(?:\\{0,64}/){2}|(?P<escaped>%3a%2f%2f)"),
        _judge_address,
        span=0,
    ),
    Detector(
        "user and password before a host",
        ("@",),
        lazy_pattern(
            r"(?P<user>[a-z0-9_](?<![\w.+/:-].)[\w.+-]{0,63}):(?P<password>[^\s:/@\"'`<>\\,;|()]{4,64})"
            r"@(?P<host>[a-z][\w.-]{0,80}\.[a-z]{2,12}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[a-z][\w.-]{0,80}(?=:[0-9]))"
            r"(?![\w@-])(?P<port>:[0-9]{2,5}(?![0-9])|/)?"
        ),
        _judge_pair_at_host,
        span=192,
    ),
    Detector(
        "PEM private key",
        ("private",),
        lazy_pattern(
            r"-(?<!-.)-{3,5}\s?begin[a-z0-9 +%_-]{0,60}private(?:\s|\+|%20)key(?:(?:\s|\+|%20)block)?\s?-{4,5}"
            r"|private-lines:\s?[0-9]{1,4}"
        ),
        _judge_pem,
        can_hold_secrets=True,
    ),
    Detector(
        "bearer token",
        ("bearer",),
        lazy_pattern(r"bearer(?:[ \t+]{1,4}|%20)"),
        _run(r"[A-Za-z0-9+/_.~%-]|=(?![A-Za-z0-9])", 12),
        span=0,
    ),
    Detector(
        "basic credentials",
        ("basic",),
        lazy_pattern(r"basic(?:(?<=[:=\"'].{5})|(?<=[:=\"'] .{5}))(?:[ \t+]{1,4}|%20)"),
        _run(r"[A-Za-z0-9+/=_.~%-]", 8),
        span=0,
    ),
    Detector(
        "response of digest authentication",
        ("digest",),
        lazy_pattern(r"digest\s[^\r\n]{0,360}?\bresponse\s?=\s?\\{0,64}\"?(?=[0-9a-f])"),
        _run("[A-Fa-f0-9]", 8),
        can_hold_secrets=True,
        span=0,
    ),
    Detector(
        "webhook",
        ("hook",),
        lazy_pattern(_HOOKS),
        _run(r"[A-Za-z0-9_+@=-]|\\{0,64}/", 20),
    ),
    Detector(
        *(
            "Telegram bot",
            (":a",),
            lazy_pattern(r"[0-9](?<![0-9].)(?:(?<![a-z_-].)|(?<=bot.)|(?<=\\[nrt].))[0-9]{5,11}:(?=a)"),
        ),
        _run("[A-Za-z0-9_-]", 30),
    ),
    Detector(
        "Azure client secret", ("q~",), lazy_pattern(r"q~(?<=[a-z0-9_~.]{3}[0-9]q~)"), _run("[A-Za-z0-9_.~-]", 28)
    ),
    Detector(
        "option of a command",
        (" -", "\n-", "\t-", " /p:"),
        lazy_pattern(
            rf"[-/](?<=\s[-/])(?:(?:u|a|-auth|-(?:proxy-)?user)(?:\s{{1,4}}(?:{CONTINUED})?|=)?"
            rf"(?P<quote>\\{{0,64}}[\"'])?(?P<user>[\w.@%+-]{{0,64}})(?::|(?P<cut>:?(?:\\{{0,64}}[\"'])?\Z))|(?P<option>[pawbxkn])(?P<blank>:|\s{{0,4}}(?:{CONTINUED})?))"
            r"(?P<open>\\{0,64}[\"'])?(?(cut)|(?=[^\s-]))"
        ),
        _judge_option,
    ),
    Detector(
        *("argument of a command", _ARGUMENT_SIGNS),
        lazy_pattern(rf"(?:{_ARGUMENTS})(?P<open>\\{{0,64}}[\"'])?(?=[^\s-])"),
        _judge_argument,
        can_hold_secrets=True,
        span=192,
    ),
    Detector(
        "user and password in a call",
        ("auth", "cred", "basic", "login", "connect", "pdo(", "ftp("),
        lazy_pattern(
            rf"(?:auth|credentials?|login|basic|connect|pdo|ftp)\w{{0,20}}{QUOTE}?\s?[=(:]\s?[(\[]?\s?(?:\$\w{{1,12}},\s?)?"
            rf"(?:{QUOTE}[^\"'\r\n\\]{{1,100}}{QUOTE}\s?,\s?){{1,3}}?{_QUOTED}(?=[^\"'\s]{{0,40}}(?:[0-9!$%^&#]|\Z))"
        ),
        lambda place: filter(None, (place.judge(ending_of(place.found["open"]), place.found.end(), _is_password),)),
        can_hold_secrets=True,
        span=0,
    ),
)
