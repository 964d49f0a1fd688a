"""Made-up traces with what is known of them, and filters with what they mean, said in plain Python."""

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
class Made:
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
        return {one.rule.code for one in self.inspection.diagnostics}

    @property
    def kinds(self) -> set[str]:
        """The kinds of spans."""
        return {span.kind.value for part in self.inspection.parts for span in part.spans}

    def severities(self, name: str) -> int:
        """How many diagnostics are of this severity."""
        return sum(one.rule.severity.value == name for one in self.inspection.diagnostics)


OUTCOMES = (
    None,
    Outcome(reward=1.0),
    Outcome(completed=True, reward=0.0),
    Outcome(reward=-0.5),
    Outcome(completed=True, exit_status="submitted"),
    Outcome(exit_status="max_steps"),
    Outcome(reward=math.nan),
)


def made(number: int, rng: Random) -> Made:
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
    return Made(
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
    return any(value in (one.get("city") if name == "city" else None, *_within(one.get("trip"), name)) for one in read)


def _within(trip: Json, name: str) -> list[Json]:
    found = trip.get(name) if isinstance(trip, dict) else None
    return found if isinstance(found, list) else [found]


Meaning: TypeAlias = Callable[[Made], bool]
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
    def usage(one: Made) -> float | None:
        uses = [turn.generation.usage for turn in one.trace.turns if turn.generation]
        counts = [count for use in uses for count in (use.input_tokens, use.output_tokens) if count is not None]
        return sum(counts) if counts else None

    def duration(one: Made) -> float | None:
        generations = [turn.generation for turn in one.trace.turns if turn.generation]
        starts = [generation.started.at_s for generation in generations if generation.started]
        ends = [generation.ended.at_s for generation in generations if generation.ended]
        return max(ends) - min(starts) if starts and ends else None

    def broken_at(one: Made) -> float | None:
        broken = one.inspection.chain.broken
        return None if broken is None else broken.step

    keys: dict[str, tuple[tuple[str, float], Callable[[Made], float | None]]] = {
        "duration:": (("1500ms", 1.5), duration),
        "tokens:": (("3.01k", 3010.0), usage),
        "first_token:": (("0.5s", 0.5), lambda one: one.first_token_s),
        "TTFT:": (("500ms", 0.5), lambda one: one.first_token_s),
        "gap:": (("1s", 1.0), lambda one: one.gap_s),
        "errors:": (("0", 0.0), lambda one: one.severities("error")),
        "warnings:": (("1", 1.0), lambda one: one.severities("warning")),
        "turns:": (("3", 3.0), lambda one: len(one.trace.turns)),
        "calls:": (("1", 1.0), lambda one: sum(len(part.calls) for part in one.inspection.parts)),
        "step:": (("1", 1.0), broken_at),
    }

    def said(key: str, sign: str) -> Said:
        (text, number), of = keys[key]
        return f"{key}{sign}{text}", lambda one: (value := of(one)) is not None and _SIGNS[sign](value, number)

    return st.builds(said, st.sampled_from(list(keys)), st.sampled_from(list(_SIGNS)))


def _arguments() -> st.SearchStrategy[Said]:
    def at(one: Made, path: str) -> list[Json]:
        return [value for name, place, value in one.leaves if path in (name, place)]

    def equal(path: str, value: str, sign: str) -> Said:
        wanted = value.casefold()
        means: dict[str, Callable[[str], bool]] = {
            "=": lambda text: text == wanted,
            "!=": lambda text: text != wanted,
            "~": lambda text: wanted in text,
        }
        quoted = '"' + value.replace("\\", "\\\\") + '"'
        return f"arg:{path}{sign}{quoted}", lambda one: any(means[sign](_text(leaf)) for leaf in at(one, path))

    def begins(path: str, sign: str) -> Said:
        return f"arg:{path}{sign}os*", lambda one: any(
            _text(leaf).startswith("os") is (sign == "=") for leaf in at(one, path)
        )

    def more(path: str, sign: str, number: int) -> Said:
        return f"arg:{path}{sign}{number}", lambda one: any(
            isinstance(leaf, int) and not isinstance(leaf, bool) and _SIGNS[sign](leaf, number)
            for leaf in at(one, path)
        )

    paths = st.sampled_from(["$.city", "city", "$.trip.tags[0]", "tags", "$.trip.day", "day", '$["trip"].day', "gone"])
    plain = paths.map(lambda path: path.replace('$["trip"]', "$.trip"))
    return st.one_of(
        st.builds(equal, plain, st.sampled_from([*CITIES, "2", "TRUE"]), st.sampled_from(["=", "!=", "~"])),
        st.builds(begins, plain, st.sampled_from(["=", "!="])),
        st.builds(more, plain, st.sampled_from([">", ">=", "<", "<="]), st.integers(-3, 6)),
        plain.map(lambda path: (f"arg:{path}", lambda one: bool(at(one, path)))),
    )


def _text(leaf: Json) -> str:
    return (leaf if isinstance(leaf, str) else json.dumps(leaf)).casefold()


def _fixed() -> st.SearchStrategy[Said]:
    def reasoning(one: Made) -> str:
        turns = [
            any(
                span.kind.value == "reasoning"
                for part in one.inspection.parts
                if part.turn == number
                for span in part.spans
            )
            for number, turn in enumerate(one.trace.turns, 1)
            if turn.role is Role.ASSISTANT
        ]
        return "" if not turns else "on" if all(turns) else "mixed" if any(turns) else "off"

    def model(one: Made) -> str:
        return next(
            (
                turn.generation.answered_model
                for turn in one.trace.turns
                if turn.generation and turn.generation.answered_model
            ),
            "",
        )

    said: list[Said] = [
        *((word, lambda one, word=word: word in one.words) for word in VOCABULARY),
        ("SN*", lambda one: "snow" in one.words),
        ("status:broken,Recovered", lambda one: one.inspection.chain.status.value in ("broken", "recovered")),
        ("status:*o*", lambda one: "o" in one.inspection.chain.status.value),
        ("status:running", lambda _: False),
        ("status:idle", lambda _: False),
        ("-status:idle,running", lambda _: True),
        ("status:running,ok", lambda one: one.inspection.chain.status.value == "ok"),
        ("model:QWEN3", lambda one: model(one) == "qwen3"),
        ("model:*e*", lambda one: "e" in model(one)),
        ("source:otel", lambda one: one.trace.provenance.source == "otel"),
        ("format:hermes", lambda one: one.inspection.format == "hermes"),
        ("tool:get_*", lambda one: any(name.startswith("get_") for name in one.tools)),
        ("tool:send,get_time", lambda one: bool(one.tools & {"send", "get_time"})),
        ("code:J", lambda one: any(code.startswith("J") for code in one.codes)),
        ("code:trailing-comma,T4", lambda one: any(code == "J104" or code.startswith("T4") for code in one.codes)),
        ("severity:error", lambda one: one.severities("error") > 0),
        ("severity:warning,info", lambda one: one.severities("warning") + one.severities("info") > 0),
        ("kind:tool_call", lambda one: "tool_call" in one.kinds),
        ("kind:reasoning,tool_result", lambda one: bool(one.kinds & {"reasoning", "tool_result"})),
        ("kind:markup", lambda one: "markup" in one.kinds),
        ("reasoning:on", lambda one: reasoning(one) == "on"),
        ("reasoning:m*,off", lambda one: reasoning(one) in ("mixed", "off")),
        ("session:s3", lambda one: one.trace.external_ids[0].value == "s3"),
        ("session:task=t1", lambda one: one.trace.external_ids[1].value == "t1"),
        (
            "session:s1*,t2",
            lambda one: one.trace.external_ids[0].value.startswith("s1") or one.trace.external_ids[1].value == "t2",
        ),
        ('name:"RUN 1"', lambda one: one.trace.name == "run 1"),
        ('name:"run*"', lambda _: True),
        ('name:"RUN 3*","run 1"', lambda one: one.trace.name in ("run 3", "run 1")),
        ("name:r*1", lambda one: one.trace.name == "run 1"),
        ("session:S2*", lambda one: one.trace.external_ids[0].value.startswith("s2")),
        ("session:task=T2*", lambda one: one.trace.external_ids[1].value == "t2"),
        ("session:*3", lambda one: one.trace.external_ids[0].value.endswith("3")),
        ("severity:info", lambda one: one.severities("info") > 0),
        ("severity:warning", lambda one: one.severities("warning") > 0),
        ("errors:>0.5", lambda one: one.severities("error") > 0),
        ("turns:!=2.5", lambda _: True),
        ("turns:2.5", lambda _: False),
        ("turns:<=2.5,>=4.5", lambda one: len(one.trace.turns) <= 2 or len(one.trace.turns) >= 5),
        ("warnings:<1.5", lambda one: one.severities("warning") <= 1),
        ("tokens:<999999999999k", _has_tokens),
        ("break:J1", lambda one: (_break(one) or "").startswith("J1")),
        ("break:*", lambda one: _break(one) is not None),
        ("break:error-*,J104", lambda one: (_break(one) or "").startswith(("error-", "J104"))),
        ("name:*2", lambda one: one.trace.name.endswith("2")),
        ("marked:yes", lambda one: bool(one.notes)),
        ("marked:no", lambda one: not one.notes),
        ("note:this", lambda one: any("this" in note.lower() for note in one.notes)),
        ('note:"k_i","00%"', lambda one: any("k_i" in note or "00%" in note for note in one.notes)),
        ("project:SHOP", lambda one: one.trace.project == "shop"),
        ('project:shop*,""', lambda _: True),
        ("outcome:success", lambda one: source_says_success(one.trace) is True),
        ("outcome:FAIL*,unknown", lambda one: source_says_success(one.trace) is not True),
        ("context:>2%", lambda one: _fullest(one) > 0.02),
        ("context:<2.5%", lambda one: 0 <= _fullest(one) < 0.025),
        ("reward:>=0", lambda one: _reward(one) in (0.0, 1.0)),
        ("reward:-0.5,1", lambda one: _reward(one) in (-0.5, 1.0)),
        ("reward:<0", lambda one: _reward(one) == -0.5),
        ("since:1970-01-01T00:00:03", lambda one: _at(one) >= 3),
        ("before:1970-01-01T00:00:02Z", lambda one: _at(one) < 2),
        ("before:2h", lambda _: True),
        ("since:3d", lambda _: False),
    ]
    return st.sampled_from(said)


def _reward(one: Made) -> float | None:
    return one.trace.outcome.reward if one.trace.outcome else None


def _break(one: Made) -> str | None:
    broken = one.inspection.chain.broken
    return None if broken is None else broken.code or broken.outcome.value


def _has_tokens(one: Made) -> bool:
    uses = [turn.generation.usage for turn in one.trace.turns if turn.generation]
    return any(count is not None for use in uses for count in (use.input_tokens, use.output_tokens))


def _fullest(one: Made) -> float:
    """The largest share of a window of 131,072 tokens that an answer took; -1 without one."""
    turns = one.trace.turns
    usages = [turn.generation.usage for turn in turns if turn.generation is not None]
    taken = [use.input_tokens + (use.output_tokens or 0) for use in usages if use.input_tokens is not None]
    if not taken:
        so_far = [
            sum(-(-len(part.text.encode("utf-8", "surrogatepass")) // 4) for part in turn.parts) for turn in turns
        ]
        made = (at for at, turn in enumerate(turns) if turn.role is Role.ASSISTANT)
        taken = [sum(so_far[: at + 1]) for at in made]
    return max(taken, default=-131_072) / 131_072


def _at(one: Made) -> float:
    assert one.trace.started is not None
    return one.trace.started.at_s


def filters() -> st.SearchStrategy[Said]:
    """Filters of every kind, and what they mean."""

    def both(first: Said, sign: str, second: Said) -> Said:
        return f"({first[0]}){sign}({second[0]})", lambda one: first[1](one) and second[1](one)

    def either(first: Said, sign: str, second: Said) -> Said:
        return f"({first[0]}{sign}{second[0]})", lambda one: first[1](one) or second[1](one)

    leaves = st.one_of(_fixed(), _fixed(), _figures(), _arguments())
    simple = leaves | leaves.map(lambda said: (f"-{said[0]}", lambda one: not said[1](one)))
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            inner.map(lambda said: (f"not ({said[0]})", lambda one: not said[1](one))),
            st.builds(both, inner, st.sampled_from([" ", " and ", "\n AND "]), inner),
            st.builds(either, inner, st.sampled_from([" or ", " OR "]), inner),
        ),
        max_leaves=6,
    )
