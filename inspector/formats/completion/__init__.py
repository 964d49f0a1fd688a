"""A model's whole completion as the text that another format's model would emit: words, reasoning and calls."""

from inspector.formats.completion.pieces import Calls, Completion, Piece, Reasoning, Words
from inspector.formats.completion.writers import write_completion

__all__ = ["Calls", "Completion", "Piece", "Reasoning", "Words", "write_completion"]
