"""The report of an import: what each file held, what was skipped and why, and the totals."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inspector.importers.source import Skipped
from inspector.inspection import Inspection
from inspector.model import Json, Role, Trace, Turn, TurnFlag

_NOT_THE_MODELS = frozenset({TurnFlag.COPIED_CONTEXT, TurnFlag.DEMONSTRATION, TurnFlag.INJECTED, TurnFlag.SYNTHETIC})


@dataclass(frozen=True, slots=True)
class Counts:
    """What some traces hold. `requests` are generations, `tool_calls` the calls that the model made.

    `tools` says how often each tool was called (`""` where the name is unreadable), `diagnostics` how often each code
    was reported.
    """

    traces: int = 0
    requests: int = 0
    turns: int = 0
    tool_calls: int = 0
    tools: Mapping[str, int] = field(default_factory=dict)
    diagnostics: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.traces + other.traces,
            self.requests + other.requests,
            self.turns + other.turns,
            self.tool_calls + other.tool_calls,
            _sum(self.tools, other.tools),
            _sum(self.diagnostics, other.diagnostics),
        )


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file: `source` is None and `refused` a sentence where it is not for us.

    `why` says in a sentence what its source was recognised by. Of its traces `unchanged` were in the database as they
    are, and `replaced` took the place of a version with less. `redacted` counts the secrets that were replaced.
    """

    path: str
    source: str | None = None
    refused: str | None = None
    counts: Counts = Counts()
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    unchanged: int = 0
    replaced: int = 0
    redacted: int = 0
    why: str | None = None


def counts_of(trace: Trace, inspection: Inspection) -> Counts:
    """What one trace holds. A retry counts as a request; history that a request only repeats does not."""
    own = {number for number, turn in enumerate(trace.turns, 1) if _is_the_models(turn)}
    names = [call.name or "" for part in inspection.parts if part.turn in own for call in part.calls]
    return Counts(
        traces=1,
        requests=sum(turn.generation is not None for turn in trace.turns if _is_the_models(turn)),
        turns=len(trace.turns),
        tool_calls=len(names),
        tools=Counter(names),
        diagnostics=Counter(diagnostic.rule.code for diagnostic in inspection.diagnostics),
    )


def report_object(files: Iterable[FileReport]) -> dict[str, Json]:
    """The report of `weaklink import --json`; every key is always there."""
    listed = list(files)
    total = sum((file.counts for file in listed), Counts())
    totals: dict[str, Json] = {
        "files": len(listed),
        "refused": sum(file.refused is not None for file in listed),
        **_counts_object(total),
        "skipped": sum(len(file.skipped) for file in listed),
        "redacted": sum(file.redacted for file in listed),
    }
    return {"files": [_file_object(file) for file in listed], "totals": totals}


def _file_object(file: FileReport) -> dict[str, Json]:
    return {
        "path": file.path,
        "source": file.source,
        "refused": file.refused,
        **_counts_object(file.counts),
        "skipped": [{"record": skipped.record, "reason": skipped.reason} for skipped in file.skipped],
        "warnings": list(file.warnings),
        "redacted": file.redacted,
        "why": file.why,
    }


def _counts_object(counts: Counts) -> dict[str, Json]:
    return {
        "traces": counts.traces,
        "requests": counts.requests,
        "turns": counts.turns,
        "tool_calls": counts.tool_calls,
        "tools": dict(sorted(counts.tools.items())),
        "diagnostics": dict(sorted(counts.diagnostics.items())),
    }


def _is_the_models(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and not turn.flags & _NOT_THE_MODELS


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    if not one or not other:
        return one or other
    return Counter(one) + Counter(other)
