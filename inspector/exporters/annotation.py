"""A trace as an annotation for training data: its step results, the data flow between them, and its decision points.

The keys `steps`, `step_id`, `tool`, `arguments`, `output_var`, `produces`, `depends_on`, `data_flow`, `critical_path`,
`annotations`, `decision_points`, `after_step`, `condition`, `action` and `reasoning` are those that multi-step
function-calling data uses; all other keys link their values to the characters of the trace.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from weaklink.inspector.chain.data_flow import ArgumentFlow, Origin, OriginKind
from weaklink.inspector.chain.outcomes import is_empty
from weaklink.inspector.chain.steps import CallFaults, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import bare_name
from weaklink.inspector.checks.arguments import ArgumentPlaces
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.exporters.annotation_decisions import Condition, FollowingAction, NextActionFinder, conditions
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import data_flow_of
from weaklink.inspector.model import Json, Trace
from weaklink.inspector.wire.provider_json import parse_json

_MAX_PATHS = 40
_MAX_VISITED = 4_000
_MAX_DEPTH = 24
_NOT_JSON: Any = object()
AGENT = "agent"
"""The source of a value that was not found earlier: the agent itself."""

_NAMES = {OriginKind.SYSTEM: "system_prompt", OriginKind.USER: "user", OriginKind.TOOLS: "tool_definitions"}
_MAX_VALUE_CHARS = 400
_MAX_SENTENCES = 50
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NO_WORD = re.compile(r"\W+")
_MAX_NAME_CHARS = 60
ANY = -1
"""Instead of an index: every element of a list."""


class StepResult:
    """The result of one step. Its JSON is decoded once, when it is first used."""

    def __init__(self, step: Step, variable: str) -> None:
        self._step, self.variable = step, variable

    @property
    def kind(self) -> str | None:
        """`error`, `empty`, `object`, `array`, `text`; None if there is no result."""
        step = self._step
        if step.result is None:
            return None
        if step.outcome is StepOutcome.ERROR_RESULT:
            return "error"
        if is_empty(step.result):
            return "empty"
        return "object" if isinstance(self._value, dict) else "array" if isinstance(self._value, list) else "text"

    def produces(self, used: Sequence[str]) -> list[Json]:
        """Paths into the result, at most forty: first `used`, those that later steps use, then all others in order.

        In the others, `[*]` means every element of a list. A result that is no JSON is one text.
        """
        if self._step.result is None or not self._step.result.content.strip():
            return []
        if self._value is _NOT_JSON:
            return [self.variable]
        paths: dict[str, None] = dict.fromkeys(used[:_MAX_PATHS])
        for path in _shape(self._value):
            if len(paths) >= _MAX_PATHS:
                break
            paths.setdefault(path_text(self.variable, path))
        return list(paths)

    def path(self, segments: Sequence[str]) -> list[str | int]:
        """The keys and indexes of a pointer into the result: digits are an index if the value is a list."""
        return typed_path(self._value, segments)

    def key(self, segments: Sequence[str], text: str) -> str | None:
        """The key of the object at a place that equals this text, ignoring case; None if there is none."""
        value = self._value_at(segments)
        if not isinstance(value, dict):
            return None
        folded = text.casefold()
        return next((key for key in value if key.casefold() == folded), None)

    def holds(self, segments: Sequence[str], value: Json) -> bool:
        """Whether exactly this value is at a place of the result, or is the whole text of a result that is no JSON."""
        if self._value is _NOT_JSON:
            return self._step.result is not None and self._step.result.content.strip() == value
        inner = self._value_at(segments)
        return inner is not _NOT_JSON and type(inner) is type(value) and bool(inner == value)

    def _value_at(self, segments: Sequence[str]) -> Any:
        value = self._value
        for part in self.path(segments):
            match value, part:
                case dict(), str() if part in value:
                    value = value[part]
                case list(), int() if part < len(value):
                    value = value[part]
                case _:
                    return _NOT_JSON
        return value

    @cached_property
    def _value(self) -> Any:
        text = self._step.result.content.strip() if self._step.result is not None else ""
        if text[:1] not in ("{", "["):
            return _NOT_JSON
        try:
            return parse_json(text)
        except ValueError:
            return _NOT_JSON


def typed_path(value: Json, segments: Sequence[str]) -> list[str | int]:
    """The keys and indexes that the `segments` of a JSON Pointer refer to in `value`."""
    path: list[str | int] = []
    for part in segments:
        if isinstance(value, list) and part.isdecimal():
            index = int(part)
            path.append(index)
            value = value[index] if index < len(value) else None
        else:
            path.append(part)
            value = value.get(part) if isinstance(value, dict) else None
    return path


def _shape(value: Json) -> Iterator[list[str | int]]:
    """The paths of all values without inner values, depth first; looks at no more than 4,000 values."""
    waiting: list[tuple[list[str | int], Json]] = [([], value)]
    for _ in range(_MAX_VISITED):
        if not waiting:
            return
        path, current = waiting.pop()
        if isinstance(current, dict) and current and len(path) < _MAX_DEPTH:
            waiting += reversed([([*path, key], inner) for key, inner in current.items()])
        elif isinstance(current, list) and current and len(path) < _MAX_DEPTH:
            waiting += reversed([([*path, ANY], inner) for inner in current[:_MAX_VISITED]])
        else:
            yield path


class Edge(Struct, frozen=True):
    """One value that flows into a step's arguments.

    `source` names where it came from (`$search_1.results[0].url`, `user`, `system_prompt`, `tool_definitions`,
    `step_2.arguments.city`, `agent`); `is_key`: it is a member's name there and not its value. `target` is the argument
    (`arguments.url`), `text` the text that was taken, as the argument has it. `whole`: all of the argument's value came
    from there; `exact`: and that result contains exactly this value.
    `origin` is None if the value was not found earlier.
    """

    source: str
    is_key: bool
    target: str
    pointer: str
    text: str
    whole: bool
    exact: bool
    origin: Origin | None
    argument: Location

    @property
    def result_step(self) -> int | None:
        """The step whose result provided the value, None if none did."""
        origin = self.origin
        return origin.step or None if origin is not None and origin.kind is OriginKind.RESULT else None

    def value(self) -> dict[str, Json]:
        """The edge as JSON; every key is always present."""
        origin = self.origin
        return {
            "from": self.source,
            "to": self.target,
            "from_key": self.is_key,
            "kind": origin.kind.value if origin else AGENT,
            "step": origin.step or None if origin else None,
            "text": self.text,
            "whole": self.whole,
            "exact": self.exact,
            "from_pointer": origin.pointer if origin else None,
            "to_pointer": self.pointer,
            "from_place": location_value(origin.location) if origin and origin.location.turn else None,
            "to_place": location_value(self.argument),
        }


def edges_of(
    step: Step, flows: Sequence[ArgumentFlow], steps: Mapping[int, Step], results: Mapping[int, StepResult]
) -> list[Edge]:
    """The edges into one step, in the order of its arguments; trivial values (true, null, `ab`) have none."""
    locator = ArgumentPlaces(step.call)
    edges: dict[tuple[str, str, str], Edge] = {}
    for flow in flows:
        if flow.is_trivial:
            continue
        path = typed_path(step.call.arguments, segments(flow.pointer))
        target = path_text("arguments", path)
        argument = Location(step.location.turn, step.location.part, locator.of(path))
        for origin in flow.origins or (None,):
            source, is_key = (AGENT, False) if origin is None else _source(origin, steps, results)
            text = str(flow.value) if origin is None else origin.text
            whole = origin is None or origin.text == str(flow.value)
            exact = whole and origin is not None and _is_exact(origin, flow.value, results)
            edge = Edge(source, is_key, target, flow.pointer, text[:_MAX_VALUE_CHARS], whole, exact, origin, argument)
            edges.setdefault((source, target, text), edge)
    return list(edges.values())


def by_reference(step: Step, edges: Sequence[Edge]) -> Json:
    """A step's arguments with the variable's path instead of each value that a result contains exactly.

    None if there is no such value.
    """
    sources = {edge.pointer: edge.source for edge in edges if edge.exact and edge.result_step is not None}
    return _replaced(step.call.arguments, sources, "", 0) if sources else None


def dependencies(edges: Mapping[int, Sequence[Edge]], variables: Mapping[int, str]) -> str:
    """Sentences on which step's result was passed into which step: one for each such pair and argument."""
    sentences = dict.fromkeys(_sentences(edges, variables))
    first = list(sentences)[:_MAX_SENTENCES]
    more = [f"{len(sentences) - len(first)} more."] if len(sentences) > len(first) else []
    return " ".join([*first, *more])


