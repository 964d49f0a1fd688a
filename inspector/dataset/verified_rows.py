"""Rows of candidates with verdicts of verifiers, and Atropos's scored groups, for `weaklink data verify`.

A group is `{"tokens", "masks", "scores", "messages"?, ...}`, where entry N of each list is for rollout N; an
environment writes one per line (`atroposlib` 0.4, `atroposlib/envs/base.py`, `ScoredDataGroup`). A score that an
environment derives from a binary verifier is 1.0 or 0.0, or 1.0 or -1.0.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import comb, sqrt
from random import Random
from statistics import fmean

from msgspec import Struct, field, structs

from weaklink.inspector.chain.intervals import Interval, Mean, Share, around, wilson
from weaklink.inspector.dataset.candidates import CandidateReading, row_candidate
from weaklink.inspector.dataset.data_files import DataRow, RejectedRow
from weaklink.inspector.dataset.sound_rows import SoundRow, sound_row
from weaklink.inspector.dataset.verifiers import TOOL_USE, find_verifier, run_verifier
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.importers.data.atropos import is_group
from weaklink.inspector.importers.data.training_rows import read_training_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Trace

PER_ROLLOUT = (
    *("tokens", "masks", "scores", "messages", "advantages", "ref_logprobs", "inference_logprobs", "overrides"),
    *("images", "distill_token_ids", "distill_logprobs"),
)
"""The members of a group that are lists with one entry per rollout."""
_SHARED = ("generation_params", "group_overrides")

_PROMPTS = ("messages", "conversations", "conversation")
_MIN_CANDIDATES = 2


def rollouts(group: dict[str, Json], prompt_id: str) -> Iterator[dict[str, Json]]:
    """The rollouts of a group as separate rows: `messages`, `tokens`, `masks`, `score` and `prompt_id`.

    Each row also has every member of the group that is not a list per rollout. Raises ValueError for a group whose
    lists have different lengths, or that has no messages: its tokens alone need the model's tokenizer.
    """
    scores = group["scores"]
    assert isinstance(scores, list)
    lists = {key: value for key in PER_ROLLOUT if isinstance(value := group.get(key), list) and value}
    if any(len(value) != len(scores) for value in lists.values()):
        lengths = ", ".join(f"{len(value)} of `{key}`" for key, value in lists.items())
        raise ValueError(f"the group's lists have different lengths: {lengths}")
    if "messages" not in lists and scores:
        raise ValueError("the group has no `messages`; its tokens alone need the model's tokenizer")
    shared = {key: value for key, value in group.items() if key not in PER_ROLLOUT}
    for index in range(len(scores)):
        rollout = {("score" if key == "scores" else key): value[index] for key, value in lists.items()}
        yield {"prompt_id": prompt_id, **shared, **rollout}


def scored_group(rows: Sequence[dict[str, Json]], scores: Iterable[float]) -> dict[str, Json]:
    """The group of these rows, with new scores.

    Members that not every row has are left out; `tokens` and `masks` of rows without them are empty lists.
    """
    group: dict[str, Json] = {key: value for key, value in (rows[0] if rows else {}).items() if key in _SHARED}
    for key in PER_ROLLOUT:
        if key == "scores":
            group[key] = list(scores)
        elif rows and all(key in row for row in rows):
            group[key] = [row[key] for row in rows]
        elif key in ("tokens", "masks"):
            group[key] = [row.get(key, []) for row in rows]
    return group


_SCORES = ("score", "reward", "quality_score")


class VerifyOptions(Struct, frozen=True):
    """The names of the verifiers to run, their rules, and the format; `score` names the column to rank by.

    `require_call` is that of `VerifierInput`.
    """

    verifiers: tuple[str, ...] = ("tool-use",)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = ""
    score: str | None = None
    require_call: bool | None = None


class VerifiedRow(Struct, frozen=True):
    """One candidate with its verdicts, as (verifier, diagnostics that made it fail), its group key and its score.

    `trace` has the places of the diagnostics; it may be empty if there are none. `calls` is the number of its calls;
    `offers_tools`: its row offers a tool; `has_schema`: it has one for the answer.
    """

    row: DataRow
    id: str | None
    trace: Trace
    verdicts: tuple[tuple[str, tuple[Diagnostic, ...]], ...]
    group: str
    score: float
    calls: int = 0
    offers_tools: bool = False
    has_schema: bool = False

    @property
    def passed(self) -> bool:
        """Whether the candidate passed every verifier."""
        return not any(diagnostics for _, diagnostics in self.verdicts)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the rules that made the candidate fail, each once."""
        return tuple(sorted({diagnostic.rule.code for _, diagnostics in self.verdicts for diagnostic in diagnostics}))


def verify_row(row: DataRow, options: VerifyOptions) -> Iterator[VerifiedRow | RejectedRow]:
    """The verdicts of a row's candidate, or of each rollout of an Atropos group; a RejectedRow if it has none."""
    try:
        for candidate in _candidates(row):
            yield _verified(candidate, options)
    except (ValueError, UnknownFormatError) as error:
        yield row.rejected(str(error))


def _candidates(row: DataRow) -> Iterator[DataRow]:
    if not is_group(row.value):
        yield row
        return
    for number, value in enumerate(rollouts(row.value, f"{row.file}:{row.record}"), 1):
        yield DataRow(row.file, f"{row.record}, rollout {number}", row.number, value)


