"""Inspects the traces that a test passes to the fixture, decides whether they pass, and renders their faults."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import read_messages, read_tools
from weaklink.inspector.chain.layers import PartTexts
from weaklink.inspector.chain.steps import Chain, Status, Step, StepOutcome, reaction_clause
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.importers.data.trace_files import record_in_file
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Json, Role, ToolsOrigin, Trace
from weaklink.inspector.rules.catalogue import RULES, select_rules
from weaklink.inspector.rules.conversation import CALL_WITHOUT_RESULT, ERROR_RESULT, UNKNOWN_TOOL
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.segmentation import AUTO
from weaklink.inspector.text import LineIndex, Range

_LIKE_A_PATH = re.compile(r"[^\s<>{}\[\]|]*(?:/[^\s<>{}\[\]|]*|\.(?:jsonl?|txt|log|eval|traj|har|db|sse|gz|zst))")
_MAX_PATH_CHARS = 4_096
MessageList: TypeAlias = Sequence[Mapping[str, Any]]
TraceInput: TypeAlias = Trace | str | os.PathLike[str] | MessageList
_MAX_TRACES, _MAX_FAULTS = 10, 20
_BROKEN = "broken"
_FAILING: Mapping[str, frozenset[Status]] = MappingProxyType(
    {
        _BROKEN: frozenset({Status.BROKEN}),
        Severity.ERROR: frozenset({Status.BROKEN}),
        Severity.WARNING: frozenset({Status.BROKEN, Status.ABORTED}),
        Severity.INFO: frozenset({Status.BROKEN, Status.ABORTED, Status.RECOVERED}),
    }
)
_CODES = MappingProxyType(
    {
        StepOutcome.UNKNOWN_TOOL: UNKNOWN_TOOL.code,
        StepOutcome.UNANSWERED: CALL_WITHOUT_RESULT.code,
        StepOutcome.ERROR_RESULT: ERROR_RESULT.code,
    }
)
_FAMILIES = MappingProxyType({StepOutcome.MALFORMED: ("J", "F"), StepOutcome.INVALID: ("S",)})
_PLACES = frozenset({"line", "entry", "record", "document", "sha256"})
_BEFORE, _AFTER = 48, 48


class Inspected(Struct, frozen=True):
    """A trace, where it comes from in words, and its inspection."""

    trace: Trace
    origin: str
    inspection: Inspection


def inspected(trace_input: TraceInput, format: str, tools: MessageList) -> Iterator[Inspected]:
    """Every trace of the input, one at a time; at least one.

    Raises UnreadableFileError if a file contains no trace or cannot be read, UnknownFormatError, and TypeError.
    """
    for trace, origin in _traces(trace_input, format, tools):
        yield Inspected(trace, origin, inspect_trace(trace, format=format or AUTO))


def _traces(trace_input: TraceInput, format: str, tools: MessageList) -> Iterator[tuple[Trace, str]]:
    if isinstance(trace_input, Trace):
        yield (
            trace_input,
            " ".join(word for word in (trace_input.provenance.file, trace_input.provenance.record) if word),
        )
    elif isinstance(trace_input, os.PathLike):
        yield from _of_file(Path(trace_input))
    elif isinstance(trace_input, str):
        yield from _of_path(trace_input) if not format and _is_path(trace_input) else _of_text(trace_input, tools)
    elif messages := _messages(trace_input):
        yield _offered(Trace(read_messages(messages)), tools), "the messages"
    else:
        kind = type(trace_input).__name__
        raise TypeError(f"expected a Trace, a path, a raw text or a list of messages (dictionaries), not {kind}")


def _of_path(path: str) -> Iterator[tuple[Trace, str]]:
    if not Path(path).exists():
        raise UnreadableFileError(f"{path}: there is no such file; with `format` it is read as a raw text")
    yield from _of_file(Path(path))


def _of_text(text: str, tools: MessageList) -> Iterator[tuple[Trace, str]]:
    yield _offered(read_transcript(text), tools), "the text"


def _of_file(path: Path) -> Iterator[tuple[Trace, str]]:
    skipped: list[Skipped] = []
    count = 0
    reading = read_source(path)
    for record in reading.records:
        if isinstance(record, Skipped):
            skipped.append(record)
            continue
        count += 1
        yield record, f"{path}, {record_in_file(record, reading.source, count)}"
    if not count:
        why = f"; {skipped[0].record}: {skipped[0].reason}" if skipped else ""
        raise UnreadableFileError(f"{path} contains no trace{why}")


def _messages(given: object) -> list[Json]:
    """The messages of the input; none if it is something else."""
    listed = list(given) if isinstance(given, Sequence) else []
    return [dict(message) for message in listed] if all(isinstance(message, Mapping) for message in listed) else []


def _is_path(text: str) -> bool:
    """Whether a text names a file, or can hardly be anything else: a missing file must not pass as a correct text."""
    if len(text) > _MAX_PATH_CHARS or "\0" in text:
        return False
    return bool(_LIKE_A_PATH.fullmatch(text)) or Path(text).is_file()


def _offered(trace: Trace, tools: MessageList) -> Trace:
    """The trace with these tools offered in every request."""
    definitions = read_tools([dict(tool) for tool in tools])
    if not definitions:
        return trace
    generation = Generation(tools=definitions, tools_origin=ToolsOrigin.REQUEST)
    turns = (
        structs.replace(turn, generation=generation) if turn.role is Role.ASSISTANT else turn for turn in trace.turns
    )
    return structs.replace(trace, turns=tuple(turns))


def unbroken(
    trace_input: TraceInput,
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    fail_on: str,
    format: str,
    tools: MessageList,
) -> str:
    """Why the chains of the input are broken; `""` if they are not."""
    rules = _rules(select, ignore)
    statuses = _FAILING[_failing(fail_on)]
    return _joined_reasons(_breaks(result, rules, statuses) for result in inspected(trace_input, format, tools))


def clean(
    trace_input: TraceInput,
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    fail_on: str,
    format: str,
    tools: MessageList,
) -> str:
    """The faults and breaks of the input, as text; `""` if there are none."""
    rules = _rules(select, ignore)
    order = [_BROKEN, *Severity]
    counted = frozenset(order[: order.index(_failing(fail_on)) + 1])
    return _joined_reasons(
        _faults(result, rules, counted) or _breaks(result, rules, _FAILING[_BROKEN])
        for result in inspected(trace_input, format, tools)
    )


def _failing(word: str) -> str:
    if word not in _FAILING:
        known = ", ".join(f'"{value}"' for value in (*Severity, _BROKEN))
        raise ValueError(f"`fail_on` must be one of {known}, not {word!r}")
    return word


def _rules(select: Sequence[str], ignore: Sequence[str]) -> frozenset[Rule]:
    words, ignored = _words(select), _words(ignore)
    return (select_rules(words) if words else frozenset(RULES)) - select_rules(ignored)


def _words(given: Sequence[str]) -> tuple[str, ...]:
    """A single word counts as a list of one, since a string is a sequence of its letters, too."""
    return (given,) if isinstance(given, str) else tuple(given)


def _joined_reasons(reasons: Iterable[str]) -> str:
    wrong = [reason for reason in reasons if reason]
    more = len(wrong) - _MAX_TRACES
    ending = [f"and {more} more traces."] if more > 0 else []
    return "\n\n".join([*wrong[:_MAX_TRACES], *ending])


def _breaks(result: Inspected, rules: frozenset[Rule], statuses: frozenset[Status]) -> str:
    chain = result.inspection.chain
    failed_steps = [
        step
        for step in chain.steps
        if step.outcome.failed
        and (step.recovery is None or Status.RECOVERED in statuses)
        and _counts(step, result.inspection.diagnostics, rules)
    ]
    if failed_steps:
        step = next(
            (step for step in failed_steps if chain.broken and step.number == chain.broken.step), failed_steps[0]
        )
        verb = "broke" if step.recovery is None else "stumbled"
        head = f"the chain {verb} at step {step.number} of {len(chain.steps)} in {_named(result)}"
        return _joined(head, step_words(step, chain), _at_step(step, result), result)
    if chain.status is Status.ABORTED and Status.ABORTED in statuses:
        reason = f" by {chain.abort_reason}" if chain.abort_reason else ""
        diagnostics = (fault for fault in result.inspection.diagnostics if fault.rule.code.startswith("C"))
        return _joined(f"{_named(result)} was aborted{reason}", "", diagnostics, result)
    return ""


def _counts(step: Step, diagnostics: Iterable[Diagnostic], rules: frozenset[Rule]) -> bool:
    """Whether a rule by which a step failed is selected; of several rules, one is enough."""
    code = _CODES.get(step.outcome)
    if code is not None:
        return any(rule.code == code for rule in rules)
    families = _FAMILIES.get(step.outcome, ())
    causes = {
        diagnostic.rule
        for diagnostic in diagnostics
        if _in_call(diagnostic, step) and diagnostic.rule.code.startswith(families)
    }
    return bool(causes & rules) if causes else len(rules) == len(RULES)


def _at_step(step: Step, result: Inspected) -> Iterator[Diagnostic]:
    """The diagnostics of a step's call and of its result."""
    for diagnostic in result.inspection.diagnostics:
        result_location, here = step.result_location, diagnostic.place_in_turn
        in_result = result_location is not None and (here.turn, here.part) == (
            result_location.turn,
            result_location.part,
        )
        if _in_call(diagnostic, step) or (
            in_result and result_location is not None and result_location.range.covers(here.range)
        ):
            yield diagnostic


