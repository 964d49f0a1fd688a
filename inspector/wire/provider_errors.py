"""The error objects that servers send instead of an answer, or in the middle of one."""

from inspector.model import ErrorPhase, GenerationError, Json
from inspector.wire.json_text import compact_json

_MAX_WORDS = 500  # of a body that is no error object, such as a proxy's HTML page


def error_in(document: Json) -> Json:
    """The error that a JSON document reports, or None.

    `{"error": {...}}` (OpenAI and its kin), `{"error": "words"}` (Ollama), `{"type": "error", "error": {...}}`
    (Anthropic), `{"object": "error", "message": ...}` (vLLM before 0.10), `{"detail": ...}` alone (FastAPI).
    """
    if not isinstance(document, dict):
        return None
    if document.get("error"):
        return document["error"]
    if document.get("object") == "error" or document.get("type") == "error":
        return document
    return document["detail"] if set(document) == {"detail"} else None


def read_error(error: Json, phase: ErrorPhase, *, status: int | None = None) -> GenerationError:
    """An error object, or any text, as an error that ended a generation; never raises.

    `status` is the HTTP status, where one is known; else a `code` or `status` from 400 to 599 is taken for it.
    """
    if not isinstance(error, dict):
        words = error.strip()[:_MAX_WORDS] if isinstance(error, str) else compact_json(error)
        return GenerationError(phase, words, status)
    message = error.get("message", error.get("detail"))
    words = message if isinstance(message, str) else compact_json(error)
    named = (error.get(key) for key in ("code", "type", "status"))
    code = next((str(word) for word in named if word and isinstance(word, str | int)), None)
    return GenerationError(phase, words, status or _status(error), code)


def _status(error: dict[str, Json]) -> int | None:
    for word in (error.get("code"), error.get("status")):
        if isinstance(word, int) and 400 <= word < 600:
            return word
    return None
