"""The properties that a model's server publishes about itself: llama.cpp's `/props`, with the model's chat template.

Source: ggml-org/llama.cpp:tools/server/README.md (GET /props: `chat_template`, `bos_token`, `eos_token`).
"""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from weaklink.inspector.errors import ChatTemplateError

_TIMEOUT_S = 10
_MAX_BYTES = 16 << 20
_OK = 200


def served_properties(address: str) -> bytes:
    """The JSON that the server at an `http://` or `https://` address returns for `/props`.

    The address may be that of the server, of its `/v1`, or of `/props` itself. Nothing but this request is sent, no key
    either. Raises ChatTemplateError, which names the address, if there is no such server or it has no such page.
    """
    try:
        parts = urlsplit(address)
        host, port, is_https = parts.hostname or "", parts.port, parts.scheme == "https"
    except ValueError as error:
        raise ChatTemplateError(f"{address} is not an address: {error}.") from error
    path = parts.path.rstrip("/").removesuffix("/v1").removesuffix("/props")
    connection = (HTTPSConnection if is_https else HTTPConnection)(host, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", f"{path}/props", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        content = answer.read(_MAX_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise ChatTemplateError(f"{address}: the server does not answer: {reason}.") from error
    finally:
        connection.close()
    if answer.status != _OK or len(content) > _MAX_BYTES:
        raise ChatTemplateError(
            f"{address}: the server publishes no chat template ({path}/props: status {answer.status}); llama.cpp does. "
            "Save the template to a file instead."
        )
    return content
