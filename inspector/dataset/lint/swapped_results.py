"""D706: results of the calls of one turn that are in each other's place."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from weaklink.inspector.chain.steps import Step, tool_named
from weaklink.inspector.dataset.lint.structure import with_severity
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.model import Json
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.rules.training import ROLE_ORDER

_LONGEST = 20_000


def swapped_results(sample: Sample) -> Iterator[Diagnostic]:
    """A warning at a result that repeats the argument of another call of its turn, whose result repeats this one's.

    Both must have the argument's name as a member: `{"place": "Athens", ...}` after the call with `"place": "Oslo"`.
    """
    turns: defaultdict[tuple[int, str | None], list[Step]] = defaultdict(list)
    steps = sample.inspection.chain.steps
    for step in steps if len(steps) > 1 else ():
        if step.result is not None:
            turns[step.location.turn, step.call.name].append(step)
    for same in turns.values():
        found = _swapped(same) if len(same) > 1 else None
        if found is not None:
            step, name, value = found
            assert step.result_location is not None, "only answered steps are compared"
            message = (
                f"This result of {tool_named(step.call.name)} has the `{name}` of another call of its turn, `{value}`: "
                "the results are swapped."
            )
            fault = Fault(ROLE_ORDER, step.result_location.range, message, "Put each result after its call, by id.")
            yield with_severity(fault.at(step.result_location.turn, step.result_location.part), Severity.WARNING)


def _swapped(steps: Sequence[Step]) -> tuple[Step, str, str] | None:
    """The first step whose result repeats the argument of another one that has its argument; its name and value."""
    members = [_members(step) for step in steps]
    for index, step in enumerate(steps):
        arguments = step.call.arguments if isinstance(step.call.arguments, dict) else {}
        for name, own in arguments.items():
            answered = members[index].get(name)
            if not isinstance(own, str) or not isinstance(answered, str) or own == answered:
                continue
            for other, theirs in zip(steps, members, strict=True):
                asked = other.call.arguments.get(name) if isinstance(other.call.arguments, dict) else None
                if asked == answered and theirs.get(name) == own:
                    return step, name, answered
    return None


def _members(step: Step) -> dict[str, Json]:
    text = step.result.content if step.result is not None else ""
    if len(text) > _LONGEST or not text.lstrip().startswith("{"):
        return {}
    try:
        value = parse_json_bytes(text.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return {}
    return value if isinstance(value, dict) else {}
