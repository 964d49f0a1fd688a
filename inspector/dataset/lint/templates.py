"""D709, D712 and D713: placeholders, calls in an unexpected format, and control tokens in the texts of messages."""

import re
from collections.abc import Iterator, Sequence

from weaklink.inspector.chain.faults import is_placeholder
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.dataset.lint.structure import with_severity
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.model import Role, SpanKind, ToolCall
from weaklink.inspector.rules.conversation import PLACEHOLDER_ARGUMENT
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.rules.training import PLACEHOLDER_LEFT, TEMPLATE_MISMATCH, TEMPLATE_UNSAFE
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

# The control tokens of the templates of the supported formats (each model's tokenizer_config.json).
_CONTROL = lazy_pattern(
    r"""
      <\| (?: im_start|im_end|im_sep|endoftext                                      # ChatML
            | eot_id|eom_id|begin_of_text|end_of_text|start_header_id|end_header_id|python_tag      # Llama 3
            | start|end|message|channel|call|return|constrain                       # gpt-oss
            | system|user|assistant|observation                                     # GLM
            | end_of_turn                                                           # OpenChat
            | START_OF_TURN_TOKEN|END_OF_TURN_TOKEN ) \|>                           # Cohere
    | <(?:start|end)_of_turn>                                                       # Gemma
    | \[/?INST\] | <</?SYS>>                                                        # Mistral, Llama 2
    | <｜[^｜<>\n]{1,40}｜>                                                         # DeepSeek
    | \[TOOL_CALLS\] | \[/?AVAILABLE_TOOLS\] | \[/?TOOL_RESULTS\]                   # Mistral
    """,
    re.VERBOSE,
)
# The tokens by which templates begin and end a turn: they write them around an answer. `<s>` within one is HTML.
_TURN_MARKS = lazy_pattern(
    r"""
      <\| (?: im_start|im_end|endoftext|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id|end_of_turn
            | START_OF_TURN_TOKEN|END_OF_TURN_TOKEN ) \|>
    | <(?:start|end)_of_turn> | \[/?INST\] | <</?SYS>>
    | \A<s> | </s>\s*\Z
    | <｜(?:begin|end)▁of▁sentence｜> | <｜(?:User|Assistant)｜>
    """,
    re.VERBOSE,
)
# A result that ReAct's models write themselves, and a dialogue in one answer: the model goes on for the others.
_OTHERS_WORDS = lazy_pattern(
    r"""
      \A\s* Observation:[ \n]                                   # ReAct: a result at the beginning
    | ^Observation:\s?[{\[]                                     # or one that is JSON
    | ^(?:User|Human|Customer): [^\n]*\n (?:[^\n]*\n){0,20}? (?:Assistant|AI|Bot|Agent):[ \n]
    """,
    re.MULTILINE | re.VERBOSE,
)
_DIALOGUE = lazy_pattern(
    r"\b(?:dialog\w*|conversation|script|transcript|interview|role-?play|scene|chat)\b", re.IGNORECASE
)
_PLACEHOLDER = lazy_pattern(
    r"<(?:previous|prior|last)[_ ](?:result|output|response|step)s?>"
    r"|\{\{\s*[A-Za-z_][\w. ]{0,60}\}\}"
    r"|\[(?:insert|your|placeholder)\b[^\]\n]{0,60}\](?!\()"
    r"|<(?:insert|your|placeholder)[_ ][^<>\n]{0,60}>"
    r"|\blorem ipsum\b",
    re.IGNORECASE,
)
"""What a template left open: `<previous_result>`, `{{city}}`, `[insert name]`, `<your_key>`, `lorem ipsum`."""
# An address of a domain that RFC 2606 reserves for examples: nobody has it.
_RESERVED_ADDRESS = lazy_pattern(r"[\w.+-]+@(?:[\w-]+\.)?example\.(?:com|org|net)")
_RAW = frozenset({Shape.COMPLETION, Shape.SEGMENTS})


