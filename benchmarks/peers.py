"""The parsers of inference servers, as far as they are installed beside weaklink; they are never required."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.corpus import deltas

_TOOL = {"type": "function", "function": {"name": "store_rows", "parameters": {"type": "object", "properties": {}}}}


@dataclass(frozen=True, slots=True)
class Peer:
    """One server's Hermes parser: `whole` reads a text in one go, `stream` reads one call's payload in deltas of four.

    `goal` is how many times as fast weaklink should be on whole text.
    """

    name: str
    goal: float
    whole: Callable[[str], object]
    stream: Callable[[str], object]


def installed() -> tuple[Peer, ...]:
    """Those that can be imported here."""
    return tuple(make() for module, make in _PEERS.items() if find_spec(module) is not None)


def _sglang() -> Peer:
    """sglang:srt/function_call/hermes_detector.py, one detector a request as its server makes them."""
    detector: Any = import_module("sglang.srt.function_call.hermes_detector").HermesDetector
    tools = [import_module("sglang.srt.entrypoints.openai.protocol").Tool(**_TOOL)]

    def whole(text: str) -> object:
        return detector().detect_and_parse(text, tools)

    def stream(payload: str) -> object:
        parser = detector()
        return [parser.parse_streaming_increment(piece, tools) for piece in deltas(f"<tool_call>\n{payload}")]

    return Peer("SGLang", 3, whole, stream)


def _vllm() -> Peer:
    """vllm:tool_parsers/hermes_tool_parser.py, which needs a tokenizer that knows the two markers as tokens."""
    parser_class: Any = import_module("vllm.tool_parsers.hermes_tool_parser").Hermes2ProToolParser
    request: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol").ChatCompletionRequest(
        messages=[{"role": "user", "content": "store"}], model="hermes", tools=[_TOOL]
    )

    def whole(text: str) -> object:
        return parser_class(_Vocabulary()).extract_tool_calls(text, request)

    def stream(payload: str) -> object:
        parser, before, told = parser_class(_Vocabulary()), "", []
        for piece in deltas(f"<tool_call>\n{payload}"):
            told.append(parser.extract_tool_calls_streaming(before, before + piece, piece, [0], [0, 1], [1], request))
            before += piece
        return told

    return Peer("vLLM", 2, whole, stream)


class _Vocabulary:
    """As much of a tokenizer as the parser asks for when it is made."""

    def get_vocab(self) -> dict[str, int]:
        return {"<tool_call>": 1, "</tool_call>": 2}

    def encode(self, text: str, **_: object) -> list[int]:
        return [self.get_vocab().get(text, 0)]

    def decode(self, ids: list[int], **_: object) -> str:
        names = {number: word for word, number in self.get_vocab().items()}
        return "".join(names.get(number, "?") for number in ids)


_PEERS: dict[str, Callable[[], Peer]] = {"vllm": _vllm, "sglang": _sglang}
