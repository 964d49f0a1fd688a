"""OpenAI's messages and calls as they come whole: in a chat completion, in a conversation, or alone.

Sources: OpenAI's API reference (chat completion object, messages); langchain-openai:tests/unit_tests/chat_models/
test_base.py; `reasoning_content` (DeepSeek, SGLang), `reasoning` (vLLM, OpenRouter), content blocks of kind `thinking`
(Mistral).
"""

from collections.abc import Iterator

from inspector.formats.api.nodes import is_filled, items, member, objects, string, text_of
from inspector.formats.api.pieces import CallPiece, Piece, ResultPiece, TextPiece, TurnBegins
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import SpanKind
from inspector.text import Range

_ROLES = frozenset({"assistant", "user", "system", "developer", "tool", "function"})
_RESULT_ROLES = frozenset({"tool", "function"})
_WORDS_KEYS = ("content", "tool_calls", "function_call", "reasoning_content", "reasoning", "refusal")
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})


def is_message(node: JsonNode) -> bool:
    """Whether a value is a message: of a known role with words or calls, or, without a role, with whole calls."""
    if text_of(node, "role") in _ROLES:
        content = member(node, "content")
        is_content = content is None or content.kind in (JsonKind.STRING, JsonKind.ARRAY)
        return is_content and any(node.member(key) is not None for key in _WORDS_KEYS)
    calls = items(node, "tool_calls")
    return bool(calls) and all(string(member(call, "function"), "name") is not None for call in calls)


def is_call(node: JsonNode) -> bool:
    """Whether a value is a call of a message's `tool_calls`, and no tool's definition."""
    function = member(node, "function")
    return string(function, "name") is not None and function is not None and function.member("arguments") is not None


def read_message(node: JsonNode) -> Iterator[Piece]:
    """What a message says; in an object the order of members says nothing about the order of words and calls."""
    role = text_of(node, "role")
    yield TurnBegins(Range(node.range.start, node.range.start))
    if role in _RESULT_ROLES:
        yield _result(node)
        return
    by_model = role in ("", "assistant")
    yield from read_words(node, by_model=by_model, in_order=False)
    for call in items(node, "tool_calls"):
        yield whole_call(call)
    legacy = member(node, "function_call")
    if legacy is not None:
        yield call_of(legacy, legacy)


def read_words(node: JsonNode, *, by_model: bool = True, in_order: bool = True) -> Iterator[TextPiece]:
    """The words of a message or of a stream's delta: reasoning, text and refusal."""
    for said in _reasoning(node):
        yield TextPiece(SpanKind.REASONING, said, by_model=by_model, in_order=in_order)
    content = member(node, "content")
    if content is not None and is_filled(content):
        yield TextPiece(SpanKind.TEXT, content, by_model=by_model, in_order=in_order)
    for block in objects(node, "content"):
        yield from _block(block, by_model=by_model, in_order=in_order)
    refusal = string(node, "refusal")
    if refusal is not None and is_filled(refusal):
        yield TextPiece(SpanKind.TEXT, refusal, "refusal", by_model=by_model, in_order=in_order)


def whole_call(node: JsonNode) -> CallPiece:
    """One element of `tool_calls`: a function's call, or one of a custom tool, whose input is free text."""
    custom = member(node, "custom")
    if custom is not None:
        name, id_, words = string(custom, "name"), string(node, "id"), string(custom, "input")
        return CallPiece(node.range, None, name, id_, words, is_text=True, wants_id=True)
    return call_of(node, member(node, "function") or node, wants_id=True)


def call_of(node: JsonNode, function: JsonNode, key: str | None = None, *, wants_id: bool = False) -> CallPiece:
    """The call that `node` is, whose name and arguments stand in `function`."""
    arguments = member(function, "arguments", "parameters")
    foreign = function.member("parameters") if arguments is not None and member(function, "arguments") is None else None
    return CallPiece(
        node.range,
        key,
        string(function, "name"),
        string(node, "id", "call_id"),
        arguments,
        foreign_key=foreign.key_range if foreign is not None else None,
        wants_id=wants_id,
    )


def _reasoning(node: JsonNode) -> list[JsonNode]:
    plain = [one for key in ("reasoning_content", "reasoning") if is_filled(one := string(node, key)) and one]
    if len(plain) == 2 and plain[0].scalar == plain[1].scalar:  # some servers send the same words under both names
        return plain[:1]
    details = (string(one, "text", "summary") for one in objects(node, "reasoning_details"))
    return plain or [one for one in details if one is not None and is_filled(one)]


def _block(block: JsonNode, *, by_model: bool, in_order: bool) -> Iterator[TextPiece]:
    kind = text_of(block, "type")
    text = string(block, "text")
    if kind in _TEXT_BLOCKS and text is not None and is_filled(text):
        yield TextPiece(SpanKind.TEXT, text, by_model=by_model, in_order=in_order)
    elif kind == "refusal" and is_filled(refusal := string(block, "refusal")) and refusal is not None:
        yield TextPiece(SpanKind.TEXT, refusal, "refusal", by_model=by_model, in_order=in_order)
    elif kind == "thinking":
        inner = (string(block, "thinking"), *(string(one, "text") for one in objects(block, "thinking")))
        for said in inner:
            if said is not None and is_filled(said):
                yield TextPiece(SpanKind.REASONING, said, by_model=by_model, in_order=in_order)


def _result(node: JsonNode) -> ResultPiece:
    content = member(node, "content")
    place = content.range if content is not None else node.range
    return ResultPiece(place, content, string(node, "tool_call_id"), string(node, "name"))
