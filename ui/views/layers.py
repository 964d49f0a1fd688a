"""The layers of calls and results, with the characters marked that differ from the layer before."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from inspector.chain.layers import compare_reply, result_difference, same_call, same_run
from inspector.chain.steps import Step
from inspector.diagnostics import RUN_ARGUMENTS, RUN_RESULT, SENT_PART, Diagnostic, Location
from inspector.inspected import Inspection
from inspector.model import Part, RecordedRun, ToolCall, Trace, Turn
from inspector.model.exchange import requests_of, shared_prefix, shared_suffix
from inspector.text import Range
from inspector.wire.provider_json import parse_json
from ui.views.styled_text import Line, Run, Style, padded, visible_line, wrapped

NOT_RECORDED = "not recorded"
NOT_COMPARABLE = "not comparable"
"""The basis of a layer that its source keeps in a form of its own, or only in part."""
FIRST_READ = "first-read"
"""The basis of a returned layer that nobody recorded: the first request that holds the result stands for it."""

_AROUND, _LONGEST = 60, 400  # code points shown before a difference, and of a text
_COLUMN = 50  # cells of a layer that has others beside it, at least


class Layer(StrEnum):
    """Whose version of a call, or of its result."""

    EMITTED = "emitted"
    PARSED = "parsed"
    EXECUTED = "executed"
    RETURNED = "returned"
    READ = "read"


class CallLayer(NamedTuple):
    """One layer: its text (None: not recorded), where it is, and a word on where it comes from.

    `request` is the turn whose request has this text, 0 where it is not from a later request. `is_same` says whether it
    has the value of the layer before where their texts alone do not say so. One that is not `is_comparable` is in a
    form of its own: no layer is compared with it.
    """

    name: Layer
    text: str | None
    place: Location | None = None
    basis: str = ""
    request: int = 0
    is_same: bool | None = None
    is_comparable: bool = True

    def is_same_as(self, before: str | None, *, is_result: bool) -> bool | None:
        """Whether it has the value of the layer before; None where one of the two is not recorded."""
        if before is None or self.text is None or not self.is_comparable:
            return None
        if self.is_same is not None:
            return self.is_same
        return result_difference(before, self.text) is None if is_result else same_run(before, self.text)


class StepLayers(NamedTuple):
    """The layers of a step's call, and those of its result, in the order in which they came about."""

    call: tuple[CallLayer, ...]
    result: tuple[CallLayer, ...]

    @property
    def are_several(self) -> bool:
        """Whether anything can be compared: two layers of the call, or of the result, are recorded."""
        return any(sum(one.text is not None for one in layers) > 1 for layers in self)

    @property
    def differ(self) -> bool:
        """Whether two layers that are recorded do not have the same value."""
        return any(
            layer.is_same_as(before, is_result=layers is self.result) is False
            for layers in self
            for before, layer in with_before(layers)
        )

    @property
    def places(self) -> list[Location]:
        """Where the layers are in the texts of the trace, each place once."""
        return list(dict.fromkeys(one.place for one in (*self.call, *self.result) if one.place is not None))

    def text_of(self, layer: Layer) -> tuple[str | None, str | None]:
        """The arguments and the result at a layer, None where that is not recorded; of several, what was read last."""
        call = [one.text for one in self.call if one.name is layer and one.text is not None]
        result = [one.text for one in self.result if one.name is layer and one.text is not None]
        return call[-1] if call else None, result[-1] if result else None


class SentVersion(NamedTuple):
    """The words that the request of a turn has, in message `number` (from 1), for what was said otherwise before."""

    request: int
    number: int
    said: Turn

    def place(self, part: str) -> Location:
        """One of its parts, whole."""
        found = self.said.part(part)
        return Location(self.request, f"{SENT_PART}{self.number}:{part}", Range(0, len(found.text) if found else 0))


