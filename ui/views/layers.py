"""The layers of calls and results, with the characters marked that differ from the previous layer.

Theory of operation. Between the model and the tool, programs that nobody sees hand a call on: the server's parser, the
agent, the tool's wrapper, and the agent again when it builds the next request. Each may change it. Where a trace has
several versions, they are layers, in the order in which they came to be:

    call      emitted     what the model wrote: the call in the turn's text
              parsed      the server's reply, in a part `call:N`
              executed    the arguments that the tool's own record has
              read        the arguments in a later request, if they differ there
    result    returned    what the tool's own record has
              read        the turn with the result, and a later request, if it differs there

A layer that nobody recorded has the text None: "not recorded" is never taken for "equal". Layers are compared as
values, each with the last recorded one before it: `{"a": 1}` and `{"a":1}` are the same, written differently. A record
in a form of its own, such as a log line that shortens arguments, is shown and not compared.

For a model that wrote `{"days": "3"}` and a server that answered `{"days": 3}`, `StepLayers.call` is

    (CallLayer(EMITTED, '{"days": "3"}', ...), CallLayer(PARSED, '{"days": 3}', ..., is_same=False),
     CallLayer(EXECUTED, None))

and `layer_words` shows the second as `≠ {"days": [-"3"-]{+3+}}`.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from weaklink.inspector.chain.layers import compare_reply, result_difference, same_call, same_run
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import RUN_ARGUMENTS, RUN_RESULT, SENT_PART, Diagnostic, Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Part, RecordedRun, ToolCall, Trace, Turn
from weaklink.inspector.model.exchange import requests_of
from weaklink.inspector.text import Range, shared_prefix, shared_suffix
from weaklink.inspector.wire.provider_json import parse_json
from weaklink.ui.views.styled_text import Line, LineKind, Run, Style, padded, visible_line, wrapped

NOT_RECORDED = "not recorded"
NOT_COMPARABLE = "not comparable"
"""The basis of a layer that its source keeps in its own form, or only in part."""
FIRST_READ = "first-read"
"""The basis of a returned layer that was not recorded: it is taken from the first request with the result."""

_AROUND, _MAX_TEXT_CHARS = 60, 400  # code points shown before a difference, and of a text
_COLUMN, _WIDEST_COLUMN = 50, 500  # cells of a layer in a column; a page that wraps lines has none


class Layer(StrEnum):
    """The origin of a version of a call, or of its result."""

    EMITTED = "emitted"
    PARSED = "parsed"
    EXECUTED = "executed"
    RETURNED = "returned"
    READ = "read"


class CallLayer(NamedTuple):
    """One layer: its text (None: not recorded), its place, and a note on its origin.

    `request` is the turn whose request has this text, or 0 if it is not from a later request. `is_same` is whether it
    has the value of the previous layer, if the texts alone cannot decide that. A layer that is not `is_comparable` is
    in its own form: no layer is compared with it.
    """

    name: Layer
    text: str | None
    location: Location | None = None
    basis: str = ""
    request: int = 0
    is_same: bool | None = None
    is_comparable: bool = True

    def is_same_as(self, before: str | None, *, is_result: bool) -> bool | None:
        """Whether it has the value of the previous layer; None if one of the two is not recorded."""
        if before is None or self.text is None or not self.is_comparable:
            return None
        if self.is_same is not None:
            return self.is_same
        return result_difference(before, self.text) is None if is_result else same_run(before, self.text)


class StepLayers(NamedTuple):
    """The layers of a step's call, and those of its result, in chronological order."""

    call: tuple[CallLayer, ...]
    result: tuple[CallLayer, ...]

    @property
    def are_several(self) -> bool:
        """Whether anything can be compared: two layers of the call, or of the result, are recorded."""
        return any(sum(layer.text is not None for layer in layers) > 1 for layers in self)

    @property
    def differ(self) -> bool:
        """Whether two recorded layers have different values."""
        return any(
            layer.is_same_as(before, is_result=layers is self.result) is False
            for layers in self
            for before, layer in with_before(layers)
        )

    @property
    def locations(self) -> list[Location]:
        """The locations of the layers in the texts of the trace, each once."""
        return list(dict.fromkeys(layer.location for layer in (*self.call, *self.result) if layer.location is not None))

    def text_of(self, layer: Layer) -> tuple[str | None, str | None]:
        """The arguments and the result at a layer, or None if not recorded; of several, the last one read."""
        call = [shown.text for shown in self.call if shown.name is layer and shown.text is not None]
        result = [shown.text for shown in self.result if shown.name is layer and shown.text is not None]
        return call[-1] if call else None, result[-1] if result else None


