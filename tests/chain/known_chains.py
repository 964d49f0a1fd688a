"""Chains of which everything is known: calls that use each other's results, with faults planted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

_SUBJECTS_TABLE = (
    "anchor banjo cactus dragon ember falcon garnet hammer island jungle kettle lagoon marble nectar oyster pepper "
    "quartz ribbon saddle temple umbrella velvet walnut yogurt zephyr"
)
_SUBJECTS = tuple(_SUBJECTS_TABLE.split())
_ERRORS = {
    "flagged": ('{"isError": true, "content": [{"type": "text", "text": "It broke."}]}', '{"error": true}'),
    "structured": (
        '{"error": "no such thing"}',
        '{"exit_code": 2, "output": "usage"}',
        '{"status": 503, "message": "It is down."}',
        '{"success": false, "reason": "no"}',
        "[exit code: 3]",
    ),
    "textual": (
        "Error: no such thing",
        'Traceback (most recent call last):\n  File "x"\nValueError: no',
        "Fehler: nicht da",
        "错误：不存在",
    ),
}
_LETTERS = "abc"
PADDING = "(a long text)"
"""Stands in a result for a text of thousands of words."""


@dataclass(frozen=True)
class Known:
    """One call and what is known of it. `result` is None where none comes; `by` counts calls, this one being 0."""

    tool: str
    arguments: dict[str, Any]
    outcome: str
    result: str | None
    uses: frozenset[int] = frozenset()
    certainty: str | None = None
    recovery: str | None = None
    by: int | None = None
    retry_of: int | None = None
    is_flagged: bool = False
    invented: int = 0
    placeholders: int = 0
    raw: str = ""  # the arguments as a broken call writes them


@dataclass
class Story:
    """The calls of a chain, turn by turn, and how it is told."""

    turns: list[list[Known]] = field(default_factory=list)
    user: list[str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    format: str = ""  # none: calls in parts of their own
    ids: str = "unique"
    order: int = 0
    end: str = "reports"
    cut: str = ""
    wraps: bool = False

    @property
    def steps(self) -> list[Known]:
        return [step for turn in self.turns for step in turn]

    @property
    def lost(self) -> list[int]:
        """The numbers of the failed steps that nothing made good."""
        failed = enumerate(self.steps, 1)
        return [number for number, step in failed if step.outcome not in ("ok", "pending") and step.recovery is None]

    @property
    def broken(self) -> int | None:
        """The first lost step; one that only words or a missing result show yields to a surer one of another tool.

        A call in the text is surely lost where the server did parse the last one.
        """
        is_left = bool(self.format) and self.end == "submits"
        unsure = {"textual"} if is_left else {"textual", "unanswered"}
        lost = [(number, self.steps[number - 1]) for number in self.lost]
        number, step = next(
            (pair for pair in lost if unsure.isdisjoint((pair[1].certainty, pair[1].outcome))), (None, None)
        )
        is_surer = step is not None and step.tool != lost[0][1].tool
        return number if is_surer else next(iter(self.lost), None)

    @property
    def caused(self) -> list[int]:
        """The steps that use what the broken one returned, and those that use theirs."""
        tainted, caused = {self.broken}, []
        for number, step in enumerate(self.steps, 1):
            if self.broken is not None and step.retry_of == self.broken:
                tainted.add(number)
            elif step.uses & tainted:
                tainted.add(number)
                caused.append(number)
        return caused

    @property
    def status(self) -> str:
        if self.lost:
            return "broken"
        if self.cut:
            return "aborted"
        return "recovered" if any(step.outcome not in ("ok", "pending") for step in self.steps) else "ok"


class _Teller:
    """Makes up one story, choice by choice."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.story, self.count = draw, Story(), 0
        self.made: list[tuple[int, str]] = []  # values in results of earlier turns, by their step
        self.own: list[str] = []  # values that the agent invented in earlier turns

    def number(self) -> int:
        self.count += 1
        return 1000 + self.count

    def pick(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def tell(self) -> Story:
        story, draw = self.story, self.draw
        story.format = self.pick(["", "", "hermes", "qwen3_coder", "glm45", "deepseek_v3", "mistral"])
        story.ids = self.pick(["unique", "reused", "none"]) if not story.format else "none"
        story.order, story.wraps = draw(st.integers(0, 5)), draw(st.booleans())
        for move in draw(st.lists(st.sampled_from(["work", "work", "fault"]), min_size=1, max_size=5)):
            if move == "work":
                self.turn([self.good(self.arguments()) for _ in range(draw(st.integers(1, 3)))])
            else:
                self.fault()
        story.end = self.pick(["reports", "ignores", "submits"])
        story.cut = self.pick(["", "", "length", "upstream"]) if story.end != "submits" else ""
        return story

    def turn(self, calls: list[Known]) -> None:
        first = len(self.story.steps) + 1
        self.story.turns.append(calls)
        for number, call in enumerate(calls, first):
            if call.retry_of is None and call.result and (made_id := _made(call.result)):
                self.made.append((number, made_id))
            self.own += [value for value in call.arguments.values() if str(value).startswith("inv-")]

    def arguments(self) -> tuple[dict[str, Any], frozenset[int], int, int]:
        """Arguments, the steps whose results they use, how many were invented, how many are placeholders."""
        given: dict[str, Any] = {}
        uses, invented, placeholders = set(), 0, 0
        for letter in _LETTERS[: self.draw(st.integers(0, 3))]:
            kinds = ["user", "system", "invented", "trivial", "placeholder"]
            kind = self.pick(kinds + ["result"] * 3 * bool(self.made) + ["own"] * bool(self.own))
            value: Any = f"{kind[:3]}-{self.number()}"
            if kind in ("user", "system"):
                (self.story.user if kind == "user" else self.story.system).append(value)
            elif kind == "result":
                step, value = self.pick(self.made)
                uses.add(step)
            elif kind == "own":
                value = self.pick(self.own)
            elif kind == "trivial":
                is_untyped = self.story.format in ("qwen3_coder", "glm45")  # they write `true` as a text
                value = self.pick(["x", 7] if is_untyped else ["x", 7, True])
            elif kind == "placeholder":
                value, placeholders = self.pick(["<previous_result>", "$results[0].id"]), placeholders + 1
            else:
                invented += 1
            given[f"{letter}_id"] = value
        # The same invention twice in one turn is two values that nobody gave.
        return given, frozenset(uses), invented, placeholders

    def good(self, made: tuple[dict[str, Any], frozenset[int], int, int], tool: str = "") -> Known:
        arguments, uses, invented, placeholders = made
        value: dict[str, Any] = {"id": f"res-{self.number()}"}
        for key in self.draw(st.lists(st.sampled_from(["made", "row", "x/y"]), max_size=2)):
            value = {key: value}
        echo = {"echo": arguments} if self.draw(st.booleans()) else {}
        padding = {"text": PADDING} if self.draw(st.integers(0, 20)) == 0 else {}
        result = self.pick([json.dumps({**padding, **echo, "fine": value})] * 4 + ["[]", ""])
        return Known(tool or self.tool(), arguments, "ok", result, uses, invented=invented, placeholders=placeholders)

    def tool(self, verb: str = "") -> str:
        number = self.number()
        return f"{verb}{_SUBJECTS[number % len(_SUBJECTS)]}{number}"

    def fault(self) -> None:
        sought = f"use-{self.number()}"
        self.story.user.append(sought)
        kinds = ["error-result", "error-result", "unknown-tool", "invalid", "unanswered"]
        kind = self.pick(kinds + ["malformed"] * (self.story.format in ("", "hermes")))
        after = self.pick(["nothing", "retry", "other arguments", "other tool", "answered"])
        if (after == "answered") != (kind in ("unknown-tool", "invalid") and after == "answered"):
            after = "nothing"
        if kind == "unknown-tool" and after != "answered":
            after = "nothing"
        if kind == "invalid" and after == "retry":
            after = "other arguments"
        tool = self.tool("get_" if after == "other tool" else "")
        failed = self.failed(kind, f"missing_{tool}" if kind == "unknown-tool" else tool, sought)
        if after == "answered":
            good = self.good(({}, frozenset(), 0, 0))
            self.turn([replace(failed, result='{"fine": 1}', recovery="answered", uses=good.uses)])
            return
        first = len(self.story.steps) + 1
        times = self.draw(st.integers(1, 3))
        how = {"nothing": None, "other tool": "other-tool"}.get(after, "same-intent")
        for attempt in range(times):
            by = None if how is None else times - attempt
            self.turn([replace(failed, recovery=how, by=by, retry_of=first if attempt else None)])
        if after == "nothing":
            return
        arguments = {"a_id": sought} if after == "retry" else {"a_id": sought, "limit": 3}
        good = self.good((arguments, frozenset(), 0, 0), tool)
        good = replace(good, result=json.dumps({"fine": {"id": f"res-{self.number()}"}}))
        if after == "retry" and kind != "malformed":
            good = replace(good, retry_of=first)
        if after == "other tool":
            subject = tool.removeprefix("get_")
            held = json.dumps({"fine": {"id": f"res-{self.number()}"}, subject: {"a_id": sought}})
            good = replace(good, tool=f"list_{subject}s", arguments={"page": 1}, result=held)
        self.turn([good])

    def failed(self, kind: str, tool: str, sought: str) -> Known:
        arguments: dict[str, Any] = {"a_id": sought}
        certainty, result, is_flagged = None, "Error: no", False
        if kind == "error-result":
            certainty = self.pick(["flagged", "structured", "textual"])
            result = self.pick(_ERRORS[certainty])
            if certainty == "flagged" and not self.story.format:
                is_flagged = self.draw(st.booleans())
                result = "It broke." if is_flagged else result
        elif kind == "invalid":
            arguments["count"] = "many"
        elif kind == "unanswered":
            return Known(tool, arguments, kind, None)
        if result.startswith("Error") and self.draw(st.booleans()):
            result += f", see res-{self.number()}"
        raw = f"{{'a_id': '{sought}'}}" if kind == "malformed" else ""
        return Known(tool, arguments, kind, result, certainty=certainty, is_flagged=is_flagged, raw=raw)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Stories of up to a dozen or two calls."""
    return _Teller(draw).tell()


def _made(result: str) -> str | None:
    start = result.rfind("res-")
    return result[start : start + 8] if start >= 0 else None