class TraceLayers:
    """The layers of the steps of one trace; what later requests have in other words is looked up once.

    Whoever knows that no request is recorded says so with `has_requests`, and none is looked for.
    """

    def __init__(self, trace: Trace, inspection: Inspection, *, has_requests: bool = True) -> None:
        self._trace, self._inspection, self._has_requests = trace, inspection, has_requests

    @cached_property
    def sent_versions(self) -> Mapping[int, SentVersion]:
        """The turns that a later request has in other words, each with the first such request's."""
        found: dict[int, SentVersion] = {}
        for request in requests_of(self._trace.turns) if self._has_requests else ():
            if isinstance(request, int):
                continue
            for number, message in enumerate(request.own, request.kept + 1):
                if message.turn is not None and message.version is not None:
                    found.setdefault(message.turn, SentVersion(request.turn, number, message.version))
        return found

    @cached_property
    def differences(self) -> Mapping[int, Sequence[Diagnostic]]:
        """The diagnostics of each turn's request: how it differs from what was said before."""
        found: dict[int, list[Diagnostic]] = {}
        for diagnostic in self._inspection.diagnostics if self._has_requests else ():
            if diagnostic.location.part.startswith(SENT_PART):
                found.setdefault(diagnostic.location.turn, []).append(diagnostic)
        return found

    def of(self, step: Step) -> StepLayers:
        """The layers of a step."""
        turns, place = self._trace.turns, step.result_location
        run = turns[place.turn - 1].run if place is not None else None
        call = [
            *self._answer_layers(step),
            _run_layer(Layer.EXECUTED, run, place),
        ]
        text = step.result.content if step.result is not None else None
        returned = _run_layer(Layer.RETURNED, run, place)
        if returned.text is None and text is not None:
            returned = returned._replace(basis=FIRST_READ)
        basis = f"first read, turn {place.turn}" if place is not None else ""
        result = [returned, CallLayer(Layer.READ, text, place, basis)]
        for sent in self._later_versions(step):
            said, later = sent.said, f"request of turn {sent.request}"
            if (part := _sent_call(said, step)) is not None:
                call.append(CallLayer(Layer.READ, part.text, sent.place(part.name), later, sent.request))
            elif (whole := said.part("text")) is not None and said.result is not None:
                result.append(CallLayer(Layer.READ, whole.text, sent.place("text"), later, sent.request))
        return StepLayers(tuple(call), tuple(result))

    def in_turn(self, place: Location) -> Location:
        """What a place in a request has of a turn's own texts, where a difference or another version is known there."""
        if not place.part.startswith(SENT_PART):
            return place
        number, _, name = place.part.removeprefix(SENT_PART).partition(":")
        for one in self.differences.get(place.turn, ()):
            if one.location.part == place.part:
                return one.place_in_turn
        for turn, sent in self.sent_versions.items():
            if (sent.request, str(sent.number)) == (place.turn, number):
                return Location(turn, name, place.range)
        return place

    def other_sides(self, place: Location) -> list[Location]:
        """The two places of each difference that has a place as one of its sides."""
        found = (one for held in self.differences.values() for one in held)
        sides = ((one.place_in_turn, one.location) for one in found)
        return [side for both in sides if any(_is_same_part(place, one) for one in both) for side in both]

    def emitted_at(self, place: Location) -> Step | None:
        """The step whose call the model wrote at a place, where the server's reply has the call too."""
        steps = self._inspection.chain.steps
        for index in range(bisect_left(steps, place.turn, key=lambda step: step.location.turn), len(steps)):
            if steps[index].location.turn != place.turn:
                break
            wrote = self._answer_layers(steps[index])[0].place
            if (
                wrote is not None
                and wrote.part == place.part
                and wrote.range.start <= place.range.start < wrote.range.end
            ):
                return steps[index]
        return None

    def _answer_layers(self, step: Step) -> tuple[CallLayer, CallLayer]:
        """What the model wrote of a call, and what the server's reply has of it."""
        if step.location.part == "text":
            return CallLayer(Layer.EMITTED, step.call.raw_arguments, step.location), CallLayer(Layer.PARSED, None)
        calls = self._calls_of(step.location.turn)
        written = [call for call in calls.get("text", ()) if call.valid]
        parsed = [call for name, held in calls.items() if name.startswith("call:") for call in held]
        changed = {id(reply): call for call, reply in compare_reply(written, parsed).changed}
        reply = next((call for call in calls.get(step.location.part, ()) if call.range == step.call.range), step.call)
        found = changed.get(id(reply)) or next((call for call in written if same_call(call, step.call)), None)
        place = Location(step.location.turn, "text", found.range) if found is not None else None
        emitted = CallLayer(Layer.EMITTED, found.raw_arguments if found is not None else None, place)
        is_same = None if found is None else id(reply) not in changed
        return emitted, CallLayer(Layer.PARSED, step.call.raw_arguments, step.location, is_same=is_same)

    def _calls_of(self, turn: int) -> dict[str, Sequence[ToolCall]]:
        parts = self._inspection.parts
        found: dict[str, Sequence[ToolCall]] = {}
        for index in range(bisect_left(parts, turn, key=lambda part: part.turn), len(parts)):
            if parts[index].turn != turn:
                break
            found[parts[index].part] = parts[index].calls
        return found

    def _later_versions(self, step: Step) -> Iterator[SentVersion]:
        """The first version of the call's turn, and of its result's, that later requests have in other words."""
        for place in (step.location, step.result_location):
            found = self.sent_versions.get(place.turn) if place is not None else None
            if found is not None:
                yield found


