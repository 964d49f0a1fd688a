"""Search hits: each trace with its status and break, and the first occurrence of the words."""

from collections.abc import Iterable, Iterator

from weaklink.storage.search_queries import SearchHit
from weaklink.ui.json_types.traces import SearchHitJson
from weaklink.ui.views.status import status_run
from weaklink.ui.views.styled_text import Line, Run, Style, cell_width, clipped, fitting, visible_line
from weaklink.ui.views.trace_columns import summary_object
from weaklink.ui.views.trace_summary import reason_words, trace_title

_INDENT = 4
_AROUND = 60  # an excerpt with this much text after the words may be truncated there


def hit_lines(hits: Iterable[SearchHit], *, width: int) -> Iterator[Line]:
    """For each trace: its status, id, title and break; then the place, and the text with carets."""
    for hit in hits:
        yield clipped(_head(hit), width)
        if hit.location is not None:
            where = f"turn {hit.location.turn}, {visible_line(hit.location.part)}"
            yield (Run(" " * _INDENT), Run(where, Style.DIM))
            yield from _excerpt(hit, width - _INDENT)


def hit_object(hit: SearchHit) -> SearchHitJson:
    """A hit as JSON for `weaklink search --json`: the trace as in `list`, and the place of the words.

    `turn`, `part`, `start` and `end` are the place of the words in the trace, `found_start` and `found_end` their
    position in the excerpt; all of these and `excerpt` are null if no place is known.
    """
    location, known = hit.location, hit.location is not None
    return {
        **summary_object(hit.trace),
        "turn": location.turn if location else None,
        "part": location.part if location else None,
        "start": location.range.start if location else None,
        "end": location.range.end if location else None,
        "excerpt": hit.excerpt if known else None,
        "found_start": hit.match.start if known else None,
        "found_end": hit.match.end if known else None,
    }


def _head(hit: SearchHit) -> Line:
    broken = hit.trace.broken
    reason = reason_words(hit.trace)
    ended = (Run("  broke at " if broken else "  "), *reason) if reason else ()
    return (
        status_run(hit.trace.status, broken),
        Run(f"  {hit.trace.id}  ", Style.STRONG),
        Run(visible_line(trace_title(hit.trace))),
        *ended,
    )


def _excerpt(hit: SearchHit, room: int) -> Iterator[Line]:
    """The found words with as much text around them as fits, and carets below them."""
    before, words, after = _pieces(hit)
    words = words[: fitting(words, room - 4)]
    left = room - cell_width(words)
    head = before[::-1][: fitting(before[::-1], max(left // 2, left - cell_width(after)))][::-1]
    lead = head if head == before else f"…{head[1:]}"
    rest = left - cell_width(lead)
    tail = after if cell_width(after) <= rest else f"{after[: fitting(after, rest - 1)]}…"
    indent = Run(" " * _INDENT)
    yield (indent, Run(lead), Run(words, Style.STRONG), Run(tail))
    yield (indent, Run(" " * cell_width(lead)), Run("^" * max(cell_width(words), 1), Style.INFO))


def _pieces(hit: SearchHit) -> tuple[str, str, str]:
    """The text before the found words, the words, and the text after them, in visible form; `…` marks truncation."""
    text, range_ = hit.excerpt, hit.match
    begins = hit.location is None or hit.location.range.start == range_.start
    before = text[: range_.start] if begins else f"…{text[: range_.start]}"
    after = text[range_.end :] if len(text) - range_.end < _AROUND else f"{text[range_.end :]}…"
    return visible_line(before), visible_line(range_.of(text)), visible_line(after)
