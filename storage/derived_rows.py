"""An inspection as rows: the columns that lists show, the rows that filters query, and the figures of statistics."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from math import isfinite

from msgspec import Struct

from weaklink.inspector.chain.endings import abort_words
from weaklink.inspector.chain.metrics_figures import TraceFigures, figures_of
from weaklink.inspector.chain.steps import Break, Status, Step, StepOutcome
from weaklink.inspector.checks.context import fullest_share
from weaklink.inspector.inspected import Inspection, PartInspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role, SpanKind, Trace
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.scanning import lazy_pattern
from weaklink.storage.checksums import derived_checksum
from weaklink.storage.packing.blobs import escaped, key
from weaklink.storage.packing.derived_values import Texts, texts_of
from weaklink.storage.packing.inspections import pack_inspection
from weaklink.storage.tables import Row

MAX_VALUES_PER_CALL = 50
"""Maximum number of values that are stored for one call."""

MAX_VALUES_PER_TRACE = 500
"""Maximum number of different values, each with its path, that are stored for a trace."""

MAX_VALUE_CHARS = 120
"""Code points; of a longer value, the first 80 and a hash of the whole value are stored."""

MAX_PATH_CHARS = 200
"""Code points; values at longer paths are left out."""

_PLAIN_KEY = lazy_pattern(r"[A-Za-z_][\w-]*")
_SHORT_NUMBER = 10**18
_WORDS = {True: "true", False: "false", None: "null"}
_NUMBER = lazy_pattern(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


class DerivedRows(Struct, frozen=True):
    """The rows of an inspection; `trace` has the derived columns of the trace's row."""

    digest: bytes
    trace: Row
    inspection: Row
    calls: list[Row]
    diagnostics: list[Row]
    tools: list[Row]
    codes: list[Row]
    arguments: list[Row]
    figures: Row
    violations: list[Row]


def derived_rows(inspection: Inspection, trace: Trace) -> DerivedRows:
    """An inspection of this trace, as rows."""
    texts = texts_of(trace)
    severities = Counter(diagnostic.rule.severity for diagnostic in inspection.diagnostics)
    packed = pack_inspection(inspection, texts)
    calls = call_rows(inspection)
    diagnostics = [
        {
            "number": index,
            "turn": diagnostic.location.turn,
            "part": escaped(diagnostic.location.part),
            "start": diagnostic.location.range.start,
            "end": diagnostic.location.range.end,
            "code": diagnostic.rule.code,
            "severity": diagnostic.rule.severity.value,
        }
        for index, diagnostic in enumerate(inspection.diagnostics)
    ]
    codes = Counter(diagnostic.rule.code for diagnostic in inspection.diagnostics)
    figures = figures_in(trace, inspection)
    columns = {
        "inspector_version": escaped(inspection.version),
        "format": key(inspection.format),
        "status": inspection.chain.status.value,
        "abort_reason": _escaped(inspection.chain.abort_reason),
        "tool_calls": len(calls),
        "errors": severities[Severity.ERROR],
        "warnings": severities[Severity.WARNING],
        **_filter_columns(inspection, trace, texts),
        **_break_columns(inspection.chain.broken),
    }
    if inspection.chain.status is Status.ABORTED and inspection.chain.broken is None:
        columns["break_message"] = escaped(abort_words(trace))
    return DerivedRows(
        digest=packed.digest,
        trace=columns | {"derived_checksum": derived_checksum(columns, packed.digest)},
        inspection=packed._asdict(),
        calls=calls,
        diagnostics=diagnostics,
        tools=tool_rows(figures),
        codes=[{"code": code, "diagnostics": count} for code, count in codes.items()],
        arguments=argument_rows(inspection.parts),
        figures=dict(figures.numbers()),
        violations=violation_rows(figures),
    )


