"""Predicts which calls the tool parsers of common servers return for a whole text, based on their source code.

Each entry of the table is one parser for text that is not streamed, with the version of the server whose parser was run
beside it: for the texts of the format's cases, damaged ones included, both return calls of the same names. A parser
without `read` is known by name only; nothing is predicted for it, nor for text whose reasoning is not closed or has
a call in it, since a server's reasoning parser decides what its tool parser receives. Time is linear in the text.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from inspector.errors import UnknownFormatError
from inspector.scanning import lazy_pattern

_LONGEST = 200_000  # code points, at most, of a text that is tried; no server's answer to one request is longer
_QUOTED = 60


class _UnreadPayloadError(Exception):
    """A payload that a parser cannot read; its text is the reason, as a clause."""


PredictedCall: TypeAlias = tuple[str, str]
"""The name of a call and its arguments as text."""


class ServerParser(Struct, frozen=True):
    """One parser of one server: `source` is its file, `version` the server's.

    `read` is None, or returns None for a text, where the parser is not predicted. `alone` says that calls are read only
    if nothing else is in the text, so that it matters whether a reasoning parser takes the reasoning away.
    """

    server: str
    name: str
    formats: tuple[str, ...]
    source: str
    version: str
    read: Callable[[str], list[PredictedCall] | None] | None = None
    alone: bool = False


class Prediction(Struct, frozen=True):
    """What a parser would return: its calls in order, or the reason if there are none (else "")."""

    parser: ServerParser
    calls: tuple[PredictedCall, ...]
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The prediction in words."""
        parser = f"The `{self.parser.name}` parser of {self.parser.server} {self.parser.version}"
        if not self.calls:
            return f"{parser} returns no call here: {self.reason}."
        count = "1 call" if len(self.calls) == 1 else f"{len(self.calls)} calls"
        return f"{parser} returns {count} here."


_REASONING = ("<think>", "</think>", "[THINK]")
_CLOSED_REASONING = lazy_pattern(r"\s*<think>[^<\[{]*</think>")


def predictions(text: str, format: str) -> tuple[Prediction, ...]:
    """What each known parser for this format returns for the text; empty where that is not known."""
    content = _content(text)
    if content is None or len(text) > _LONGEST:
        return ()
    found = (
        _predicted(parser, content)
        for parser in PARSERS
        if format in parser.formats and not (parser.alone and content != text)
    )
    return tuple(prediction for prediction in found if prediction is not None)


def _content(text: str) -> str | None:
    """The text after closed reasoning that contains nothing like a call; None for other reasoning."""
    closed = _CLOSED_REASONING.match(text)
    content = text if closed is None else text[closed.end() :].lstrip()
    return None if any(marker in content for marker in _REASONING) else content


def wrong_predictions(text: str, format: str, written: int) -> tuple[Prediction, ...]:
    """The predictions of parsers that do not return as many calls as the model wrote, attempts included."""
    return tuple(one for one in predictions(text, format) if len(one.calls) != written) if written else ()


def parser_named(word: str) -> ServerParser:
    """The parser with this name, `hermes` or `vllm:hermes`; UnknownFormatError if there is none."""
    server, _, name = word.lower().rpartition(":")
    for parser in PARSERS:
        if parser.name == name and server in ("", parser.server.lower()):
            return parser
    known = ", ".join(f"{one.server.lower()}:{one.name}" for one in PARSERS)
    raise UnknownFormatError(f"unknown server parser `{word}`; known are {known}")


def _predicted(parser: ServerParser, text: str) -> Prediction | None:
    if parser.read is None:
        return None
    try:
        calls = parser.read(text)
    except _UnreadPayloadError as error:
        return Prediction(parser, (), str(error))
    if calls is None:
        return None
    return Prediction(parser, tuple(calls), "" if calls else "nothing in the text matches its pattern")


def _hermes(text: str) -> list[PredictedCall]:
    """The first closer ends a call, the last call may lack it; one bad payload discards all calls."""
    if "<tool_call>" not in text:
        raise _UnreadPayloadError("`<tool_call>` is not in the text")
    return [
        _json_call(payload, "arguments") for payload in _between(text, "<tool_call>", "</tool_call>", open_end=True)
    ]


_QWEN25_CALL = lazy_pattern(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)


def _qwen25(text: str) -> list[PredictedCall]:
    """A call is an object of JSON on the lines between its markers; what is not JSON is skipped."""
    if "<tool_call>\n" not in text:
        raise _UnreadPayloadError("`<tool_call>` with a line feed is not in the text")
    found: list[PredictedCall] = []
    for match in _QWEN25_CALL.finditer(text):
        with suppress(ValueError, RecursionError):
            value = json.loads(match[1].strip(), parse_constant=_refused)
            found += [_sglang_call(action) for action in (value if isinstance(value, list) else [value])]
    if not found:
        raise _UnreadPayloadError("no JSON is on the lines between `<tool_call>` and `</tool_call>`")
    return found


