"""Calls that a server could not parse, and refused: where its answer or its error says what the model wrote.

    Gemini     `finishReason` is MALFORMED_FUNCTION_CALL; `finishMessage` is `Malformed function call: ` and the call,
               mostly as `print(default_api.NAME(...))`
    Groq       `error` has the code `tool_use_failed`, and the call as the model wrote it in `failed_generation`
    Ollama     `error` (on `/v1`, its `message`) is `error parsing tool call: raw='ARGUMENTS', err=REASON`

Servers with OpenAI's API that pass Gemini's answers on have only its finish reason. Groq's message begins with
`tool call validation failed` if it could parse the call, but did not accept it; such a call is not malformed.

Sources: Gemini's API reference (Candidate.finishMessage); Groq's documentation of tool use (failed_generation) and
groq/groq-typescript#28; ollama:harmony/harmonyparser.go and ollama/ollama#17638.
"""

import re

from weaklink.inspector.apis.located_pieces import RefusedCall, filled, member, objects, string, text_of
from weaklink.inspector.json_scanner import JsonNode
from weaklink.inspector.text import Range

GEMINI_REFUSES = "MALFORMED_FUNCTION_CALL"
_GEMINI_INTRO = re.compile(r"\s*Malformed function call:?\s*")
_GROQ = "tool_use_failed"
_GROQ_VALIDATION = "tool call validation failed"
_OLLAMA_INTRO = "error parsing tool call: raw='"
_OLLAMA_REASON = "', err="


def refused_call(document: JsonNode) -> RefusedCall | None:
    """The call that this whole answer or error refuses; None if it refuses none."""
    response = member(document, "response") or document
    candidates = (refused_by_gemini(candidate) for candidate in objects(response, "candidates"))
    error = member(document, "error")
    errors = () if error is None else (_by_groq(error), _by_ollama(error, member(error, "message")))
    return next((refused for refused in (*candidates, *errors) if refused is not None), None)


def refused_by_gemini(candidate: JsonNode) -> RefusedCall | None:
    """The call that a candidate of Gemini's API refuses."""
    reason = string(candidate, "finishReason", "finish_reason")
    if reason is None or reason.scalar != GEMINI_REFUSES:
        return None
    message = next(filled(candidate, "finishMessage", "finish_message"), None)
    if message is None:
        return RefusedCall(reason, Range(0, 0), GEMINI_REFUSES)
    words = str(message.scalar)
    intro = _GEMINI_INTRO.match(words)
    return RefusedCall(message, Range(intro.end() if intro is not None else 0, len(words)), GEMINI_REFUSES)


def _by_groq(error: JsonNode) -> RefusedCall | None:
    generation, message = next(filled(error, "failed_generation"), None), text_of(error, "message")
    if generation is None or text_of(error, "code") != _GROQ or message.startswith(_GROQ_VALIDATION):
        return None
    return RefusedCall(generation, Range(0, len(str(generation.scalar))), message or _GROQ)


def _by_ollama(*nodes: JsonNode | None) -> RefusedCall | None:
    for node in nodes:
        if node is None or not isinstance(node.scalar, str) or not node.scalar.startswith(_OLLAMA_INTRO):
            continue
        words = node.scalar
        end = words.rfind(_OLLAMA_REASON)
        if end >= len(_OLLAMA_INTRO):
            reason = f"error parsing tool call: {words[end + len(_OLLAMA_REASON) :]}"
            return RefusedCall(node, Range(len(_OLLAMA_INTRO), end), reason)
    return None