def location_value(location: Location) -> dict[str, Json]:
    """A location as JSON: turn from 1, part, and the half-open range in code points."""
    return {"turn": location.turn, "part": location.part, "start": location.range.start, "end": location.range.end}


def _sentences(edges: Mapping[int, Sequence[Edge]], variables: Mapping[int, str]) -> Iterator[str]:
    for number, step_edges in edges.items():
        for edge in step_edges:
            earlier = edge.result_step
            if earlier is not None and earlier in variables:
                path = edge.source.removeprefix(variables[earlier]).removeprefix(".")
                what = f"{'key ' if edge.is_key else ''}`{path}`" if path else "text"
                into = edge.target.removeprefix("arguments").removeprefix(".")
                part = "" if edge.whole else "a part of "
                yield f"Step {earlier}'s result {what} is passed into step {number} as {part}`{into or 'arguments'}`."


def _source(origin: Origin, steps: Mapping[int, Step], results: Mapping[int, StepResult]) -> tuple[str, bool]:
    """The name of an edge's source, and whether that is the key of a member."""
    pointer = segments(origin.pointer or "")
    if origin.kind is OriginKind.RESULT:
        if origin.step not in results:
            return "unpaired_result", False
        result = results[origin.step]
        key = result.key(pointer, origin.text)
        path = result.path(pointer) if key is None else [*result.path(pointer), key]
        return path_text(result.variable, path), key is not None
    if origin.kind is OriginKind.ARGUMENT and origin.step in steps:
        call = steps[origin.step].call
        named = (parameter.name for parameter in call.parameters if parameter.range.covers(origin.location.range))
        path = typed_path(call.arguments, pointer or list(islice(named, 1)))
        return path_text(f"step_{origin.step}.arguments", path), False
    return _NAMES.get(origin.kind, AGENT), False


