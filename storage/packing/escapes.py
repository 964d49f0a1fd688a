"""Text as every database takes it: reversible escapes for what they refuse, and bounded keys for their indexes."""

import re
from hashlib import sha256

_MARK = "\x1a"
_REFUSED = re.compile("[\0\x1a\ud800-\udfff]")
_ESCAPED = re.compile(r"\x1a([0-9a-f]{4})")
_LONGEST_KEY = 400


def escaped(text: str) -> str:
    """`text` without NUL and lone surrogates: U+001A and four hexadecimal digits stand for them, and for U+001A.

    Any other text is returned as it is.
    """
    return _REFUSED.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text) if _REFUSED.search(text) else text


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def key(text: str, *, longest: int = _LONGEST_KEY) -> str:
    """`text` escaped, for an indexed column: databases bound the length of what they index.

    A text beyond `longest` characters keeps its beginning and gets a hash of the whole, so that equal texts and no
    others have equal keys.
    """
    kept = escaped(text)
    if len(kept) <= longest:
        return kept
    return f"{kept[: longest - 40].rstrip(_MARK)}… {sha256(kept.encode()).hexdigest()[:32]}"