class SentVersion(NamedTuple):
    """The changed version of an earlier turn in message `number` (from 1) of a request."""

    request: int
    number: int
    said: Turn

    def location(self, part: str) -> Location:
        """The place of one of its parts, whole."""
        said = self.said.part(part)
        return Location(self.request, f"{SENT_PART}{self.number}:{part}", Range(0, len(said.text) if said else 0))


class TraceLayers:
    """The layers of the steps of one trace; the changed versions in later requests are collected once.

    A caller that knows that no request is recorded passes `has_requests=False` to skip the search.
    """

    def __init__(self, trace: Trace, inspection: Inspection, *, has_requests: bool = True) -> None:
        self._trace, self._inspection, self._has_requests = trace, inspection, has_requests

    @cached_property
    def sent_versions(self) -> Mapping[int, SentVersion]:
        """The turns that a later request has in a changed version, each with the first such version."""
        versions: dict[int, SentVersion] = {}
        for request in requests_of(self._trace.turns) if self._has_requests else ():
            if isinstance(request, int):
                continue
            for number, message in enumerate(request.own, request.kept + 1):
                if message.turn is not None and message.version is not None:
                    versions.setdefault(message.turn, SentVersion(request.turn, number, message.version))
        return versions

    @cached_property
    def differences(self) -> Mapping[int, Sequence[Diagnostic]]:
        """The diagnostics of each turn's request: its differences from earlier turns."""
        by_turn: dict[int, list[Diagnostic]] = {}
        for diagnostic in self._inspection.diagnostics if self._has_requests else ():
            if diagnostic.location.part.startswith(SENT_PART):
                by_turn.setdefault(diagnostic.location.turn, []).append(diagnostic)
        return by_turn

    def of(self, step: Step) -> StepLayers:
        """The layers of a step."""
        turns, location = self._trace.turns, step.result_location
        run = turns[location.turn - 1].run if location is not None else None
        call = [*self._answer_layers(step), _run_layer(Layer.EXECUTED, run, location)]
        text = step.result.content if step.result is not None else None
        returned = _run_layer(Layer.RETURNED, run, location)
        if returned.text is None and text is not None:
            returned = returned._replace(basis=FIRST_READ)
        basis = f"first read, turn {location.turn}" if location is not None else ""
        result = [returned, CallLayer(Layer.READ, text, location, basis)]
        for sent in self._later_versions(step):
            version, later = sent.said, f"request of turn {sent.request}"
            if (part := _sent_call(version, step)) is not None:
                call.append(CallLayer(Layer.READ, part.text, sent.location(part.name), later, sent.request))
            elif (whole := version.part("text")) is not None and version.result is not None:
                result.append(CallLayer(Layer.READ, whole.text, sent.location("text"), later, sent.request))
        return StepLayers(tuple(call), tuple(result))

    def in_turn(self, location: Location) -> Location:
        """The place in a turn's own text for a place in a request, if a difference or a changed version is there."""
        if not location.part.startswith(SENT_PART):
            return location
        number, _, name = location.part.removeprefix(SENT_PART).partition(":")
        for diagnostic in self.differences.get(location.turn, ()):
            if diagnostic.location.part == location.part:
                return diagnostic.place_in_turn
        for turn, sent in self.sent_versions.items():
            if (sent.request, str(sent.number)) == (location.turn, number):
                return Location(turn, name, location.range)
        return location

    def other_sides(self, wanted: Location) -> list[Location]:
        """Both places of each difference that has this place on one of its sides."""
        differences = (diagnostic for diagnostics in self.differences.values() for diagnostic in diagnostics)
        sides = ((diagnostic.place_in_turn, diagnostic.location) for diagnostic in differences)
        return [
            side
            for both in sides
            if any(((wanted.turn, wanted.part) == (location.turn, location.part)) for location in both)
            for side in both
        ]

    def emitted_at(self, location: Location) -> Step | None:
        """The step whose call the model wrote at a place, if the server's reply also has the call."""
        steps = self._inspection.chain.steps
        for index in range(bisect_left(steps, location.turn, key=lambda step: step.location.turn), len(steps)):
            if steps[index].location.turn != location.turn:
                break
            wrote = self._answer_layers(steps[index])[0].location
            if (
                wrote is not None
                and wrote.part == location.part
                and wrote.range.start <= location.range.start < wrote.range.end
            ):
                return steps[index]
        return None

    def _answer_layers(self, step: Step) -> tuple[CallLayer, CallLayer]:
        """The call as the model wrote it, and as the server's reply has it."""
        if step.location.part == "text":
            return CallLayer(Layer.EMITTED, step.call.raw_arguments, step.location), CallLayer(Layer.PARSED, None)
        calls = self._calls_of(step.location.turn)
        written = [call for call in calls.get("text", ()) if call.valid]
        parsed = [call for name, part_calls in calls.items() if name.startswith("call:") for call in part_calls]
        changed = {id(reply): call for call, reply in compare_reply(written, parsed).changed}
        reply = next((call for call in calls.get(step.location.part, ()) if call.range == step.call.range), step.call)
        emitted_call = changed.get(id(reply)) or next((call for call in written if same_call(call, step.call)), None)
        location = Location(step.location.turn, "text", emitted_call.range) if emitted_call is not None else None
        emitted = CallLayer(Layer.EMITTED, emitted_call.raw_arguments if emitted_call is not None else None, location)
        is_same = None if emitted_call is None else id(reply) not in changed
        return emitted, CallLayer(Layer.PARSED, step.call.raw_arguments, step.location, is_same=is_same)

    def _calls_of(self, turn: int) -> dict[str, Sequence[ToolCall]]:
        parts = self._inspection.parts
        by_part: dict[str, Sequence[ToolCall]] = {}
        for index in range(bisect_left(parts, turn, key=lambda part: part.turn), len(parts)):
            if parts[index].turn != turn:
                break
            by_part[parts[index].part] = parts[index].calls
        return by_part

    def _later_versions(self, step: Step) -> Iterator[SentVersion]:
        """The first changed version of the call's turn, and of its result's turn, in later requests."""
        for location in (step.location, step.result_location):
            version = self.sent_versions.get(location.turn) if location is not None else None
            if version is not None:
                yield version


