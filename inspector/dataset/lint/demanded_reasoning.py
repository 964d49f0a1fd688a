"""R602 for training data: the system prompt demands reasoning within a tag, and answers have none.

A demand is a sentence of the system prompt that names an opening tag of reasoning (`<think>`, `<thinking>`,
`<reasoning>`, `<scratch_pad>`, `<thought>`) and a word such as "must", "always", "first" or "use", and no word that
makes it optional or forbids it ("if", "may", "optional", "do not"). Reasoning in a separate field satisfies it.
"""

from collections.abc import Iterator

from weaklink.inspector.checks.reasoning import ReasonedTurn, reasoned_turns
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import Role
from weaklink.inspector.rules.reasoning import REASONING_MISSING
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_TAG = lazy_pattern(r"<(think|thinking|thought|reasoning|scratch_?pad)>")
_SENTENCE = lazy_pattern(r"[.!?](?:\s|\Z)|\n")
_DEMAND = lazy_pattern(
    r"(?i)\b(?:must|always|should|first|before|every|each|use|write|put|place|enclose|wrap|record|begin|start|output|"
    r"respond|answer|think|reason)\b"
)
"""A word with which a sentence demands something: `must`, `always`, `before`, `wrap`, `think`."""
_OPTIONAL = lazy_pattern(r"(?i)\b(?:if|may|can|could|optional\w*|do not|don't|never|without|no|when needed|unless)\b")


def missing_reasoning(sample: Sample) -> Iterator[Diagnostic]:
    """R602 at the first turn without the reasoning that the system prompt demands; it counts the others."""
    demanded = _demanded_tag(sample)
    if demanded is None:
        return
    turns = [turn for turn in reasoned_turns(sample.trace, sample.inspection.parts) if turn.is_whole]
    reasoned = {turn.number for turn in turns if _has_reasoning(turn, demanded)}
    reported = {
        diagnostic.location.turn for diagnostic in sample.inspection.diagnostics if diagnostic.rule is REASONING_MISSING
    }
    # ms-swift writes the reasoning before a call as a turn of its own
    bare = [
        turn for turn in turns if reasoned.isdisjoint({turn.number, turn.number - 1}) and turn.number not in reported
    ]
    if bare:
        more = f", as {len(bare)} of {len(turns)} answers" if len(bare) > 1 else ""
        message = f"The system prompt demands reasoning within `<{demanded}>`, but this answer has none{more}."
        hint = "Add the reasoning, or remove the demand from the system prompt."
        part = bare[0].turn.parts[0]
        yield Fault(REASONING_MISSING, Range(0, len(part.text)), message, hint).at(bare[0].number, part.name)


def _demanded_tag(sample: Sample) -> str | None:
    for _, turn, part in sample.text_parts:
        if turn.role is not Role.SYSTEM or _TAG.search(part.text) is None:
            continue
        for sentence in _SENTENCE.split(part.text):
            tag = _TAG.search(sentence)
            if tag is not None and _DEMAND.search(sentence) and not _OPTIONAL.search(sentence):
                return tag[1]
    return None


def _has_reasoning(turn: ReasonedTurn, tag: str) -> bool:
    is_written = any(part.name == "text" and f"<{tag}>" in part.text for part in turn.turn.parts)
    return is_written or bool(turn.reasoning) or any(part.name == "reasoning" for part in turn.turn.parts)
