"""The configuration of a proxy: its upstreams, where it listens, who may use it, and its bounds."""

from collections.abc import Iterable
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.host_header import is_loopback

DEFAULT_PORT = 8788
OWN_PREFIX = "/weaklink"
TOKEN_PREFIX = "/t"  # a path prefix, no secret
_DECODINGS = 2  # gateways decode a path that was encoded twice


class ProxyConfigError(WeaklinkError):
    """A proxy cannot be set up as requested; the message says what to write instead."""


class Upstream(Struct, frozen=True):
    """One model server: requests below `prefix` go to `url`, with what follows the prefix appended.

    `prefix` is empty or begins with a slash; `url` has scheme, host and perhaps a path. Neither ends with a slash.
    `default_of` names the provider if nobody chose this server: its clients use it unless `variable` is set.
    """

    prefix: str
    url: str
    default_of: str = ""
    variable: str = ""

    def takes(self, path: str) -> bool:
        """Whether a raw path is below the prefix; `/open` does not take `/openai`."""
        return path.startswith(self.prefix) and path[len(self.prefix) : len(self.prefix) + 1] in {"", "/", "?"}


def leaves_root(target: str) -> bool:
    """Whether the segments of a raw path lead above its beginning, also percent-encoded (`%2e%2e`, `..%2f`).

    Servers and HTTP clients resolve `..` (RFC 3986, 5.2.4), so such a path would leave the path of an upstream.
    """
    path = target.partition("?")[0].partition("#")[0]
    for _ in range(_DECODINGS):
        path = unquote(path)
    depth = 0
    for segment in path.replace("\\", "/").split("/")[1:]:
        depth += -1 if segment == ".." else 0 if segment in ("", ".") else 1
        if depth < 0:
            return True
    return False


def parse_upstream(text: str) -> Upstream:
    """Read `URL` or `PREFIX=URL`, as in `https://openrouter.ai/api` and `/anthropic=https://api.anthropic.com`.

    Raises ProxyConfigError, which never repeats a password.
    """
    prefix, url = text.split("=", 1) if text.startswith("/") and "=" in text else ("", text)
    if text.startswith("/") and not url.strip("/"):
        raise ProxyConfigError(f"`{text}` has no address; write `{text.rstrip('=')}=https://...`.")
    if text.startswith("/") and "=" not in text:
        raise ProxyConfigError(f"`{text}` is a path without an address; write `{text}=https://...`.")
    return Upstream(_prefix(prefix), _address(url))


class ProxyConfig(Struct, frozen=True):
    """The whole configuration of a proxy. `port` 0 takes any free one; `token` may be empty on loopback only.

    A connection to an upstream may take `connect_timeout_s`; between two arrivals of an answer at most `read_timeout_s`
    may pass (None: any time, since models may think for long). On shutdown, streams have `grace_s` to finish. Sizes are
    in bytes: `max_header_bytes` bounds the request line and each header of either side, `max_headers` how many there
    are, `max_body_bytes` a request's body. An answer is never bounded, since it is never held in memory.
    With `refuses_defaults`, requests to upstreams that nobody chose are answered with an error.

    Raises ProxyConfigError if the configuration cannot work.
    """

    upstreams: tuple[Upstream, ...]
    refuses_defaults: bool = False
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str = ""
    connect_timeout_s: float = 30.0
    read_timeout_s: float | None = None
    grace_s: float = 5.0
    max_header_bytes: int = 64 * 1024
    max_headers: int = 256
    max_body_bytes: int = 1024 * 1024 * 1024

    def __post_init__(self) -> None:
        if not self.upstreams:
            raise ProxyConfigError("There is no upstream to forward to; name one with `--upstream https://...`.")
        for prefix in _repeated(upstream.prefix for upstream in self.upstreams):
            raise ProxyConfigError(
                f"Two upstreams have the path `{prefix or '/'}`; give one of them another prefix, as in `/other=https://...`."
            )
        if not self.token and not is_loopback(self.host.lower().removesuffix(".").strip("[]")):
            raise ProxyConfigError(
                f"`{self.host}` can be reached from other machines, so the proxy requires a token that its clients "
                "must send; set one, or listen on `127.0.0.1`."
            )
        if self.token and not (self.token.isascii() and self.token.replace("-", "").replace("_", "").isalnum()):
            raise ProxyConfigError("A token is part of paths, so it may contain only letters, digits, `-` and `_`.")

    def upstream_of(self, path: str) -> Upstream | None:
        """The upstream with the longest prefix that takes a raw path; None if none does."""
        matching = [upstream for upstream in self.upstreams if upstream.takes(path)]
        return max(matching, key=lambda upstream: len(upstream.prefix), default=None)


def _prefix(text: str) -> str:
    prefix = text.rstrip("/")
    if any(prefix == own or prefix.startswith(f"{own}/") for own in (OWN_PREFIX, TOKEN_PREFIX)):
        raise ProxyConfigError(f"The prefix `{prefix}` is reserved for weaklink; choose another one.")
    if not prefix.isascii() or any(sign in prefix for sign in " ?#%") or not prefix.isprintable() or "//" in prefix:
        raise ProxyConfigError(
            f"The prefix `{prefix}` is not a plain path; use only letters, digits, `-`, `_` and single slashes."
        )
    return prefix


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        wrong = _fault(text, parts)
        _ = parts.port  # raises if it is no port
    except ValueError:
        raise ProxyConfigError(
            "An upstream's address has a host or port that cannot be read; write `https://host:port/path`."
        ) from None  # its text may repeat a password
    if wrong:
        raise ProxyConfigError(wrong)
    return text.rstrip("/")


def _fault(text: str, parts: SplitResult) -> str:
    """What is wrong with an address; `""` if nothing is."""
    if parts.username is not None or parts.password is not None:
        return (
            f"The address of the upstream `{parts.hostname}` contains a user name or password; remove them, since "
            "clients send their own credentials."
        )
    if parts.query or parts.fragment:
        return (
            f"The address of the upstream `{parts.hostname}` continues after its path; remove what begins with `?` "
            "or `#`."
        )
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"`{text}` is not an address of a server; write `http://` or `https://` before it, then its host."
    if not text.isascii() or not text.isprintable() or " " in text:
        return f"`{text}` contains characters that an address must not contain; write its host and path in ASCII."
    return ""


def _repeated(values: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]  # add returns None
