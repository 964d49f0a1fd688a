"""Answers of the proxy's own, where there is none of an upstream to pass on: JSON errors in weaklink's words.

Their shape is read by the OpenAI clients and by the Anthropic clients alike. No text repeats a path, since paths may
hold tokens and keys.
"""

import json
from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status, a code for programs, and a sentence that says what happened and what to do."""

    status: int
    code: str
    message: str

    def response(self, *, closes: bool = False) -> web.Response:
        """The answer as aiohttp sends it; `closes` where the request's body was not read to its end."""
        error = {"type": "weaklink_proxy_error", "code": self.code, "message": self.message}
        answer = web.Response(
            status=self.status,
            body=json.dumps({"type": "error", "error": error}).encode() + b"\n",
            content_type="application/json",
        )
        if closes:
            answer.force_close()
        return answer


def no_upstream(prefixes: tuple[str, ...]) -> Refusal:
    """No upstream takes the path."""
    known = ", ".join(f"`{prefix}/`" for prefix in prefixes)
    return Refusal(404, "no_upstream", f"No upstream stands at this path; this proxy forwards what lies below {known}.")


def not_connected(upstream: str, words: str) -> Refusal:
    """Nothing could be sent."""
    return Refusal(
        502,
        "upstream_not_connected",
        f"The upstream `{upstream}` could not be reached ({words}); check that it runs and that the address is right.",
    )


def connect_timed_out(upstream: str, timeout_s: float) -> Refusal:
    """The connection took too long."""
    return Refusal(
        504,
        "upstream_connect_timeout",
        f"The upstream `{upstream}` did not accept a connection within {timeout_s:g} s; check the address and the "
        "network, or raise the connect timeout.",
    )


def read_timed_out(upstream: str, timeout_s: float) -> Refusal:
    """The connection stood, and no answer began."""
    return Refusal(
        504,
        "upstream_read_timeout",
        f"The upstream `{upstream}` took the request and sent nothing for {timeout_s:g} s; raise the read timeout if "
        "its model may think for longer.",
    )


def dropped(upstream: str, words: str) -> Refusal:
    """The connection ended, or broke the protocol, before an answer began."""
    return Refusal(
        502,
        "upstream_dropped",
        f"The upstream `{upstream}` ended the connection before it answered ({words}); look into its log, and send "
        "the request again if it may run twice.",
    )


def too_large(at_most: int) -> Refusal:
    """The request's body is above the bound."""
    return Refusal(
        413,
        "body_too_large",
        f"The request's body is larger than the {at_most} bytes that this proxy forwards; raise that bound to send it.",
    )


UPGRADE = Refusal(
    501,
    "upgrade_not_supported",
    "This proxy records HTTP requests and forwards no websockets; use the HTTP interface of this API, or go to the "
    "upstream itself.",
)
NOT_A_PATH = Refusal(
    400,
    "not_a_path",
    "The request's target is no path; this proxy has fixed upstreams, so use its address as the base URL of the client "
    "and not as an HTTP proxy.",
)
NOT_OURS = Refusal(404, "not_found", "weaklink itself has nothing at this path; `GET /weaklink/` says that it runs.")
