"""D714 to D716: samples compared with each other and with an evaluation set.

A sample is compared by its `SampleKeys`, which are small and can cross from process to process: digests of its words
and a MinHash signature. A `DuplicateFinder` keeps 16 bytes for each sample, and about 1.5 kB more where it looks for
near duplicates (64 permutations; datasketch's index for a Jaccard similarity of 0.8 of runs of three words).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any
from zlib import crc32

from msgspec import Struct

from inspector.dataset.data_row import missing_library
from inspector.dataset.samples import Sample
from inspector.diagnostics import Diagnostic, Fault
from inspector.model import Role
from inspector.rules.rule import Rule
from inspector.rules.training import DUPLICATE_SAMPLE, LEAKED_SAMPLE, NEAR_DUPLICATE_SAMPLE
from inspector.scanning import lazy_pattern
from inspector.text import Range

_WORD = lazy_pattern(r"\w+")
_PERMUTATIONS = 64
_SIMILARITY = 0.8
_CANDIDATE_SIMILARITY = 0.7  # the index misses some at its threshold
_SHINGLE = 3
_FEWEST_WORDS = 20


class SampleKeys(Struct, frozen=True):
    """What a sample is compared by: digests of the conversation and of the user's words, and hashes of word runs.

    `conversation` and `user` are empty where there are no words; `shingles` also where there are few.
    """

    conversation: bytes
    user: bytes
    shingles: tuple[int, ...] = ()


def sample_keys(sample: Sample, *, with_shingles: bool = True) -> SampleKeys:
    """The keys of a sample. Case, punctuation and white space do not count; the system turn does not either."""
    said: list[str] = []
    asked: list[str] = []
    for turn in sample.trace.turns:
        if turn.role is Role.SYSTEM:
            continue
        words = _WORD.findall(" ".join(part.text for part in turn.parts).casefold())
        said += (turn.role.value, *(header.name or "" for header in turn.calls), *words)
        if turn.role is Role.USER:
            asked += words
    is_long = with_shingles and len(said) >= _FEWEST_WORDS
    runs = set(map(" ".join, zip(*(said[at:] for at in range(_SHINGLE)), strict=False))) if is_long else ()
    shingles = tuple(sorted(map(crc32, _encoded(runs)))) if is_long else ()
    return SampleKeys(_digest(said), _digest(asked), shingles)


def _encoded(runs: Collection[str]) -> Sequence[bytes]:
    """Each text in UTF-8; encoding them at once takes half of the time."""
    pieces = "\n".join(runs).encode("utf-8", "surrogatepass").split(b"\n")
    if len(pieces) == len(runs):
        return pieces
    return [run.encode("utf-8", "surrogatepass") for run in runs]  # a tool's name has a line feed


def _digest(words: list[str]) -> bytes:
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest() if words else b""


class DuplicateFinder:
    """Compares samples in the order in which they come. `leaked` are the `user` digests of the evaluation set.

    With `near`, near duplicates are looked for; raises MissingLibraryError where datasketch is not there.
    """

    def __init__(self, leaked: Iterable[bytes] = (), *, near: bool = True) -> None:
        self._leaked = frozenset(one for one in leaked if one)
        self._first: dict[bytes, str] = {}
        self._index = _NearIndex() if near else None

    def take(self, keys: SampleKeys, reference: str) -> Iterator[tuple[Rule, str, str | None]]:
        """The rule, message and the earlier sample, for what a sample is a duplicate of; and remember it."""
        if keys.user and keys.user in self._leaked:
            yield LEAKED_SAMPLE, "The user's words of this sample are also in the evaluation set.", None
        if not keys.conversation:
            return
        earlier = self._first.setdefault(keys.conversation, reference)
        if earlier is not reference:
            yield DUPLICATE_SAMPLE, f"This conversation is also in {earlier}.", earlier
            return
        found = self._index.take(keys.shingles, reference) if self._index is not None and keys.shingles else None
        if found is not None:
            other, similarity = found
            yield NEAR_DUPLICATE_SAMPLE, f"This conversation is {similarity:.0%} like that in {other}.", other


def duplicate_fault(sample: Sample, rule: Rule, message: str) -> Diagnostic:
    """The fault, at the first words of the user, else at the first turn."""
    for number, turn in enumerate(sample.trace.turns, 1):
        if turn.role is Role.USER and turn.parts:
            return Fault(rule, Range(0, len(turn.parts[0].text)), message).at(number, turn.parts[0].name)
    part = sample.reported_trace.turns[0].parts[0]
    return Fault(rule, Range(0, len(part.text)), message).at(1, part.name)


def require_comparison() -> None:
    """MissingLibraryError where near duplicates cannot be found."""
    if find_spec("datasketch") is None:
        raise missing_library("datasketch", "Finding near duplicates")


class _NearIndex:
    """datasketch's index of MinHash signatures; the library is loaded here, and takes a second."""

    def __init__(self) -> None:
        require_comparison()
        from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  # loads scipy, and is optional

        self._signature: Any = MinHash(num_perm=_PERMUTATIONS, hashfunc=int)  # one for all: making one is slow
        self._lsh: Any = MinHashLSH(threshold=_CANDIDATE_SIMILARITY, num_perm=_PERMUTATIONS)
        self._values: dict[str, Any] = {}

    def take(self, shingles: tuple[int, ...], reference: str) -> tuple[str, float] | None:
        """The most similar earlier sample and the estimated similarity; None where there is none."""
        self._signature.clear()
        self._signature.update_batch(shingles)
        values = self._signature.hashvalues
        found = [(float((self._values[one] == values).mean()), one) for one in self._lsh.query(self._signature)]
        best = max(found, key=lambda one: (one[0], one[1]), default=None)
        if best is not None and best[0] >= _SIMILARITY:
            return best[1], best[0]
        self._lsh.insert(reference, self._signature, check_duplication=False)
        self._values[reference] = values
        return None
