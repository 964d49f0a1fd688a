r"""Writes completions of functionary v3: each piece behind its recipient, the first `>>>` in the prompt.

Source: MeetKai/functionary:tests/prompt_test_v3.llama3.txt (`>>>all\nwords>>>name\n{...}`).
"""

from collections.abc import Sequence

from inspector.formats.completion.pieces import Calls, Completion, Piece, Words, without_reasoning
from inspector.formats.format import Format

_ARROWS = ">>>"


def write_functionary(pieces: Sequence[Piece], format: Format) -> Completion:
    """See Completion; reasoning has no recipient."""
    kept, dropped = without_reasoning(pieces, format.name)
    written = [
        f"{_ARROWS}all\n{piece.text}" if isinstance(piece, Words) else format.write_calls(piece.calls)
        for piece in kept
        if isinstance(piece, Words | Calls)
    ]
    text = "".join(written)
    begins_in_header = text.startswith(_ARROWS)
    return Completion(text.removeprefix(_ARROWS), _ARROWS if begins_in_header else "", dropped)