def steps_at(trace: Trace, inspection: Inspection, layer: Layer) -> tuple[Step, ...]:
    """The steps of a trace as one layer has them; those whose layer is not recorded are left out.

    At `executed` the result is the tool's own where that is recorded. At `read` a call that no request has in other
    words is as it was written.
    """
    layers = TraceLayers(trace, inspection)
    found: list[Step] = []
    for step in inspection.chain.steps:
        held = layers.of(step)
        arguments, result = held.text_of(layer)
        if layer is Layer.EXECUTED:
            result = held.text_of(Layer.RETURNED)[1]
        is_known = result is not None if layer in (Layer.RETURNED, Layer.READ) else arguments is not None
        if is_known:
            found.append(_step_with(step, arguments, result))
    return tuple(found)


def _step_with(step: Step, arguments: str | None, result: str | None) -> Step:
    """A step with the arguments and the result of a layer, where they are others than its own."""
    if arguments is not None and arguments != step.call.raw_arguments:
        try:
            value = parse_json(arguments)
        except (ValueError, RecursionError):
            value = arguments
        step = replace(step, call=structs.replace(step.call, arguments=value, raw_arguments=arguments, parameters=()))
    if result is not None and step.result is not None and result != step.result.content:
        step = replace(step, result=replace(step.result, content=result))
    return step


