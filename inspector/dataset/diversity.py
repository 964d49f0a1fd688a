"""How diverse a data set is: its shares compared with the recommended distribution, and other statistics.

`SampleFacts` is what one sample adds; it is small and can be sent between processes. `SetReport` sums up the facts; it
keeps two numbers per sample (lengths), a digest (duplicates) and counters.

Shares are fractions of 1. `tools` (distinct tools) and `steps` (calls; parallel and failed calls count separately) are
fractions of the samples with a call, the others of all samples, `parameter_types` of the top-level values of all
arguments.

A budget of tokens cuts samples, or several are packed into one sequence of that length. The sequences are counted by
best-fit decreasing, as in TRL's `packing_strategy="bfd"`: the longest sample first, each into the sequence with the
least room that still holds it. A longer sample is cut to the budget and fills one sequence.
"""

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from weaklink.inspector.chain.steps import Step, StepOutcome
from weaklink.inspector.dataset.goals import PARAMETER_TYPES, RECOMMENDED, Goals, Shares, deviations
from weaklink.inspector.dataset.lint.duplicates import sample_keys
from weaklink.inspector.dataset.lint.linting import LintOptions, lint_sample
from weaklink.inspector.dataset.lint.templates import format_of
from weaklink.inspector.dataset.lint.texts import TokenCounter, language_of, token_count
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.dataset.scoring import score_calls, score_sample
from weaklink.inspector.importers.records import parse_json_bytes
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role, ToolDefinition

TOLERANCE = 0.05
"""A share that deviates by at least this much is marked."""

_MAX_DEPTH = 24
_MAX_VISITED = 2_000


class SampleFacts(Struct, frozen=True):
    """What one sample adds to a report.

    `features` are the words by which samples are counted and listed: `steps=2`, `tools=1`, `should_call=no`,
    `error_recovery=yes`, `languages=en`, `parameter_types=array`, `formats=hermes`, `tool=NAME`, `errors=KIND`,
    `recoveries=KIND`, `faults=D709`. `parameter_types` counts argument values by type.
    """

    reference: str
    tools: tuple[str, ...]
    steps: int
    features: frozenset[str]
    parameter_types: Mapping[str, int]
    characters: int
    tokens: int | None
    schema_depth: int
    reference_chain: int
    argument_depth: int
    score: float
    digest: bytes


def facts_of(sample: Sample, counter: TokenCounter | None = None, options: LintOptions | None = None) -> SampleFacts:
    """The facts of a sample; `counter`, if given, counts its tokens."""
    steps = tuple(sample.inspection.chain.steps)
    values = [
        value for step in steps if isinstance(step.call.arguments, dict) for value in step.call.arguments.values()
    ]
    tools = tuple(dict.fromkeys(step.call.name or "" for step in steps))
    types = Counter(map(type_name, values))
    depths = [schema_depth(tool) for tool in sample.offered.tools]
    return SampleFacts(
        sample.reference,
        tools,
        len(steps),
        frozenset(_features(sample, steps, tools, types, options)),
        types,
        sum(len(part.text) for turn in sample.trace.turns for part in turn.parts),
        token_count(sample, counter) if counter is not None else None,
        max((depth for depth, _ in depths), default=0),
        max((chain for _, chain in depths), default=0),
        max(map(_depth, values), default=0),
        _score(sample),
        sample_keys(sample, with_shingles=False).conversation,
    )


def _score(sample: Sample) -> float:
    try:
        return score_sample(sample).overall
    except ValueError:  # its reference cannot be read
        return score_calls(sample, None).overall


def _features(
    sample: Sample, steps: Sequence[Step], tools: Sequence[str], types: Mapping[str, int], options: LintOptions | None
) -> Iterable[str]:
    if steps:
        yield f"tools={_bucket(len(tools))}"
        yield f"steps={_bucket(len(steps))}"
    should = sample.should_call if sample.should_call is not None else bool(steps)
    yield f"should_call={'yes' if should else 'no'}"
    yield f"error_recovery={'yes' if has_recovery(steps) else 'no'}"
    language = language_of("\n".join(sample.texts(Role.USER)), fewest_letters=12, certain=0.5)
    yield f"languages={language or 'unknown'}"
    yield from (f"parameter_types={parameter_type}" for parameter_type in types)
    yield from (f"tool={tool}" for tool in tools)
    yield f"formats={format_of(sample) or ('structured' if steps else 'no calls')}"
    yield f"shapes={sample.shape.value if sample.shape is not None else 'none'}"
    yield f"types={sample.type or 'none'}"
    for step in steps:
        if step.outcome.failed:
            yield f"errors={step.outcome.value}"
        if step.recovery is not None:
            yield f"recoveries={step.recovery.value}"
        elif is_corrected(step, steps):
            yield "recoveries=corrected-call"
    yield from (f"faults={diagnostic.rule.code}" for diagnostic in lint_sample(sample, options or LintOptions()))


