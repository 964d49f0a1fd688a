"""D714 to D716: samples compared with each other and with an evaluation set.

A sample leaks (D716) if all of its user messages are those of a row of the evaluation set, or if one of its user
messages of six words or more is, or if one has 13 words in a row from one, the length that GPT-3's authors chose
("Language Models are Few-Shot Learners", appendix C). Case and punctuation do not count; each Chinese or Japanese
character is a word.

A sample is compared by its `SampleKeys`, which are small and can be sent between processes: digests of its words and
hashes of its runs of three words. A `DuplicateFinder` keeps a digest and a reference of each sample and, if it searches
for near duplicates, datasketch's MinHash signature of 64 numbers. All of this is in a temporary SQLite database, so
that memory does not grow with the samples: 16 MiB in memory and the rest on disk, about 0.6 kB per sample. Two samples
are compared if they agree in one of eight bands of eight numbers, which are the bands of datasketch's index for a
Jaccard similarity of 0.7; samples with a similarity of at least 0.8 are reported. So are samples with a call that
differ in the user's words alone, whatever these are, if the other turns have 12 words or more.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib.util import find_spec
from operator import eq
from typing import Any
from weakref import finalize
from zlib import crc32

from msgspec import Struct, structs

from weaklink.inspector.dataset.context_values import folded
from weaklink.inspector.dataset.data_files import missing_library
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import Role
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.rules.training import DUPLICATE_SAMPLE, LEAKED_SAMPLE, NEAR_DUPLICATE_SAMPLE
from weaklink.inspector.text import Range

_WORD = re.compile(r"\w+")
_FOLDED_ASCII = (
    bytes(
        ord(character.lower()) if character.isalnum() or character == "_" else ord(" ")
        for character in map(chr, range(128))
    )
    * 2
)
"""ASCII in lower case, with a space for what is in no word; bytes.translate needs 256 bytes."""
_PERMUTATIONS = 64
_SIMILARITY = 0.8
_CANDIDATE_SIMILARITY = 0.7  # the index misses some pairs at its threshold
_SHINGLE = 3
_MIN_WORDS = 20
_MIN_OTHER_WORDS = 12
_MIN_MESSAGE_WORDS = 6
_RUN_WORDS = 13
_VALUE_BYTES = 4
_TABLES = (
    "PRAGMA cache_size = -16384",  # KiB
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "CREATE TABLE sample (number INTEGER PRIMARY KEY, conversation BLOB UNIQUE, reference TEXT, signature BLOB)",
    "CREATE TABLE answers (digest BLOB PRIMARY KEY, reference TEXT) WITHOUT ROWID",
    "CREATE TABLE band (key INTEGER, sample INTEGER, PRIMARY KEY (key, sample)) WITHOUT ROWID",
    "BEGIN",  # never committed: pages are written when the cache is full, not after each statement
)
_EQUAL = "SELECT reference FROM sample WHERE conversation = ?"
_SAME_ANSWERS = "SELECT reference FROM answers WHERE digest = ?"
_CANDIDATES = "SELECT reference, signature FROM sample WHERE number IN (SELECT sample FROM band WHERE key IN ({}))"
_ADD = "INSERT INTO sample (conversation, reference, signature) VALUES (?, ?, ?)"
_SIGN = "UPDATE sample SET signature = ? WHERE number = ?"
_ADD_ANSWERS = "INSERT OR IGNORE INTO answers (digest, reference) VALUES (?, ?)"
_ADD_BAND = "INSERT INTO band (key, sample) VALUES (?, ?)"


class SampleKeys(Struct, frozen=True):
    """The keys that compare samples: digests of the conversation and of the user's words, and hashes of word runs.

    `conversation` and `user` are empty if there are no words; `shingles` also if there are fewer than 20. `answers`, of
    everything but the user's words, is empty if there is no call, or if there are fewer than 12 other words. `messages`
    are the digests of the user's messages of six words or more, `runs` those of their runs of 13 words.
    """

    conversation: bytes
    user: bytes
    shingles: tuple[int, ...] = ()
    answers: bytes = b""
    messages: frozenset[bytes] = frozenset()
    runs: frozenset[bytes] = frozenset()


def sample_keys(sample: Sample, *, with_shingles: bool = True, with_runs: bool = False) -> SampleKeys:
    """The keys of a sample. Case, punctuation, white space and the system turn do not count.

    `with_runs`: also those that compare single messages with an evaluation set.
    """
    words_of_all: list[bytes] = []
    user_words: list[bytes] = []
    other_words: list[bytes] = []
    has_call = False
    for turn in sample.trace.turns:
        if turn.role is Role.SYSTEM:
            continue
        words = _encoded_words(" ".join([part.text for part in turn.parts]))
        said = [turn.role.encode(), *[_encoded(header.name or "") for header in turn.calls], *words]
        words_of_all += said
        if turn.role is Role.USER:
            user_words += words
        else:
            other_words += said
            has_call = has_call or turn.role is Role.TOOL or bool(turn.calls)
    is_long = with_shingles and len(words_of_all) >= _MIN_WORDS
    runs = (
        set(map(b" ".join, zip(*(words_of_all[index:] for index in range(_SHINGLE)), strict=False))) if is_long else ()
    )
    shingles = tuple(sorted(map(crc32, runs)))
    has_answers = with_shingles and has_call and user_words and len(other_words) >= _MIN_OTHER_WORDS
    answers = _digest(other_words) if has_answers else b""
    keys = SampleKeys(_digest(words_of_all), _digest(user_words), shingles, answers)
    return structs.replace(keys, **_message_keys(sample)) if with_runs else keys


def _message_keys(sample: Sample) -> dict[str, frozenset[bytes]]:
    """The keys `messages` and `runs`."""
    messages = [
        folded(" ".join(part.text for part in turn.parts)) for turn in sample.trace.turns if turn.role is Role.USER
    ]
    long = [words for words in messages if len(words) >= _MIN_MESSAGE_WORDS]
    runs = (words[index : index + _RUN_WORDS] for words in long for index in range(len(words) - _RUN_WORDS + 1))
    return {"messages": frozenset(map(_short_digest, long)), "runs": frozenset(map(_short_digest, runs))}


def _short_digest(words: list[str]) -> bytes:
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _encoded_words(text: str) -> list[bytes]:
    """The words without case, each in UTF-8; splitting an ASCII text at once takes a third of the time."""
    if text.isascii():
        return text.encode().translate(_FOLDED_ASCII).split()
    return list(map(_encoded, _WORD.findall(text.casefold())))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(words: list[bytes]) -> bytes:
    return blake2b(b" ".join(words), digest_size=16).digest() if words else b""


class DuplicateFinder:
    """Compares samples in the order in which they are added. `evaluation` are the keys of the evaluation set.

    With `near`, it also finds near duplicates. Raises MissingLibraryError then if datasketch is not installed.
    """

    def __init__(self, evaluation: Iterable[SampleKeys] = (), *, near: bool = True) -> None:
        self._leaked: set[bytes] = set()
        self._messages: set[bytes] = set()
        self._runs: set[bytes] = set()
        for keys in evaluation:
            self._leaked.update((keys.user,) if keys.user else ())
            self._messages |= keys.messages
            self._runs |= keys.runs
        self._seen = _SeenSamples()
        self._near = near
        self._signer: _Signer | None = None
        self._unsigned: tuple[int, tuple[int, ...]] | None = None  # the first sample that can be signed
        if near:
            require_comparison()

    def add(self, keys: SampleKeys, reference: str) -> Iterator[tuple[Rule, str, str | None]]:
        """The rule, message and earlier sample of each duplicate fault of a sample; then remember the sample."""
        leak = self._leak(keys)
        if leak is not None:
            yield LEAKED_SAMPLE, leak, None
        if not keys.conversation:
            return
        earlier = self._seen.equal(keys.conversation)
        if earlier is not None:
            yield DUPLICATE_SAMPLE, f"This conversation is also in {earlier}.", earlier
            return
        rephrased = self._seen.with_answers(keys.answers) if self._near and keys.answers else None
        if rephrased is not None:
            self._seen.add(keys, reference, None)
            message = f"This conversation differs from the one in {rephrased} in nothing but the user's words."
            yield NEAR_DUPLICATE_SAMPLE, message, rephrased
            return
        if not (self._near and keys.shingles):
            self._seen.add(keys, reference, None)
            return
        if self._signer is None and self._unsigned is None:
            self._unsigned = self._seen.add(keys, reference, None), keys.shingles
            return
        signature = self._signature(keys.shingles)
        similar = self._seen.most_similar(signature)
        self._seen.add(keys, reference, signature if similar is None else None)
        if similar is not None:
            other, similarity = similar
            yield NEAR_DUPLICATE_SAMPLE, f"This conversation is {similarity:.0%} similar to the one in {other}.", other

    def _signature(self, shingles: tuple[int, ...]) -> "_Signature":
        """The signature of a sample; the second one loads the library, and the first gets its signature then."""
        if self._signer is None:
            self._signer = _Signer()
        if self._unsigned is not None:
            number, first = self._unsigned
            self._seen.sign(number, self._signer.signature(first))
            self._unsigned = None
        return self._signer.signature(shingles)

    def _leak(self, keys: SampleKeys) -> str | None:
        """How a sample is in the evaluation set, as a sentence."""
        if keys.user in self._leaked:
            return "The user messages of this sample are also in the evaluation set."
        if not self._messages.isdisjoint(keys.messages):
            return "A user message of this sample is also in the evaluation set."
        if not self._runs.isdisjoint(keys.runs):
            return f"A user message of this sample has {_RUN_WORDS} words in a row from the evaluation set."
        return None


def duplicate_fault(sample: Sample, rule: Rule, message: str) -> Diagnostic:
    """The fault, at the first user turn, or at the first turn if there is none."""
    for number, turn in enumerate(sample.trace.turns, 1):
        if turn.role is Role.USER and turn.parts:
            return Fault(rule, Range(0, len(turn.parts[0].text)), message).at(number, turn.parts[0].name)
    part = sample.reported_trace.turns[0].parts[0]
    return Fault(rule, Range(0, len(part.text)), message).at(1, part.name)


def require_comparison() -> None:
    """Raises MissingLibraryError if datasketch, which finds near duplicates, is not installed."""
    if find_spec("datasketch") is None:
        raise missing_library("datasketch", "Finding near duplicates")


class _Signature(Struct, frozen=True):
    """A MinHash signature, 64 numbers below 2**32, and the key of each of its bands."""

    values: bytes
    bands: tuple[int, ...]

    def similarity(self, other: bytes) -> float:
        """The estimated Jaccard similarity to the sample whose signature has the values `other`."""
        own_values, other_values = memoryview(self.values).cast("I"), memoryview(other).cast("I")
        equal: int = sum(map(eq, own_values, other_values))
        return equal / _PERMUTATIONS


class _Signer:
    """Wraps datasketch's MinHash and its choice of bands; loading the library here takes a second."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH  # noqa: PLC0415  # loads scipy, and is optional

        self._min_hash: Any = MinHash(num_perm=_PERMUTATIONS, hashfunc=int)  # shared, because creating one is slow
        bands = MinHashLSH(threshold=_CANDIDATE_SIMILARITY, num_perm=_PERMUTATIONS)
        size = bands.r * _VALUE_BYTES
        self._bands = tuple(slice(index, index + size) for index in range(0, bands.b * size, size))

    def signature(self, shingles: tuple[int, ...]) -> _Signature:
        """The signature of a set of hashes."""
        self._min_hash.clear()
        self._min_hash.update_batch(shingles)
        values = self._min_hash.hashvalues.astype("uint32").tobytes()
        return _Signature(values, tuple(hash((number, values[band])) for number, band in enumerate(self._bands)))