def placeholders(sample: Sample) -> Iterator[Diagnostic]:
    """D709 in the text of answers, and in arguments if the engine does not find the placeholder.

    Ignores code, and requests for a template (a `{{name}}` that the user also wrote).
    """
    user_text = "\n".join(sample.texts(Role.USER)).lower()
    yield from _in_arguments(sample, user_text)
    for part in sample.inspection.parts if "template" not in user_text else ():
        turn = sample.trace.turns[part.turn - 1]
        text = turn.part("text") if part.part == "text" and turn.role is Role.ASSISTANT else None
        if text is None or not _may_contain(text.text):
            continue
        for span in part.spans:
            if span.kind is not SpanKind.TEXT:
                continue
            for match in _PLACEHOLDER.finditer(text.text, span.inner.start, span.inner.end):
                if match[0].lower() not in user_text and not _is_code(text.text, match.start()):
                    message = f"`{match[0]}` is a placeholder that was not replaced by a value."
                    yield Fault(PLACEHOLDER_LEFT, Range(*match.span()), message).at(part.turn, part.part)


def _in_arguments(sample: Sample, user_text: str) -> Iterator[Diagnostic]:
    """Placeholders in arguments that no message before contains as they are written."""
    known = [
        diagnostic.location for diagnostic in sample.inspection.diagnostics if diagnostic.rule is PLACEHOLDER_ARGUMENT
    ]
    for step in sample.inspection.chain.steps:
        turn, part = step.location.turn, step.location.part
        for placeholder_range, placeholder in _placeholders_of(step.call):
            is_known = any(
                (location.turn, location.part) == (turn, part) and location.range.covers(placeholder_range)
                for location in known
            )
            if not is_known and placeholder.lower() not in user_text and not _is_in_results(sample, placeholder):
                message = f"`{placeholder}` is a placeholder that was not replaced by a value."
                yield Fault(PLACEHOLDER_LEFT, placeholder_range, message).at(turn, part)


def _placeholders_of(call: ToolCall) -> Iterator[tuple[Range, str]]:
    """The placeholders within the arguments, and the arguments that are one: `<city>`, `mail@example.com`."""
    if _may_contain(call.raw_arguments):
        for match in _PLACEHOLDER.finditer(call.raw_arguments):
            yield call.place(Range(*match.span())), match[0]
    for _, value in leaves(call.arguments) if _may_be_whole(call.raw_arguments) else ():
        is_whole = isinstance(value, str) and is_placeholder(value.strip(), may_be_a_word=False)
        if (
            isinstance(value, str)
            and (is_whole or _RESERVED_ADDRESS.fullmatch(value))
            and not _PLACEHOLDER.search(value)
        ):
            start = call.raw_arguments.find(value)
            yield call.place(Range(start, start + len(value))) if start >= 0 else call.range, value


def _may_be_whole(text: str) -> bool:
    return "<" in text or "@example." in text


def _is_in_results(sample: Sample, text: str) -> bool:
    texts = (*sample.texts(Role.TOOL), *sample.texts(Role.SYSTEM))
    return any(text.casefold() in result_text.casefold() for result_text in texts)


def _may_contain(text: str) -> bool:
    """Whether a text may contain the start of a placeholder: the pattern is slow on texts without one."""
    return "<" in text or "{{" in text or "[" in text or "ipsum" in text.lower()


def _is_code(text: str, position: int) -> bool:
    """Whether a position is inside a fenced block, or between backticks on its line."""
    line = text.rfind("\n", 0, position) + 1
    return text.count("```", 0, position) % 2 == 1 or text.count("`", line, position) % 2 == 1


def unsafe_texts(sample: Sample) -> Iterator[Diagnostic]:
    """D713: control tokens in the texts of messages; in answers, those that begin or end a turn.

    The engine finds the others in answers (F310). A raw completion contains its template, so it is not checked. In a
    row that names its format, that format's markers are allowed, because `data render` writes them.
    """
    if sample.shape in _RAW:
        return
    yield from _turn_marks(sample)
    own_markers: dict[int, list[Range]] | None = None
    for number, turn, part in sample.text_parts:
        if turn.role is Role.ASSISTANT or not ("<" in part.text or "[" in part.text):
            continue
        own_markers = _own_markers(sample) if own_markers is None else own_markers
        match = next(
            (match for match in _CONTROL.finditer(part.text) if not _is_within(own_markers.get(number, ()), match)),
            None,
        )
        if match is not None:
            message = f"`{match[0]}` is a control token of chat templates, in the text of the role `{turn.role}`."
            hint = f"Write it as `{match[0][:2]} {match[0][2:]}`, or remove the sample."
            yield Fault(TEMPLATE_UNSAFE, Range(*match.span()), message, hint).at(number, part.name)


