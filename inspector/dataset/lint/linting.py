"""Runs all D rules on samples, with the engine's diagnostics; and D711, annotations against the data flow.

Samples are linted several at a time, check by check: the code and the tables of one check are still in the processor's
caches for the next sample. With 64 rows of 1.1 kB together, a row takes 0.68 of its time alone (measured in turns in
one process, 2026-11-29), and the result is the same.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Chain, Status, Step, quoted
from weaklink.inspector.checks.context import CONTEXT_WINDOW
from weaklink.inspector.dataset.lint import structure, templates
from weaklink.inspector.dataset.lint.damaged_texts import damaged_answers, damaged_arguments
from weaklink.inspector.dataset.lint.demanded_reasoning import missing_reasoning
from weaklink.inspector.dataset.lint.engine_faults import (
    engine_faults,
    one_for_each_object,
    undeclared_tools,
    unmentioned_arguments,
    unreadable_tools,
)
from weaklink.inspector.dataset.lint.evidence import denied_access, unmade_actions, unsupported_answers
from weaklink.inspector.dataset.lint.texts import TokenCounter, cut_by_budget, language_mismatch
from weaklink.inspector.dataset.samples import Sample, deliberate_steps
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import REASONING_BUDGET
from weaklink.inspector.model import Json
from weaklink.inspector.rules.catalogue import select_rules
from weaklink.inspector.rules.training import ANNOTATION_MISMATCH, RULES, TOOLS_NOT_DECLARED
from weaklink.inspector.scanning import lazy_pattern

_KEYS = ("steps", "critical_path", "decision_points")
_FLOW = lazy_pattern(r"step[ _]?(\d+)(?:_output)?\s*(?:->|→|to)\s*(\w+?)(?:_parameter|_param|_argument)?\b")


def annotation_mismatches(sample: Sample) -> Iterator[Diagnostic]:
    """D711 in the row itself, and in its `annotation` or `annotations`."""
    row = sample.row.value
    for path in ((), ("annotation",), ("annotations",)):
        holder = row.get(path[0]) if path else row
        if isinstance(holder, dict) and any(isinstance(holder.get(key), list) for key in _KEYS):
            yield from _mismatches(sample, holder, path)


def _mismatches(sample: Sample, holder: dict[str, Json], path: tuple[str, ...]) -> Iterator[Diagnostic]:
    steps = {step.number: step for step in sample.inspection.chain.steps}
    listed = holder.get("steps")
    annotated = listed if isinstance(listed, list) and all(isinstance(entry, dict) for entry in listed) else []
    if annotated and len(annotated) != len(steps):
        message = f"{len(annotated)} steps are annotated, but the conversation has {len(steps)} calls."
        yield structure.row_fault(sample, ANNOTATION_MISMATCH, message, *path, "steps")
    for index, entry in enumerate(annotated):
        if isinstance(entry, dict):
            for key, message in _wrong_step(entry, index + 1, steps):
                yield structure.row_fault(sample, ANNOTATION_MISMATCH, message, *path, "steps", index, key)
    yield from _wrong_path(sample, holder, path, steps)
    points = holder.get("decision_points")
    for index, point in enumerate(points if isinstance(points, list) else ()):
        after = point.get("after_step") if isinstance(point, dict) else None
        if after is not None and after not in steps:
            message = f"A decision point is after step {_shown(after)}, but the conversation has {len(steps)} calls."
            yield structure.row_fault(
                sample, ANNOTATION_MISMATCH, message, *path, "decision_points", index, "after_step"
            )


def _wrong_step(entry: dict[str, Json], position: int, steps: dict[int, Step]) -> Iterator[tuple[str, str]]:
    """The wrong members of an annotated step, each with a message."""
    number = entry.get("step_id", position)
    step = steps.get(number) if isinstance(number, int) else None
    if step is None or not isinstance(number, int):
        yield "step_id", f"Step {_shown(number)} is annotated, but the conversation has {len(steps)} calls."
        return
    tool = entry.get("tool")
    if isinstance(tool, str) and step.call.name is not None and tool != step.call.name:
        yield "tool", f"Step {number} calls {quoted(step.call.name)}, but its annotation names {quoted(tool)}."
    declared = entry.get("depends_on")
    if isinstance(declared, list):
        yield from _wrong_dependencies(number, declared, step)
    elif declared is None and step.depends_on and "depends_on" in entry:
        yield from _wrong_dependencies(number, [], step)
    flow = entry.get("data_flow")
    for source, parameter in _FLOW.findall(flow) if isinstance(flow, str) else ():
        if int(source) not in steps or int(source) >= number:
            yield "data_flow", f"`data_flow` of step {number} begins at step {source}, which is not an earlier call."
        elif isinstance(step.call.arguments, dict) and parameter not in step.call.arguments:
            yield (
                "data_flow",
                f"`data_flow` of step {number} ends at {quoted(parameter)}, which the call does not have.",
            )


def _wrong_dependencies(number: int, declared: list[Json], step: Step) -> Iterator[tuple[str, str]]:
    named = {dependency for dependency in declared if isinstance(dependency, int)}
    for dependency in sorted(named - set(step.depends_on)):
        if dependency >= number or dependency < 1:
            yield "depends_on", f"Step {number} cannot depend on step {dependency}: it is not an earlier call."
        else:
            yield (
                "depends_on",
                f"Step {number} is annotated as depending on step {dependency}, but uses no value of its result.",
            )
    for dependency in sorted(set(step.depends_on) - named):
        yield (
            "depends_on",
            f"Step {number} uses a value of step {dependency}'s result, but `depends_on` does not list it.",
        )


def _wrong_path(
    sample: Sample, holder: dict[str, Json], path: tuple[str, ...], steps: dict[int, Step]
) -> Iterator[Diagnostic]:
    listed = holder.get("critical_path")
    if not isinstance(listed, list) or not listed:
        return
    unknown = [number for number in listed if number not in steps]
    if unknown:
        message = f"`critical_path` names step {_shown(unknown[0])}, but the conversation has {len(steps)} calls."
        yield structure.row_fault(sample, ANNOTATION_MISMATCH, message, *path, "critical_path")
        return
    numbers = [number for number in listed if isinstance(number, int)]
    for before, after in itertools.pairwise(numbers):
        if before not in steps[after].depends_on:
            message = f"`critical_path` goes from step {before} to step {after}, which uses no value of its result."
            yield structure.row_fault(sample, ANNOTATION_MISMATCH, message, *path, "critical_path")


def _shown(value: Json) -> str:
    return quoted(str(value)) if not isinstance(value, int) else str(value)


_OF_A_SAMPLE: tuple[Callable[[Sample], Iterator[Diagnostic]], ...] = (
    structure.missing_fields,
    structure.types_and_labels,
    structure.call_counts,
    structure.scores,
    structure.role_order,
    structure.trained_faults,
    unreadable_tools,
    undeclared_tools,
    unmentioned_arguments,
    templates.placeholders,
    unsupported_answers,
    unmade_actions,
    denied_access,
    annotation_mismatches,
    templates.unsafe_texts,
    templates.others_words,
    language_mismatch,
    missing_reasoning,
    damaged_answers,
    damaged_arguments,
    structure.swapped_results,
)
_MIN_ROWS_OF_A_FORMAT = 2
_TRAINING_CODES = frozenset(rule.code for rule in RULES)


class LintOptions(Struct, frozen=True):
    """The settings for linting a sample.

    `set_format` is the format of the set, or None if it is unknown. `counter` counts tokens; without one, lengths are
    not checked. `context` and `reasoning` are budgets in tokens. `select` and `ignore` are codes, names or prefixes of
    rules. With `needs_tools`, calls in a sample without any list of tools are reported.
    """

    set_format: str | None = None
    counter: TokenCounter | None = None
    context: int = CONTEXT_WINDOW
    reasoning: int = REASONING_BUDGET
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    needs_tools: bool = True


_DEFAULTS = LintOptions()


def lint_sample(sample: Sample, options: LintOptions = _DEFAULTS) -> list[Diagnostic]:
    """All faults of one sample, in the order of its turns; positions refer to `reported_trace`.

    Faults of the row come first. Raises UnknownFormatError and UnknownRuleError, but no error for a faulty row.
    """
    return lint_samples((sample,), options)[0]


def lint_samples(samples: Sequence[Sample], options: LintOptions = _DEFAULTS) -> list[list[Diagnostic]]:
    """The faults of each sample, as `lint_sample` returns them; about 64 samples together take two thirds of the time.

    Memory grows with the samples, whose inspections are all kept.
    """
    engine = [list(engine_faults(sample)) for sample in samples]
    diagnostics = [
        [*one_for_each_object(sample, faults), *others]
        for sample, faults, others in zip(samples, engine, _row_faults(samples, options), strict=True)
    ]
    return [
        in_order(sample, chosen(faults, options.select, options.ignore))
        for sample, faults in zip(samples, diagnostics, strict=True)
    ]


def checked_sample(sample: Sample, options: LintOptions = _DEFAULTS) -> list[Diagnostic]:
    """The diagnostics of the sample's inspection as they are, and the D rules that have no equivalent in it.

    So a row has the same faults wherever it is read as a trace: imported, inspected or checked.
    """
    own = (fault for fault in _row_faults((sample,), options)[0] if fault.rule.code in _TRAINING_CODES)
    diagnostics = (*sample.inspection.diagnostics, *own)
    return in_order(sample, chosen(diagnostics, options.select, options.ignore))


def _row_faults(samples: Sequence[Sample], options: LintOptions) -> list[list[Diagnostic]]:
    """What only rows of training data are checked for."""
    diagnostics: list[list[Diagnostic]] = [[] for _ in samples]
    for check in _OF_A_SAMPLE:
        for faults, sample in zip(diagnostics, samples, strict=True):
            faults.extend(check(sample))
    for faults, sample in zip(diagnostics, samples, strict=True):
        faults.extend(templates.template_mismatch(sample, options.set_format))
        if options.counter is not None:
            faults.extend(cut_by_budget(sample, options.counter, options.context, options.reasoning))
        if not options.needs_tools and sample.offered.origin is None:
            faults[:] = [fault for fault in faults if fault.rule.code != TOOLS_NOT_DECLARED.code]
    return diagnostics


def linted(sample: Sample, options: LintOptions = _DEFAULTS) -> Inspection:
    """The inspection with the faults of `lint_sample`, and without a break that the sample shows deliberately."""
    return linted_samples((sample,), options)[0]


def linted_samples(samples: Sequence[Sample], options: LintOptions = _DEFAULTS) -> list[Inspection]:
    """The inspection of each sample, as `linted` returns it; see `lint_samples`."""
    return [
        structs.replace(sample.inspection, diagnostics=tuple(faults), chain=judged_chain(sample))
        for sample, faults in zip(samples, lint_samples(samples, options), strict=True)
    ]


def judged_chain(sample: Sample) -> Chain:
    """The chain of the sample; a failed call that the sample shows deliberately does not break it."""
    chain = sample.inspection.chain
    if chain.broken is not None and chain.broken.step in {step.number for step in deliberate_steps(sample)}:
        return structs.replace(chain, broken=None, status=Status.RECOVERED)
    return chain


def chosen(diagnostics: Iterable[Diagnostic], select: Sequence[str], ignore: Sequence[str]) -> Iterator[Diagnostic]:
    """The faults of the rules that are selected and not ignored, regardless of their severity."""
    selected = {rule.code for rule in select_rules(tuple(select))}
    ignored = {rule.code for rule in select_rules(tuple(ignore))}
    return (
        diagnostic
        for diagnostic in diagnostics
        if (not select or diagnostic.rule.code in selected) and diagnostic.rule.code not in ignored
    )


def in_order(sample: Sample, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The faults in the order of turns, parts and positions."""
    order = {
        (number, part.name): index
        for number, turn in enumerate(sample.trace.turns, 1)
        for index, part in enumerate(turn.parts)
    }
    return sorted(
        diagnostics,
        key=lambda diagnostic: (
            diagnostic.location.turn,
            order.get((diagnostic.location.turn, diagnostic.location.part), -1),
            diagnostic.range,
            diagnostic.rule.code,
        ),
    )


def format_of_set(samples: Iterable[Sample]) -> str | None:
    """The format of the calls in most of these samples; None if fewer than two samples agree.

    Samples whose row names a format do not count.
    """
    counts = Counter(
        format_name
        for sample in samples
        if sample.declared_format is None and (format_name := templates.format_of(sample))
    )
    for name, number in counts.most_common(1):
        return name if number >= _MIN_ROWS_OF_A_FORMAT else None
    return None
