"""How the stream is shown: what can be switched on and off."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """`wrap` cuts long lines into rows; the others draw blanks as glyphs, and lanes below the text.

    The lanes are the chunks that the text arrived in, the token ids, and their log probabilities.
    """

    wrap: bool = True
    white_space: bool = False
    chunks: bool = False
    ids: bool = False
    logprobs: bool = False
