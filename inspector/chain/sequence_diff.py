"""Longest common subsequences by bit vectors, and the differences between two texts.

The rows of the usual table are integers, one bit per column (Hyyrö 2004, "Bit-parallel LCS-length computation
revisited"), so 2,000 by 2,000 steps cost 2,000 additions of 2,000 bits. If all rows would take too much memory, the
sequences are halved first (Hirschberg 1975).
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern

# From coarse to fine: lines, clauses, words. A difference at one grain is compared again at the next.
_GRAINS = (
    lazy_pattern(r"[^\n]*\n|[^\n]+"),
    lazy_pattern(r"[^,;{}\n]{0,400}[,;{}\n]|[^,;{}\n]{1,400}"),
    lazy_pattern(r"\w+|\s+|[^\w\s]"),
)

_MAX_WORK_BITS = 2_000_000_000  # bits of the table: takes about a second
_GLUE = lazy_pattern(r"[\W_]{1,2}")
_MAX_TABLE_BITS = 200_000_000  # bits of a table that is in memory as a whole: 25 MB
_FREQUENT = 4


class DiffPieceKind(StrEnum):
    """Whether a piece is in both texts, only in the first, or only in the other."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class AlignedText(Struct, frozen=True):
    """A piece of one text or of both."""

    kind: DiffPieceKind
    text: str


def diff_texts(text: str, other: str) -> list[AlignedText]:
    """The pieces of two texts: those that are not `added` make up `text`, those that are not `removed` the `other`.

    Changes are whole words; neighbouring changes are merged. Texts of a million characters take seconds at most: what
    is too expensive to compare counts as replaced.
    """
    return _joined(list(_compared(text, other, 0)))


def _compared(text: str, other: str, grain: int) -> Iterator[AlignedText]:
    if text == other:
        yield from _diff_piece(DiffPieceKind.SAME, text)
        return
    if grain == len(_GRAINS) or not text or not other:
        yield from _diff_piece(DiffPieceKind.REMOVED, text)
        yield from _diff_piece(DiffPieceKind.ADDED, other)
        return
    mine, theirs = _GRAINS[grain].findall(text), _GRAINS[grain].findall(other)
    at_mine = at_theirs = 0
    for left, right in [*anchored_pairs(mine, theirs, _MAX_WORK_BITS), (len(mine), len(theirs))]:
        yield from _compared("".join(mine[at_mine:left]), "".join(theirs[at_theirs:right]), grain + 1)
        if left < len(mine):
            yield AlignedText(DiffPieceKind.SAME, mine[left])
        at_mine, at_theirs = left + 1, right + 1


def _diff_piece(kind: DiffPieceKind, text: str) -> Iterator[AlignedText]:
    if text:
        yield AlignedText(kind, text)


def _joined(pieces: Sequence[AlignedText]) -> list[AlignedText]:
    """Merge neighbouring pieces of one kind; a blank or punctuation mark between two changes becomes part of them."""
    joined: list[AlignedText] = []
    removed: list[str] = []
    added: list[str] = []
    same: list[str] = []
    for index, piece in enumerate(pieces):
        if piece.kind is not DiffPieceKind.SAME:
            joined += _diff_piece(DiffPieceKind.SAME, "".join(same))
            same.clear()
            (removed if piece.kind is DiffPieceKind.REMOVED else added).append(piece.text)
        elif removed and added and _is_glue(pieces, index):
            removed.append(piece.text)
            added.append(piece.text)
        else:
            joined += (
                *_diff_piece(DiffPieceKind.REMOVED, "".join(removed)),
                *_diff_piece(DiffPieceKind.ADDED, "".join(added)),
            )
            removed.clear()
            added.clear()
            same.append(piece.text)
    joined += (*_diff_piece(DiffPieceKind.REMOVED, "".join(removed)), *_diff_piece(DiffPieceKind.ADDED, "".join(added)))
    return [*joined, *_diff_piece(DiffPieceKind.SAME, "".join(same))]


def _is_glue(pieces: Sequence[AlignedText], index: int) -> bool:
    """Whether an equal piece is only one or two blanks or punctuation marks, followed directly by a change."""
    following = pieces[index + 1].kind if index + 1 < len(pieces) else DiffPieceKind.SAME
    text = pieces[index].text
    return following is not DiffPieceKind.SAME and "\n" not in text and _GLUE.fullmatch(text) is not None


Pair: TypeAlias = tuple[int, int]


