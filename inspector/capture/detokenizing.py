"""Token ids to text while they come, by a tokenizer that is somebody else's."""

from collections.abc import Iterable
from typing import Protocol, SupportsInt

_UNFINISHED = "\ufffd"
_LONGEST = 16  # tokens that may wait for a character to become whole


class Tokenizer(Protocol):
    """What is needed of a tokenizer; those of transformers have it."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = ...) -> str:
        """The text of these tokens."""
        ...


class Detokenizer:
    """Gives the text that each token adds; special tokens stay, since markers are among them.

    A tokenizer may write a token otherwise at the beginning of a text, so each is read with the few before it, whose
    text is then left out. Tokens that end within a character wait, at most 16 of them.
    Method: text-generation-inference:server/text_generation_server/models/model.py (`decode_token`).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._before: list[int] = []
        self._new: list[int] = []

    def feed(self, ids: Iterable[SupportsInt]) -> list[tuple[str, tuple[int, ...]]]:
        """The texts that became whole, each with its token ids."""
        found: list[tuple[str, tuple[int, ...]]] = []
        for token in ids:
            self._new.append(int(token))
            text = self._text()
            if text and (not text.endswith(_UNFINISHED) or len(self._new) >= _LONGEST):
                found.append(self._given(text))
        return found

    def close(self) -> list[tuple[str, tuple[int, ...]]]:
        """What waited for more, as far as it can be read."""
        return [self._given(self._text())] if self._new else []

    def _text(self) -> str:
        before = self._decoded(self._before)
        return self._decoded(self._before + self._new)[len(before) :]

    def _given(self, text: str) -> tuple[str, tuple[int, ...]]:
        ids = tuple(self._new)
        self._before, self._new = self._new, []
        return text, ids

    def _decoded(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False) if ids else ""


def flat(ids: object) -> list[SupportsInt]:
    """Token ids out of a number, a list, or a tensor of one sequence; ValueError for a batch of several."""
    to_list = getattr(ids, "tolist", None)
    listed = to_list() if callable(to_list) else ids
    if not isinstance(listed, list | tuple):
        return [listed]  # type: ignore[list-item]  # int() judges it
    found = list(listed)
    if found and isinstance(found[0], list | tuple):
        if len(found) > 1:
            raise ValueError(f"a batch of {len(found)} sequences came; one turn records one")
        return list(found[0])
    return found
