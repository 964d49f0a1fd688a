"""Commands that continue in the background: a later call that polls one reports the result of the first.

Codex's `exec_command` answers `Process running with session ID 77`, and `write_stdin {"session_id": 77}` brings the
exit code; Claude Code's `Bash` answers `... running in background with ID: b1`, and `BashOutput {"bash_id": "b1"}` the
output.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from weaklink.inspector.chain.steps import Step, StepOutcome
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.scanning import lazy_pattern

_STATES = ("running", "started", "background")
_STARTED = lazy_pattern(rf"\b(?:{'|'.join(_STATES)})\b[^\n]{{0,60}}?\b(?:session )?ID:? {{0,2}}[`\"']?([\w-]{{1,60}})")
_ID_KEYS = ("session_id", "bash_id", "shell_id", "task_id", "process_id", "sessionId")
_HEAD = 600


class BackgroundRuns:
    """The commands of one trace that continue in the background, by their id."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}

    def add(self, call: ToolCall, result: ToolResult | None) -> None:
        """Add a call with its result, in the order of the trace."""
        head = result.content[:_HEAD] if result is not None else ""
        match = _STARTED.search(head) if "ID" in head and any(word in head for word in _STATES) else None
        if match is not None:
            self._calls[match[1]] = self.original(call)

    def original(self, call: ToolCall) -> ToolCall:
        """The call whose command this one polls; else the call itself."""
        if not isinstance(call.arguments, dict) or not self._calls:
            return call
        ids = (str(call.arguments[key]) for key in _ID_KEYS if key in call.arguments)
        return next((self._calls[id_] for id_ in ids if id_ in self._calls), call)


def with_originals(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps with the call that each polls in place of its own; a command that is polled later is not done yet."""
    runs = BackgroundRuns()
    acting: list[Step] = []
    last: dict[int, int] = {}
    for index, step in enumerate(steps):
        call = runs.original(step.call)
        before = last.get(id(call)) if call is not step.call else None
        if before is not None and acting[before].outcome is StepOutcome.OK:
            acting[before] = structs.replace(acting[before], outcome=StepOutcome.PENDING)
        last[id(call)] = index
        runs.add(step.call, step.result)
        acting.append(structs.replace(step, call=call) if call is not step.call else step)
    return iter(acting)


def with_judgements(steps: Iterable[Step], judged: Iterable[Step]) -> Iterator[Step]:
    """The steps with the recoveries, statements and kinds of results that were found for their originals."""
    for step, judged_step in zip(steps, judged, strict=True):
        if judged_step.rules == step.rules:
            yield step
            continue
        of = (
            step if judged_step.outcome is StepOutcome.PENDING else judged_step
        )  # a command that is polled later is not done yet
        yield structs.replace(
            step,
            outcome=of.outcome,
            certainty=of.certainty,
            error=of.error,
            recovery=judged_step.recovery,
            recovered_by=judged_step.recovered_by,
            said=judged_step.said,
            said_at=judged_step.said_at,
            result_kind=judged_step.result_kind,
            rules=judged_step.rules,
        )