def call_rows(inspection: Inspection) -> list[Row]:
    """The rows of all calls; those that are steps have an outcome."""
    steps = {(step.location.turn, step.location.part, step.call.range): step for step in inspection.chain.steps}
    placed = [(part, call) for part in inspection.parts for call in part.calls]
    return [
        {
            "number": index,
            "turn": part.turn,
            "part": escaped(part.part),
            "start": call.range.start,
            "end": call.range.end,
            "name": None if call.name is None else key(call.name),
            "valid": call.valid,
            "recovered": call.recovered,
        }
        | _outcome(steps.get((part.turn, part.part, call.range)))
        for index, (part, call) in enumerate(placed)
    ]


def _filter_columns(inspection: Inspection, trace: Trace, texts: Texts) -> Row:
    """The derived columns of the trace's row for filters and statistics."""
    assistant = [number for number, turn in enumerate(trace.turns, 1) if turn.role is Role.ASSISTANT]
    infos = sum([diagnostic.rule.severity is Severity.INFO for diagnostic in inspection.diagnostics])
    measures = measure_columns(inspection, texts, assistant)
    certainty = inspection.chain.certainty.value
    return {"infos": infos, "context_share": fullest_share(trace), "certainty": certainty} | measures


def _break_columns(broken: Break | None) -> Row:
    return {
        "break_step": broken and broken.step,
        "break_turn": broken and broken.turn,
        "break_tool": broken and _escaped(broken.tool),
        "break_outcome": broken and broken.outcome.value,
        "break_code": broken and _escaped(broken.code),
        "break_message": broken and escaped(broken.message),
        "break_reaction": broken and broken.reaction and broken.reaction.value,
    }


def _outcome(step: Step | None) -> Row:
    return {
        "outcome": step and step.outcome.value,
        "certainty": step and step.certainty and step.certainty.value,
        "step": step and step.number,
        "recovery": step and step.recovery and step.recovery.value,
        "recovered_by": step and step.recovered_by,
        "result_kind": step and step.result_kind and step.result_kind.value,
        "said": step and step.said and step.said.value,
    }


def _escaped(text: str | None) -> str | None:
    return None if text is None else escaped(text)


# The arguments of a trace's calls as rows that filters query: one row for each value and path, once per trace.
#
# Values are stored case-folded and shortened, numbers also as numbers. Filters do not find values beyond the bounds
# above; the inspection has the exact arguments.


def argument_rows(parts: Iterable[PartInspection]) -> list[Row]:
    """The rows for the arguments of all calls in these parts, without the trace's id."""
    arguments: dict[tuple[str, str, str], float | None] = {}
    for part in parts:
        for call in part.calls:
            if not isinstance(call.arguments, dict):
                continue
            for index, (name, path, leaf) in enumerate(argument_leaves(call.arguments)):
                if index == MAX_VALUES_PER_CALL:
                    break
                text = leaf if isinstance(leaf, str) else _written(leaf)
                arguments.setdefault((name, value_key(text), path), _number(leaf))
            if len(arguments) >= MAX_VALUES_PER_TRACE:
                return _rows(arguments)
    return _rows(arguments)


def _rows(arguments: dict[tuple[str, str, str], float | None]) -> list[Row]:
    kept = islice(arguments.items(), MAX_VALUES_PER_TRACE)
    return [{"name": name, "value": value, "path": path, "number": number} for (name, value, path), number in kept]


def _written(leaf: Json) -> str:
    """A value as `write_json` writes it; common values take a fast path."""
    if leaf is True or leaf is False or leaf is None:
        return _WORDS[leaf]
    if (type(leaf) is int and -_SHORT_NUMBER < leaf < _SHORT_NUMBER) or (type(leaf) is float and isfinite(leaf)):
        return repr(leaf)
    return write_json(leaf)


def value_key(text: str) -> str:
    """A value as it is stored and looked up: case-folded and shortened."""
    return key(text.casefold(), longest=MAX_VALUE_CHARS)


def path_of(key_or_index: str | int) -> str:
    """One step of a path, as it is written after `$`: `.city`, `["a b"]` or `[0]`."""
    if isinstance(key_or_index, int):
        return f"[{key_or_index}]"
    if _PLAIN_KEY.fullmatch(key_or_index):
        return f".{key_or_index}"
    return f"[{json.dumps(key_or_index, ensure_ascii=False)}]"


