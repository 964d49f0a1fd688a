"""All faults of a trace as the browser takes them: a column a fact, and each rule, part and sentence once."""

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from inspector.chain.grouping import causes_of
from inspector.chain.steps import Chain, Status
from inspector.diagnostics import Diagnostic
from inspector.model import Json
from inspector.rules.rule import Rule
from ui.views.palette import GLYPHS
from ui.views.visible import visible_line

_LONGEST = 2_000  # characters of one sentence
_Named = TypeVar("_Named", bound=Hashable)


def fault_data(diagnostics: Sequence[Diagnostic], chain: Chain) -> dict[str, Json]:
    """The faults in their order: `start` and `end` in code points; `part`, `rule`, `message` and `hint` are indices.

    They point into `parts` (turn and name), `rules` (severity, code, name and glyph) and `sentences`, the first of
    which is empty and stands for no hint. `firsts` are the indices of the faults that are listed: on a broken trace the
    first of each cause; `more` counts the others.
    """
    is_broken = chain.status is Status.BROKEN
    causes = causes_of(diagnostics) if is_broken else None
    firsts: list[Json] = list(range(len(diagnostics))) if causes is None else list(causes.firsts)
    counts = {} if causes is None else dict(zip(causes.firsts, causes.more, strict=True))
    parts: _Once[tuple[int, str]] = _Once()
    rules: _Once[Rule] = _Once()
    sentences: _Once[str] = _Once()
    sentences.index_of("")
    columns: dict[str, list[Json]] = {name: [] for name in ("part", "start", "end", "rule", "message", "hint", "more")}
    for index, one in enumerate(diagnostics):
        fault, at, more = one.fault, one.location, counts.get(index, 0)
        columns["more"].append(more)
        columns["part"].append(parts.index_of((at.turn, at.part)))
        columns["start"].append(at.range.start)
        columns["end"].append(at.range.end)
        columns["rule"].append(rules.index_of(fault.rule))
        columns["message"].append(sentences.index_of(fault.message[:_LONGEST]))
        columns["hint"].append(sentences.index_of((fault.hint or "")[:_LONGEST]))
    return {
        **columns,
        "firsts": firsts,
        "parts": [[turn, part] for turn, part in parts.found],
        "rules": [[one.severity.value, one.code, one.name, GLYPHS[one.severity]] for one in rules.found],
        "sentences": [visible_line(one) for one in sentences.found],
    }


class _Once(Generic[_Named]):
    """Values in the order in which they first came, each once."""

    def __init__(self) -> None:
        self.found: dict[_Named, int] = {}

    def index_of(self, value: _Named) -> int:
        """Where the value stands, which is now among them."""
        return self.found.setdefault(value, len(self.found))