def _bucket(number: int) -> str:
    return "3+" if number >= 3 else str(number)


def has_recovery(steps: Sequence[Step]) -> bool:
    """Whether a call has an error as its result, and a later call of the same intent recovers from it."""
    return any(
        is_corrected(step, steps) or (_has_error(step) and step.recovery is not None and step.recovery.is_sure)
        for step in steps
    )


def is_corrected(step: Step, steps: Sequence[Step]) -> bool:
    """Whether a call has an error as its result, and a later call of the same tool did not fail."""
    later = (later_step for later_step in steps if later_step.number > step.number and not later_step.outcome.failed)
    return _has_error(step) and any(later_step.call.name == step.call.name for later_step in later)


def _has_error(step: Step) -> bool:
    return step.error is not None or step.outcome is StepOutcome.ERROR_RESULT


def type_name(value: Json) -> str:
    """The JSON type of a value; integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def _depth(value: Json) -> int:
    """How deeply arrays and objects are nested in a value."""
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if value else 1


@lru_cache(maxsize=4_096)
def _measured(parameters: str) -> tuple[int, int]:
    return _schema(parse_json_bytes(parameters.encode("utf-8", "surrogatepass")))


def schema_depth(tool: ToolDefinition) -> tuple[int, int]:
    """How deeply the properties of a tool's schema are nested, and the longest chain of `$ref`; each at most 24."""
    return _measured(write_json(tool.parameters))


def _schema(root: Json) -> tuple[int, int]:
    deepest = longest = visited = 0
    pending: list[tuple[Json, int, int]] = [(root, 0, 0)]
    while pending and visited < _MAX_VISITED:
        visited += 1
        node, depth, chain = pending.pop()
        if not isinstance(node, dict) or depth > _MAX_DEPTH or chain > _MAX_DEPTH:
            continue
        deepest, longest = max(deepest, depth), max(longest, chain)
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            pending.append((_resolved(root, target), depth, chain + 1))
        properties = node.get("properties")
        if isinstance(properties, dict):
            pending += ((property_, depth + 1, chain) for property_ in properties.values())
        for key in ("items", "additionalProperties", "if", "then", "else", "not"):
            pending.append((node.get(key), depth, chain))
        for key in ("anyOf", "oneOf", "allOf"):
            listed = node.get(key)
            pending += ((schema, depth, chain) for schema in (listed if isinstance(listed, list) else ()))
    return deepest, longest


def _resolved(root: Json, target: str) -> Json:
    node = root
    for name in target.removeprefix("#").strip("/").split("/") if len(target) > 1 else ():
        node = node.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node