def _in_call(diagnostic: Diagnostic, step: Step) -> bool:
    location, here = step.location, diagnostic.place_in_turn
    if (here.turn, here.part) != (location.turn, location.part):
        return False
    return here.range.start <= location.range.end and location.range.start <= here.range.end


def _faults(result: Inspected, rules: frozenset[Rule], counted: frozenset[str]) -> str:
    diagnostics = [
        fault for fault in result.inspection.diagnostics if fault.rule in rules and fault.rule.severity in counted
    ]
    if not diagnostics:
        return ""
    faults = "1 fault" if len(diagnostics) == 1 else f"{len(diagnostics)} faults"
    return _joined(f"{faults} in {_named(result)}", "", diagnostics, result)


def _joined(head: str, verdict: str, diagnostics: Iterable[Diagnostic], result: Inspected) -> str:
    listed = list(diagnostics)
    more = len(listed) - _MAX_FAULTS
    blocks = ["\n".join(fault_lines(fault, result.trace)) for fault in listed[:_MAX_FAULTS]]
    ending = [f"and {more} more faults."] if more > 0 else []
    return "\n".join(piece for piece in (f"weaklink: {head}.", verdict, *blocks, *ending) if piece)


def _named(result: Inspected) -> str:
    name = result.trace.name or next((id.value for id in result.trace.external_ids if id.name not in _PLACES), "")
    called = f"trace `{shown(name)}`" if name else ""
    where = shown(result.origin)
    return f"{called} ({where})" if called and where else called or where or "the trace"


