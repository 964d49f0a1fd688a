"""Who may talk to the dashboard: which hosts it answers to, which origins its socket takes, and the token."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest
from urllib.parse import urlsplit

from inspector.errors import WeaklinkError
from inspector.host_header import address_of, host_name, is_loopback

_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")


@dataclass(frozen=True, slots=True)
class Access:
    """What the dashboard was told at its start.

    `host` is the address it listens on. `token` must be shown by every browser where it is not empty. `names` are the
    host names that it may be called by beside addresses and `localhost`: a name that is not listed may be a foreign
    page's, which resolved its own name to this machine.
    """

    host: str
    port: int
    token: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token and not _TOKEN.fullmatch(self.token):
            raise WeaklinkError("a token is made of letters, digits and `-._~`, so that it fits into an address")
        if not is_loopback(self.host.strip("[]")) and not self.token:
            raise WeaklinkError(
                f"`--host {self.host}` can be reached from other machines, and then the dashboard needs a token: "
                "say `--token WORD`, or leave `--host` away."
            )

    def answers_to(self, host: str) -> bool:
        """Whether a request with this Host header is meant for us: an address, `localhost`, or one of our names."""
        name = host_name(host)
        return name is not None and (name in ("localhost", *self.names) or address_of(name) is not None)

    def takes_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this Origin may open the socket of this Host: it must be our own page."""
        return urlsplit(origin).netloc.lower() == host.lower() if origin else False

    def is_token(self, word: str) -> bool:
        """Whether the word is the token, compared in constant time."""
        return compare_digest(word.encode(errors="surrogatepass"), self.token.encode(errors="surrogatepass"))


def links(access: Access) -> Sequence[str]:
    """The addresses to open, the token in them."""
    shown = f"[{access.host}]" if ":" in access.host else access.host
    word = f"/?token={access.token}" if access.token else "/"
    return (f"http://{shown}:{access.port}{word}",)