def steps_at(trace: Trace, inspection: Inspection, layer: Layer) -> tuple[Step, ...]:
    """The steps of a trace at one layer; steps whose layer is not recorded are left out.

    At `executed`, the result is the tool's own if recorded. At `read`, a call that no request changed is as it was
    written.
    """
    layers = TraceLayers(trace, inspection)
    steps: list[Step] = []
    for step in inspection.chain.steps:
        step_layers = layers.of(step)
        arguments, result = step_layers.text_of(layer)
        if layer is Layer.EXECUTED:
            result = step_layers.text_of(Layer.RETURNED)[1]
        is_known = result is not None if layer in (Layer.RETURNED, Layer.READ) else arguments is not None
        if is_known:
            steps.append(_step_with(step, arguments, result))
    return tuple(steps)


def _step_with(step: Step, arguments: str | None, result: str | None) -> Step:
    """A step with the arguments and the result of a layer, if they differ from its own."""
    if arguments is not None and arguments != step.call.raw_arguments:
        try:
            value = parse_json(arguments)
        except (ValueError, RecursionError):
            value = arguments
        step = replace(step, call=structs.replace(step.call, arguments=value, raw_arguments=arguments, parameters=()))
    if result is not None and step.result is not None and result != step.result.content:
        step = replace(step, result=replace(step.result, content=result))
    return step