def _sglang_call(action: object) -> PredictedCall:
    """SGLang takes either key, and `{}` where both are missing or empty; it skips unknown and missing names."""
    if not isinstance(action, dict) or not isinstance(action.get("name"), str):
        raise ValueError("no call")
    arguments = action.get("parameters") or action.get("arguments", {})
    return action["name"], json.dumps(arguments, ensure_ascii=False)


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _pythonic(text: str) -> list[PredictedCall] | None:
    """The whole text is one Python list of calls, whose arguments are literals with names; not known with comments."""
    if "#" in text:
        return None
    if not text.startswith("["):
        raise _UnreadPayloadError("the whole text must be a list of calls, but there is text before the list")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown escapes in the text are not our problem
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _UnreadPayloadError("the whole text must be one Python list of calls") from error
    value = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if not isinstance(value, ast.List):
        raise _UnreadPayloadError("the whole text must be one Python list of calls")
    return [_python_call(element) for element in value.elts]


def _python_call(node: ast.expr) -> PredictedCall:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise _UnreadPayloadError("one element of the list is not a call of a plain name")
    if node.args:
        raise _UnreadPayloadError("one argument has no name")
    try:
        arguments = {keyword.arg: ast.literal_eval(_with_json_words(keyword.value)) for keyword in node.keywords}
        return node.func.id, json.dumps(arguments, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError) as error:
        raise _UnreadPayloadError("one argument is not a literal") from error


class _JsonWords(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(json.loads(node.id)) if node.id in {"true", "false", "null"} else node


def _with_json_words(value: ast.expr) -> ast.expr:
    """A value whose `true`, `false` and `null` are read as JSON's, as vLLM does."""
    read: ast.expr = _JsonWords().visit(value)
    return read


def _jamba(text: str) -> list[PredictedCall]:
    """The first pair of markers contains a JSON list; other pairs are silently skipped."""
    if "<tool_calls>" not in text:
        raise _UnreadPayloadError("`<tool_calls>` is not in the text")
    payload = next(_between(text, "<tool_calls>", "</tool_calls>", open_end=False), None)
    if payload is None:
        raise _UnreadPayloadError("`</tool_calls>` is missing")
    return _json_list(payload)


def _json_list(payload: str) -> list[PredictedCall]:
    """A payload that is a JSON list of objects with a name and arguments."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise _UnreadPayloadError(f"`{_shown(payload)}` is not JSON, and one bad call discards all calls") from error
    if not isinstance(value, list):
        raise _UnreadPayloadError(f"`{_shown(payload)}` is not a list of calls")
    return [_json_call(json.dumps(item, ensure_ascii=False), "arguments") for item in value]


def _between(text: str, opener: str, closer: str, *, open_end: bool) -> Iterator[str]:
    at = text.find(opener)
    while at >= 0:
        start = at + len(opener)
        end = text.find(closer, start)
        if end < 0:
            if open_end:
                yield text[start:]
            return
        yield text[start:end]
        at = text.find(opener, end)


def _shown(payload: str) -> str:
    return " ".join(payload.split()).replace("`", "'")[:_QUOTED]


def _json_call(payload: str, *keys: str) -> PredictedCall:
    """A payload that is a JSON object with a name and arguments."""
    shown = _shown(payload)
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise _UnreadPayloadError(f"`{shown}` is not JSON, and one bad call discards all calls") from error
    key = next((key for key in keys if isinstance(value, dict) and key in value), None)
    if key is None or "name" not in value:
        raise _UnreadPayloadError(f"`{shown}` lacks `name` or `{keys[0]}`, and one bad call discards all calls")
    return str(value["name"]), json.dumps(value[key], ensure_ascii=False)


_VLLM = "vllm-project/vllm:vllm/tool_parsers"
_VLLM_PARSER = "vllm-project/vllm:vllm/parser"
_SGLANG = "sgl-project/sglang:python/sglang/srt/function_call"
PARSERS = (
    ServerParser("vLLM", "hermes", ("hermes", "qwen"), f"{_VLLM}/hermes_tool_parser.py", "0.33.0", _hermes),
    ServerParser("SGLang", "qwen25", ("hermes", "qwen"), f"{_SGLANG}/qwen25_detector.py", "0.5.23", _qwen25),
    ServerParser(
        "vLLM", "pythonic", ("pythonic",), f"{_VLLM}/pythonic_tool_parser.py", "0.33.0", _pythonic, alone=True
    ),
    ServerParser("vLLM", "jamba", ("jamba",), f"{_VLLM}/jamba_tool_parser.py", "0.33.0", _jamba),
    ServerParser("vLLM", "llama3_json", ("llama3",), f"{_VLLM}/llama_tool_parser.py", "0.33.0"),
    ServerParser("vLLM", "deepseek_v3", ("deepseek_v3",), f"{_VLLM}/deepseekv3_tool_parser.py", "0.33.0"),
    ServerParser("vLLM", "mistral", ("mistral",), f"{_VLLM}/mistral_tool_parser.py", "0.33.0"),
    ServerParser("vLLM", "kimi_k2", ("kimi_k2",), f"{_VLLM_PARSER}/kimi_k2.py", "0.33.0"),
)
"""The parsers, by format."""
