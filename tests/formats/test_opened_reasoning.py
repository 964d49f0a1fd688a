"""A closer of reasoning without an opener: the prompt opened it, in every format and in imported turns."""

import pytest

from weaklink.inspector.formats.api.parser import ApiOrText
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Generation, Part, Role, SpanKind, Trace, Turn
from weaklink.inspector.segmentation import Segmenter, segment
from weaklink.inspector.segmenter.machine import Machine


def _closers() -> list[tuple[str, str]]:
    """Each format with each marker that closes its own reasoning."""
    collected = []
    for form in formats():
        parser = form.new_parser()
        parser = parser.text_side if isinstance(parser, ApiOrText) else parser
        if isinstance(parser, Machine):
            states = (state for state in parser._table.states if state.kind is SpanKind.REASONING and state.closer)
            own = {state.closer for state in states if f"reasoning {state.opener}" == state.name}
            into = {way.target for way in parser._table.by_name["text"].transitions}
            collected += [
                (form.name, closer)
                for closer in sorted(own)
                if any(f"reasoning {opener}" in into for opener in (closer.replace("/", ""), closer))
            ]
    return collected


_MARKERS = [*_closers(), ("apertus", "<|inner_suffix|>")]


@pytest.mark.parametrize(("name", "closer"), _MARKERS)
def test_a_closer_at_the_start_ends_empty_reasoning(name: str, closer: str) -> None:
    segmentation = segment(f"{closer}Yes", name)
    assert (segmentation.reasoning, segmentation.content) == ("", "Yes")
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["F319"]
    assert "the reasoning is empty" in segmentation.diagnostics[0].fault.message
    again = segment(f"{closer}Yes{closer}", name)
    assert [diagnostic.rule.code for diagnostic in again.diagnostics] == ["F319", "F302"]


@pytest.mark.parametrize(("name", "closer"), _MARKERS)
def test_what_is_before_a_lone_closer_is_reasoning(name: str, closer: str) -> None:
    text = f"Result: 2{closer}Yes"
    segmentation = segment(text, name)
    assert (segmentation.reasoning, segmentation.content) == ("Result: 2", "Yes")
    assert [diagnostic.rule.code for diagnostic in segmentation.diagnostics] == ["F319"]
    pieces = Segmenter(name)
    for character in text:
        pieces.feed(character)
    pieces.close()
    assert pieces.segmentation(text) == segmentation


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-R1", "Qwen/QwQ-32B", "qwen3:32b", ""])
def test_imported_turns_of_reasoning_models_hold_reasoning(model: str) -> None:
    words = ("Add them.\n</think>\n\nIt is 4.", "<think>\nAgain.\n</think>\n\nStill 4.", "No doubt.</think>Yes, 4.")
    turns = []
    for text in words:
        turns.append(Turn(Role.USER, (Part("text", "2 + 2?"),)))
        turns.append(Turn(Role.ASSISTANT, (Part("text", text),), generation=Generation(requested_model=model)))
    trace = Trace(tuple(turns))
    inspection = inspect_trace(trace)
    read = [
        (span.kind, span.inner.of(trace.turns[part.turn - 1].parts[0].text).strip())
        for part in inspection.parts
        for span in part.spans
        if part.turn % 2 == 0
    ]
    assert [words for kind, words in read if kind is SpanKind.REASONING] == ["Add them.", "Again.", "No doubt."]
    assert [words for kind, words in read if kind is SpanKind.TEXT] == ["It is 4.", "Still 4.", "Yes, 4."]
    assert [diagnostic.rule.code for diagnostic in inspection.diagnostics] == ["F319", "F319"]