def _is_exact(origin: Origin, value: Json, results: Mapping[int, StepResult]) -> bool:
    if origin.kind is not OriginKind.RESULT or origin.step not in results:
        return False
    return results[origin.step].holds(segments(origin.pointer or ""), value)


def _replaced(value: Any, replacements: Mapping[str, str], pointer: str, depth: int) -> Json:
    """`value` with the replacements at their pointers; beyond a depth of 64 nothing is replaced."""
    if pointer in replacements:
        return replacements[pointer]
    if depth > 64:
        return value  # type: ignore[no-any-return]  # a JSON value, of which nothing changes
    if isinstance(value, dict):
        return {
            key: _replaced(inner, replacements, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_replaced(inner, replacements, f"{pointer}/{index}", depth + 1) for index, inner in enumerate(value)]
    return value  # type: ignore[no-any-return]  # a JSON value, of which nothing changes


def annotation(trace: Trace, inspection: Inspection, id: int | None = None) -> dict[str, Json]:
    """The annotation of a trace; `id` is its number in a database. Every key is always present. Never raises.

    Conditions are observed facts, and actions are what the agent did next; `reasoning` is the agent's own text, at most
    600 code points of it, and null if there is none. Takes time linear in the trace, except for a logarithm.
    """
    steps = inspection.chain.steps
    flow = data_flow_of(trace, inspection)
    variables = output_variables(steps)
    results = {step.number: StepResult(step, variables[step.number]) for step in steps}
    edges = _edges(steps, flow.flows, results)
    used = _used(edges, results)
    return {
        "id": id,
        **_origin(trace, inspection),
        "steps": [_step(step, edges, results, used) for step in steps],
        "critical_path": list(flow.critical_path),
        "annotations": {"data_dependencies": dependencies(edges, variables)},
        "decision_points": _decision_points(trace, inspection),
    }


def _origin(trace: Trace, inspection: Inspection) -> dict[str, Json]:
    """Which trace this is, and how it ended."""
    provenance, chain = trace.provenance, inspection.chain
    broken = chain.broken
    return {
        "name": trace.name,
        "source": provenance.source,
        "file": provenance.file,
        "record": provenance.record,
        "external_ids": {id_.name: id_.value for id_ in trace.external_ids},
        "model": trace.model,
        "format": inspection.format,
        "status": chain.status.value,
        "break": None if broken is None else {"step": broken.step, "code": broken.code, "message": broken.message},
    }


def _edges(
    steps: Sequence[Step], flows: Sequence[ArgumentFlow], results: Mapping[int, StepResult]
) -> dict[int, list[Edge]]:
    by_step: defaultdict[int, list[ArgumentFlow]] = defaultdict(list)
    for flow in flows:
        by_step[flow.step].append(flow)
    numbered = {step.number: step for step in steps}
    return {step.number: edges_of(step, by_step[step.number], numbered, results) for step in steps}


def _used(edges: Mapping[int, Sequence[Edge]], results: Mapping[int, StepResult]) -> dict[int, list[str]]:
    """The paths of each step's result that later steps use."""
    used: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for step_edges in edges.values():
        for edge in step_edges:
            if (source_step := edge.result_step) in results and source_step is not None:
                used[source_step][edge.source] = None
    return {number: list(paths) for number, paths in used.items()}


def _step(
    step: Step,
    edges: Mapping[int, Sequence[Edge]],
    results: Mapping[int, StepResult],
    used: Mapping[int, Sequence[str]],
) -> Json:
    step_edges, result = edges[step.number], results[step.number]
    return {
        "step_id": step.number,
        "tool": step.call.name,
        "arguments": step.call.arguments,
        "output_var": result.variable,
        "produces": result.produces(used.get(step.number, ())),
        "depends_on": list(step.depends_on),
        "data_flow": [edge.value() for edge in step_edges],
        "arguments_by_reference": by_reference(step, step_edges),
        "result_kind": result.kind,
        "outcome": step.outcome.value,
        "retry_of": step.retry_of,
        "recovery": step.recovery.value if step.recovery else None,
        "recovered_by": step.recovered_by,
        "call_id": step.call.id,
        "call_place": location_value(step.location),
        "result_place": location_value(step.result_location) if step.result_location else None,
    }


def _decision_points(trace: Trace, inspection: Inspection) -> list[Json]:
    finder = NextActionFinder(trace, inspection)
    step_conditions = conditions(inspection.chain.steps, CallFaults(inspection.diagnostics))
    return [_decision_point(step, condition, finder.after(step)) for step, condition in step_conditions]


def _decision_point(step: Step, condition: Condition, following: FollowingAction) -> Json:
    location = step.result_location or step.location
    return {
        "after_step": step.number,
        "condition": condition.text,
        "action": following.action.value if following.action else None,
        "reasoning": following.reasoning.text if following.reasoning else None,
        "condition_kind": condition.kind.value,
        "condition_code": condition.code,
        "next_steps": list(following.steps),
        "condition_place": location_value(location),
        "reasoning_place": location_value(following.reasoning.location) if following.reasoning else None,
    }


def output_variables(steps: Iterable[Step]) -> Mapping[int, str]:
    """The variable of each step by the step's number: `$search_flights_2` is the second call of `search_flights`.

    No two steps share one, and the same chain always gives the same variables.
    """
    seen: Counter[str] = Counter()
    names = {}
    for step in steps:
        stem = _stem(step.call.name)
        seen[stem] += 1
        names[step.number] = f"${stem}_{seen[stem]}"
    return MappingProxyType(names)


def segments(pointer: str) -> list[str]:
    """The keys and indexes of a JSON Pointer (RFC 6901), unescaped."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def path_text(root: str, path: Sequence[str | int]) -> str:
    """A path as `$search_1.results[0].url`; a key that is no identifier is in brackets."""
    return root + "".join(map(_segment, path))


def _segment(part: str | int) -> str:
    if isinstance(part, int):
        return "[*]" if part == ANY else f"[{part}]"
    return f".{part}" if _IDENTIFIER.fullmatch(part) else f"[{json.dumps(part)}]"


def _stem(tool: str | None) -> str:
    """A tool's name as an identifier, without its namespace."""
    stem = _NO_WORD.sub("_", bare_name(tool or "")[:_MAX_NAME_CHARS]).strip("_")
    if not stem:
        return "call"
    return stem if not stem[0].isdigit() else f"tool_{stem}"
