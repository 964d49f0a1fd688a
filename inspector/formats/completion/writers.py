"""Who writes a format's completions: its own writer where it has one, else that of text with marked calls."""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import TypeAlias

from inspector.formats.completion.api_messages import write_claude, write_gemini, write_openai
from inspector.formats.completion.functionary import write_functionary
from inspector.formats.completion.harmony import write_harmony
from inspector.formats.completion.marked import write_marked
from inspector.formats.completion.pieces import Completion, Piece, tidy
from inspector.formats.completion.react import write_react
from inspector.formats.format import Format
from inspector.model import ToolCall
from inspector.text import Range

CompletionWriter: TypeAlias = Callable[[Sequence[Piece], Format], Completion]

_OWN: MappingProxyType[str, CompletionWriter] = MappingProxyType(
    {"functionary": write_functionary, "harmony": write_harmony, "react": write_react}
)
_APIS: MappingProxyType[str, CompletionWriter] = MappingProxyType(
    {"openai": write_openai, "claude": write_claude, "gemini": write_gemini}
)
_PROBE = ToolCall("f", {"a": "b"}, "", valid=True, range=Range(0, 0))


def is_api(format: Format) -> bool:
    """Whether the format's models are written as an API's JSON message.

    Claude and Gemini have a text side too: the format itself decides, by how it writes a call.
    """
    return format.name in _APIS and format.write_calls((_PROBE,)).startswith("{")


def write_completion(pieces: Sequence[Piece], format: Format) -> Completion:
    """The exact text that a model of the format would emit for these pieces, and what it cannot hold."""
    own = _APIS[format.name] if is_api(format) else _OWN.get(format.name, write_marked)
    return own(tidy(pieces), format)