def _verified(row: DataRow, options: VerifyOptions) -> VerifiedRow:
    sound = sound_row(row.value) if _may_be_sound(options) else None
    if sound is not None:
        return _with_facts(row, options, Trace(()), tuple((name, ()) for name in options.verifiers), sound)
    candidate = structs.replace(row_candidate(row.value, format=options.format), require_call=options.require_call)
    reading = CandidateReading(candidate)
    verdicts = tuple(
        (name, run_verifier(find_verifier(name), reading, select=options.select, ignore=options.ignore).diagnostics)
        for name in options.verifiers
    )
    facts = SoundRow(len(reading.calls), offers_tools=bool(reading.tools))
    verified = _with_facts(row, options, candidate.trace, verdicts, facts)
    return structs.replace(verified, has_schema=candidate.schema is not None)


def _may_be_sound(options: VerifyOptions) -> bool:
    """Whether these options are those for which `sound_row` answers; rules that are ignored change no pass."""
    is_usual = set(options.verifiers) == {TOOL_USE.name} and not options.select
    return is_usual and not options.format and options.require_call is None


def _with_facts(
    row: DataRow,
    options: VerifyOptions,
    trace: Trace,
    verdicts: tuple[tuple[str, tuple[Diagnostic, ...]], ...],
    facts: SoundRow,
) -> VerifiedRow:
    names = _SCORES if options.score is None else (options.score,)
    values = (row.value.get(name) for name in names)
    score = next(
        (float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)), 0.0
    )
    key = group_key(row.value)
    return VerifiedRow(row, _id_of(row.value), trace, verdicts, key, score, facts.calls, facts.offers_tools)


def _id_of(row: JsonObject) -> str | None:
    value = row.get("id")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


class ScoredCandidate(Struct, frozen=True):
    """A candidate of a group: its row number, whether it passed, and its score; higher is better."""

    row: int
    passed: bool
    score: float


class CandidateGroup(Struct):
    """The candidates of one prompt, in the order of their rows."""

    key: str
    candidates: list[ScoredCandidate] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """The number of candidates that passed."""
        return sum(candidate.passed for candidate in self.candidates)

    @property
    def has_signal(self) -> bool:
        """Whether some candidates passed and some failed; a policy learns nothing from a group without signal."""
        return 0 < self.passed < len(self.candidates)

    def best(self, count: int, seed: int = 0) -> list[ScoredCandidate]:
        """The `count` passing candidates with the highest scores; the seed breaks ties deterministically."""
        passing = [candidate for candidate in self.candidates if candidate.passed]
        Random(f"{seed}\0{self.key}").shuffle(passing)
        return sorted(passing, key=lambda candidate: -candidate.score)[:count]


class PassRate(Struct, frozen=True):
    """The pass rate of a set for samples of `k` candidates: its value, its 95 % interval, and the number of groups.

    `interval` is None for a single group, which has no variance.
    """

    k: int
    value: float
    interval: Interval | None
    groups: int


def group_key(row: dict[str, Json]) -> str:
    """The key that the candidates of one prompt share: `prompt_id`, or else a digest of the prompt.

    The prompt is `prompt`, or else the messages up to the last user's. A row without a prompt and a schema is alone.
    """
    named = row.get("prompt_id")
    if isinstance(named, str | int):
        return str(named)
    prompt = row.get("prompt")
    if prompt is None:
        prompt = next((_without_answer(row[key]) for key in _PROMPTS if isinstance(row.get(key), list)), None)
    if prompt is None:
        read = read_training_row(Row("line", 1, row, b""))
        prompt = _without_answer(read.messages) if read is not None and read.messages else None
    is_known = prompt is not None or row.get("schema") is not None
    prompt_text = write_json([prompt, row.get("tools"), row.get("schema"), row.get("system")] if is_known else row)
    return blake2b(prompt_text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _without_answer(messages: Json) -> Json:
    """The messages up to the last one of the user, where the candidate begins; all if there is none."""
    assert isinstance(messages, list)
    roles = [message.get("role", message.get("from")) if isinstance(message, dict) else None for message in messages]
    end = next((index for index in range(len(roles), 0, -1) if roles[index - 1] in ("user", "human")), len(roles))
    return messages[:end]


def pass_at(groups: Iterable[CandidateGroup], k: int) -> PassRate | None:
    """`pass@k` over the groups of at least k candidates; None if there is no such group."""
    return _rate(
        ((1 - _of_k(len(group.candidates) - group.passed, len(group.candidates), k)) for group in _large(groups, k)), k
    )


def pass_all(groups: Iterable[CandidateGroup], k: int) -> PassRate | None:
    """`pass^k` over the groups of at least k candidates; None if there is no such group."""
    return _rate((_of_k(group.passed, len(group.candidates), k) for group in _large(groups, k)), k)


def _large(groups: Iterable[CandidateGroup], k: int) -> Iterator[CandidateGroup]:
    return (group for group in groups if len(group.candidates) >= k)


def _of_k(count: int, total: int, k: int) -> float:
    """The probability that k candidates, drawn from `total` without replacement, are all among the `count`."""
    return comb(count, k) / comb(total, k)


def _rate(values: Iterable[float], k: int) -> PassRate | None:
    numbers = list(values)
    if not numbers:
        return None
    value = fmean(numbers)
    return PassRate(k, value, _interval(numbers, value), len(numbers))


def _interval(values: Sequence[float], value: float) -> Interval | None:
    count = len(values)
    if count < _MIN_CANDIDATES:
        return None
    if len(set(values)) == 1 or set(values) <= {0.0, 1.0}:  # no variance, or every value is 0 or 1
        return wilson(Share(value * count, count))
    spread = sqrt(sum((number - value) ** 2 for number in values) / (count - 1) / count)
    bounds = around(Mean(value, spread, count - 1))
    return Interval(max(bounds.low, 0.0), min(bounds.high, 1.0))
