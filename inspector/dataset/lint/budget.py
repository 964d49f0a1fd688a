"""D717, and lengths in tokens by a `tokenizer.json`."""

from collections.abc import Iterator
from typing import Protocol

from inspector.checks.context import CONTEXT_WINDOW
from inspector.dataset.data_row import missing_library
from inspector.dataset.samples import Sample
from inspector.diagnostics import Diagnostic, Fault
from inspector.errors import UnreadableFileError
from inspector.inspection import REASONING_BUDGET
from inspector.model import Role, SpanKind
from inspector.rules.training import CUT_BY_BUDGET
from inspector.text import Range

_TURN_TOKENS = 4  # what templates add to a turn: its header and its end


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int:
        """How many tokens the text has, without special tokens around it."""
        ...


class TokenizerFile:
    """Counts by a `tokenizer.json`. Raises UnreadableFileError for a file that is none, and MissingLibraryError."""

    def __init__(self, path: str) -> None:
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415  # 40 ms, and optional
        except ImportError as error:
            raise missing_library("tokenizers", "Counting tokens") from error
        try:
            self._tokenizer = Tokenizer.from_file(path)
        except Exception as error:  # the library raises bare Exception
            raise UnreadableFileError(f"cannot read {path} as a tokenizer.json: {error}") from error

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return len(self._tokenizer.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False))


def token_count(sample: Sample, counter: TokenCounter) -> int:
    """The tokens of the whole conversation with its tools; four for the markup of each turn."""
    texts = [part.text for turn in sample.trace.turns for part in turn.parts]
    if sample.offered.place != "system":
        texts += [tool.raw for tool in sample.offered.tools]
    return sum(map(counter.count, texts)) + _TURN_TOKENS * len(sample.trace.turns)


def cut_by_budget(
    sample: Sample, counter: TokenCounter, context: int = CONTEXT_WINDOW, reasoning: int = REASONING_BUDGET
) -> Iterator[Diagnostic]:
    """D717: the conversation is longer than `context` tokens, or one turn's reasoning than `reasoning`."""
    total, turns = 0, sample.trace.turns
    tools = 0 if sample.offered.place == "system" else sum(counter.count(tool.raw) for tool in sample.offered.tools)
    cut_at = 0
    for number, turn in enumerate(turns, 1):
        before = total
        for part in turn.parts:
            total += counter.count(part.text)
        total += _TURN_TOKENS
        if before + tools <= context < total + tools and turn.parts:
            cut_at = number
    if cut_at:
        part = turns[cut_at - 1].parts[0]
        message = f"The sample has {total + tools:,} tokens, and the context {context:,}; it is cut in turn {cut_at}."
        yield Fault(CUT_BY_BUDGET, Range(0, len(part.text)), message).at(cut_at, part.name)
    yield from _long_reasoning(sample, counter, reasoning)


def _long_reasoning(sample: Sample, counter: TokenCounter, budget: int) -> Iterator[Diagnostic]:
    for inspected in sample.inspection.parts:
        turn = sample.trace.turns[inspected.turn - 1]
        part = turn.part(inspected.part) if turn.role is Role.ASSISTANT else None
        for span in inspected.spans if part is not None else ():
            if part is None or not (span.kind is SpanKind.REASONING or part.name == "reasoning"):
                continue
            if len(span.range) > budget and (tokens := counter.count(span.inner.of(part.text))) > budget:
                message = f"The reasoning has {tokens:,} tokens, and the budget is {budget:,}."
                yield Fault(CUT_BY_BUDGET, span.range, message).at(inspected.turn, inspected.part)