def _turn_marks(sample: Sample) -> Iterator[Diagnostic]:
    """The first token that begins or ends a turn in each answer, unless the engine reports a fault there."""
    if sample.declared_format is not None:
        return
    reported = [diagnostic.location for diagnostic in sample.inspection.diagnostics]
    for number, turn, part in sample.text_parts:
        if turn.role is not Role.ASSISTANT or not ("<" in part.text or "[" in part.text):
            continue
        match = _TURN_MARKS.search(part.text)
        if match is None:
            continue
        mark_range = Range(*match.span())
        if any(
            location.turn == number and location.part == part.name and location.range.covers(mark_range)
            for location in reported
        ):
            continue
        message = f"`{match[0]}` begins or ends a turn in chat templates; the template adds its own around this answer."
        yield Fault(TEMPLATE_UNSAFE, mark_range, message, "Remove it.").at(number, part.name)


def others_words(sample: Sample) -> Iterator[Diagnostic]:
    """D713: an answer that goes on with a result, or with words of the user, in a text without calls."""
    if sample.shape in _RAW:
        return
    for part in sample.inspection.parts:
        turn = sample.trace.turns[part.turn - 1]
        text = turn.part("text") if part.part == "text" and turn.role is Role.ASSISTANT else None
        if text is None or part.calls or ":" not in text.text:
            continue
        match = _OTHERS_WORDS.search(text.text)
        if match is None or any(map(_DIALOGUE.search, (*sample.texts(Role.USER), *sample.texts(Role.SYSTEM)))):
            continue
        first = match[0].strip().partition(":")[0]
        message = f"The answer goes on with words of another role (`{first}:`); a model learns to write them itself."
        fault = Fault(TEMPLATE_UNSAFE, Range(*match.span()), message, "Cut the answer there.")
        yield with_severity(fault.at(part.turn, part.part), Severity.WARNING)


def _own_markers(sample: Sample) -> dict[int, list[Range]]:
    """The markers around definitions and results in the format that the row names, by turn."""
    named = sample.declared_format
    return {
        part.turn: [
            marker
            for span in part.spans
            if span.kind in (SpanKind.TOOL_DEFINITIONS, SpanKind.TOOL_RESULT)
            for marker in (Range(span.range.start, span.inner.start), Range(span.inner.end, span.range.end))
        ]
        for part in sample.inspection.parts
        if named is not None and part.part == "text" and part.format == named
    }


def _is_within(markers: Sequence[Range], match: re.Match[str]) -> bool:
    return any(marker.covers(Range(*match.span())) for marker in markers)


def format_of(sample: Sample) -> str | None:
    """The format of the calls in the sample's texts; None if no text has a call."""
    for part in sample.inspection.parts:
        if part.part == "text" and part.calls and sample.trace.turns[part.turn - 1].role is Role.ASSISTANT:
            return sample.wire_format
    return None


def template_mismatch(sample: Sample, of_set: str | None) -> Iterator[Diagnostic]:
    """D712: calls in another format than the row names, or than the set's format `of_set`, at the first such call."""
    expected, used = sample.declared_format or of_set, format_of(sample)
    if expected is None or used is None or used == expected or _are_alike(sample, expected):
        return
    for part in sample.inspection.parts:
        if part.part == "text" and part.calls:
            basis = "the row's `format` is" if sample.declared_format else "the set uses"
            message = f"This call is written in the format `{used}`; {basis} `{expected}`."
            hint = f"Rewrite it: weaklink data convert --to {expected}."
            yield Fault(TEMPLATE_MISMATCH, part.calls[0].range, message, hint).at(part.turn, part.part)
            return


def _are_alike(sample: Sample, expected: str) -> bool:
    """Whether the texts have the same calls when parsed in the other format, as with formats of one family."""
    again = Sample(sample.row, sample.shape, sample.trace, sample.messages, sample.first_turn, expected)
    own_calls, other_calls = (
        [(step.call.name, step.call.valid) for step in compared.inspection.chain.steps] for compared in (sample, again)
    )
    return own_calls == other_calls
