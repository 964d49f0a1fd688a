"""All D rules of one sample together, with what the engine finds in it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from inspector.chain.steps import Chain, Status
from inspector.checks.context import CONTEXT_WINDOW
from inspector.dataset.corrections import deliberate_steps
from inspector.dataset.lint.annotations import annotation_mismatches
from inspector.dataset.lint.budget import TokenCounter, cut_by_budget
from inspector.dataset.lint.engine_faults import engine_faults, undeclared_tools, unreadable_tools
from inspector.dataset.lint.evidence import unsupported_answers
from inspector.dataset.lint.languages import language_mismatch
from inspector.dataset.lint.structure import call_counts, missing_fields, role_order, scores, types_and_labels
from inspector.dataset.lint.templates import (
    format_of,
    placeholders,
    template_mismatch,
    unsafe_texts,
)
from inspector.dataset.samples import Sample
from inspector.diagnostics import Diagnostic
from inspector.inspected import Inspection
from inspector.inspection import REASONING_BUDGET
from inspector.rules.catalogue import select_rules
from inspector.rules.training import TOOLS_NOT_DECLARED

_OF_A_SAMPLE: tuple[Callable[[Sample], Iterator[Diagnostic]], ...] = (
    missing_fields,
    types_and_labels,
    call_counts,
    scores,
    role_order,
    unreadable_tools,
    undeclared_tools,
    placeholders,
    unsupported_answers,
    annotation_mismatches,
    unsafe_texts,
    language_mismatch,
)
_FEWEST_OF_A_FORMAT = 2


class LintOptions(Struct, frozen=True):
    """What one sample is compared with.

    `set_format` is the format of the set, None where it is not known. `counter` counts tokens, None where lengths are
    not checked; `context` and `reasoning` are budgets in tokens. `select` and `ignore` are codes, names or prefixes.
    `needs_tools` says that calls without any list of tools are reported.
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
    """Everything that is wrong with one sample, in the order of its turns; places are those of `reported_trace`.

    Faults of the row come first. Raises UnknownFormatError and UnknownRuleError, and nothing for the row itself.
    """
    found = [*engine_faults(sample)]
    for check in _OF_A_SAMPLE:
        found += check(sample)
    found += template_mismatch(sample, options.set_format)
    if options.counter is not None:
        found += cut_by_budget(sample, options.counter, options.context, options.reasoning)
    if not options.needs_tools:
        found = [one for one in found if one.rule.code != TOOLS_NOT_DECLARED.code or sample.offered.place is not None]
    return in_order(sample, chosen(found, options.select, options.ignore))


def linted(sample: Sample, options: LintOptions = _DEFAULTS) -> Inspection:
    """The inspection with the faults of `lint_sample`, and without a break that the sample shows on purpose."""
    found = tuple(lint_sample(sample, options))
    return replace(sample.inspection, diagnostics=found, chain=judged_chain(sample))


def judged_chain(sample: Sample) -> Chain:
    """The chain of the sample, which a failed call that it shows on purpose does not break."""
    chain = sample.inspection.chain
    if chain.broken is not None and chain.broken.step in {step.number for step in deliberate_steps(sample)}:
        return replace(chain, broken=None, status=Status.RECOVERED)
    return chain


def chosen(found: Iterable[Diagnostic], select: Sequence[str], ignore: Sequence[str]) -> Iterator[Diagnostic]:
    """The faults of the rules that are selected and not ignored, whatever severity they have here."""
    wanted = {rule.code for rule in select_rules(tuple(select))}
    unwanted = {rule.code for rule in select_rules(tuple(ignore))}
    return (one for one in found if (not select or one.rule.code in wanted) and one.rule.code not in unwanted)


def in_order(sample: Sample, found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Faults in the order of turns, parts and places."""
    order = {
        (number, part.name): index
        for number, turn in enumerate(sample.trace.turns, 1)
        for index, part in enumerate(turn.parts)
    }
    return sorted(
        found,
        key=lambda one: (
            one.location.turn,
            order.get((one.location.turn, one.location.part), -1),
            one.range,
            one.rule.code,
        ),
    )


def format_of_set(samples: Iterable[Sample]) -> str | None:
    """The format that most of these samples write their calls in; None where fewer than two agree.

    Samples whose row names its own format do not count.
    """
    counts = Counter(found for sample in samples if sample.declared_format is None and (found := format_of(sample)))
    for name, number in counts.most_common(1):
        return name if number >= _FEWEST_OF_A_FORMAT else None
    return None
