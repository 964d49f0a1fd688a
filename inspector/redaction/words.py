"""What a name says of its value, and whether a value can be a secret at all."""

import re
from enum import Enum


class Sureness(Enum):
    """How far a name gives its value away."""

    PASSWORD = "password"
    """Any value is one, a short one and a number too."""
    SECRET = "secret"
    """Any word is one, unless it is plainly none."""
    LIKELY = "likely"
    """Only a value that looks random: names that are also used for other things."""
    UNLIKELY = "unlikely"
    """Only a long value that looks random: names of which most values are ids."""


_GLUE = "_-. "
_PASSWORDS = ("password", "passwd", "passphrase", "passcode")
_KEY_KINDS = (
    *("api", "secret", "access", "private", "account", "subscription", "encryption", "signing", "master", "auth"),
    *("service", "shared", "license", "deploy", "admin", "root", "hmac", "aes", "jwt", "ssh", "webhook", "client"),
    *("app", "application", "decryption", "storage", "shared-access", "sharedaccess"),
)
_OTHER_KEYS = (
    *("public", "pub", "primary", "foreign", "cache", "sort", "partition", "idempotency", "group", "object", "item"),
    *("dict", "map", "row", "index", "lookup", "route", "unique", "hash", "natural", "schema", "sequence", "hot"),
    *("publishable", "arg", "meta", "data", "session", "i18n", "translation", "message", "event", "shard", "bucket"),
)
_TOKEN_KINDS = (
    *("access", "auth", "authentication", "refresh", "id", "session", "bearer", "api", "bot", "security", "csrf"),
    *("xsrf", "oauth", "user", "personal", "deploy", "secret", "login", "reset", "verification", "device", "service"),
)
_OTHER_TOKENS = (
    *("page", "next", "continuation", "sync", "pad", "eos", "bos", "unk", "sep", "cls", "mask", "stop", "start", "end"),
    *("special", "max", "min", "first", "last", "image", "cancellation", "per", "new", "a", "the", "each", "one"),
)

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"""[*•…xX.#_-]+ | <[^<>]*>? | \[[^\]]*\]?
    | \$[A-Z_][A-Z0-9_]* | \$[a-z_]+ | \$\{.* | \$\(.* | \$env:.* | \{\{.* | \{%.* | \{[^{}]{0,100}\}
    | %[A-Z_]+% | %\(.*
    | %[sdr] | @[A-Z_]+@ | \#\{.* | !\w+\s.* | (?:your|my|insert|enter|replace|example)[-_ ]?[a-z_ -]*
    | [A-Z]+(?:_[A-Z]+)+ | (?:[a-z]+[_-])+(?:token|key|secret|password|passwd|pwd|passphrase|credentials?)
    | [*<({]*[A-Z_]*(?:REDACTED|MASKED|HIDDEN|PLACEHOLDER)[A-Z_]*[*>)}]* | redacted.* | [\w-]{0,16}(?:\.{3,}|…)
    """,
    re.VERBOSE,
)
_REDACTED = "******"  # what holds this was redacted before, or by somebody else
_PLAIN_WORDS = frozenset(
    (
        *("none", "null", "nil", "true", "false", "undefined", "nan", "yes", "no", "on", "off", "required", "optional"),
        *("string", "str", "text", "int", "integer", "number", "bool", "boolean", "object", "array", "any", "bytes"),
        *("secretstr", "default", "empty", "unknown", "missing", "invalid", "expired", "basic", "bearer", "digest"),
        *("password", "passwd", "passphrase", "secret", "token", "key", "include", "omit", "same-origin", "set"),
        *("changed", "unset", "type", "varchar", "char", "input", "hidden", "ok", "valid", "wrong", "incorrect"),
        *("authorization", "credentials"),
        *("apikey", "api_key", "username", "user", "value", "disabled", "enabled", "self", "await", "new", "not"),
    )
)
_PROSE_WORDS = re.compile(
    r"\b(?:the|a|an|is|are|was|be|to|of|for|in|on|your|you|must|should|with|and|or|not|this|that|it|if|when|used?|will"
    r"|can|may|has|have|from|by|as|at|please|no|any|at least)\b",
    re.IGNORECASE,
)
_MIXED = re.compile(r"[A-Za-z][-_.~+/=]{0,8}[0-9]|[0-9][-_.~+/=]{0,8}[A-Za-z]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_DIGIT = re.compile(r"[0-9]")
_LONGER_THAN_WORDS = 24
_SEGMENT = re.compile(r"[A-Za-z0-9]{8,}")
_CODE = re.compile(
    r"[A-Za-z_$][\w$]*(?:[.:>?!-]{1,2}[A-Za-z_$][\w$]*)*[(\[{].*|(?:self|this|os|process|config|settings|env|args"
    r"|request|req|ctx|params|options|opts|data|event|st|import|app|cls|module|props|state)[.?][A-Za-z_.]+.*"
    r"|[A-Za-z_]+(?:(?:\.|->|::)[A-Za-z_]+)+|(?:[rbf]?[\"'])",
    re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]+")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@ -]*/|[A-Za-z]:[/\\]|(?:~|\.{1,2})/")


