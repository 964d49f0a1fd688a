"""Made-up secrets of every shape, and of every way to introduce one, for tests that plant them.

They are put together here, from seeds, so that no scanner of a host takes this file for a leak.
"""

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from tests.redaction.secrets_made_up import INTRODUCED
from tests.redaction.secrets_made_up import KEYS as BY_HAND
from weaklink.inspector import ToolCall, ToolCallParser
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.redaction.introductions import KEYS, KeyShape
from weaklink.inspector.text import Range

_ALPHABETS = {
    "A-Za-z0-9": string.ascii_letters + string.digits,
    "A-Za-z0-9_-": string.ascii_letters + string.digits + "_-",
    "A-Za-z0-9_.-": string.ascii_letters + string.digits + "_-",
    "A-Z0-9": string.ascii_uppercase + string.digits,
    "A-Z0-9-": string.ascii_uppercase + string.digits,
    "A-Fa-f0-9": "0123456789abcdef",
    "A-Za-z0-9+/=_-": string.ascii_letters + string.digits + "+/",
}


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with one secret in it: what stands before it, the secret itself, and what follows."""

    name: str
    before: str
    secret: str
    after: str = ""

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


def _key(key: KeyShape) -> Planted:
    source = random.Random(key.prefix)
    letters = _ALPHABETS[key.secret]
    body = "".join(source.choice(letters) for _ in range(max(key.at_least, 32) - 4))
    before = key.prefix if key.prefix[0].isalnum() else f"a1b2c3d4e5f6g7{key.prefix}"
    return Planted(key.prefix, before, body + _mixed(letters))


def _mixed(letters: str) -> str:
    """Four characters that no word has."""
    return "a1B2" if "B" in letters and "a" in letters else "A1B2" if "B" in letters else "a1b2"


def _by_hand(prefix: str, secret: str) -> Planted:
    return Planted(f"{prefix} by hand", prefix, secret)


KEY_SHAPES = (*map(_key, KEYS), *(_by_hand(*one) for one in BY_HAND.values()))
"""One secret for each line of the table of shapes, and those that were written by hand."""

_PASSWORD = "Tr0ub4dor&3xtra"
_WORD = "hunter2hunter2"
_MIXED = "Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk0"
_PEM_BODY = "MIIEpAIBAAKCAQEA1234abcdEFGH5678ijklMNOP90qrstUVWX12yzAB34cdEF56"


def _named() -> list[Planted]:
    """The names that must be known, in the formats in which they are written."""
    strong = (
        *("password", "passwd", "pwd", "passphrase", "secret", "client_secret", "access_token", "refresh_token"),
        *("api_key", "apikey", "private_key", "DB_PASS", "DB_PASSWORD", "APP_SECRET", "GITHUB_TOKEN", "OPENAI_API_KEY"),
        *("clientSecret", "accessToken", "userPassword", "aws_secret_access_key", "x-api-key", "AccountKey"),
    )
    weak = ("token", "credentials", "session_token", "auth", "MISTRAL_KEY")
    found = []
    for name, secret in ((one, value) for names, value in ((strong, _PASSWORD), (weak, _WORD)) for one in names):
        found += [
            Planted(f"{name} in JSON", f'{{"{name}": "', secret, '", "n": 1}'),
            Planted(f"{name} in Python", f"{{'{name}': '", secret, "'}"),
            Planted(f"{name} in YAML", f"{name}: ", secret, "\nnext: 1"),
            Planted(f"{name} in an environment", f"export {name}=", secret, "\n"),
            Planted(f"{name} in XML", f"<{name}>", secret, f"</{name}>"),
            Planted(f"{name} in HTML", f"&quot;{name}&quot;:&quot;", secret, "&quot;"),
            Planted(f"{name} in an address", f"%22{name}%22%3A%22", secret.replace("&", ""), "%22"),
            Planted(f"{name} on a command line", f"tool --{name.replace('_', '-')} ", secret, " --verbose"),
            Planted(f"{name} in a list of options", f'["--{name}", "', secret, '"]'),
            Planted(f"{name} as a parameter", f"<parameter={name}>\n", secret, "\n</parameter>"),
            Planted(f"{name} as an argument", f"<arg_key>{name}</arg_key>\n<arg_value>", secret, "</arg_value>"),
            Planted(f"{name} with its value", f'{{"name": "{name}", "value": "', secret, '"}'),
        ]
    return found


def _in_formats() -> Iterator[Planted]:
    """A password as the argument of a call, between two others, in the syntax of every format."""
    empty = ToolCall("save", {}, "{}", valid=True, range=Range(0, 0))
    for one in formats():
        arguments = {"path": "a b", "password": _PASSWORD, "mode": "ok"}
        call = msgspec.structs.replace(empty, arguments=arguments)
        before, secret, after = ToolCallParser.create(one.name).format(call).partition(_PASSWORD)
        yield Planted(f"password in {one.name}", before, secret, after)


NAMED = (
    *_named(),
    *_in_formats(),
    Planted("behind an empty argument", "save(x='', password='", _PASSWORD, "')"),
    Planted("behind a quoted text", 'save("a, b", password="', _PASSWORD, '")'),
    Planted("behind a text that ends with a blank", "save(x='z ', password='", _PASSWORD, "', y=1)"),
    Planted("parentheses", '{"password":"', "abc(def)[g]{h}", '"}'),
    Planted("quotes inside", '{"password":"', 'a\\"b\\"cd\\\\', '"}'),
    Planted("blanks", '{"passphrase": "', "correct horse battery staple", '"}'),
    Planted("a short one", '{"password":"', "abc", '"}'),
    Planted("a number", '{"password":"', "123456", '"}'),
    Planted("type annotation", 'password: str = "', _WORD, '"'),
    Planted("subscript", 'os.environ["API_KEY"] = "', _WORD, '"'),
    Planted("three quotes", 'password = """', _WORD, '"""'),
    Planted("Gemma's quotes", 'call:f{password:<|"|>', _WORD, '<|"|>}'),
)

CONTEXTS = (
    *(Planted(name, *parts) for name, parts in INTRODUCED.items()),
    Planted("cookie", "Cookie: ", "sid=abc123def456; theme=dark", "\r\nHost: x"),
    Planted("set-cookie", "Set-Cookie: ", "sid=abc123def456; Path=/", "\r\n"),
    Planted("header in a list", '["authorization", "Bearer ', _MIXED, '"]'),
    Planted("header as name and value", '{"name": "Authorization", "value": "Bearer ', _MIXED, '"}'),
    Planted("own scheme", "Authorization: Token ", _MIXED, "\n"),
    Planted("no scheme", "Authorization: ", _MIXED, "\n"),
    Planted("curl user", "curl -u joe:", _WORD, " https://example.com"),
    Planted("curl long user", "curl --user 'joe:", _WORD, "' https://example.com"),
    Planted("curl user, continued line", "curl -s --user \\\n  joe:", _WORD, " https://example.com"),
    Planted("option, continued line", "deploy --name x --password \\\n    ", _WORD, " \\\n    --wait"),
    Planted("option, line continued in JSON", '{"cmd": "deploy --api-key \\\\\\n  ', _WORD, ' --wait"}'),
    Planted("mysql, continued line", "mysql -u joe \\\n  -p", _WORD, " shop"),
    Planted("docker login, continued line", "docker login -u joe \\\r\n  -p \\\r\n  ", _WORD, " registry.example"),
    Planted("mysql", "mysql -u joe -p", _WORD, " shop"),
    Planted("sshpass", "sshpass -p ", _WORD, " ssh host"),
    Planted("docker login", "docker login -u joe -p ", _WORD, " registry.example"),
    Planted("redis-cli", "redis-cli -h db -a ", _WORD, " ping"),
    Planted("token as user", "git clone https://", "AbCdEf0123456789xyzA", "@git.example/x.git"),
    Planted("user and password", "amqps://joe:", _WORD, "@queue.example/v"),
    Planted("only a password", "redis://:", _WORD, "@cache.example:6379/0"),
    Planted("escaped slashes", '{"url": "mysql:\\/\\/joe:', _WORD, '@db\\/x"}'),
    Planted("signature", "https://a.example/b?sv=2020&sig=", "abcDEF123%2B4567%3D", "&se=2030"),
    Planted("key behind amp", "https://a.example/b?a=1&amp;key=", _WORD, "&amp;b=2"),
    Planted("key behind u0026", "https://a.example/b?a=1\\u0026key=", _WORD, "\\u0026b=2"),
    Planted("Slack hook", "https://hooks.slack.com/services/", "T00000000/B00000000/" + _MIXED[:24], " "),
    Planted("Discord hook", "https://discord.com/api/webhooks/123456789012345678/", _MIXED + "_" + _MIXED, " "),
    Planted("Teams hook", "https://a.webhook.office.com/webhookb2/", "0a1b2c3d-1111@2222/IncomingHook/3c4d5e", " "),
    Planted("Discord bot", "MTIzNDU2Nzg5MDEyMzQ1Njc4.", "GabcDe.abcdefghijklmnopqrstuvwxyz0123456789AB", " "),
    Planted("Telegram bot alone", "123456789:", "AAabcDEF123_abcDEF123_abcDEF123_abc", " "),
    Planted("Azure client", "AbC8Q~", "abcdefghijklmnopqrstuvwxyz012345", " "),
    Planted("JSON Web Token", "eyJ", f"hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{_MIXED}", " "),
    *(
        Planted(f"PEM, {kind}", f"-----BEGIN {kind}-----", f"{end}{_PEM_BODY}{end}", f"-----END {kind}-----")
        for kind in (
            *("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY"),
            *("ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
        )
        for end in ("\n", "\\n", "\\\\n", "\\r\\n", "%0A", "&#10;", " ", "\\u000a")
    ),
    Planted(
        "PEM with headers", "-----BEGIN RSA PRIVATE KEY-----", f"\nProc-Type: 4,ENCRYPTED\n\n{_PEM_BODY}\n", "-----END"
    ),
    Planted("SSH2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", f"\n{_PEM_BODY}\n", "---- END"),
    Planted("PuTTY", "Private-Lines: 14", f"\n{_PEM_BODY}\n"),
)
"""Secrets that something else than a prefix or a name gives away."""

ALL = (*KEY_SHAPES, *NAMED, *CONTEXTS)
