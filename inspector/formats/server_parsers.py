"""Predicts which calls the tool parsers of common servers would return for a whole text, based on their source code.

Each entry of the table is one parser for text that is not streamed, with the file and commit of its source code.
A parser is described by a few facts: which marker must be there, what ends a call, whether the last call may lack its
end, whether one bad call discards all of them, and how a payload is read. Time is linear in the text.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from inspector.errors import UnknownFormatError

_LONGEST = 200_000  # code points, at most, of a text that is tried; no server's answer to one request is longer
_QUOTED = 60


class _UnreadPayloadError(Exception):
    """A payload that a parser cannot read; its text is the reason, as a clause."""


PredictedCall: TypeAlias = tuple[str, str]
"""The name of a call and its arguments as text."""


class ServerParser(Struct, frozen=True):
    """One parser of one server: `source` is its file, `commit` the version of that file."""

    server: str
    name: str
    formats: tuple[str, ...]
    source: str
    commit: str
    read: Callable[[str], list[PredictedCall]]


class Prediction(Struct, frozen=True):
    """What a parser would return: its calls in order, or the reason if there are none (else "")."""

    parser: ServerParser
    calls: tuple[PredictedCall, ...]
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The prediction in words."""
        parser = f"{self.parser.server}'s `{self.parser.name}` parser"
        if not self.calls:
            return f"{parser} would return no call here: {self.reason}."
        count = "1 call" if len(self.calls) == 1 else f"{len(self.calls)} calls"
        return f"{parser} would return {count} here."


def predictions(text: str, format: str) -> tuple[Prediction, ...]:
    """What each known parser for this format would return for the text; empty for a format without an entry."""
    return tuple(_predicted(parser, text) for parser in PARSERS if format in parser.formats)


def wrong_predictions(text: str, format: str, written: int) -> tuple[Prediction, ...]:
    """The predictions of parsers that would not return as many calls as the model wrote, attempts included."""
    return tuple(one for one in predictions(text, format) if len(one.calls) != written) if written else ()


def parser_named(word: str) -> ServerParser:
    """The parser with this name, `hermes` or `vllm:hermes`; UnknownFormatError if there is none."""
    server, _, name = word.lower().rpartition(":")
    for parser in PARSERS:
        if parser.name == name and server in ("", parser.server.lower()):
            return parser
    known = ", ".join(f"{one.server.lower()}:{one.name}" for one in PARSERS)
    raise UnknownFormatError(f"unknown server parser `{word}`; known are {known}")


def _predicted(parser: ServerParser, text: str) -> Prediction:
    if len(text) > _LONGEST:
        return Prediction(parser, (), f"the text has more than {_LONGEST} characters and was skipped")
    try:
        calls = parser.read(_content(text) if parser.server == "vLLM" else text)
    except _UnreadPayloadError as error:
        return Prediction(parser, (), str(error))
    return Prediction(parser, tuple(calls), "" if calls else "nothing in the text matches its pattern")


REASONING_SOURCE = ("vllm-project/vllm:vllm/reasoning/deepseek_r1_reasoning_parser.py", "d5c95556302c")
"""The file and version of vLLM's reasoning parser, which decides the text that the tool parser receives."""


def _content(text: str) -> str:
    """What vLLM's reasoning parser leaves of a text with `<think>`: the text after `</think>`, or nothing."""
    _, opener, rest = text.partition("<think>")
    if not opener:
        return text
    _, closer, content = rest.partition("</think>")
    if not closer:
        raise _UnreadPayloadError("`</think>` is missing, and its reasoning parser keeps everything after `<think>`")
    return content


def _hermes(text: str) -> list[PredictedCall]:
    """The first closer ends a call, the last call may lack it; one bad payload discards all calls."""
    if "<tool_call>" not in text:
        raise _UnreadPayloadError("`<tool_call>` is not in the text")
    return [
        _json_call(payload, "arguments") for payload in _between(text, "<tool_call>", "</tool_call>", open_end=True)
    ]


def _qwen25(text: str) -> list[PredictedCall]:
    """As `_hermes`, but a call without its closer is not read."""
    if "<tool_call>" not in text:
        raise _UnreadPayloadError("`<tool_call>` is not in the text")
    found = list(_between(text, "<tool_call>", "</tool_call>", open_end=False))
    if not found:
        raise _UnreadPayloadError("`</tool_call>` is missing")
    return [_json_call(payload, "arguments", "parameters") for payload in found]


_BRACES = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_OBJECTS = re.compile(rf"{_BRACES}(?:\s*;\s*{_BRACES})*")