class _SeenSamples:
    """The samples seen so far, in a temporary database: SQLite keeps it in memory up to a limit, then in a file.

    SQLite deletes the file (https://www.sqlite.org/inmemorydb.html, "Temporary Databases").
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        finalize(self, self._database.close)
        for statement in _TABLES:
            self._database.execute(statement)

    def equal(self, conversation: bytes) -> str | None:
        """The reference of the sample with the same words, or None."""
        row = self._database.execute(_EQUAL, (conversation,)).fetchone()
        return row[0] if row is not None else None

    def with_answers(self, answers: bytes) -> str | None:
        """The reference of the first sample that is equal but for the user's words, or None."""
        row = self._database.execute(_SAME_ANSWERS, (answers,)).fetchone()
        return row[0] if row is not None else None

    def most_similar(self, signature: _Signature) -> tuple[str, float] | None:
        """The most similar sample and its estimated similarity; None if no similarity is at least 0.8."""
        query = _CANDIDATES.format(", ".join("?" * len(signature.bands)))
        candidates = self._database.execute(query, signature.bands)
        similarities = [(signature.similarity(values), reference) for reference, values in candidates]
        best = max(similarities, default=None)
        return (best[1], best[0]) if best is not None and best[0] >= _SIMILARITY else None

    def add(self, keys: SampleKeys, reference: str, signature: _Signature | None) -> int:
        """Remember a sample; one without a signature can only be found by equal words or equal answers.

        Returns its number.
        """
        values = signature.values if signature is not None else None
        number = self._database.execute(_ADD, (keys.conversation, reference, values)).lastrowid
        assert number is not None  # the statement inserts a row
        if keys.answers:
            self._database.execute(_ADD_ANSWERS, (keys.answers, reference))
        if signature is not None:
            self._add_bands(number, signature)
        return number

    def sign(self, number: int, signature: _Signature) -> None:
        """Give a sample its signature."""
        self._database.execute(_SIGN, (signature.values, number))
        self._add_bands(number, signature)

    def _add_bands(self, number: int, signature: _Signature) -> None:
        self._database.executemany(_ADD_BAND, [(band, number) for band in signature.bands])