class SetReport(Struct):
    """The sum of the facts of a set."""

    samples: int = 0
    with_calls: int = 0
    duplicates: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    parameter_types: Counter[str] = field(default_factory=Counter)
    schema_depths: Counter[int] = field(default_factory=Counter)
    reference_chains: Counter[int] = field(default_factory=Counter)
    argument_depths: Counter[int] = field(default_factory=Counter)
    score_sum: float = 0.0
    low_scores: int = 0
    characters: "array[int]" = field(default_factory=lambda: array("q"))
    tokens: "array[int]" = field(default_factory=lambda: array("q"))
    _seen: set[bytes] = field(default_factory=set)

    def add(self, facts: SampleFacts) -> None:
        """Add one more sample."""
        self.samples += 1
        self.with_calls += bool(facts.steps)
        self.counts.update(facts.features)
        self.parameter_types.update(facts.parameter_types)
        self.schema_depths[facts.schema_depth] += 1
        self.reference_chains[facts.reference_chain] += 1
        self.argument_depths[facts.argument_depth] += 1
        self.score_sum += facts.score
        self.low_scores += facts.score < 0.9
        self.characters.append(facts.characters)
        if facts.tokens is not None:
            self.tokens.append(facts.tokens)
        if facts.digest:
            self.duplicates += facts.digest in self._seen
            self._seen.add(facts.digest)

    def of(self, key: str) -> dict[str, int]:
        """The number of samples with each value of a feature, most frequent first."""
        counts = {name.partition("=")[2]: number for name, number in self.counts.items() if name.startswith(f"{key}=")}
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def shares(self) -> Shares:
        """The shares, in the structure of the recommended distribution."""
        types = sum(self.parameter_types.values())
        return {
            "tools": self._fractions("tools", ("1", "2", "3+"), self.with_calls),
            "steps": self._fractions("steps", ("1", "2", "3+"), self.with_calls),
            "should_call": self._fractions("should_call", ("yes", "no"), self.samples),
            "parameter_types": {
                parameter_type: _share(self.parameter_types[parameter_type], types)
                for parameter_type in PARAMETER_TYPES
            },
            "error_recovery": _share(self.counts["error_recovery=yes"], self.samples),
            "languages": {language: _share(number, self.samples) for language, number in self.of("languages").items()},
        }

    def _fractions(self, key: str, values: Sequence[str], whole: int) -> dict[str, float]:
        return {value: _share(self.counts[f"{key}={value}"], whole) for value in values}

    def value(self, goals: Goals = RECOMMENDED, max_tokens: int | None = None) -> dict[str, Json]:
        """The report as JSON; with `max_tokens`, also what this budget cuts (`budget`), if tokens were counted."""
        shares: Any = self.shares()
        recommended: Any = {key: dict(goal) if isinstance(goal, Mapping) else goal for key, goal in goals.items()}
        budget = budget_figures(self.tokens, max_tokens) if max_tokens is not None else None
        return {
            **({"budget": budget} if budget is not None else {}),
            "samples": self.samples,
            "shares": shares,
            "recommended": recommended,
            "deviations": dict[str, Json](deviations(shares, goals)),
            "samples_with_calls": self.with_calls,
            "duplicates": self.duplicates,
            **{key: dict[str, Json](self.of(key)) for key in ("types", "shapes", "formats", "errors", "recoveries")},
            "faults": dict[str, Json](self.of("faults")),
            "tools_by_frequency": dict[str, Json](self.of("tool")),
            "lengths": {"characters": _quantiles(self.characters), "tokens": _quantiles(self.tokens)},
            "schema_depth": _counted(self.schema_depths),
            "ref_chain": _counted(self.reference_chains),
            "argument_depth": _counted(self.argument_depths),
            "quality": {"mean": self.score_sum / self.samples if self.samples else None, "below_0.9": self.low_scores},
        }


def _share(number: int, whole: int) -> float:
    return number / whole if whole else 0.0


def _quantiles(values: "array[int]") -> Json:
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    return {"median": ordered[last // 2], "p95": ordered[last * 95 // 100], "max": ordered[last]}


def _counted(counts: Mapping[int, int]) -> dict[str, Json]:
    return {str(depth): number for depth, number in sorted(counts.items())}


def budget_figures(lengths: Iterable[int], max_tokens: int) -> dict[str, Json]:
    """The samples that a budget cuts, the tokens that are lost, and the packed sequences."""
    listed = list(lengths)
    total = sum(listed)
    cut = sum(length - max_tokens for length in listed if length > max_tokens)
    sequences = packed_sequences(listed, max_tokens)
    return {
        "max_tokens": max_tokens,
        "samples_cut": sum(length > max_tokens for length in listed),
        "tokens": total,
        "tokens_cut": cut,
        "packed_sequences": sequences,
        "packed_fill": (total - cut) / (sequences * max_tokens) if sequences else None,
    }


def packed_sequences(lengths: Iterable[int], max_tokens: int) -> int:
    """The sequences of `max_tokens` that hold all samples, each cut to that length; none for empty samples."""
    rooms: list[int] = []  # the distinct rooms of open sequences, sorted
    counts: Counter[int] = Counter()
    sequences = 0
    for length in sorted((min(length, max_tokens) for length in lengths if length), reverse=True):
        index = bisect_left(rooms, length)
        if index == len(rooms):
            sequences += 1
            room = max_tokens
        else:
            room = rooms[index]
            counts[room] -= 1
            if not counts[room]:
                rooms.pop(index)
        left = room - length
        if left:
            if not counts[left]:
                insort(rooms, left)
            counts[left] += 1
    return sequences
