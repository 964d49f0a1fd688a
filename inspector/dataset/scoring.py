"""Scores of calls against a reference: completeness, accuracy, type precision, no hallucination, and their mean.

For one call with its reference:

* completeness: the share of the schema's required arguments that the call has;
* accuracy: the share of the reference's arguments that the call has with an equal value (5 equals 5.0; true is not 1;
  a null may be missing);
* type_precision: the share of the call's arguments whose value is an instance of the type of the reference's value, by
  Python's `isinstance` (5 is not a float); an argument that is not in the reference has a wrong type;
* no_hallucination: 1, or 0.5 if the call has an argument that is not a property of the schema, or 0 if the sample
  offers tools and none of this name;
* overall: the mean of the measured dimensions.

A dimension with nothing to measure is 1. Without a reference, accuracy and type precision are not measured. A call that
is not valid as written, or whose arguments are no object, scores 0 in each measured dimension. A missing call and an
extra one score 0: if an extra call scored for its form, calls at random would be worth more than none. The Berkeley
leaderboard's references allow several values for an argument, allow some arguments to be missing, and match calls in
any order; any other reference is matched in order. A sample without calls has 1, or 0 if its answer is empty.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from weaklink.inspector.chain.expected_calls import ExpectedCall, agrees
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.dataset.references import reference_of
from weaklink.inspector.dataset.samples import Sample, deliberate_steps
from weaklink.inspector.model import Json, Role, SpanKind, ToolDefinition

DIMENSIONS = ("completeness", "accuracy", "type_precision", "no_hallucination")


class CallScore(Struct, frozen=True):
    """The scores of one call, each from 0 to 1; None if not measured.

    `is_missing` is true if the reference has this call and the sample does not, `is_extra` if only the sample has it.
    """

    tool: str
    completeness: float = 0.0
    accuracy: float | None = 0.0
    type_precision: float | None = 0.0
    no_hallucination: float = 0.0
    is_missing: bool = False
    is_extra: bool = False

    @property
    def overall(self) -> float:
        """The mean of the measured dimensions."""
        values = (self.completeness, self.accuracy, self.type_precision, self.no_hallucination)
        measured = [value for value in values if value is not None]
        return sum(measured) / len(measured)

    @property
    def value(self) -> dict[str, Json]:
        """The score as JSON; `missing` and `extra` only if they are true."""
        scores: dict[str, Json] = {name: getattr(self, name) for name in DIMENSIONS}
        flags: dict[str, Json] = {"missing": True} if self.is_missing else {"extra": True} if self.is_extra else {}
        return {"tool": self.tool, **scores, "overall": self.overall, **flags}


class SampleScore(Struct, frozen=True):
    """The scores of a sample's calls, in order; missing ones last. `is_empty`: the last answer has no text."""

    calls: tuple[CallScore, ...]
    is_empty: bool = False

    @property
    def overall(self) -> float:
        """The mean over the calls; if there are none, 1, or 0 for an empty answer."""
        if not self.calls:
            return 0.0 if self.is_empty else 1.0
        return sum(call.overall for call in self.calls) / len(self.calls)

    def mean(self, dimension: str) -> float | None:
        """The mean of one dimension over the calls for which it was measured, or None."""
        measured = [value for call in self.calls if (value := getattr(call, dimension)) is not None]
        return sum(measured) / len(measured) if measured else None


def score_arguments(
    arguments: Mapping[str, Json],
    reference: Mapping[str, Sequence[Json]] | None = None,
    *,
    tool: str = "",
    optional: frozenset[str] = frozenset(),
    blurred: bool = False,
    required: Sequence[str] = (),
    properties: Sequence[str] | None = None,
) -> CallScore:
    """The score of one call's arguments. `reference` has the accepted values of each argument; it may be None.

    `optional` arguments of the reference may be left out. `blurred`: values are compared as the Berkeley leaderboard
    does. `properties` are those of the schema, or None without a schema.
    """
    extra = set(arguments) - set(properties) if properties is not None else set()
    return CallScore(
        tool,
        completeness=len(set(required) & set(arguments)) / len(set(required)) if required else 1.0,
        accuracy=None if reference is None else _accuracy(arguments, reference, optional, blurred=blurred),
        type_precision=None if reference is None else _type_precision(arguments, reference),
        no_hallucination=0.5 if extra else 1.0,
    )


def _accuracy(
    arguments: Mapping[str, Json], reference: Mapping[str, Sequence[Json]], optional: frozenset[str], *, blurred: bool
) -> float:
    compared = [name for name in reference if name in arguments or name not in optional]
    right = sum(
        any(agrees(expected, arguments.get(name), blurred=blurred) for expected in reference[name]) for name in compared
    )
    return right / len(compared) if compared else 1.0


