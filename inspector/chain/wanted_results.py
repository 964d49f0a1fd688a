"""Results that look like failures and are what was wanted: a content, or the message that the agent has just written.

Two things that only the calls around show:

* a text that only words call a failure, and that a later call translates or saves as it is, is content;
* a program that the agent has just made to print an error prints it, as the user asked ("refuse negative widths with a
  message"). The result has a text that an earlier edit put between quotes, which shares a word with the user's request;
  what stands for a value in it (`{width}`, `%d`) is left out. The call tries the new code, and is a probe.

    Edit   sys.exit(f"conv: error: the width must not be negative: {width}")
    Bash   python conv.py --width -3   ->   conv: error: the width must not be negative: -3
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec import structs

from weaklink.inspector.chain.effects import EffectKind, effects_of, main_effect, runs_shell
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.steps import Certainty, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Role, ToolCall, Trace
from weaklink.inspector.scanning import lazy_pattern

_MIN_CONTENT_CHARS = 12
_MAX_TEXT_CHARS, _MIN_MESSAGE_CHARS, _MIN_WORD_CHARS = 20_000, 10, 4
_LITERALS = tuple(lazy_pattern(rf"{quote}([^{quote}\n]{{10,200}}){quote}") for quote in "\"'`")  # one may be in another
_VALUE = lazy_pattern(r"\$?\{[^{}]{0,60}\}|%[-\d.]*[a-zA-Z]|\$\w+|\\[nt]")
_OLD_KEYS = ("old_string", "old_str", "old_text", "search", "old")


def with_wanted_results(trace: Trace, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, of which those that got what was wanted are no failures; linear in their text."""
    return with_own_messages(trace, tuple(with_contents(steps)))


def with_own_messages(trace: Trace, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps; a command that printed the message which the agent had just written is a probe."""
    if not any(step.result_kind is ResultKind.FAILURE for step in steps):
        yield from steps
        return
    asked = _words_of_user(trace)
    written: list[Sequence[str]] = []
    for step in steps:
        if step.result_kind is ResultKind.FAILURE and _prints(step, written):
            rules = (VerdictRule.OWN_MESSAGE,)
            kind, outcome = ResultKind.PROBE, StepOutcome.OK
            yield structs.replace(step, outcome=outcome, certainty=None, error=None, result_kind=kind, rules=rules)
            continue
        if step.is_good:
            written += _messages(step.call, asked)
        yield step


def _prints(step: Step, written: Sequence[Sequence[str]]) -> bool:
    """Whether the result of a command has all of the pieces of one of these messages."""
    if not written or step.result is None or not runs_shell(step.call):
        return False
    text = step.result.content[:_MAX_TEXT_CHARS].casefold()
    return any(all(piece in text for piece in pieces) for pieces in written)


@memoized
def _messages(call: ToolCall, asked: frozenset[str]) -> tuple[Sequence[str], ...]:
    """The quoted texts of several words that an edit brings, if they share a word with what the user asked for.

    Of each the pieces between its values.
    """
    effect = main_effect(effects_of(call))
    writes = effect is not None and (effect.kind is EffectKind.WRITE or _writes_by_code(call))
    if not writes or not isinstance(call.arguments, dict):
        return ()
    texts = [(key, text[:_MAX_TEXT_CHARS]) for key, text in leaves(call.arguments) if isinstance(text, str)]
    old = "\n".join(text for key, text in texts if key in _OLD_KEYS)
    messages: list[Sequence[str]] = []
    for _, text in texts:
        for message in chain.from_iterable(literal.findall(text) for literal in _LITERALS):
            words = frozenset(word for word in folded_names(message) if len(word) >= _MIN_WORD_CHARS)
            is_asked = " " in message.strip() and message not in old and not words.isdisjoint(asked)
            if is_asked and (pieces := _pieces(message)):
                messages.append(pieces)
    return tuple(messages)


def _writes_by_code(call: ToolCall) -> bool:
    """Whether a line passes code to an interpreter that writes a file."""
    return runs_shell(call) and _WRITING_CODE.search(call.raw_arguments[:_MAX_TEXT_CHARS]) is not None


_WRITING_CODE = lazy_pattern(r"\.write\(|\bwrite_text\(|\bwriteFile(?:Sync)?\(")


def _pieces(message: str) -> list[str]:
    """The parts of a message between its values, in lower case, but the shortest."""
    pieces = (piece.strip().casefold() for piece in _VALUE.split(message))
    return [piece for piece in pieces if len(piece) >= _MIN_MESSAGE_CHARS]


def _words_of_user(trace: Trace) -> frozenset[str]:
    texts = (part.text for turn in trace.turns if turn.role is Role.USER for part in turn.parts)
    return _long_words("\n".join(text[:_MAX_TEXT_CHARS] for text in texts))


@memoized
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word for word in folded_names(text) if len(word) >= _MIN_WORD_CHARS)


def with_contents(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps; one that only words call a failure is none if a later call translates or saves its result as it is.

    Then the words are the content that was wanted: a file that tells of an error, in any language.
    """
    all_steps = tuple(steps)
    if not any(step.certainty is Certainty.TEXTUAL for step in all_steps):
        yield from all_steps
        return
    contents: dict[str, int] = {}
    for step in all_steps:
        effect = main_effect(effects_of(step.call))
        if effect is not None and effect.command is None and effect.kind in (EffectKind.READ, EffectKind.WRITE):
            values = (value.strip() for _, value in leaves(step.call.arguments) if isinstance(value, str))
            contents.update(dict.fromkeys((value for value in values if len(value) >= _MIN_CONTENT_CHARS), step.number))
    for step in all_steps:
        text = step.result.content.strip() if step.result is not None and step.certainty is Certainty.TEXTUAL else ""
        if contents.get(text, 0) > step.number:
            yield structs.replace(step, outcome=StepOutcome.OK, certainty=None, error=None, result_kind=None, rules=())
        else:
            yield step
