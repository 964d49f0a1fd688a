"""GeneratedTrace-up traces with what is known of them, and filters with what they mean, said in plain Python."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from hypothesis import strategies as st

from weaklink.inspector.chain.endings import source_says_success
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    Chunks,
    ExternalId,
    Generation,
    Instant,
    Json,
    Outcome,
    Part,
    Provenance,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

CITIES = ("Oslo", "OSLO fjord", "Bergen, Norway", "100%_\\x", "", "Århus")
TOOLS = ("get_weather", "get_time", "send")
MODELS = ("hermes-4", "qwen3", "")
SOURCES = ("otel", "proxy")
VOCABULARY = ("sun", "rain", "snow", "wind", "fog")


@dataclass(frozen=True, slots=True)
class GeneratedTrace:
    """A trace that was made up, and what went into it."""

    trace: Trace
    inspection: Inspection
    words: frozenset[str]
    leaves: tuple[tuple[str, str, Json], ...]
    first_token_s: float | None
    gap_s: float | None
    notes: list[str] = field(default_factory=list)

    @property
    def tools(self) -> set[str]:
        """The tools that were called."""
        return {call.name or "" for part in self.inspection.parts for call in part.calls}

    @property
    def codes(self) -> set[str]:
        """The rules that were broken."""
        return {diagnostic.rule.code for diagnostic in self.inspection.diagnostics}

    @property
    def kinds(self) -> set[str]:
        """The kinds of spans."""
        return {span.kind.value for part in self.inspection.parts for span in part.spans}

    def severities(self, name: str) -> int:
        """How many diagnostics are of this severity."""
        return sum(diagnostic.rule.severity.value == name for diagnostic in self.inspection.diagnostics)


OUTCOMES = (
    None,
    Outcome(reward=1.0),
    Outcome(completed=True, reward=0.0),
    Outcome(reward=-0.5),
    Outcome(completed=True, exit_status="submitted"),
    Outcome(exit_status="max_steps"),
    Outcome(reward=math.nan),
)


def made(number: int, rng: Random) -> GeneratedTrace:
    """One of many traces; every one of them differs by its session."""
    words = rng.sample(VOCABULARY, rng.randrange(4))
    answers: list[Turn] = []
    leaves: list[tuple[str, str, Json]] = []
    at_s = float(rng.randrange(6))
    waits, gaps = [], []
    for _ in range(rng.randrange(4)):
        city, day = rng.choice(CITIES), rng.randrange(-2, 6)
        arguments: dict[str, Json] = {"city": city, "trip": {"day": day, "tags": [city, True]}}
        leaves += [("city", "$.city", city), ("day", "$.trip.day", day)]
        leaves += [("tags", "$.trip.tags[0]", city), ("tags", "$.trip.tags[1]", True)]
        payload = json.dumps({"name": rng.choice(TOOLS), "arguments": arguments})
        text = (
            f"{rng.choice(('', '<think>hm</think>'))}<tool_call>\n{payload[: -1 - rng.randrange(2)]},}}\n</tool_call>"
        )
        if rng.random() < 0.6:
            text = text.replace(",}\n", "}\n").replace("}}}}\n", "}}}\n")
        chunks = None
        if rng.random() < 0.7:
            wait, gap = rng.randrange(5) / 4, rng.randrange(9) / 4
            chunks = Chunks((5, len(text)), (0, 1), (wait, wait + gap))
            waits.append(wait)
            gaps.append(gap)
        usage = Usage(rng.choice((None, 10, 3_000)), rng.choice((None, 20, 2_000)))
        generation = Generation(
            answered_model=rng.choice(MODELS),
            tools=tuple(map(ToolDefinition, TOOLS[: rng.randrange(3)])),
            started=Instant(at_s) if rng.random() < 0.8 else None,
            ended=Instant(at_s + rng.randrange(8) / 2),
            usage=usage,
        )
        answers.append(Turn(Role.ASSISTANT, (Part("text", text, chunks),), generation=generation))
        if rng.random() < 0.6:
            answers.append(Turn(Role.TOOL, (Part("text", rng.choice(('{"error": "no"}', "fine"))),)))
    system = [Turn(Role.SYSTEM, (Part("text", "Be brief."),))] if rng.random() < 0.5 else []
    trace = Trace(
        (*system, Turn(Role.USER, (Part("text", " ".join(words)),)), *answers),
        name=f"run {number % 4}",
        project=("", "shop", "Shop api")[number % 3],
        started=Instant(at_s),
        external_ids=(ExternalId("session", f"s{number}"), ExternalId("task", f"t{number % 3}")),
        provenance=Provenance(rng.choice(SOURCES), "log.jsonl", record=f"line {number}"),
        outcome=OUTCOMES[number % len(OUTCOMES)],
    )
    notes = rng.choice(([], [], [""], ["Look at THIS"], ["seen", "look_it 100%"]))
    inspection = inspect_trace(trace)
    if not all(call.valid for part in inspection.parts for call in part.calls):
        leaves = [leaf for leaf in leaves if _is_read(leaf, inspection)]
    return GeneratedTrace(
        trace,
        inspection,
        frozenset(words),
        tuple(leaves),
        max(waits, default=None),
        max(gaps, default=None),
        list(notes),
    )


def _is_read(leaf: tuple[str, str, Json], inspection: Inspection) -> bool:
    """Whether some call that could be read holds this leaf."""
    read = [call.arguments for part in inspection.parts for call in part.calls if isinstance(call.arguments, dict)]
    name, _, value = leaf
    return any(
        value in (entry.get("city") if name == "city" else None, *_within(entry.get("trip"), name)) for entry in read
    )


def _within(trip: Json, name: str) -> list[Json]:
    values = trip.get(name) if isinstance(trip, dict) else None
    return values if isinstance(values, list) else [values]


Meaning: TypeAlias = Callable[[GeneratedTrace], bool]
Said: TypeAlias = tuple[str, Meaning]
"""A filter, and which traces it lets through."""

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "": lambda a, b: a == b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


def _figures() -> st.SearchStrategy[Said]:
    def usage(sample: GeneratedTrace) -> float | None:
        uses = [turn.generation.usage for turn in sample.trace.turns if turn.generation]
        counts = [count for use in uses for count in (use.input_tokens, use.output_tokens) if count is not None]
        return sum(counts) if counts else None

    def duration(sample: GeneratedTrace) -> float | None:
        generations = [turn.generation for turn in sample.trace.turns if turn.generation]
        starts = [generation.started.at_s for generation in generations if generation.started]
        ends = [generation.ended.at_s for generation in generations if generation.ended]
        return max(ends) - min(starts) if starts and ends else None

    def broken_at(sample: GeneratedTrace) -> float | None:
        broken = sample.inspection.chain.broken
        return None if broken is None else broken.step

    keys: dict[str, tuple[tuple[str, float], Callable[[GeneratedTrace], float | None]]] = {
        "duration:": (("1500ms", 1.5), duration),
        "tokens:": (("3.01k", 3010.0), usage),
        "first_token:": (("0.5s", 0.5), lambda sample: sample.first_token_s),
        "TTFT:": (("500ms", 0.5), lambda sample: sample.first_token_s),
        "gap:": (("1s", 1.0), lambda sample: sample.gap_s),
        "errors:": (("0", 0.0), lambda sample: sample.severities("error")),
        "warnings:": (("1", 1.0), lambda sample: sample.severities("warning")),
        "turns:": (("3", 3.0), lambda sample: len(sample.trace.turns)),
        "calls:": (("1", 1.0), lambda sample: sum(len(part.calls) for part in sample.inspection.parts)),
        "step:": (("1", 1.0), broken_at),
    }

    def said(key: str, sign: str) -> Said:
        (text, number), of = keys[key]
        return f"{key}{sign}{text}", lambda sample: (value := of(sample)) is not None and _SIGNS[sign](value, number)

    return st.builds(said, st.sampled_from(list(keys)), st.sampled_from(list(_SIGNS)))


def _arguments() -> st.SearchStrategy[Said]:
    def values_at(sample: GeneratedTrace, path: str) -> list[Json]:
        return [value for name, pointer, value in sample.leaves if path in (name, pointer)]

    def equal(path: str, value: str, sign: str) -> Said:
        wanted = value.casefold()
        means: dict[str, Callable[[str], bool]] = {
            "=": lambda text: text == wanted,
            "!=": lambda text: text != wanted,
            "~": lambda text: wanted in text,
        }
        quoted = '"' + value.replace("\\", "\\\\") + '"'
        return f"arg:{path}{sign}{quoted}", lambda sample: any(
            means[sign](_text(leaf)) for leaf in values_at(sample, path)
        )

    def begins(path: str, sign: str) -> Said:
        return f"arg:{path}{sign}os*", lambda sample: any(
            _text(leaf).startswith("os") is (sign == "=") for leaf in values_at(sample, path)
        )

    def more(path: str, sign: str, number: int) -> Said:
        return f"arg:{path}{sign}{number}", lambda sample: any(
            isinstance(leaf, int) and not isinstance(leaf, bool) and _SIGNS[sign](leaf, number)
            for leaf in values_at(sample, path)
        )

    paths = st.sampled_from(["$.city", "city", "$.trip.tags[0]", "tags", "$.trip.day", "day", '$["trip"].day', "gone"])
    plain = paths.map(lambda path: path.replace('$["trip"]', "$.trip"))
    return st.one_of(
        st.builds(equal, plain, st.sampled_from([*CITIES, "2", "TRUE"]), st.sampled_from(["=", "!=", "~"])),
        st.builds(begins, plain, st.sampled_from(["=", "!="])),
        st.builds(more, plain, st.sampled_from([">", ">=", "<", "<="]), st.integers(-3, 6)),
        plain.map(lambda path: (f"arg:{path}", lambda sample: bool(values_at(sample, path)))),
    )


def _text(leaf: Json) -> str:
    return (leaf if isinstance(leaf, str) else json.dumps(leaf)).casefold()


def _fixed() -> st.SearchStrategy[Said]:
    def reasoning(sample: GeneratedTrace) -> str:
        turns = [
            any(
                span.kind.value == "reasoning"
                for part in sample.inspection.parts
                if part.turn == number
                for span in part.spans
            )
            for number, turn in enumerate(sample.trace.turns, 1)
            if turn.role is Role.ASSISTANT
        ]
        return "" if not turns else "on" if all(turns) else "mixed" if any(turns) else "off"

    def model(sample: GeneratedTrace) -> str:
        return next(
            (
                turn.generation.answered_model
                for turn in sample.trace.turns
                if turn.generation and turn.generation.answered_model
            ),
            "",
        )

    said: list[Said] = [
        *((word, lambda sample, word=word: word in sample.words) for word in VOCABULARY),
        ("SN*", lambda sample: "snow" in sample.words),
        ("status:broken,Recovered", lambda sample: sample.inspection.chain.status.value in ("broken", "recovered")),
        ("status:*o*", lambda sample: "o" in sample.inspection.chain.status.value),
        ("status:running", lambda _: False),
        ("status:idle", lambda _: False),
        ("-status:idle,running", lambda _: True),
        ("status:running,ok", lambda sample: sample.inspection.chain.status.value == "ok"),
        ("model:QWEN3", lambda sample: model(sample) == "qwen3"),
        ("model:*e*", lambda sample: "e" in model(sample)),
        ("source:otel", lambda sample: sample.trace.provenance.source == "otel"),
        ("format:hermes", lambda sample: sample.inspection.format == "hermes"),
        ("tool:get_*", lambda sample: any(name.startswith("get_") for name in sample.tools)),
        ("tool:send,get_time", lambda sample: bool(sample.tools & {"send", "get_time"})),
        ("code:J", lambda sample: any(code.startswith("J") for code in sample.codes)),
        (
            "code:trailing-comma,T4",
            lambda sample: any(code == "J104" or code.startswith("T4") for code in sample.codes),
        ),
        ("severity:error", lambda sample: sample.severities("error") > 0),
        ("severity:warning,info", lambda sample: sample.severities("warning") + sample.severities("info") > 0),
        ("kind:tool_call", lambda sample: "tool_call" in sample.kinds),
        ("kind:reasoning,tool_result", lambda sample: bool(sample.kinds & {"reasoning", "tool_result"})),
        ("kind:markup", lambda sample: "markup" in sample.kinds),
        ("reasoning:on", lambda sample: reasoning(sample) == "on"),
        ("reasoning:m*,off", lambda sample: reasoning(sample) in ("mixed", "off")),
        ("session:s3", lambda sample: sample.trace.external_ids[0].value == "s3"),
        ("session:task=t1", lambda sample: sample.trace.external_ids[1].value == "t1"),
        (
            "session:s1*,t2",
            lambda sample: (
                sample.trace.external_ids[0].value.startswith("s1") or sample.trace.external_ids[1].value == "t2"
            ),
        ),
        ('name:"RUN 1"', lambda sample: sample.trace.name == "run 1"),
        ('name:"run*"', lambda _: True),
        ('name:"RUN 3*","run 1"', lambda sample: sample.trace.name in ("run 3", "run 1")),
        ("name:r*1", lambda sample: sample.trace.name == "run 1"),
        ("session:S2*", lambda sample: sample.trace.external_ids[0].value.startswith("s2")),
        ("session:task=T2*", lambda sample: sample.trace.external_ids[1].value == "t2"),
        ("session:*3", lambda sample: sample.trace.external_ids[0].value.endswith("3")),
        ("severity:info", lambda sample: sample.severities("info") > 0),
        ("severity:warning", lambda sample: sample.severities("warning") > 0),
        ("errors:>0.5", lambda sample: sample.severities("error") > 0),
        ("turns:!=2.5", lambda _: True),
        ("turns:2.5", lambda _: False),
        ("turns:<=2.5,>=4.5", lambda sample: len(sample.trace.turns) <= 2 or len(sample.trace.turns) >= 5),
        ("warnings:<1.5", lambda sample: sample.severities("warning") <= 1),
        ("tokens:<999999999999k", _has_tokens),
        ("break:J1", lambda sample: (_break(sample) or "").startswith("J1")),
        ("break:*", lambda sample: _break(sample) is not None),
        ("break:error-*,J104", lambda sample: (_break(sample) or "").startswith(("error-", "J104"))),
        ("name:*2", lambda sample: sample.trace.name.endswith("2")),
        ("marked:yes", lambda sample: bool(sample.notes)),
        ("marked:no", lambda sample: not sample.notes),
        ("note:this", lambda sample: any("this" in note.lower() for note in sample.notes)),
        ('note:"k_i","00%"', lambda sample: any("k_i" in note or "00%" in note for note in sample.notes)),
        ("project:SHOP", lambda sample: sample.trace.project == "shop"),
        ('project:shop*,""', lambda _: True),
        ("outcome:success", lambda sample: source_says_success(sample.trace) is True),
        ("outcome:FAIL*,unknown", lambda sample: source_says_success(sample.trace) is not True),
        ("context:>2%", lambda sample: _fullest(sample) > 0.02),
        ("context:<2.5%", lambda sample: 0 <= _fullest(sample) < 0.025),
        ("reward:>=0", lambda sample: _reward(sample) in (0.0, 1.0)),
        ("reward:-0.5,1", lambda sample: _reward(sample) in (-0.5, 1.0)),
        ("reward:<0", lambda sample: _reward(sample) == -0.5),
        ("since:1970-01-01T00:00:03", lambda sample: _at(sample) >= 3),
        ("before:1970-01-01T00:00:02Z", lambda sample: _at(sample) < 2),
        ("before:2h", lambda _: True),
        ("since:3d", lambda _: False),
    ]
    return st.sampled_from(said)


def _reward(sample: GeneratedTrace) -> float | None:
    return sample.trace.outcome.reward if sample.trace.outcome else None


def _break(sample: GeneratedTrace) -> str | None:
    broken = sample.inspection.chain.broken
    return None if broken is None else broken.code or broken.outcome.value


def _has_tokens(sample: GeneratedTrace) -> bool:
    uses = [turn.generation.usage for turn in sample.trace.turns if turn.generation]
    return any(count is not None for use in uses for count in (use.input_tokens, use.output_tokens))


def _fullest(sample: GeneratedTrace) -> float:
    """The largest share of a window of 131,072 tokens that an answer took; -1 without one."""
    turns = sample.trace.turns
    usages = [turn.generation.usage for turn in turns if turn.generation is not None]
    taken = [use.input_tokens + (use.output_tokens or 0) for use in usages if use.input_tokens is not None]
    if not taken:
        so_far = [
            sum(-(-len(part.text.encode("utf-8", "surrogatepass")) // 4) for part in turn.parts) for turn in turns
        ]
        made = (index for index, turn in enumerate(turns) if turn.role is Role.ASSISTANT)
        taken = [sum(so_far[: index + 1]) for index in made]
    return max(taken, default=-131_072) / 131_072


def _at(sample: GeneratedTrace) -> float:
    assert sample.trace.started is not None
    return sample.trace.started.at_s


def filters() -> st.SearchStrategy[Said]:
    """Filters of every kind, and what they mean."""

    def both(first: Said, sign: str, second: Said) -> Said:
        return f"({first[0]}){sign}({second[0]})", lambda sample: first[1](sample) and second[1](sample)

    def either(first: Said, sign: str, second: Said) -> Said:
        return f"({first[0]}{sign}{second[0]})", lambda sample: first[1](sample) or second[1](sample)

    leaves = st.one_of(_fixed(), _fixed(), _figures(), _arguments())
    simple = leaves | leaves.map(lambda said: (f"-{said[0]}", lambda sample: not said[1](sample)))
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            inner.map(lambda said: (f"not ({said[0]})", lambda sample: not said[1](sample))),
            st.builds(both, inner, st.sampled_from([" ", " and ", "\n AND "]), inner),
            st.builds(either, inner, st.sampled_from([" or ", " OR "]), inner),
        ),
        max_leaves=6,
    )
