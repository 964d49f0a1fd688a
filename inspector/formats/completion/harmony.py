"""Writes completions of gpt-oss: each piece a message on its channel, behind the prompt's `<|start|>assistant`.

Source: openai/harmony:docs/format.md (analysis, commentary and final; `<|end|>`, `<|call|>` and `<|return|>`).
"""

from collections.abc import Sequence

from inspector.formats.completion.pieces import Calls, Completion, Piece, Reasoning
from inspector.formats.format import Format

_HEADER = "<|start|>assistant"


def write_harmony(pieces: Sequence[Piece], format: Format) -> Completion:
    """See Completion. Words that end the completion are the answer; those before a call stand on `commentary`."""
    messages = [_message(piece, format, is_last=piece is pieces[-1]) for piece in pieces]
    return Completion(_HEADER.join(messages), _HEADER if messages else "")


def _message(piece: Piece, format: Format, *, is_last: bool) -> str:
    if isinstance(piece, Calls):
        return format.write_calls(piece.calls).removeprefix(_HEADER)
    if isinstance(piece, Reasoning):
        return f"<|channel|>analysis<|message|>{piece.text}<|end|>"
    if is_last:
        return f"<|channel|>final<|message|>{piece.text}<|return|>"
    return f"<|channel|>commentary<|message|>{piece.text}<|end|>"
