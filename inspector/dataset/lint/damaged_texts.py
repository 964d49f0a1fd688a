"""D720: texts that were damaged when a dataset was made: cut, repeated, wrongly decoded, or not filled in."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.dataset.samples import Sample
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.model import Role, Span, SpanKind
from weaklink.inspector.rules.training import DAMAGED_TEXT
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

# A word that needs another one behind it, at the very end: `It leaves Lyon at`. Not `in`, `to`, `for`: `Sign in`.
_CUT = lazy_pattern(
    r"(?<=\w )(?:the|an?|of|and|or|your|its|at|with|because|than|will|would|should|must"
    r"|und|oder|et|ou|des|y|los|las|del|e|della|и|или)[ \t]*\Z"
)
_MIN_WORDS = 6
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_MIN_SENTENCE_CHARS, _MIN_REPEATS = 20, 4
# UTF-8 that was decoded as Latin-1 or Windows-1252: `Ã¶` for `ö`, `â€™` for an apostrophe.
_MOJIBAKE = lazy_pattern("Ã[\u0080-\u00bf]|â€[\u0099\u009c\u009d\u2122\u0153\u201c\u201d\u02dc]|Â[\u00a0\u00b0\u00b7]")
# A value that a program did not fill in: `costs None euros`, but not `None of them` and `is NaN in JavaScript`.
_UNFILLED = lazy_pattern(
    r"""
    (?<=[a-z,:][ ])
    (?: None | NaN
      | (?<!\bis[ ]) (?<!\bare[ ]) (?<!\bas[ ]) (?<!\bbe[ ]) undefined )    # `it is undefined` is English
    (?= [.,;!] | \s+ (?! of\b | in\b | at\b | to\b ) [a-z°%€$] )            # the end of a clause, or its unit
    """,
    re.VERBOSE,
)
_ESCAPE = lazy_pattern(r"&(?:amp|quot|lt|gt|apos|nbsp|#\d{2,5}|[a-zA-Z](?:acute|grave|uml|circ|cedil|tilde));")
_CODE = lazy_pattern(r"```[\s\S]*?(?:```|\Z)|`[^`\n]*`")


def damaged_answers(sample: Sample) -> Iterator[Diagnostic]:
    """D720 in the texts of answers, outside of code, calls and markup; at most one fault for each text."""
    spans = {part.turn: part.spans for part in sample.inspection.parts if part.part == "text"}
    for number, turn, part in sample.text_parts:
        if turn.role is not Role.ASSISTANT or not part.text:
            continue
        text = _words_of(part.text, spans.get(number, ()))
        text = _CODE.sub(lambda match: " " * len(match[0]), text) if "`" in text else text
        is_last = number == len(sample.trace.turns) and not turn.calls
        damage = _foreign_word(text, sample) or (_cut(text) if is_last else None) or _loop_in(text)
        if damage is not None:
            yield Fault(DAMAGED_TEXT, damage[0], damage[1]).at(number, part.name)


def _words_of(text: str, spans: Sequence[Span]) -> str:
    """The text with line ends for all that is neither an answer's words nor reasoning: `None` is right in Python."""
    inner = [span.inner for span in spans if span.kind in (SpanKind.TEXT, SpanKind.REASONING)]
    if not spans or sum(map(len, inner)) == len(text):
        return text
    pieces, end = [], 0
    for words in inner:
        pieces += ["\n" * (words.start - end), words.of(text)]
        end = words.end
    return "".join((*pieces, "\n" * (len(text) - end)))


def _foreign_word(text: str, sample: Sample) -> tuple[Range, str] | None:
    """The place of a wrongly decoded character or of a missing value that no input has, and a sentence on it."""
    wrong = _MOJIBAKE.search(text) if not text.isascii() else None
    if wrong is not None and not _is_in_inputs(sample, wrong[0]):
        return Range(*wrong.span()), f"`{wrong[0]}` is a character of UTF-8 that was decoded with another encoding."
    unfilled = _UNFILLED.search(text) if "N" in text or "undefined" in text else None
    if unfilled is not None and not _is_in_inputs(sample, unfilled[0]):
        return Range(*unfilled.span()), f"`{unfilled[0]}` is not a value: a program wrote it for a missing one."
    return None


def _is_in_inputs(sample: Sample, word: str) -> bool:
    turns = (turn for turn in sample.trace.turns if turn.role is not Role.ASSISTANT)
    return any(word in part.text for turn in turns for part in turn.parts)


def _cut(text: str) -> tuple[Range, str] | None:
    match = _CUT.search(text) if text.count(" ") >= _MIN_WORDS else None
    if match is None:
        return None
    return Range(match.start(), len(text)), f"The answer ends with `{match[0].strip()}`, within a sentence."


def _loop_in(text: str) -> tuple[Range, str] | None:
    """The place where an answer begins to repeat itself, if repeated sentences are most of it."""
    if len(text) < _MIN_SENTENCE_CHARS * _MIN_REPEATS:
        return None
    sentences = [part for part in _SENTENCE_END.split(text) if len(part) >= _MIN_SENTENCE_CHARS]
    if len(sentences) < _MIN_REPEATS:
        return None
    sentence, count = Counter(sentences).most_common(1)[0]
    repeated = sum(
        len(sentence) for sentence, times in Counter(sentences).items() for _ in range(times) if times >= count
    )
    if count < _MIN_REPEATS or 2 * repeated < len(text):
        return None
    second = text.find(sentence, text.find(sentence) + 1)
    return Range(second, len(text)), f"The answer says `{sentence[:60]}` {count} times."


def damaged_arguments(sample: Sample) -> Iterator[Diagnostic]:
    """D720 in the arguments of calls: wrong encodings, and escapes of HTML in a text that is no markup."""
    for step in sample.inspection.chain.steps:
        raw = step.call.raw_arguments
        if raw.isascii() and "&" not in raw and "\\u00" not in raw:
            continue
        for _, value in leaves(step.call.arguments):
            match = _damage_of(value) if isinstance(value, str) else None
            if match is None or any(match[0] in text for text in sample.texts(Role.USER)):
                continue
            start = raw.find(match[0])
            fault_range = step.call.place(Range(start, start + len(match[0]))) if start >= 0 else step.call.range
            what = "an escape of HTML" if match[0].startswith("&") else "decoded with another encoding than UTF-8"
            message = f"`{match[0]}` in an argument is {what}."
            yield Fault(DAMAGED_TEXT, fault_range, message).at(step.location.turn, step.location.part)
            break


def _damage_of(value: str) -> re.Match[str] | None:
    match = _MOJIBAKE.search(value)
    if match is None and "&" in value and "<" not in value and "://" not in value:
        match = _ESCAPE.search(value)
    return match
