"""A request to an upstream whose headers go out byte for byte, also those that are not UTF-8.

aiohttp 3.14 writes headers as UTF-8 and leaves out what cannot be written so (`_http_writer.pyx`, `_write_utf8`): a
Latin-1 `Zürich` would arrive as `Zrich`. Such a head is written here again, before any of it is sent.
"""

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection

from inspector.sessions.exchange import Headers


def is_utf8(headers: Headers) -> bool:
    """Whether all headers are valid UTF-8; bytes that are not stand in them as lone surrogates."""
    return not any("\udc80" <= sign <= "\udcff" for name, value in headers for sign in name + value)


class RawRequest(aiohttp.ClientRequest):
    """aiohttp's request, which writes its own head where headers are not UTF-8.

    Such a request must have a body, if an empty one: only then is the head still unsent when `write_bytes` is called.
    """

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Send head and body."""
        written: bytes | None = getattr(writer, "_headers_buf", None)  # aiohttp has checked it for control characters
        headers = tuple(self.headers.items())
        if written is not None and not is_utf8(headers):
            lines = [
                f"{name}: {value}".encode("utf-8", "surrogateescape") for name, value in headers if self._is_sent(name)
            ]
            writer._headers_buf = b"\r\n".join([written.partition(b"\r\n")[0], *lines, b"", b""])  # type: ignore[attr-defined]  # noqa: SLF001  # no public way
        await super().write_bytes(writer, conn, content_length)

    def _is_sent(self, name: str) -> bool:
        """All but the length of the empty body that a request without one was given."""
        return not (self.method in self.GET_METHODS and name.lower() == "content-length" and self.headers[name] == "0")
