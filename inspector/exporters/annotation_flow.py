"""The edges of an annotation: for each argument's value, where it came from and which argument it became."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from inspector.chain.data_flow import Flow, Origin
from inspector.chain.origins import OriginKind
from inspector.chain.steps import Step
from inspector.checks.argument_places import ArgumentPlaces
from inspector.diagnostics import Location
from inspector.exporters.annotation_names import path_text, segments
from inspector.exporters.annotation_results import StepResult, typed_path
from inspector.model import Json

AGENT = "agent"
"""The source of a value that stood nowhere before: the agent's own words."""

_NAMES = {OriginKind.SYSTEM: "system_prompt", OriginKind.USER: "user", OriginKind.TOOLS: "tool_definitions"}
_LONGEST = 400
_MOST_SENTENCES = 50


@dataclass(frozen=True, slots=True)
class Edge:
    """One value on its way into a step's arguments.

    `source` names where it came from (`$search_1.results[0].url`, `user`, `system_prompt`, `tool_definitions`,
    `step_2.arguments.city`, `agent`), `is_key` says that it is a member's name there and not its value. `target` is
    the argument (`arguments.url`), `text` what was taken, as the argument writes it. `whole`: all of the argument's
    value came from there; `exact`: and that result holds just this value.
    `origin` is None where the value stood nowhere before.
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
        """The step whose result gave the value, None where none did."""
        origin = self.origin
        return origin.step or None if origin is not None and origin.kind is OriginKind.RESULT else None

    def value(self) -> dict[str, Json]:
        """As JSON; every key is always there."""
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
            "from_place": place_value(origin.location) if origin and origin.location.turn else None,
            "to_place": place_value(self.argument),
        }


def edges_of(
    step: Step, flows: Sequence[Flow], steps: Mapping[int, Step], results: Mapping[int, StepResult]
) -> list[Edge]:
    """The edges into one step, in the order of its arguments; trivial values (true, null, `ab`) have none."""
    places = ArgumentPlaces(step.call)
    found: dict[tuple[str, str, str], Edge] = {}
    for flow in flows:
        if flow.is_trivial:
            continue
        path = typed_path(step.call.arguments, segments(flow.pointer))
        target = path_text("arguments", path)
        argument = Location(step.location.turn, step.location.part, places.of(path))
        for origin in flow.origins or (None,):
            source, is_key = (AGENT, False) if origin is None else _source(origin, steps, results)
            text = str(flow.value) if origin is None else origin.text
            whole = origin is None or origin.text == str(flow.value)
            exact = whole and origin is not None and _is_exact(origin, flow.value, results)
            edge = Edge(source, is_key, target, flow.pointer, text[:_LONGEST], whole, exact, origin, argument)
            found.setdefault((source, target, text), edge)
    return list(found.values())


def by_reference(step: Step, edges: Sequence[Edge]) -> Json:
    """A step's arguments with the variable's path in the place of each value that a result holds exactly so.

    None where there is no such value.
    """
    given = {edge.pointer: edge.source for edge in edges if edge.exact and edge.result_step is not None}
    return _replaced(step.call.arguments, given, "", 0) if given else None


def dependencies(edges: Mapping[int, Sequence[Edge]], variables: Mapping[int, str]) -> str:
    """In words, which step's result was passed into which: one sentence for each such pair and argument."""
    said = dict.fromkeys(_sentences(edges, variables))
    first = list(said)[:_MOST_SENTENCES]
    more = [f"{len(said) - len(first)} more."] if len(said) > len(first) else []
    return " ".join([*first, *more])


def place_value(place: Location) -> dict[str, Json]:
    """A place as JSON: turn from 1, part, and the half-open range in code points."""
    return {"turn": place.turn, "part": place.part, "start": place.range.start, "end": place.range.end}


def _sentences(edges: Mapping[int, Sequence[Edge]], variables: Mapping[int, str]) -> Iterator[str]:
    for number, found in edges.items():
        for edge in found:
            giver = edge.result_step
            if giver is not None and giver in variables:
                path = edge.source.removeprefix(variables[giver]).removeprefix(".")
                what = f"{'key ' if edge.is_key else ''}`{path}`" if path else "text"
                into = edge.target.removeprefix("arguments").removeprefix(".")
                part = "" if edge.whole else "a part of "
                yield f"Step {giver}'s result {what} is passed into step {number} as {part}`{into or 'arguments'}`."


def _source(origin: Origin, steps: Mapping[int, Step], results: Mapping[int, StepResult]) -> tuple[str, bool]:
    """What an edge names its source, and whether that is the key of a member."""
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
        named = (one.name for one in call.parameters if one.range.covers(origin.location.range))
        path = typed_path(call.arguments, pointer or list(islice(named, 1)))
        return path_text(f"step_{origin.step}.arguments", path), False
    return _NAMES.get(origin.kind, AGENT), False


def _is_exact(origin: Origin, value: Json, results: Mapping[int, StepResult]) -> bool:
    if origin.kind is not OriginKind.RESULT or origin.step not in results:
        return False
    return results[origin.step].holds(segments(origin.pointer or ""), value)


def _replaced(value: Any, given: Mapping[str, str], pointer: str, depth: int) -> Json:
    """`value` with what `given` says at each pointer; beyond a depth of 64 nothing is replaced."""
    if pointer in given:
        return given[pointer]
    if depth > 64:
        return value  # type: ignore[no-any-return]  # a JSON value, of which nothing changes
    if isinstance(value, dict):
        return {
            key: _replaced(inner, given, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_replaced(inner, given, f"{pointer}/{index}", depth + 1) for index, inner in enumerate(value)]
    return value  # type: ignore[no-any-return]  # a JSON value, of which nothing changes