def _llama_json(text: str) -> list[PredictedCall]:
    """The first object whose braces nest two deep at most, and those that follow it after semicolons."""
    match = _OBJECTS.search(text)
    if match is None:
        raise _UnreadPayloadError("the text has no object with braces nested at most two deep")
    payloads = [payload.strip() for payload in match[0].split(";")]
    return [_json_call(payload, "arguments", "parameters") for payload in payloads if payload]


def _pythonic(text: str) -> list[PredictedCall]:
    """The whole text is one Python list of calls, whose arguments are literals with names."""
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
    try:
        arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
        return node.func.id, json.dumps(arguments, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError) as error:
        raise _UnreadPayloadError("one argument is not a literal") from error


_DEEPSEEK_CALL = re.compile("([^\n]*)\n```json\n([^\n]*)\n```")


def _deepseek(text: str) -> list[PredictedCall]:
    """Arguments are one line between fences; calls with other arguments are silently skipped."""
    if "<｜tool▁calls▁begin｜>" not in text:
        raise _UnreadPayloadError("`<｜tool▁calls▁begin｜>` is not in the text")
    payloads = _between(text, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", open_end=False)
    matches = (_DEEPSEEK_CALL.fullmatch(payload.partition("<｜tool▁sep｜>")[2]) for payload in payloads)
    found = [(match[1], match[2]) for match in matches if match is not None]
    if not found:
        raise _UnreadPayloadError("no call has its arguments on one line between the fences")
    return found


_KIMI_ID = re.compile(r"\s*([^<]+):\d+\s*\Z")


def _kimi(text: str) -> list[PredictedCall]:
    """A call's head ends in `:` and a number; its arguments are passed on unread."""
    if "<|tool_calls_section_begin|>" not in text:
        raise _UnreadPayloadError("`<|tool_calls_section_begin|>` is not in the text")
    found: list[PredictedCall] = []
    for payload in _between(text, "<|tool_call_begin|>", "<|tool_call_end|>", open_end=False):
        head, sign, arguments = payload.rpartition("<|tool_call_begin|>")[2].partition("<|tool_call_argument_begin|>")
        match = _KIMI_ID.match(head) if sign else None
        if match is not None:
            found.append((match[1].partition(":")[0].rpartition(".")[2], arguments.strip()))
    if not found:
        raise _UnreadPayloadError("no call has an id such as `functions.name:0`, its arguments and its closer")
    return found


def _mistral(text: str) -> list[PredictedCall]:
    """The whole text without the markers is one JSON list, else the part from the first `[{` to the last `}]` is."""
    if "[TOOL_CALLS]" not in text:
        raise _UnreadPayloadError("`[TOOL_CALLS]` is not in the text")
    payload = text.replace("[TOOL_CALLS]", "").strip()
    try:
        json.loads(payload)
    except (ValueError, RecursionError):
        start, end = payload.find("[{"), payload.rfind("}]")
        if start < 0 or end < start:
            raise _UnreadPayloadError("no JSON list of calls is in the text") from None
        payload = payload[start : end + 2]
    return _json_list(payload)


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


_VLLM = "vllm-project/vllm:vllm/entrypoints/openai/tool_parsers"
PARSERS = (
    ServerParser("vLLM", "hermes", ("hermes", "qwen"), f"{_VLLM}/hermes_tool_parser.py", "00854322d230", _hermes),
    ServerParser(
        "SGLang",
        "qwen25",
        ("hermes", "qwen"),
        "sgl-project/sglang:python/sglang/srt/function_call/qwen25_detector.py",
        "0813438c0321",
        _qwen25,
    ),
    ServerParser("vLLM", "llama3_json", ("llama3",), f"{_VLLM}/llama_tool_parser.py", "02de3de76e3d", _llama_json),
    ServerParser("vLLM", "pythonic", ("pythonic",), f"{_VLLM}/pythonic_tool_parser.py", "01d3ce8c0e53", _pythonic),
    ServerParser(
        "vLLM", "deepseek_v3", ("deepseek_v3",), f"{_VLLM}/deepseekv3_tool_parser.py", "061b11ddf138", _deepseek
    ),
    ServerParser("vLLM", "mistral", ("mistral",), f"{_VLLM}/mistral_tool_parser.py", "a5cdcfaafbb3", _mistral),
    ServerParser("vLLM", "jamba", ("jamba",), f"{_VLLM}/jamba_tool_parser.py", "4694df5f018f", _jamba),
    ServerParser("vLLM", "kimi_k2", ("kimi_k2",), f"{_VLLM}/kimi_k2_tool_parser.py", "03d5dc96097e", _kimi),
)
"""The parsers, by format."""
