"""Which format a running answer is read in: what its trace spoke before, its model's name, else its first words."""

from inspector.formats.detection import detect_format
from inspector.formats.format import Format

_FIRST_LOOK, _LAST_LOOK = 16, 512  # code points: a call that opens the answer shows within them
_SAMPLE = 65_536


class FormatChoice:
    """Chooses a format for one answer of `model`; `spoken` is what the trace's earlier answers were found to speak.

    `named` is the format that the source itself names, which then is not asked for.

    Looks at growing beginnings of the text, each twice as long as the one before, hence in linear time.
    """

    def __init__(self, model: str, spoken: Format | None = None, *, named: Format | None = None) -> None:
        self._model = model
        self._named = named
        self._next_look = _FIRST_LOOK
        by_name = detect_format(model=model)
        self._known = named or spoken or (by_name.format if by_name.confidence else None)

    def begin(self, text: str) -> Format | None:
        """The format of an answer that begins so; None where more of it must come first."""
        if self._known is not None or len(text) < self._next_look:
            return self._known
        while self._next_look <= len(text):
            self._next_look *= 2
        found = detect_format(text[:_LAST_LOOK], self._model)
        if found.confidence or len(text) >= _LAST_LOOK:
            self._known = found.format
        return self._known

    def settle(self, text: str) -> Format:
        """The format of the answer now that it is whole."""
        return self._named or detect_format(text[:_SAMPLE], self._model).format
