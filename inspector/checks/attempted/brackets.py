"""Finds the bracket that closes another one, over strings, within a budget of characters for the whole text."""

import re

_LONGEST = 65_536
_TOKEN = re.compile(r"\\.|[\"'()\[\]{}]", re.DOTALL)
_STRINGS = {
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\\n]|\\.)*'", re.DOTALL),
}
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Brackets:
    """Looks for closing brackets in one text; reads at most four times the text in all, however it nests."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 4 * len(text) + _LONGEST

    def end(self, at: int) -> int | None:
        """The end of what the bracket at `at` opens; None where it is not closed soon, or the budget is used up."""
        text, limit = self._text, min(len(self._text), at + min(_LONGEST, self._budget))
        stack: list[str] = []
        place = at
        while (token := _TOKEN.search(text, place, limit)) is not None:
            sign, place = token[0], token.end()
            if sign in _PAIRS:
                stack.append(_PAIRS[sign])
            elif sign in _STRINGS:
                place = self._behind_string(sign, token.start(), limit)
            elif sign in ")]}":
                if sign != stack.pop():
                    break
                if not stack:
                    self._budget -= place - at
                    return place
        self._budget -= (limit if token is None else place) - at
        return None

    def _behind_string(self, sign: str, at: int, limit: int) -> int:
        """The end of a string that begins at `at`, or of its quote alone where it is an apostrophe or never closed."""
        text = self._text
        if text.startswith(sign * 3, at):
            end = text.find(sign * 3, at + 3, limit)
            return end + 3 if end >= 0 else at + 3
        if sign == "'" and text[at - 1 : at].isalnum() and at:
            return at + 1
        found = _STRINGS[sign].match(text, at, limit)
        return found.end() if found is not None else at + 1