def _type_precision(arguments: Mapping[str, Json], reference: Mapping[str, Sequence[Json]]) -> float:
    right = sum(
        any(_is_instance(value, expected) for expected in reference.get(name, (None,)))
        for name, value in arguments.items()
    )
    return right / len(arguments) if arguments else 1.0


def _is_instance(value: Json, reference: Json) -> bool:
    if isinstance(value, bool) or isinstance(reference, bool):
        return isinstance(value, bool) and isinstance(reference, bool)
    return isinstance(value, type(reference))


def score_sample(sample: Sample, reference: Sequence[ExpectedCall] | None = None) -> SampleScore:
    """The scores of a sample's calls against `reference`, or else its own reference, or else without one.

    Calls that fail deliberately, in error recovery, are not scored. Raises ValueError for a reference that cannot be
    read.
    """
    return score_calls(sample, reference if reference is not None else reference_of(sample.row.value))


def score_calls(sample: Sample, expected: Sequence[ExpectedCall] | None) -> SampleScore:
    """The scores of a sample's calls against these expected ones; without a reference if they are None."""
    is_empty = _is_empty(sample)
    deliberate = {step.number for step in deliberate_steps(sample)}
    steps = [step for step in sample.inspection.chain.steps if step.number not in deliberate]
    if expected is None:
        return SampleScore(tuple(_scored(sample, step, None) for step in steps), is_empty)
    pairs = _in_any_order(steps, expected) if any(call.is_blurred for call in expected) else _in_order(steps, expected)
    taken = {id(pair) for pair in pairs.values()}
    scores = [
        _scored(sample, step, pairs[step.number])
        if step.number in pairs
        else CallScore(step.call.name or "", is_extra=True)
        for step in steps
    ]
    missing = [CallScore(call.tool, is_missing=True) for call in expected if id(call) not in taken]
    return SampleScore((*scores, *missing), is_empty)


def _is_empty(sample: Sample) -> bool:
    """Whether the last answer has no text outside its reasoning and markers; true for a sample without an answer."""
    turns = sample.trace.turns
    number = next((number for number in range(len(turns), 0, -1) if turns[number - 1].role is Role.ASSISTANT), 0)
    part = turns[number - 1].part("text") if number else None
    inspected = (
        inspected_part
        for inspected_part in sample.inspection.parts
        if (inspected_part.turn, inspected_part.part) == (number, "text")
    )
    spans = [span for answer_part in inspected for span in answer_part.spans if span.kind is SpanKind.TEXT]
    return part is None or not any(span.inner.of(part.text).strip() for span in spans)


def _in_order(steps: Sequence[Step], expected: Sequence[ExpectedCall]) -> dict[int, ExpectedCall]:
    """Pairs each call with the next expected call of its tool."""
    pairs: dict[int, ExpectedCall] = {}
    next_index = 0
    for step in steps:
        matched = next(
            (index for index in range(next_index, len(expected)) if expected[index].tool == step.call.name), None
        )
        if matched is not None:
            pairs[step.number], next_index = expected[matched], matched + 1
    return pairs


def _in_any_order(steps: Sequence[Step], expected: Sequence[ExpectedCall]) -> dict[int, ExpectedCall]:
    """Pairs each expected call with the call of its tool that agrees best; dots in names count as underscores."""
    pairs: dict[int, ExpectedCall] = {}
    for call in expected:
        left = [step for step in steps if step.number not in pairs and call.names(step.call.name)]
        if left:
            best = max(left, key=lambda step: (_agreement(step, call), -step.number))
            pairs[best.number] = call
    return pairs


def _agreement(step: Step, call: ExpectedCall) -> float:
    given = step.call.arguments
    return _accuracy(given, call.arguments, call.optional, blurred=True) if isinstance(given, dict) else 0.0


def _scored(sample: Sample, step: Step, expected: ExpectedCall | None) -> CallScore:
    name, arguments = step.call.name or "", step.call.arguments
    if not step.call.valid or not isinstance(arguments, dict):
        without = 0.0 if expected is not None else None
        return CallScore(name, accuracy=without, type_precision=without)
    definition = sample.offered.find(step.call.name)
    required, properties = schema_names(definition)
    score = score_arguments(
        arguments,
        expected.arguments if expected is not None else None,
        tool=name,
        optional=expected.optional if expected is not None else frozenset(),
        blurred=expected is not None and expected.is_blurred,
        required=required,
        properties=properties,
    )
    is_invented = definition is None and bool(sample.offered.tools)
    return structs.replace(score, no_hallucination=0.0) if is_invented else score


def schema_names(tool: ToolDefinition | None) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The names of the required arguments, and of all properties, or None if the tool or its properties are unknown."""
    schema = tool.parameters if tool is not None else None
    if not isinstance(schema, dict):
        return (), None
    required, properties = schema.get("required"), schema.get("properties")
    names = tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    return names, tuple(properties) if isinstance(properties, dict) else None