def argument_leaves(arguments: Json) -> Iterator[tuple[str, str, Json]]:
    """Each value that contains no others, in order: the name of its key, its path, and the value."""
    stack: list[tuple[str, str, Json]] = [("", "$", arguments)]
    while stack:
        name, path, value = stack.pop()
        if len(path) > MAX_PATH_CHARS:
            continue
        if isinstance(value, dict) and value:
            inner: list[tuple[str, str, Json]] = [
                (key(member, longest=MAX_VALUE_CHARS), path + escaped(path_of(member)), value[member])
                for member in list(value)[: MAX_VALUES_PER_CALL + 1]
            ]
            stack += reversed(inner)
        elif isinstance(value, list) and value:
            items = value[: MAX_VALUES_PER_CALL + 1]
            inner = [(name, path + path_of(index), item) for index, item in enumerate(items)]
            stack += reversed(inner)
        elif value != {} or path != "$":
            yield name, path, value


def _number(leaf: Json) -> float | None:
    if isinstance(leaf, bool) or leaf is None:
        return None
    if isinstance(leaf, str):
        return float(leaf) if _NUMBER.fullmatch(leaf) else None
    if isinstance(leaf, int | float | Decimal):
        try:
            number = float(leaf)
        except (OverflowError, ValueError):
            return None
        return number if isfinite(number) else None
    return None


def figures_in(trace: Trace, inspection: Inspection) -> TraceFigures:
    """The figures of a trace, as its inspection sees it."""
    definitions = ((part.turn, tool) for part in inspection.parts for tool in part.definitions)
    return figures_of(trace, inspection.chain, inspection.diagnostics, definitions)


def tool_rows(figures: TraceFigures) -> list[Row]:
    """The counts over the calls of each tool; an unreadable name is stored as an empty one."""
    return [{"name": key(tool), **figures.numbers_of(tool)} for tool in figures.tools]


def violation_rows(figures: TraceFigures) -> list[Row]:
    """The violations of tools' schemas, counted by tool, path in the schema, and rule."""
    times: Counter[tuple[str, str, str]] = Counter()
    for violation in figures.violations:
        times[key(violation.tool), key(violation.path), violation.code] += violation.times
    return [{"tool": tool, "path": path, "code": code, "times": n} for (tool, path, code), n in times.items()]


def measure_columns(inspection: Inspection, texts: Texts, assistant_turns: Sequence[int]) -> Row:
    """The columns of spans, reasoning and steps; `assistant_turns` are the numbers of the turns that the model wrote.

    `kinds` are the kinds of the top-level spans, sorted and comma-separated. `reasoning` is `on` if every assistant
    turn has reasoning that is not blank, `off` if none has, else `mixed`; it is empty without assistant turns.
    """
    kinds: set[SpanKind] = set()
    reasons: defaultdict[int, bool] = defaultdict(bool)
    for part in inspection.parts:
        kinds.update([span.kind for span in part.spans])
        for span in part.spans:
            if span.kind is SpanKind.REASONING and span.inner.of(texts.get((part.turn, part.part), "")).strip():
                reasons[part.turn] = True
                break
    return {
        "kinds": ",".join(sorted(kinds)),
        "reasoning": _reasoning([reasons[number] for number in assistant_turns]),
        **_step_columns(inspection.chain.steps),
    }


def _reasoning(turns: Sequence[bool]) -> str:
    if not turns:
        return ""
    if all(turns):
        return "on"
    return "mixed" if any(turns) else "off"


def _step_columns(steps: Sequence[Step]) -> Row:
    failed = [step for step in steps if step.outcome.failed]
    return {
        "steps": len(steps),
        "steps_ok": sum([step.outcome is StepOutcome.OK for step in steps]),
        "steps_failed": len(failed),
        "steps_recovered": sum([step.recovery is not None for step in failed]),
    }


def inspect_trace(trace: Trace) -> Inspection:
    """`inspector.inspection.inspect_trace` without options, imported on first use."""
    from weaklink.inspector.inspection import inspect_trace as inspect  # noqa: PLC0415  # checks and formats: a sixth of the time of listing traces

    return inspect(trace)
