"""Who may use the proxy: whoever names its token, or, without one, whoever asks it by a loopback name.

The second rule is against DNS rebinding: a web page may get a browser to send requests to 127.0.0.1 under a name of
the page's own, and then read the answers; but it cannot choose the Host header that the browser sends.
"""

import hmac
from dataclasses import dataclass

from inspector.capture.proxy.config import TOKEN_PREFIX, ProxyConfig
from inspector.capture.proxy.refusal import Refusal
from inspector.host_header import host_name, is_loopback

TOKEN_HEADER = "X-Weaklink-Token"  # a header's name, no secret


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides on a request by its raw path and two of its headers."""

    config: ProxyConfig

    def enter(self, path: str, *, token: str | None, host: str | None) -> str | Refusal:
        """The path without the token where the request may go on, else why it may not."""
        if not self.config.token:
            return path if self._is_known(host) else _UNKNOWN_HOST
        if token is not None:
            return path if self._matches(token) else _WRONG_TOKEN
        if path.startswith(f"{TOKEN_PREFIX}/"):
            named, slash, rest = path.removeprefix(f"{TOKEN_PREFIX}/").partition("/")
            return f"{slash}{rest}" or "/" if self._matches(named) else _WRONG_TOKEN
        return _NO_TOKEN

    def _matches(self, named: str) -> bool:
        return hmac.compare_digest(named.encode("utf-8", "surrogateescape"), self.config.token.encode())

    def _is_known(self, host: str | None) -> bool:
        """A request of HTTP/1.0 may name no host, and no browser sends one."""
        if host is None:
            return True
        name = host_name(host)
        return name is not None and is_loopback(name)


_NO_TOKEN = Refusal(
    403,
    "token_missing",
    f"This proxy needs its token: put it into the path, as in `/t/TOKEN/v1/...`, or into the header `{TOKEN_HEADER}`.",
)
_WRONG_TOKEN = Refusal(
    403, "token_wrong", "The token of this request is not the one that this proxy was started with; look there for it."
)
_UNKNOWN_HOST = Refusal(
    421,
    "host_not_loopback",
    "This proxy is only for clients on its own machine, and the request's `Host` header names another; ask for it as "
    "`127.0.0.1` or `localhost`, or start it with a token to use it by other names.",
)
