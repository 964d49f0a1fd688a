"""Loops within one text: the same call, special token or stray marker again and again is one fault with its count."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Span, SpanKind, ToolCall
from weaklink.inspector.rules.conversation import REPEATED_CALL
from weaklink.inspector.rules.json_syntax import TRUNCATED_JSON, TRUNCATED_PARAMETERS
from weaklink.inspector.rules.markers import EMPTY_CALL, NESTED_SPAN, SPECIAL_TOKEN_LEAK, STRAY_END_MARKER
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

FEWEST_IN_TURN = 3
"""How many identical calls in one turn are a loop; two may be intended."""

_NAMED_TOKEN = lazy_pattern(r"<(?:pad|unk|bos|eos|/?s|end_of_turn|｜[^｜<>\s]{1,60}｜)>")
_TOKEN_RUN = lazy_pattern(rf"(<\|[^|<>\s]{{1,60}}\|>|{_NAMED_TOKEN.pattern})(?:\s?\1){{2,}}")
ONCE_A_RUN = (STRAY_END_MARKER, SPECIAL_TOKEN_LEAK, EMPTY_CALL, NESTED_SPAN, TRUNCATED_JSON, TRUNCATED_PARAMETERS)
"""The rules for which consecutive faults are reported as one."""

_OF_MARKERS = (STRAY_END_MARKER, SPECIAL_TOKEN_LEAK)
_MIN_FAULTS = 3
_MAX_GAP_CHARS = 4  # characters of white space between two markers of a run
_OTHERS = lazy_pattern(r"user|human|system|developer|observation|ipython|tool\b", re.IGNORECASE)
_BY_MODEL = (SpanKind.TEXT, SpanKind.REASONING, SpanKind.MARKUP)


@memoized
def call_key(call: ToolCall) -> str:
    """A key that identical calls share: the tool, and its arguments regardless of order and white space."""
    if not call.valid:
        return f"!{call.name}\0{call.raw_arguments}"
    try:
        arguments = msgspec.json.encode(call.arguments, order="deterministic").decode()
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        arguments = call.raw_arguments
    return f"{call.name}\0{arguments}"


def repeated_calls(text: str, spans: Sequence[Span], calls: Sequence[ToolCall]) -> Iterator[Fault]:
    """One fault for each call that a turn makes at least `FEWEST_IN_TURN` times with the same arguments."""
    if len(calls) < FEWEST_IN_TURN:
        return
    ends = [index for index, span in enumerate(spans) if _ends_turn(text, span)]
    seen: dict[tuple[int, str], list[ToolCall]] = {}
    turn = 0
    for call in calls:
        if not call.name or not call.range:
            continue
        while turn < len(ends) and ends[turn] < call.span:
            turn += 1
        seen.setdefault((turn, call_key(call)), []).append(call)
    for same in seen.values():
        if len(same) >= FEWEST_IN_TURN:
            yield Fault(
                REPEATED_CALL,
                same[1].range,
                repeated_message(f"`{same[0].name}`", len(same)),
                "Make the call only once, and stop the generation after it.",
            )


def repeated_message(tool: str, count: int) -> str:
    """The message for `count` identical calls of a tool, whose name begins the sentence."""
    return f"{tool} is called {count} times in this turn with the same arguments."


def may_have_runs(text: str) -> bool:
    """Whether `token_runs` may find anything: a cheap test that most texts fail."""
    return ("|" in text or _NAMED_TOKEN.search(text) is not None) and _TOKEN_RUN.search(text) is not None


def token_runs(text: str, spans: Sequence[Span]) -> Iterator[Fault]:
    """One fault for each run of one special token in the model's text."""
    if not may_have_runs(text):
        return
    for run in _TOKEN_RUN.finditer(text):
        index = bisect_right(spans, run.start(), key=_start) - 1
        if spans[index].kind in _BY_MODEL:
            yield _run_of_token(run)


def _run_of_token(run: re.Match[str]) -> Fault:
    token = run[1]
    message = (
        f"The special token `{token}` is written {run[0].count(token)} times in a row: the generation did not stop."
    )
    return Fault(SPECIAL_TOKEN_LEAK, Range(*run.span()), message, "Stop the generation at the first one.")


def with_runs_once(text: str, spans: Sequence[Span], faults: Iterable[Fault]) -> list[Fault]:
    """The faults in the order of their ranges; consecutive ones of one marker become one, with their count."""
    merged = list(faults)
    runs = list(token_runs(text, spans))
    if runs:
        merged = [*runs, *(other for other in merged if other.rule not in ONCE_A_RUN or not _is_within(other, runs))]
    for rule in ONCE_A_RUN if len(merged) >= _MIN_FAULTS else ():
        if sum(other.rule is rule for other in merged) >= _MIN_FAULTS:
            merged = _with_rule_once(text, merged, rule)
    return sorted(merged, key=lambda fault: (fault.range, fault.rule.code))


def _with_rule_once(text: str, faults: Sequence[Fault], rule: Rule) -> list[Fault]:
    """The faults, with each run of one rule merged into one."""
    once: list[Fault] = []
    run: list[Fault] = []
    for fault in sorted((other for other in faults if other.rule is rule), key=lambda other: other.range):
        if run and not _continues(text, run[-1], fault):
            once += _once(run)
            run = []
        run.append(fault)
    return [*once, *_once(run), *(other for other in faults if other.rule is not rule)]


def _is_within(fault: Fault, runs: Sequence[Fault]) -> bool:
    return any(run.range.covers(fault.range) for run in runs)


def _continues(text: str, last: Fault, fault: Fault) -> bool:
    if fault.message != last.message:
        return False
    between = text[last.range.end : fault.range.start]
    return len(between) <= _MAX_GAP_CHARS and not between.strip()


def _once(run: Sequence[Fault]) -> Sequence[Fault]:
    if len(run) < _MIN_FAULTS:
        return run
    edits: list[Edit] = [edit for fault in run if fault.fix is not None for edit in fault.fix.edits]
    what = "It is written" if run[0].rule in _OF_MARKERS else "This happens"
    message = f"{run[0].message} {what} {len(run)} times in a row."
    fix = Fix(tuple(edits), safe=False) if edits else None
    return [replace(run[0], range=Range(run[0].range.start, run[-1].range.end), message=message, fix=fix)]


def _ends_turn(text: str, span: Span) -> bool:
    """Whether another role than the model speaks from this span on."""
    if span.kind is not SpanKind.MARKUP:
        return span.kind is SpanKind.TOOL_RESULT
    return span.label.startswith("turn") and _OTHERS.search(span.range.of(text)) is not None


def _start(span: Span) -> int:
    return span.range.start
