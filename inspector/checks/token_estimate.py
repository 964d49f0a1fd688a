"""How many tokens a text takes, where nobody counted them."""

from inspector.text import Range

BYTES_PER_TOKEN = 4
"""UTF-8 bytes to a token, a rule of thumb for byte-level vocabularies: English comes near it, code takes more."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` takes: its UTF-8 bytes by BYTES_PER_TOKEN, rounded up; off by a third at times."""
    return -(-_bytes(text) // BYTES_PER_TOKEN)


def estimated_place(text: str, tokens: int) -> int:
    """The code point at which the first `tokens` tokens of `text` are over, by the same estimate."""
    if _bytes(text) <= tokens * BYTES_PER_TOKEN:
        return len(text)
    encoded = text.encode("utf-8", "surrogatepass")[: tokens * BYTES_PER_TOKEN]
    return sum(byte & 0xC0 != 0x80 for byte in encoded)


def estimated_in(text: str, place: Range) -> int:
    """About how many tokens a part of a text takes."""
    return estimated_tokens(place.of(text))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
