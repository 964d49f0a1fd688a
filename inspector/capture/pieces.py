"""The pieces of somebody's stream, whatever they are, as wire events."""

import json
from collections.abc import Callable, Mapping

from inspector.wire.decoder import Decoder
from inspector.wire.events import PartGrew, WireEvent
from inspector.wire.providers import decoder_for


class PieceReader:
    """Reads pieces: texts, chunks as OpenAI's API has them, or anything of which `text` tells the text."""

    def __init__(self, text: Callable[..., str] | None = None) -> None:
        self._text = text
        self._decoder: Decoder | None = None

    @property
    def api(self) -> str:
        """The API whose chunks came, `""` for texts."""
        return "" if self._decoder is None else self._decoder.api

    def read(self, piece: object, at_s: float) -> list[WireEvent]:
        """What a piece says; TypeError for one that is nothing known, and whatever `text` raises."""
        if self._text is not None:
            piece = self._text(piece)
        if isinstance(piece, str):
            return [PartGrew("text", piece, at_s)]
        if not isinstance(piece, Mapping) or "choices" not in piece:
            raise TypeError(f"a piece of type {type(piece).__name__} came; `text=` can say what its text is")
        if self._decoder is None:
            self._decoder = decoder_for(content_type="text/event-stream")
        return self._decoder.feed(b"data: " + json.dumps(dict(piece)).encode("ascii") + b"\n\n", at_s)

    def close(self, at_s: float) -> list[WireEvent]:
        """The end of the stream."""
        if self._decoder is None:
            return []
        return [*self._decoder.feed(b"data: [DONE]\n\n", at_s), *self._decoder.close()]