def layer_lines(layers: StepLayers, width: int) -> Iterator[tuple[Line, Location | None]]:
    """The layers of a step, side by side where there is room, with the place of each; none where there is but one."""
    if not layers.are_several:
        return
    for title, row, is_result in (("call", layers.call, False), ("result", layers.result, True)):
        yield (Run(f"layers of the {title}", Style.STRONG),), None
        recorded = sum(one.text is not None for one in row)
        if recorded > 1 and width >= recorded * _COLUMN:
            yield from _columns(row, width // recorded, is_result=is_result)
            continue
        for before, layer in with_before(row):
            for line in _layer_lines(layer, before, width, is_result=is_result):
                yield line, layer.place


def with_before(row: Sequence[CallLayer]) -> Iterator[tuple[str | None, CallLayer]]:
    """The layers, each with the text of the last one before it that is recorded and can be compared."""
    before: str | None = None
    for layer in row:
        yield before, layer
        before = layer.text if layer.text is not None and layer.is_comparable else before


def layer_words(layer: CallLayer, before: str | None, *, is_result: bool) -> Line:
    """The text of a layer; where it is not the same as `before`, what is new and what is gone is marked."""
    if layer.text is None:
        return (Run(NOT_RECORDED, Style.DIM),)
    if layer.is_same_as(before, is_result=is_result) is not False or before is None:
        word = "" if before is None or before == layer.text else "= same value, written differently: "
        return Run(word, Style.DIM), Run(_shown(layer.text[:_LONGEST]))
    return Run("≠ ", Style.WARNING), *_difference(before, layer.text)


def _columns(row: Sequence[CallLayer], cells: int, *, is_result: bool) -> Iterator[tuple[Line, Location | None]]:
    """The recorded layers beside each other, each in so many cells; the lines lead to the last of them with a place."""
    columns: list[list[Line]] = []
    for before, layer in with_before(row):
        if layer.text is not None:
            basis = (Run(f"  ({layer.basis})", Style.DIM),) if layer.basis else ()
            words = layer_words(layer, before, is_result=is_result)
            columns.append([(Run(layer.name.value, Style.KEY), *basis), *wrapped(words, cells - 3)])
    missing = ", ".join(layer.name.value for layer in row if layer.text is None)
    place = next((layer.place for layer in reversed(row) if layer.place is not None), None)
    for lines in zip_longest(*columns, fillvalue=()):
        sides = [padded(line, cells - 3) for line in lines]
        yield tuple(run for side in sides for run in (*side, Run(" │ ", Style.GUTTER)))[:-1], place
    if missing:
        yield (Run(f"{missing}: {NOT_RECORDED}", Style.DIM),), None


def _layer_lines(layer: CallLayer, before: str | None, width: int, *, is_result: bool) -> Iterator[Line]:
    head = Run(f"{layer.name.value:<9} ", Style.DIM)
    basis = (Run(f"  ({layer.basis})", Style.DIM),) if layer.basis else ()
    yield from wrapped((head, *layer_words(layer, before, is_result=is_result), *basis), width, indent=10)


def _difference(before: str, text: str) -> tuple[Run, ...]:
    """The text around its difference from the layer before, with what is new, and what is gone, marked."""
    start = shared_prefix(before, text)
    end = shared_suffix(before, text, min(len(before), len(text)) - start)
    first, tail = max(start - _AROUND, 0), text[len(text) - end :]
    new, gone = text[start : len(text) - end], before[start : len(before) - end]
    runs = [Run(("…" if first else "") + _shown(text[first:start]))]
    if gone:
        runs.append(Run(f"[-{_shown(gone[:_LONGEST])}{'…' if len(gone) > _LONGEST else ''}-]", Style.REMOVED))
    if new:
        runs.append(Run(f"{{+{_shown(new[:_LONGEST])}{'…' if len(new) > _LONGEST else ''}+}}", Style.ADDED))
    runs.append(Run(_shown(tail[:_AROUND]) + ("…" if len(tail) > _AROUND else "")))
    return tuple(run for run in runs if run.text)


def _shown(text: str) -> str:
    return visible_line(text)


def _run_layer(name: Layer, run: RecordedRun | None, place: Location | None) -> CallLayer:
    """What a tool's run recorded of its arguments or its result, which are beside the turn with the result."""
    is_call = name is Layer.EXECUTED
    text = None if run is None else run.arguments if is_call else run.result
    if text is None or run is None or place is None:
        return CallLayer(name, None)
    is_comparable = run.comparable()[0 if is_call else 1] is not None
    where = Location(place.turn, RUN_ARGUMENTS if is_call else RUN_RESULT, Range(0, len(text)))
    basis = "" if is_comparable else NOT_COMPARABLE
    return CallLayer(name, text, where, basis, is_comparable=is_comparable)


def _is_same_part(one: Location, other: Location) -> bool:
    return (one.turn, one.part) == (other.turn, other.part)


def _sent_call(said: Turn, step: Step) -> Part | None:
    """The part with the arguments that a request has for the call of a step; None where it has none."""
    named = [call for call in said.calls if call.id == step.call.id] if step.call.id else list(said.calls)
    header = next((call for call in named if call.part == step.location.part or call.id), None)
    return said.part(header.part) if header is not None else None