def sureness_of(sign: str, before: str, *, is_shouted: bool, is_query: bool) -> Sureness | None:
    """What the name says that ends in `sign`, in lower case, with `before` in front of it; None: it holds no secrets.

    `is_shouted`: it is written in capitals, as variables of an environment are; `is_query`: it is a parameter of an
    address.
    """
    word = before.rstrip(_GLUE).lower()
    last = re.split(r"[_\-. ]", word)[-1]
    if sign.startswith(_PASSWORDS) or (sign == "pwd" and last != "old"):
        return Sureness.PASSWORD
    if sign == "pass":
        return Sureness.PASSWORD if word else Sureness.LIKELY
    if sign.startswith("secret") or sign == "authorization":
        return Sureness.SECRET
    if sign == "key":
        return _of_key(word, last, is_shouted=is_shouted, is_query=is_query)
    if sign == "token":
        return _of_token(word, last, is_shouted=is_shouted)
    if sign in {"sig", "signature", "code"}:
        return Sureness.LIKELY if is_query else None
    return Sureness.UNLIKELY if sign == "session" else Sureness.LIKELY


def _of_key(word: str, last: str, *, is_shouted: bool, is_query: bool) -> Sureness | None:
    if word.endswith(_KEY_KINDS):
        return Sureness.SECRET
    if last in _OTHER_KEYS or word.endswith(_OTHER_KEYS):
        return None
    return Sureness.LIKELY if is_query or (is_shouted and word) else None


def _of_token(word: str, last: str, *, is_shouted: bool) -> Sureness | None:
    if word.endswith(_TOKEN_KINDS):
        return Sureness.SECRET
    if last in _OTHER_TOKENS or last.endswith(("page", "next", "continuation")):
        return None
    return Sureness.SECRET if is_shouted and word else Sureness.LIKELY


def is_placeholder(value: str) -> bool:
    """Whether a value is a mask, or stands for one that is elsewhere: `$TOKEN`, `{{ token }}`, `<token>`, `****`."""
    return _PLACEHOLDER.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Has it digits among letters, or capitals within a word, as keys have and words have not."""
    return _MIXED.search(value) is not None


def has_random_segment(value: str) -> bool:
    """Is one of the words that dashes and the like join a random one, or longer than words are."""
    return any(len(one) >= _LONGER_THAN_WORDS or looks_random(one) for one in _SEGMENT.findall(value))


def can_be_quoted_secret(value: str, sureness: Sureness) -> bool:
    """Can a quoted value be a secret; of a long one its beginning is enough."""
    word = value.strip()
    if _is_no_value(word):
        return False
    if sureness in {Sureness.LIKELY, Sureness.UNLIKELY}:
        return _is_likely(word, sureness)
    if word.count(" ") > 1 and len(_PROSE_WORDS.findall(word)) > 1:
        return False
    if _PATH.match(word) or (word.isdigit() and sureness is not Sureness.PASSWORD):
        return False
    return len(word) >= (3 if sureness is Sureness.PASSWORD else 6)


def can_be_bare_secret(value: str, sureness: Sureness, *, name: str, gap: str, after: str) -> bool:
    """Can a value without quotes be a secret: not where it is code, a type or the first word of a sentence.

    `gap` is what separates it from its name, `after` some characters that follow it.
    """
    if not value or value[0] in "{[(<,;)]}|&:=*!?" or value.startswith("--") or _is_no_value(value):
        return False
    if _is_no_value(value.rstrip(".,;:!?")):
        return False
    if sureness in {Sureness.LIKELY, Sureness.UNLIKELY}:
        return _is_likely(value, sureness) and _DIGIT.search(value) is not None and not _is_code(value)
    if _is_code(value) or _PATH.match(value) or (value.isdigit() and sureness is not Sureness.PASSWORD):
        return False
    if _IDENTIFIER.fullmatch(value.rstrip(".,;:!?)")):
        return _is_bare_word_secret(value, name=name, gap=gap, after=after)
    return len(value) >= (4 if sureness is Sureness.PASSWORD else 6)


def _is_bare_word_secret(value: str, *, name: str, gap: str, after: str) -> bool:
    """A word of letters: in a file of settings it is a value, in code a variable, in a sentence a word."""
    if len(value) < 6 or value.lower().endswith(name.lower()) or "_" in value:
        return False
    if "=" in gap and gap != gap.strip():
        return False
    if gap == " ":
        is_sentence = after[:1].isspace() and (after[1:2].isalpha() or after[1:2] == "*")
        return not is_sentence and not after.startswith((",", ".", ";", ":"))
    return not after or after[0] in "\r\n\\\"'`&<" or (gap == "=" and after[0].isspace())


def _is_code(value: str) -> bool:
    return _CODE.fullmatch(value.rstrip(":,;")) is not None


def _is_no_value(word: str) -> bool:
    return (
        not word or word.startswith("----") or _REDACTED in word or word.lower() in _PLAIN_WORDS or is_placeholder(word)
    )


def _is_likely(word: str, sureness: Sureness) -> bool:
    at_least = 8 if sureness is Sureness.LIKELY else 20
    if len(word) < at_least or any(sign.isspace() for sign in word) or _UUID.fullmatch(word):
        return False
    return looks_random(word) and not word.startswith(("http:", "https:", "/", "./"))
