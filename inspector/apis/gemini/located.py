"""Google's Gemini API: responses, contents and parts, whole or as a stream, with places.

Sources: Gemini's API reference (GenerateContentResponse, Content, Part); langchain-google-genai:tests/unit_tests/
test_chat_models.py. Protobuf's JSON knows every member in camel and in snake case. A call without arguments may lack
`args`; numbers arrive as floats; a call that the server could not read is told in `finishMessage` alone.
"""

from collections.abc import Iterator

from inspector.apis.located_pieces import (
    ApiCallPiece,
    ApiPiece,
    RefusedCall,
    ResultPiece,
    TextPiece,
    TurnBegins,
    another_answer,
    cut_off,
    error_inside,
    is_filled,
    items,
    member,
    number,
    objects,
    string,
    text_of,
    truth,
)
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import SpanKind
from inspector.text import Range

_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")
_FINISH = ("finishReason", "finish_reason")
_FINISH_MESSAGE = ("finishMessage", "finish_message")
_TELLING = (*_CALL, *_RESULT, "thought", "thoughtSignature", "thought_signature")
_OTHER = (
    *("inlineData", "inline_data", "fileData", "file_data", "executableCode", "executable_code"),
    *("codeExecutionResult", "code_execution_result"),
)
_ROLES = frozenset({"model", "user", "function", "tool", "system", ""})


class GeminiShapes:
    """The ShapeReader of Gemini's API: responses one behind the other, a list of them, contents or parts."""

    strings = False

    def __init__(self) -> None:
        self._responses = 0
        self._others_told = False
        self._has_ended = False

    @property
    def awaits_end(self) -> bool:
        """See ShapeReader: whether several responses came, but no finish reason."""
        return self._responses > 1 and not self._has_ended

    def read(self, value: JsonNode, text: str) -> list[ApiPiece] | None:
        """See ShapeReader."""
        if value.kind is not JsonKind.ARRAY:
            return self._one(value)
        found = value.items
        if found and all(map(_is_response, found)):
            return [piece for response in found for piece in self._response(response)]
        if found and all(map(_is_content, found)):
            return [piece for content in found for piece in _content(content)]
        if found and all(map(_is_part, found)) and any(member(part, *_TELLING) is not None for part in found):
            return [piece for part in found for piece in _part(part, by_model=True)]
        return None

    def end(self, place: Range) -> list[ApiPiece]:
        """See ShapeReader."""
        self._has_ended = True
        return []

    def _one(self, node: JsonNode) -> list[ApiPiece] | None:
        if _is_response(node):
            return list(self._response(node))
        if _is_content(node):
            return list(_content(node))
        contents = items(node, "contents")
        if contents and all(map(_is_content, contents)):
            return [piece for content in contents for piece in _content(content)]
        if _is_part(node) and member(node, *_CALL, *_RESULT) is not None:
            return list(_part(node, by_model=True))
        if self._responses and member(node, "error") is not None:
            self._has_ended = True
            return list(error_inside(node))
        return None

    def _response(self, node: JsonNode) -> Iterator[ApiPiece]:
        self._responses += 1
        for candidate in objects(node, "candidates"):
            index = number(candidate, "index")
            if index:
                if not self._others_told:
                    yield another_answer(candidate, index)
                self._others_told = True
                continue
            content = member(candidate, "content")
            if content is not None:
                yield from (piece for part in objects(content, "parts") for piece in _part(part, by_model=True))
            reason = string(candidate, *_FINISH)
            if reason is None:
                continue
            self._has_ended = True
            yield from cut_off(reason, ("MAX_TOKENS",))
            message = string(candidate, *_FINISH_MESSAGE)
            if reason.scalar == "MALFORMED_FUNCTION_CALL":
                yield RefusedCall(message if message is not None and is_filled(message) else reason)


def _is_response(node: JsonNode) -> bool:
    candidates = member(node, "candidates")
    if candidates is not None and candidates.kind is JsonKind.ARRAY:
        telling = ("content", "index", *_FINISH, *_FINISH_MESSAGE)
        return all(member(one, *telling) is not None for one in candidates.items)
    return member(node, "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback") is not None


def _is_content(node: JsonNode) -> bool:
    parts = member(node, "parts")
    is_list = parts is not None and parts.kind is JsonKind.ARRAY
    return is_list and text_of(node, "role") in _ROLES and all(map(_is_part, items(node, "parts")))


def _is_part(node: JsonNode) -> bool:
    return string(node, "text") is not None or member(node, *_TELLING, *_OTHER) is not None


def _content(node: JsonNode) -> Iterator[ApiPiece]:
    yield TurnBegins(Range(node.range.start, node.range.start))
    by_model = text_of(node, "role") in ("model", "")
    for part in objects(node, "parts"):
        yield from _part(part, by_model=by_model)


def _part(node: JsonNode, *, by_model: bool) -> Iterator[ApiPiece]:
    call, result = member(node, *_CALL), member(node, *_RESULT)
    text = string(node, "text")
    if call is not None:
        yield ApiCallPiece(call.range, None, string(call, "name"), string(call, "id"), member(call, "args"))
    elif result is not None:
        response = member(result, "response")
        place = response.range if response is not None else result.range
        yield ResultPiece(place, response, string(result, "id"), string(result, "name"), _is_error(response))
    elif text is not None and is_filled(text):
        kind = SpanKind.REASONING if truth(node, "thought") else SpanKind.TEXT
        yield TextPiece(kind, text, by_model=by_model)


def _is_error(response: JsonNode | None) -> bool | None:
    """The API's own way to tell an error is a member `error` of the response."""
    return True if member(response, "error") is not None else None
