"""Who may use the proxy, and the proxy's own error answers.

A client sends the proxy's token or, if there is none, addresses the proxy by a loopback name (against DNS rebinding).
Errors are JSON that both OpenAI's and Anthropic's clients can read. No text repeats a path, since paths may contain
tokens and keys.
"""

import hmac
import json

from aiohttp import web
from msgspec import Struct

from weaklink.inspector.capture.proxy.config import TOKEN_PREFIX, ProxyConfig, Upstream
from weaklink.inspector.host_header import host_name, is_loopback

TOKEN_HEADER = "X-Weaklink-Token"  # a header's name, no secret


class ProxyRefusal(Struct, frozen=True):
    """A status, a code for programs, a sentence that says what happened and what to do, and the reason for a record."""

    status: int
    code: str
    message: str
    reason: str = ""

    def response(self, *, closes: bool = False) -> web.Response:
        """The answer for aiohttp; `closes` if the request's body was not read to its end."""
        error = {"type": "weaklink_proxy_error", "code": self.code, "message": self.message}
        answer = web.Response(
            status=self.status,
            body=json.dumps({"type": "error", "error": error}).encode() + b"\n",
            content_type="application/json",
        )
        if closes:
            answer.force_close()
        return answer


def no_upstream(prefixes: tuple[str, ...]) -> ProxyRefusal:
    """No upstream takes the path."""
    known = ", ".join(f"`{prefix}/`" for prefix in prefixes)
    return ProxyRefusal(
        404, "no_upstream", f"This proxy has no upstream at this path; it forwards paths below {known}."
    )


def not_connected(upstream: str, words: str) -> ProxyRefusal:
    """Nothing could be sent."""
    return ProxyRefusal(
        502,
        "upstream_not_connected",
        f"The upstream `{upstream}` could not be reached ({words}); check that it runs and that the address is right.",
        f"{upstream}: {words}",
    )


def default_upstream(upstream: Upstream) -> ProxyRefusal:
    """Nobody chose the upstream, and such upstreams are refused."""
    return ProxyRefusal(
        403,
        "default_upstream_refused",
        f"Nothing was sent: `{upstream.variable}` is not set, so this request would go to `{upstream.url}`, the "
        f"default of {upstream.default_of}'s clients, which `--no-default-upstreams` refuses. Set "
        f"`{upstream.variable}`, or name the server with `--upstream URL`.",
        f"{upstream.url} is a default that nobody chose, refused by --no-default-upstreams",
    )


def outside_of_path(upstream: str) -> ProxyRefusal:
    """A path leaves the upstream's own path."""
    return ProxyRefusal(
        400,
        "path_leaves_upstream",
        f"The request's path contains `..` and leads out of the path of the upstream `{upstream}`; request the path "
        "itself.",
    )


def connect_timed_out(upstream: str, timeout_s: float) -> ProxyRefusal:
    """The connection took too long."""
    return ProxyRefusal(
        504,
        "upstream_connect_timeout",
        f"The upstream `{upstream}` did not accept a connection within {timeout_s:g} s; check the address and the "
        "network, or raise the connect timeout.",
        f"{upstream}: no connection within {timeout_s:g} s",
    )


def read_timed_out(upstream: str, timeout_s: float) -> ProxyRefusal:
    """The connection was open, but no answer began."""
    return ProxyRefusal(
        504,
        "upstream_read_timeout",
        f"The upstream `{upstream}` accepted the request and sent nothing for {timeout_s:g} s; raise the read timeout "
        "if its model may think for longer.",
    )


def dropped(upstream: str, words: str) -> ProxyRefusal:
    """The connection ended, or broke the protocol, before an answer began."""
    return ProxyRefusal(
        502,
        "upstream_dropped",
        f"The upstream `{upstream}` did not answer ({words}); check its log, and send the request again "
        "if it may run twice.",
    )


def too_large(at_most: int) -> ProxyRefusal:
    """The request's body is above the bound."""
    return ProxyRefusal(
        413,
        "body_too_large",
        f"The request's body is larger than the {at_most} bytes that this proxy forwards; raise that limit to send it.",
    )


UPGRADE = ProxyRefusal(
    501,
    "upgrade_not_supported",
    "This proxy records HTTP requests and does not forward websockets; use the HTTP interface of this API, or connect "
    "to the upstream itself.",
)

NOT_A_PATH = ProxyRefusal(
    400,
    "not_a_path",
    "The request's target is not a path; this proxy has fixed upstreams, so use its address as the base URL of the "
    "client and not as an HTTP proxy.",
)

NOT_OURS = ProxyRefusal(
    404, "not_found", "weaklink itself has nothing at this path; `GET /weaklink/` shows that it runs."
)


class Gate(Struct, frozen=True):
    """Allows or refuses a request by its raw path and two of its headers."""

    config: ProxyConfig

    def enter(self, path: str, *, token: str | None, host: str | None) -> str | ProxyRefusal:
        """The path without the token if the request is allowed, else the refusal."""
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
        """Whether a host is allowed. An HTTP/1.0 request may name none; no browser sends such a request."""
        if host is None:
            return True
        name = host_name(host)
        return name is not None and is_loopback(name)


_NO_TOKEN = ProxyRefusal(
    403,
    "token_missing",
    f"This proxy requires its token: put it into the path, as in `/t/TOKEN/v1/...`, or the header `{TOKEN_HEADER}`.",
)

_WRONG_TOKEN = ProxyRefusal(
    403, "token_wrong", "The token of this request is not the one that this proxy was started with; use that one."
)

_UNKNOWN_HOST = ProxyRefusal(
    421,
    "host_not_loopback",
    "This proxy is only for clients on its own machine, and the request's `Host` header names another; use "
    "`127.0.0.1` or `localhost`, or start the proxy with a token to use other names.",
)