def layer_lines(layers: StepLayers, width: int) -> Iterator[tuple[Line, Location | None, LineKind]]:
    """The layers of a step, side by side if there is room, each with its place; empty if there is only one."""
    if not layers.are_several:
        return
    for title, row, is_result in (("call", layers.call, False), ("result", layers.result, True)):
        yield (Run(f"layers of the {title}", Style.STRONG),), None, LineKind.SENTENCE
        recorded = sum(layer.text is not None for layer in row)
        if recorded > 1 and _COLUMN <= width // recorded <= _WIDEST_COLUMN:
            yield from _columns(row, width // recorded, is_result=is_result)
            continue
        for before, layer in with_before(row):
            for line in _layer_lines(layer, before, width, is_result=is_result):
                yield line, layer.location, LineKind.FACT


def with_before(row: Sequence[CallLayer]) -> Iterator[tuple[str | None, CallLayer]]:
    """The layers, each with the text of the last recorded and comparable layer before it."""
    before: str | None = None
    for layer in row:
        yield before, layer
        before = layer.text if layer.text is not None and layer.is_comparable else before


def layer_words(layer: CallLayer, before: str | None, *, is_result: bool) -> Line:
    """The text of a layer; if its value differs from `before`, added and removed characters are marked."""
    if layer.text is None:
        return (Run(NOT_RECORDED, Style.DIM),)
    if layer.is_same_as(before, is_result=is_result) is not False or before is None:
        word = "" if before is None or before == layer.text else "= same value, written differently: "
        return Run(word, Style.DIM), Run(_shown(layer.text[:_MAX_TEXT_CHARS]))
    return Run("≠ ", Style.WARNING), *_difference(before, layer.text)


def _columns(
    row: Sequence[CallLayer], cells: int, *, is_result: bool
) -> Iterator[tuple[Line, Location | None, LineKind]]:
    """The recorded layers side by side, each in `cells` cells; the lines link to the last one with a place."""
    columns: list[list[Line]] = []
    for before, layer in with_before(row):
        if layer.text is not None:
            basis = (Run(f"  ({layer.basis})", Style.DIM),) if layer.basis else ()
            words = layer_words(layer, before, is_result=is_result)
            columns.append([(Run(layer.name.value, Style.KEY), *basis), *wrapped(words, cells - 3)])
    missing = ", ".join(layer.name.value for layer in row if layer.text is None)
    location = next((layer.location for layer in reversed(row) if layer.location is not None), None)
    for lines in zip_longest(*columns, fillvalue=()):
        sides = [padded(line, cells - 3) for line in lines]
        beside = tuple(run for side in sides for run in (*side, Run(" │ ", Style.GUTTER)))[:-1]
        yield beside, location, LineKind.COLUMNS
    if missing:
        yield (Run(f"{missing}: {NOT_RECORDED}", Style.DIM),), None, LineKind.SENTENCE


def _layer_lines(layer: CallLayer, before: str | None, width: int, *, is_result: bool) -> Iterator[Line]:
    head = Run(f"{layer.name.value:<9} ", Style.DIM)
    basis = (Run(f"  ({layer.basis})", Style.DIM),) if layer.basis else ()
    yield from wrapped((head, *layer_words(layer, before, is_result=is_result), *basis), width, indent=10)


def _difference(before: str, text: str) -> tuple[Run, ...]:
    """The text around its difference from the previous layer, with added and removed characters marked."""
    start = shared_prefix(before, text)
    end = shared_suffix(before, text, min(len(before), len(text)) - start)
    first, tail = max(start - _AROUND, 0), text[len(text) - end :]
    new, gone = text[start : len(text) - end], before[start : len(before) - end]
    runs = [Run(("…" if first else "") + _shown(text[first:start]))]
    if gone:
        runs.append(
            Run(f"[-{_shown(gone[:_MAX_TEXT_CHARS])}{'…' if len(gone) > _MAX_TEXT_CHARS else ''}-]", Style.REMOVED)
        )
    if new:
        runs.append(
            Run(f"{{+{_shown(new[:_MAX_TEXT_CHARS])}{'…' if len(new) > _MAX_TEXT_CHARS else ''}+}}", Style.ADDED)
        )
    runs.append(Run(_shown(tail[:_AROUND]) + ("…" if len(tail) > _AROUND else "")))
    return tuple(run for run in runs if run.text)


def _shown(text: str) -> str:
    return visible_line(text)


def _run_layer(name: Layer, run: RecordedRun | None, location: Location | None) -> CallLayer:
    """The arguments or the result in a tool's recorded run, which belongs to the turn with the result."""
    is_call = name is Layer.EXECUTED
    text = None if run is None else run.arguments if is_call else run.result
    if text is None or run is None or location is None:
        return CallLayer(name, None)
    is_comparable = run.comparable()[0 if is_call else 1] is not None
    where = Location(location.turn, RUN_ARGUMENTS if is_call else RUN_RESULT, Range(0, len(text)))
    basis = "" if is_comparable else NOT_COMPARABLE
    return CallLayer(name, text, where, basis, is_comparable=is_comparable)


def _sent_call(version: Turn, step: Step) -> Part | None:
    """The part of a request's message with the arguments of a step's call, or None."""
    named = [call for call in version.calls if call.id == step.call.id] if step.call.id else list(version.calls)
    header = next((call for call in named if call.part == step.location.part or call.id), None)
    return version.part(header.part) if header is not None else None
