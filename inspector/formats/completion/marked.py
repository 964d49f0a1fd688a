"""Writes completions of most formats: text with marked calls in it, reasoning in tags before it."""

from collections.abc import Sequence

from inspector.formats.completion.layouts import LAYOUTS, USUAL, Layout
from inspector.formats.completion.pieces import Calls, Completion, Piece, Reasoning, Words, without_reasoning
from inspector.formats.format import Format


def write_marked(pieces: Sequence[Piece], format: Format) -> Completion:
    """The pieces in order, laid out as the format's family does."""
    layout = LAYOUTS.get(format.name, USUAL)
    kept, dropped = (tuple(pieces), ()) if layout.reasoning else without_reasoning(pieces, format.name)
    if not layout.mixes and any(isinstance(piece, Calls) for piece in kept):
        kept, more = _without_words(kept, format.name)
        dropped += more
    return Completion("".join(_written(kept, layout, format)), dropped=dropped)


def _without_words(pieces: Sequence[Piece], name: str) -> tuple[tuple[Piece, ...], tuple[str, ...]]:
    """The pieces that may stand together where a reply is either words or calls."""
    if not any(isinstance(piece, Words) for piece in pieces):
        return tuple(pieces), ()
    kept = tuple(piece for piece in pieces if not isinstance(piece, Words))
    calls = tuple(call for piece in kept if isinstance(piece, Calls) for call in piece.calls)
    reasoning = tuple(piece for piece in kept if not isinstance(piece, Calls))
    sentence = f"The words beside the calls: a reply of `{name}` is either words or calls."
    return (*reasoning, Calls(calls)), (sentence,)


def _written(pieces: Sequence[Piece], layout: Layout, format: Format) -> list[str]:
    written: list[str] = []
    last: Piece | None = None
    for piece in pieces:
        if last is not None and not isinstance(last, Reasoning):
            written.append(layout.between)
        match piece:
            case Words():
                written.append(piece.text)
            case Calls():
                written.append(format.write_calls(piece.calls))
            case Reasoning():
                before, behind = layout.reasoning or ("", "")
                written.append(f"{before}{piece.text}{behind}")
        last = piece
    if isinstance(last, Reasoning):  # nothing follows that its line ends would keep apart
        written[-1] = written[-1].rstrip()
    return written
