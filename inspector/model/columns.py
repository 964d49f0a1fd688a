r"""Columns: sequences whose entries are created when they are accessed, from numbers that take a few bytes each.

Theory of operation. A stream of a million chunks has five million numbers. As Python objects they take 276 MB, as
the arrays that the store keeps 20. So the fields of `Chunks` are columns, views of these arrays:

    RunningSums(b"\3\5\1")               3, 8, 9            where chunks end, as the length of each
    Seconds([250000, 20000])             0.25, 0.27         when they came, as differences in microseconds
    Singles([5, 7])                      (5,), (7,)         their token ids, if each has one
    Ragged([1, 2], [5, 7, 9])            (5,), (7, 9)       if some have several
    Sparse(b"\1\0", Singles([5]))        (5,), None         if some have none

An access creates an entry: two accesses return equal objects, not the same one. To read a whole column, iterate over
it: the next sum is then one addition, while an access by index adds up at most 128 differences to a sum that is kept.
A column is immutable, equal to a tuple of the same entries, and has the same hash.

`LazyColumn` and the columns of other modules are the same for lists on a screen: places, aligned steps and parts are
found by numbers, and a list of a hundred thousand creates those that it shows.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice, repeat
from operator import eq, truediv
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

_Entry_co = TypeVar("_Entry_co", covariant=True)
_Number = TypeVar("_Number")
_Packed = TypeVar("_Packed")

_APART = 128  # differences from one stored sum to the next: an access adds up at most so many


class Column(Sequence[_Entry_co]):
    """The base class of all columns. Raises IndexError for an index out of range."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> _Entry_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Entry_co, ...]: ...
    def __getitem__(self, index: int | slice) -> _Entry_co | tuple[_Entry_co, ...]:
        if isinstance(index, slice):
            return tuple(self._at(position) for position in range(*index.indices(len(self))))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"no entry {index} in a column of {len(self)}")
        return self._at(position)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Column | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _at(self, index: int) -> _Entry_co:
        """The entry at an index from 0, which must be in range."""
        raise NotImplementedError


if TYPE_CHECKING:
    Entries: TypeAlias = tuple[_Entry_co, ...] | Column[_Entry_co]
else:
    Entries = tuple[_Entry_co, ...]  # what msgspec decodes
"""A sequence of entries of one type: a tuple, or a column that creates each on access."""


class Numbers(Column[_Number]):
    """The numbers of an array or a range, which must not change any more."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[_Number]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[_Number]:
        return iter(self._values)

    def _at(self, index: int) -> _Number:
        return self._values[index]


class RunningSums(Column[int]):
    """Integers, stored as the difference of each to the one before it, and of the first to `start`."""

    __slots__ = ("_before", "added")

    def __init__(self, added: Sequence[int], start: int = 0) -> None:
        self.added = added
        self._before = [start]

    def __len__(self) -> int:
        return len(self.added)

    def __iter__(self) -> Iterator[int]:
        return islice(accumulate(self.added, initial=self._before[0]), 1, None)

    def _at(self, index: int) -> int:
        kept, before = index // _APART, self._before
        if len(before) <= kept:  # sums are computed as far as needed, and a little further
            last = min(max(kept, len(before) * 9 // 8) * _APART, len(self.added))
            sums = (
                sum(self.added[start : start + _APART]) for start in range((len(before) - 1) * _APART, last, _APART)
            )
            self._before = before = [*before[:-1], *accumulate(sums, initial=before[-1])]
        return before[kept] + sum(self.added[kept * _APART : index + 1])


class Seconds(Column[float]):
    """Seconds, stored in whole microseconds as the difference of each to the one before, or to `start`."""

    __slots__ = ("_microseconds",)

    def __init__(self, added: Sequence[int], start: int = 0) -> None:
        self._microseconds = RunningSums(added, start)

    def __len__(self) -> int:
        return len(self._microseconds)

    def __iter__(self) -> Iterator[float]:
        return map(truediv, self._microseconds, repeat(1e6))

    def _at(self, index: int) -> float:
        return self._microseconds[index] / 1e6


class Singles(Column[tuple[_Number, ...]]):
    """Tuples of one number each."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Sequence[_Number]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[tuple[_Number, ...]]:
        return zip(self._numbers)

    def _at(self, index: int) -> tuple[_Number, ...]:
        return (self._numbers[index],)


class Ragged(Column[tuple[_Number, ...]]):
    """Tuples of numbers, stored as their lengths and all the numbers; raises ValueError if those are more or fewer."""

    __slots__ = ("_ends", "_numbers")

    def __init__(self, lengths: Sequence[int], numbers: Sequence[_Number]) -> None:
        self._ends, self._numbers = RunningSums(lengths), numbers
        if (self._ends[-1] if lengths else 0) != len(numbers):
            raise ValueError(f"{len(numbers)} numbers do not match the lengths of a column of {len(lengths)} tuples")

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[tuple[_Number, ...]]:
        rest = iter(self._numbers)
        return (tuple(islice(rest, length)) for length in self._ends.added)

    def _at(self, index: int) -> tuple[_Number, ...]:
        return tuple(self._numbers[self._ends[index - 1] if index else 0 : self._ends[index]])


class Sparse(Column[_Entry_co | None]):
    """Entries with gaps, stored as one byte for each (1 for an entry, 0 for None) and the entries without the gaps.

    Raises ValueError if there are more or fewer entries than ones.
    """

    __slots__ = ("_entries", "_numbers", "_there")

    def __init__(self, there: bytes, entries: Sequence[_Entry_co]) -> None:
        if there.count(1) != len(entries):
            raise ValueError(f"{len(entries)} entries for {there.count(1)} places in a column of {len(there)}")
        self._there, self._entries, self._numbers = there, entries, RunningSums(there)

    def __len__(self) -> int:
        return len(self._there)

    def __iter__(self) -> Iterator[_Entry_co | None]:
        entries = iter(self._entries)
        return (next(entries) if is_there else None for is_there in self._there)

    def _at(self, index: int) -> _Entry_co | None:
        return self._entries[self._numbers[index] - 1] if self._there[index] else None


class LazyColumn(Column[_Entry_co]):
    """Entries that `make` creates from packed values on each access."""

    __slots__ = ("_make", "_packed")

    def __init__(self, packed: Sequence[_Packed], make: Callable[[_Packed], _Entry_co]) -> None:
        self._packed: Sequence[Any] = packed
        self._make: Callable[[Any], _Entry_co] = make

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[_Entry_co]:
        return map(self._make, self._packed)

    def _at(self, index: int) -> _Entry_co:
        return self._make(self._packed[index])