def common_pairs(elements: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    """The indexes of equal elements in both, ascending in both; as many as possible, and as early as possible.

    Equal beginnings and ends cost linear time, the rest `len(elements) * len(other) / 64` machine steps.
    """
    start = 0
    shorter = min(len(elements), len(other))
    while start < shorter and elements[start] == other[start]:
        start += 1
    tail = 0
    while tail < shorter - start and elements[len(elements) - 1 - tail] == other[len(other) - 1 - tail]:
        tail += 1
    middle = _middle(elements[start : len(elements) - tail], other[start : len(other) - tail])
    return [
        *((index, index) for index in range(start)),
        *((start + mine, start + theirs) for mine, theirs in middle),
        *((len(elements) - distance, len(other) - distance) for distance in range(tail, 0, -1)),
    ]


def anchored_pairs(elements: Sequence[Hashable], other: Sequence[Hashable], max_work_bits: int) -> list[Pair]:
    """Like `common_pairs`, but computes at most `max_work_bits` bits of the table per gap, and may find fewer pairs.

    If the whole table is larger, the elements that occur once in both are matched first, as many as ascend (patience
    diff), and then each gap between them separately.
    """
    if len(elements) * len(other) <= max_work_bits:
        return common_pairs(elements, other)
    pairs: list[Pair] = []
    at_mine = at_theirs = 0
    for mine, theirs in [*_unique_pairs(elements, other), (len(elements), len(other))]:
        if (mine - at_mine) * (theirs - at_theirs) <= max_work_bits:
            inner = common_pairs(elements[at_mine:mine], other[at_theirs:theirs])
            pairs += ((at_mine + left, at_theirs + right) for left, right in inner)
        if mine < len(elements):
            pairs.append((mine, theirs))
        at_mine, at_theirs = mine + 1, theirs + 1
    return pairs


def _unique_pairs(elements: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    """The longest ascending sequence of the elements that occur once in each."""
    counts, others = Counter(elements), Counter(other)
    places = {element: index for index, element in enumerate(other) if others[element] == 1}
    pairs = [
        (index, places[element]) for index, element in enumerate(elements) if counts[element] == 1 and element in places
    ]
    ends: list[int] = []  # the smallest end of an ascending sequence of each length, and the index of its pair
    rows: list[int] = []
    before: list[int] = []
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [position]
        rows[length : length + 1] = [number]
    chain: list[Pair] = []
    pair_index = rows[-1] if rows else -1
    while pair_index >= 0:
        chain.append(pairs[pair_index])
        pair_index = before[pair_index]
    return chain[::-1]


def _middle(elements: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    """The pairs of sequences that differ at both ends; an explicit stack holds the halves."""
    pairs: list[Pair] = []
    stack = [(0, len(elements), 0, len(other))]
    while stack:
        top, bottom, left, right = stack.pop()
        mine, theirs = elements[top:bottom], other[left:right]
        if not mine or not theirs:
            continue
        if len(mine) * len(theirs) <= _MAX_TABLE_BITS or len(mine) == 1:
            pairs += ((top + row, left + column) for row, column in _traced(mine, theirs))
            continue
        half = len(mine) // 2
        cut = _best_cut(mine[:half], mine[half:], theirs)
        stack += ((top + half, bottom, left + cut, right), (top, top + half, left, left + cut))
    return sorted(pairs)


def _rows(elements: Sequence[Hashable], other: Sequence[Hashable], *, keep: bool) -> list[int]:
    """The table's rows, all or only the last: a bit is 0 where the length grows by one in that column."""
    masks = _Masks(other)
    full = (1 << len(other)) - 1
    row = full
    rows = [row]
    for element in elements:
        match = masks.of(element)
        if match:
            met = row & match
            row = ((row + met) | (row - met)) & full
        if keep:
            rows.append(row)
    return rows if keep else [row]


class _Masks:
    """The columns of each element of a sequence as bits; only masks of frequent elements are cached."""

    def __init__(self, elements: Sequence[Hashable]) -> None:
        self._columns: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._kept: dict[Hashable, int] = {}
        for column, element in enumerate(elements):
            self._columns[element].append(column)

    def of(self, element: Hashable) -> int:
        mask = self._kept.get(element)
        if mask is None:
            columns = self._columns.get(element, [])
            mask = 0
            for column in columns:
                mask |= 1 << column
            if len(columns) > _FREQUENT:
                self._kept[element] = mask
        return mask


def _traced(elements: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    """Read the pairs off the table, from its end to its beginning."""
    rows = _rows(elements, other, keep=True)
    pairs: list[Pair] = []
    row, column = len(elements), len(other)
    lengths = _zeros(rows[row], column)
    while lengths:
        bit = _last_zero(rows[row], column)  # beyond it, this row grows no more
        column = bit
        while row > 1 and not rows[row - 1] >> bit & 1 and _zeros(rows[row - 1], bit + 1) == lengths:
            row -= 1
        pairs.append((row - 1, bit))
        row -= 1
        lengths -= 1
    return pairs


def _zeros(row: int, width: int) -> int:
    return width - (row & ((1 << width) - 1)).bit_count()


def _last_zero(row: int, width: int) -> int:
    """The highest column below `width` whose bit is 0; there is one."""
    return (~row & ((1 << width) - 1)).bit_length() - 1


def _best_cut(head: Sequence[Hashable], tail: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The position to split `other`, so that its parts have most in common with `head` and with `tail`."""
    before = _lengths(_rows(head, other, keep=False)[0], len(other))
    after = _lengths(_rows(tail[::-1], other[::-1], keep=False)[0], len(other))
    sums = [mine + after[len(other) - position] for position, mine in enumerate(before)]
    return sums.index(max(sums))


def _lengths(row: int, width: int) -> list[int]:
    """The length of the subsequence up to each column."""
    bits = f"{row:0{width}b}"[::-1] if width else ""
    lengths = [0]
    for bit in bits:
        lengths.append(lengths[-1] + (bit == "0"))
    return lengths