def step_words(step: Step, chain: Chain) -> str:
    """The outcome of a step in a sentence or two; the verdict of the chain if it broke there."""
    broken = chain.broken
    if broken is not None and broken.step == step.number:
        sentences = [broken.message, f"{reaction_clause(chain, broken)}." if broken.reaction is not None else ""]
        return shown(" ".join(word for word in sentences if word))
    tool = f"`{step.call.name}`" if step.call.name else "a tool without a name"
    recovery = ", and the agent recovered" if step.recovery is not None else ""
    return shown(f"The call of {tool} in turn {step.location.turn} failed ({step.outcome.value}){recovery}.")


def fault_lines(diagnostic: Diagnostic, trace: Trace) -> Iterator[str]:
    """The lines of a diagnostic: its message, its position, the line of the text with carets, and the hint."""
    fault, location = diagnostic.fault, diagnostic.location
    lines = LineIndex(PartTexts(trace).at(location))
    number, column = lines.position(min(location.range.start, len(lines.text)))
    yield f"{fault.rule.severity.value}[{fault.rule.code}] {fault.rule.name}: {shown(fault.message)}"
    gutter = " " * len(str(number))
    yield f"{gutter}--> turn {location.turn}, {shown(location.part)}, line {number} column {column}"
    yield from _excerpt(lines, number, location.range, gutter)
    if fault.hint:
        yield f"{gutter} = help: {shown(fault.hint)}"


def _excerpt(lines: LineIndex, number: int, text_range: Range, gutter: str) -> Iterator[str]:
    text, line = lines.text, lines.line(number)
    start, end = min(text_range.start, line.end), max(min(text_range.end, line.end), min(text_range.start, line.end))
    window = Range(max(line.start, start - _BEFORE), min(line.end, end, start + _AFTER) + _AFTER)
    window = Range(window.start, min(window.end, line.end))
    head, tail = "…" if window.start > line.start else "", "…" if window.end < line.end else ""
    before = head + shown(text[window.start : start])
    marked = shown(text[start : min(end, window.end)])
    yield f"{number} | {before}{marked}{shown(text[min(end, window.end) : window.end])}{tail}"
    yield f"{gutter} | {' ' * len(before)}{'^' * max(len(marked), 1)}"


def shown(text: str) -> str:
    """A text on one line, without invisible characters and cursor movements: these become escapes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
