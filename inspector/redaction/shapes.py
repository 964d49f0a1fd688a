"""What secrets look like, as two tables: keys that give themselves away, and words that a secret follows.

Sources: GitHub's supported secret scanning patterns, the default rules of gitleaks and of detect-secrets, and each
provider's own words on its keys. No hash, uuid or call id looks like one of these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_WORD = "[A-Za-z0-9_-]"
_DOTTED = "[A-Za-z0-9_.-]"
_CAPITALS = "[A-Z0-9]"
_HEX = "[a-f0-9]"
_BASE64 = "[a-z0-9+/=_.~-]"
_QUERY = "[a-z0-9+/=%_.~-]"
_VALUE = r"[^\s\"'\\<>,;&(){}\[\]*]"


@dataclass(frozen=True, slots=True)
class Key:
    """A key that its `prefix` gives away where it begins a word; at least `at_least` characters of `secret` follow.

    The prefix stays legible, the whole run of `secret` characters behind it goes; `unless` is a look ahead that leaves
    it to another shape.
    """

    name: str
    prefix: str
    at_least: int = 20
    secret: str = _WORD
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Introduced:
    """A secret that words introduce: `sign`, and what `pattern` finds behind it, stay; the run of `secret` then goes.

    It is looked for in lower case, where every sign beyond ASCII is a `?`. `then` must follow the run; `unless` is a
    look ahead that keeps what is plainly no secret.
    """

    name: str
    sign: str
    pattern: str = ""
    secret: str = _VALUE
    at_least: int = 6
    then: str = ""
    unless: str = ""


KEYS: tuple[Key, ...] = (
    Key("Anthropic", "sk-ant-", 16),
    Key("OpenRouter", "sk-or-v1-", 16),
    Key("OpenAI project", "sk-proj-", 16),
    Key("OpenAI service account", "sk-svcacct-", 16),
    Key("Langfuse", "sk-lf-", 16),
    Key("Helicone", "sk-helicone-", 16),
    Key("OpenAI and those who took its shape", "sk-", 18, unless="(?!ant-|or-v1-|proj-|svcacct-|lf-|helicone-)"),
    Key("Stripe secret", "sk_live_", 16),
    Key("Stripe test", "sk_test_", 16),
    Key("Stripe restricted", "rk_live_", 16),
    Key("Stripe webhook", "whsec_", 16),
    Key("Hugging Face", "hf_"),
    Key("Groq", "gsk_"),
    Key("xAI", "xai-"),
    Key("Perplexity", "pplx-"),
    Key("Replicate", "r8_"),
    Key("NVIDIA", "nvapi-"),
    Key("Google API", "AIza", 30),
    Key("Google OAuth", "ya29.", 20, _DOTTED),
    Key("Google client", "GOCSPX-"),
    Key("AWS access key", "AKIA", 16, _CAPITALS),
    Key("AWS temporary key", "ASIA", 16, _CAPITALS),
    Key("GitHub personal", "ghp_"),
    Key("GitHub OAuth", "gho_"),
    Key("GitHub user", "ghu_"),
    Key("GitHub server", "ghs_"),
    Key("GitHub refresh", "ghr_"),
    Key("GitHub fine-grained", "github_pat_"),
    Key("GitLab", "glpat-", 16),
    Key("Slack bot", "xoxb-", 10),
    Key("Slack user", "xoxp-", 10),
    Key("Slack workspace", "xoxa-", 10),
    Key("Slack refresh", "xoxr-", 10),
    Key("Slack session", "xoxs-", 10),
    Key("Slack app", "xapp-", 16),
    Key("npm", "npm_"),
    Key("PyPI", "pypi-"),
    Key("DigitalOcean", "dop_v1_"),
    Key("Databricks", "dapi", 30, _HEX),
    Key("Vault", "hvs.", 20, _DOTTED),
    Key("SendGrid", "SG.", 30, _DOTTED),
    Key("age", "AGE-SECRET-KEY-1", 30, _CAPITALS),
    Key("Linear", "lin_api_"),
    Key("Notion", "ntn_"),
    Key("Shopify", "shpat_"),
    Key("Twilio", "SK", 32, _HEX),
    Key("JSON Web Token", "eyJ", 40, _DOTTED),
)

SHORTEST_KEY = min(len(key.prefix) + key.at_least for key in KEYS)
"""No key is shorter: a run of letters, digits, `_`, `-` and `.` below it needs no look."""

# Between a name and its value, in JSON, in headers, in code and in shells: `": "`, `=`, `\": \"`.
_GAP = r"""(?:\\{0,3}["'])?\s{0,4}(?:=>|:=|[:=])\s{0,4}(?:\\{0,3}["'])?"""
# What a name may be followed by that is no secret: the scheme before it, a type, a placeholder.
_NO_VALUE = r"(?!(?:bearer|basic|token|null|none|true|false|string|object|\$)\b)"


def _named(name: str, sign: str, *before: str, more: str = "", at_least: int = 6) -> Introduced:
    """What stands behind a name that ends in `sign`, with one of the words `before` that, a stroke between or none."""
    behind = "|".join(f"(?<={word}{stroke}{sign})" for word in before for stroke in ("", "_", "-"))
    return Introduced(name, sign, f"(?:{behind}){more}{_GAP}", at_least=at_least, unless=_NO_VALUE)


def _introduced() -> Iterator[Introduced]:
    body = r"[a-z0-9+/=\s\\]"
    yield Introduced("PEM private key", "-----begin ", "[a-z0-9 ]{0,40}private key-----", body, 16)
    address = r"""[^\s/@:"'<>*?#]{0,100}:"""
    yield Introduced("password in an address", "://", address, r"""[^\s/@"'<>\\*]""", 1, then="@")
    yield Introduced("bearer token", "bearer ", r"(?<!\w.{7})", _BASE64, 12)
    behind = """(?:(?<=[:="'].{6})|(?<=[:="'] .{6}))"""  # not in prose: basic understanding
    yield Introduced("basic credentials", "basic ", behind, "[a-z0-9+/=]", 12)
    keys = ("api", "secret", "access", "private", "account", "subscription", "encryption", "signing")
    yield _named("key by its name", "key", *keys, more="(?:[_-]?id)?")
    tokens = ("access", "auth", "refresh", "id", "session", "bearer", "api", "bot", "security", "csrf")
    yield _named("token by its name", "token", *tokens)
    yield _named("secret by its name", "secret", "client", "app", "webhook", "signing", "shared", "jwt")
    yield _named("password by its name", "passw", more="(?:or)?d")
    yield _named("authorization", "authorization", at_least=12)
    for mark in "?&":
        name = "(?:key|token|code|secret|auth|sig|(?:x-(?:amz|goog)-)?signature|x-amz-(?:credential|security-token))="
        yield Introduced("query parameter", mark, name, _QUERY, 8)
    yield Introduced("Telegram bot", "bot", r"(?<![a-z0-9].{3})\d{6,12}:", "[a-z0-9_-]", 30)


INTRODUCED = tuple(_introduced())

LONGEST_INTRODUCTION = 200
"""Code points: no introduction and no prefix is longer."""

SECRET_HEADERS = frozenset(
    {
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-goog-api-key"),
        *("x-weaklink-token", "helicone-auth", "x-portkey-api-key", "x-auth-token", "x-amz-security-token"),
        *("ocp-apim-subscription-key", "x-csrf-token", "x-xsrf-token", "x-litellm-api-key", "x-access-token"),
    }
)
"""Headers, in lower case, whose whole value is secret, but for the word before it (`Bearer`)."""
